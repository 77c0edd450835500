//! One component of a plugin: its description, its counters, and the calls that run on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use lakeport_sql::Profile;
use tokio::sync::{OnceCell, watch};
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::call::{CallContext, CallError, CallFault};
use crate::counters::{Counters, Verdict};
use crate::family::{Contract, PluginId};
use crate::grants::Grants;
use crate::inspect::{self, Inspection};
use crate::invocation::{Describe, Function};
use crate::limits::Limits;
use crate::origin::{CallOrigin, Origin};
use crate::prepared::{Description, Prepared};
use crate::sandbox::Sandbox;
use crate::summary::Components;

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
    /// Names of the family's interfaces that it exports.
    exports: Vec<String>,
    /// Its code, once it is loaded.
    code: OnceCell<Prepared>,
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
    /// `None`: the first call loads it.
    pub prepared: Option<Prepared>,
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
            counters: Counters::new(parts.call_origin.request_counters.clone()),
            exports: parts.inspection.exports,
            code: OnceCell::new_with(parts.prepared),
            limits: parts.limits,
            call_origin: parts.call_origin,
            begun: AtomicU64::new(0),
            running: AtomicUsize::new(0),
            ended_up_to: watch::Sender::new(0),
        }
    }

    /// Whether it exports this interface of its family: `schedules`.
    pub(crate) fn exports(&self, interface: &str) -> bool {
        self.exports.iter().any(|export| export == interface)
    }

    /// Whether its code is loaded.
    pub fn is_loaded(&self) -> bool {
        self.code.initialized()
    }

    /// Its code: loads it from the compiled-code cache if no call has done so. If it is not there, it is
    /// compiled again from the component.
    async fn load(
        &self,
        sandbox: &Arc<Sandbox>,
        components: Option<&Arc<dyn Components>>,
    ) -> Result<&Prepared, String> {
        let load = async || {
            let inspection = Inspection {
                digest: self.digest.to_string(),
                size: self.size,
                contract: self.contract.clone(),
                imports: self.imports.clone(),
                exports: self.exports.clone(),
            };
            let (found, inspection) = {
                let sandbox = sandbox.clone();
                blocking(move || (sandbox.prepare_compiled(&inspection), inspection)).await?
            };
            if let Some(prepared) = found {
                return prepared.map_err(|error| format!("{error:#}"));
            }
            let components = components.ok_or("its machine code is no longer in the cache")?;
            let bytes = components.bytes(&self.digest).await?;
            let sandbox = sandbox.clone();
            let prepared = blocking(move || {
                if inspect::digest(&bytes) != inspection.digest {
                    return Err("the stored component is not the one that was staged".to_owned());
                }
                sandbox.prepare(&inspection, &bytes).map_err(|error| format!("{error:#}"))
            });
            prepared.await?
        };
        self.code.get_or_try_init(load).await
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

    /// Runs one call of a function. Also returns the number of its consecutive failures.
    pub(crate) async fn call<Params, Answer>(
        &self,
        (sandbox, components): (&Arc<Sandbox>, Option<&Arc<dyn Components>>),
        function: &'static str,
        mut context: CallContext,
        params: Params,
    ) -> (Result<Answer, CallError>, u64)
    where
        Params: ComponentNamedList + Lower,
        Answer: Lift + 'static,
    {
        let code = match self.code.get() {
            Some(code) => code,
            None => {
                let begun = Instant::now();
                let limit = self.limits.timeout;
                let timeout = context.timeout.map_or(limit, |asked| asked.min(limit));
                let code = match tokio::time::timeout(timeout, self.load(sandbox, components)).await {
                    Ok(Ok(code)) => code,
                    Ok(Err(reason)) => return (Err(self.not_loaded(&reason)), 0),
                    Err(_) => return (Err(self.busy_loading(function)), 0),
                };
                // Loading it is part of the call's time.
                context.timeout = Some(timeout.saturating_sub(begun.elapsed()));
                code
            }
        };
        let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
        let _running = Running::begin(&self.running);
        let mut ended = self.ended_up_to.subscribe();
        let over = async move {
            if ended.wait_for(|&up_to| up_to >= number).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let call = Function::new(code, function, params);
        let (answer, measure) = sandbox.call(&self.call_origin, context, &self.limits, over, call).await;
        let verdict = match &answer {
            Ok(_) => Verdict::Success,
            Err(failure) if failure.blame => Verdict::Failure,
            Err(_) => Verdict::Excused,
        };
        let in_a_row = self.counters.record(function, verdict, measure.took, measure.memory_peak);
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

impl Generation {
    fn not_loaded(&self, reason: &str) -> CallError {
        tracing::error!(plugin = %self.id, digest = %self.digest, "a staged plugin can no longer be loaded: {reason}");
        CallError::NotActive(format!(
            "the plugin {} can no longer be loaded: {reason}; activate another generation of it, or install it \
             again",
            self.id
        ))
    }

    fn busy_loading(&self, function: &'static str) -> CallError {
        let message = "it is still being compiled; try again".to_owned();
        CallError::Failed { plugin: self.id.to_string(), function, fault: CallFault::Busy, message }
    }
}

/// Runs what takes long on a thread for it.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| format!("loading it failed: {error}"))
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
