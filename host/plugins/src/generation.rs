//! One component of a plugin: its description, its counters, and the calls that run on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lakeport_sql::Profile;
use tokio::sync::watch;
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::call::{CallContext, CallError, CallFault};
use crate::counters::Counters;
use crate::family::{Contract, PluginId};
use crate::grants::Grants;
use crate::inspect::Inspection;
use crate::invocation::{Describe, Function};
use crate::limits::Limits;
use crate::origin::{CallOrigin, Origin};
use crate::prepared::{Description, Prepared};
use crate::sandbox::Sandbox;

/// A component that passed all checks and can be called.
pub struct Generation {
    /// The plugin.
    pub id: PluginId,
    /// SHA-256 of its bytes, 64 hex digits.
    pub digest: Arc<str>,
    /// Its size in bytes.
    pub size: usize,
    /// The contract version that it implements.
    pub contract: Contract,
    /// Its imports.
    pub imports: Vec<String>,
    /// Its grants.
    pub grants: Grants,
    /// Its description.
    pub description: Description,
    /// The checked profile of a dialect.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Its origin.
    pub origin: Origin,
    /// When it was staged, milliseconds since 1970 UTC.
    pub staged_at_ms: i64,
    /// The counters of its calls.
    pub counters: Counters,
    pub(crate) prepared: Prepared,
    limits: Limits,
    call_origin: CallOrigin,
    begun: AtomicU64,
    running: AtomicUsize,
    /// Calls up to this number must end now.
    ended_up_to: watch::Sender<u64>,
}

/// The parts of a generation that are known before it can be called.
pub(crate) struct Parts {
    pub id: PluginId,
    pub inspection: Inspection,
    pub grants: Grants,
    pub description: Description,
    pub profile: Option<Arc<Profile>>,
    pub origin: Origin,
    pub staged_at_ms: i64,
    pub prepared: Prepared,
    pub limits: Limits,
    pub call_origin: CallOrigin,
}

impl Generation {
    pub(crate) fn new(parts: Parts) -> Self {
        Generation {
            id: parts.id,
            digest: parts.call_origin.digest.clone(),
            size: parts.inspection.size,
            contract: parts.inspection.contract,
            imports: parts.inspection.imports,
            grants: parts.grants,
            description: parts.description,
            profile: parts.profile,
            origin: parts.origin,
            staged_at_ms: parts.staged_at_ms,
            counters: Counters::default(),
            prepared: parts.prepared,
            limits: parts.limits,
            call_origin: parts.call_origin,
            begun: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            ended_up_to: watch::Sender::new(0),
        }
    }

    /// The number of running calls.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// The number of the latest call.
    pub(crate) fn calls_begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Ends the running calls up to this number. Later calls go on.
    pub(crate) fn end_calls(&self, up_to: u64) {
        self.ended_up_to.send_replace(up_to);
    }

    /// Runs one call of a function. Also returns the number of consecutive failures of the plugin.
    pub(crate) async fn call<Params, Answer>(
        &self,
        sandbox: &Sandbox,
        function: &'static str,
        context: CallContext,
        params: Params,
    ) -> (Result<Answer, CallError>, u64)
    where
        Params: ComponentNamedList + Lower,
        Answer: Lift + 'static,
    {
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let _running = Running::begin(&self.running);
        let mut ended = self.ended_up_to.subscribe();
        let over = async move {
            if ended.wait_for(|&up_to| up_to >= number).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let call = Function::new(&self.prepared, function, params);
        let (answer, measure) = sandbox.call(&self.call_origin, context, &self.limits, over, call).await;
        let blame = answer.as_ref().is_err_and(|failure| failure.blame);
        let in_a_row = self.counters.record(measure.took, blame, measure.memory_peak);
        let answer = answer.map_err(|failure| {
            tracing::warn!(plugin = %self.id, digest = %self.digest, function, fault = failure.fault.code(), "{}", failure.message);
            CallError::Failed {
                plugin: self.id.to_string(),
                function,
                fault: failure.fault,
                message: failure.message,
            }
        });
        (answer, in_a_row)
    }
}

struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn begin(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Running(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Calls `describe` twice, each time in a fresh store with nothing lent. This trial finds types that do not
/// fit, start functions that misbehave, and answers that vary.
pub(crate) async fn trial(
    sandbox: &Sandbox,
    prepared: &Prepared,
    origin: &CallOrigin,
    limits: &Limits,
) -> Result<Description, (CallFault, String)> {
    let mut first = None;
    for _ in 0..2 {
        let never = std::future::pending::<()>();
        let context = CallContext::new("describe");
        let (described, _) = sandbox.call(origin, context, limits, never, Describe(prepared)).await;
        let description = described.map_err(|failure| (failure.fault, failure.message))?;
        match &first {
            None => first = Some(description),
            Some(before) if *before == description => {}
            Some(_) => {
                let message =
                    "its `describe` returned two different answers; it must always return the same one";
                return Err((CallFault::Contract, message.to_owned()));
            }
        }
    }
    Ok(first.expect("the loop ran twice"))
}
