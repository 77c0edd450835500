//! The code that runs in a fresh store: one function of the contract, or the trial of a component that is
//! being staged.

use std::marker::PhantomData;
use std::sync::Arc;

use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::tool::tool::ToolInfo;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower};

use crate::family::Family;
use crate::prepared::{Description, Prepared};
use crate::state::CallState;

/// The body of a call. A trait and not a closure: its future may borrow the arguments, so they are copied
/// only once, into the guest.
pub(crate) trait Invocation: Send {
    type Answer: Send;

    fn run(self, store: &mut Store<CallState>)
    -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// An exported function with its arguments, a tuple.
pub(crate) struct Function<'p, Params, Answer> {
    prepared: &'p Prepared,
    name: &'static str,
    params: Params,
    answer: PhantomData<fn() -> Answer>,
}

impl<'p, Params, Answer> Function<'p, Params, Answer> {
    /// The function of this name, `planner.plan`.
    pub fn new(prepared: &'p Prepared, name: &'static str, params: Params) -> Self {
        Function { prepared, name, params, answer: PhantomData }
    }
}

impl<Params, Answer> Invocation for Function<'_, Params, Answer>
where
    Params: ComponentNamedList + Lower,
    Answer: Lift + 'static,
{
    type Answer = Answer;

    async fn run(self, store: &mut Store<CallState>) -> wasmtime::Result<Answer> {
        let instance = self.prepared.instantiate(store).await?;
        call(self.prepared, &instance, store, self.name, self.params).await
    }
}

/// Compares the types of all exports, then calls `describe`.
pub(crate) struct Describe<'p>(pub &'p Prepared);

impl Invocation for Describe<'_> {
    type Answer = Description;

    async fn run(self, store: &mut Store<CallState>) -> wasmtime::Result<Description> {
        let Describe(prepared) = self;
        let instance = prepared.instantiate(store).await?;
        prepared.check_types(store, &instance)?;
        Ok(match prepared.family() {
            Family::Dialect => {
                let info: DialectInfo = call(prepared, &instance, store, "about.describe", ()).await?;
                Description::Dialect(Arc::new(info))
            }
            Family::Engine => {
                let info: EngineInfo = call(prepared, &instance, store, "about.describe", ()).await?;
                Description::Engine(Box::new(info))
            }
            Family::Tool => {
                let info: ToolInfo = call(prepared, &instance, store, "tool.describe", ()).await?;
                Description::Tool(Arc::new(info))
            }
        })
    }
}

/// Calls one function. Looks up this export only and compares its type.
async fn call<Params, Answer>(
    prepared: &Prepared,
    instance: &Instance,
    store: &mut Store<CallState>,
    name: &'static str,
    params: Params,
) -> wasmtime::Result<Answer>
where
    Params: ComponentNamedList + Lower,
    Answer: Lift + 'static,
{
    let function = instance.get_typed_func::<Params, (Answer,)>(&mut *store, prepared.place(name)?)?;
    let (answer,) = function.call_async(store, params).await?;
    Ok(answer)
}
