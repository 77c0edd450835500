//! Components that misbehave on purpose, the error of each, and other calls that go on meanwhile.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_bindings::tool::tool::Outcome;
use lakeport_plugins::{
    CallContext, CallError, CallFault, Generation, Origin, Pointers, Registry, RegistrySettings,
    SandboxSettings, StageError,
};
use tokio::task::JoinHandle;

use support::{about, ask, component, failed_with, host, host_of, host_with, stage_active, stage_error};

/// A call of the greeter that waits so long; it runs on this generation when this returns.
async fn running_call(
    registry: &Arc<Registry>,
    on: &Generation,
    wait_ms: u32,
) -> JoinHandle<Result<Outcome, CallError>> {
    let registry = registry.clone();
    let input = format!(r#"{{"waitMs":{wait_ms}}}"#);
    let call = tokio::spawn(async move { ask(&registry, "greeter", &input).await });
    while on.running() == 0 {
        tokio::task::yield_now().await;
    }
    call
}

/// Calls of a well-behaved plugin go on while another misbehaves.
async fn the_greeter_answers(registry: &Arc<Registry>) {
    let outcome = ask(registry, "greeter", "{}").await.expect("the harmless plugin answers");
    assert!(outcome.output.contains("1.0.0"), "{}", outcome.output);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_to_misbehave_costs_that_call_alone() {
    let registry = host();
    stage_active(&registry, "greeter_v1").await;
    stage_active(&registry, "misbehave").await;
    for (what, fault, words) in [
        ("trap", CallFault::Trap, "trapped"),
        ("panic", CallFault::Trap, "trapped"),
        ("spin", CallFault::Timeout, "it was ended after"),
        ("sleep", CallFault::Timeout, "it was ended after"),
        ("hog", CallFault::Memory, "bytes of memory; a call may have"),
        ("recurse", CallFault::Stack, "exceeded its stack"),
    ] {
        let error = ask(&registry, "misbehave", &format!(r#"{{"do":"{what}"}}"#)).await.unwrap_err();
        failed_with(&error, fault, words);
        the_greeter_answers(&registry).await;
    }
    let error = ask(&registry, "misbehave", r#"{"do":"error"}"#).await.unwrap_err();
    assert!(matches!(error, CallError::Answered(_)), "an error of its own is handed on: {error}");
    ask(&registry, "misbehave", r#"{"do":"ok"}"#).await.expect("it can behave, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_lines_is_counted_and_not_kept() {
    let registry = host();
    let id = stage_active(&registry, "misbehave").await;
    for what in ["flood", "stdout"] {
        let _ = ask(&registry, "misbehave", &format!(r#"{{"do":"{what}"}}"#)).await;
        let lines = registry.log(&id).unwrap().lines();
        assert!(lines.len() <= RegistrySettings::default().log_lines, "{what}: {} lines", lines.len());
        let last = &lines.last().expect("something was kept").message;
        assert!(last.contains("more lines of this call were left out"), "{what}: {last}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_misbehaves_before_it_is_asked_is_not_let_in() {
    let registry = host();
    stage_active(&registry, "greeter_v1").await;
    for (fixture, fault) in [
        ("describe_spins", CallFault::Timeout),
        ("describe_traps", CallFault::Trap),
        ("start_spins", CallFault::Timeout),
        ("start_traps", CallFault::Trap),
    ] {
        let error = stage_error(&registry, component(fixture)).await;
        let StageError::Trial { fault: found, .. } = &error else { panic!("{fixture}: {error}") };
        assert_eq!(*found, fault, "{fixture}: {error}");
        the_greeter_answers(&registry).await;
    }
    assert_eq!(registry.list().len(), 1, "nothing that failed its trial is listed");
}

#[tokio::test]
async fn a_forbidden_import_is_refused_by_name_before_anything_runs() {
    let registry = host();
    let error = stage_error(&registry, component("sockets")).await;
    assert_eq!(error.code(), "import_refused");
    assert!(error.to_string().contains("wasi:sockets/tcp"), "{error}");
    let error = stage_error(&registry, component("wants_http")).await;
    assert_eq!(error.code(), "import_refused");
    assert!(error.to_string().contains("lakeport:host/http"), "{error}");
}

#[tokio::test]
async fn what_the_operator_withholds_keeps_a_plugin_out() {
    let mut settings = RegistrySettings::default();
    settings.policy.withhold.insert("lakeport:host/clock".to_owned());
    let registry = host_with(settings);
    let error = stage_error(&registry, component("engine_minimal")).await;
    assert!(error.to_string().contains("plugins.withhold"), "{error}");
}

#[tokio::test]
async fn each_invalid_file_has_its_error() {
    let registry = host();
    let good = component("greeter_v1");
    let wat = |text: &str| wat::parse_str(text).expect("the test's own component");
    let engine = wasmtime::Engine::default();
    for (what, bytes, code) in [
        ("empty", Vec::new(), "component_empty"),
        ("truncated", good[..good.len() / 2].to_vec(), "component_malformed"),
        ("text", b"hello".to_vec(), "component_not_wasm"),
        ("core module", wat("(module)"), "component_core_module"),
        ("no family", wat("(component)"), "component_no_family"),
        ("precompiled", engine.precompile_component(&wat("(component)")).unwrap(), "component_precompiled"),
        (
            "unknown version",
            wat(r#"(component (instance $i) (export "lakeport:tool/tool@2.0.0" (instance $i)))"#),
            "contract_version_unknown",
        ),
        (
            "an export that is not what it should be",
            wat(r#"(component (instance $i) (export "lakeport:tool/tool@0.9.0" (instance $i)))"#),
            "component_not_linkable",
        ),
    ] {
        let error = stage_error(&registry, bytes).await;
        assert_eq!(error.code(), code, "{what}: {error}");
    }
}

#[tokio::test]
async fn a_larger_component_than_is_accepted_is_not_even_read() {
    let registry = host();
    let mut bytes = component("greeter_v1");
    bytes.resize(64 * 1024 * 1024 + 1, 0);
    assert_eq!(stage_error(&registry, bytes).await.code(), "component_too_large");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_keeps_failing_is_quarantined_and_says_why() {
    let settings = RegistrySettings { quarantine_after: 5, ..RegistrySettings::default() };
    let registry = host_with(settings);
    let id = stage_active(&registry, "misbehave").await;
    for _ in 0..5 {
        ask(&registry, "misbehave", r#"{"do":"trap"}"#).await.unwrap_err();
    }
    let error = ask(&registry, "misbehave", r#"{"do":"ok"}"#).await.unwrap_err();
    let CallError::Quarantined { reason, .. } = &error else { panic!("{error}") };
    assert!(
        reason.contains("5 calls in a row of tool.call failed") && reason.contains("trapped"),
        "{reason}"
    );
    registry.release(&id).unwrap();
    ask(&registry, "misbehave", r#"{"do":"ok"}"#).await.expect("it is back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_in_flight_end_on_the_generation_they_began_with() {
    let registry = host();
    let id = stage_active(&registry, "greeter_v1").await;
    let second = registry.stage(component("greeter_v2"), Origin::Uploaded).await.unwrap().generation;
    let first = registry.view(&id).unwrap().active.clone().unwrap();
    let slow = running_call(&registry, &first, 1000).await;
    registry.activate(&id, &second.digest, None).unwrap();
    let now = ask(&registry, "greeter", "{}").await.unwrap();
    assert!(now.output.contains("2.0.0"), "{}", now.output);
    assert!(!slow.is_finished(), "the first call is still under way");
    let then = slow.await.unwrap().unwrap();
    assert!(then.output.contains("1.0.0"), "{}", then.output);
    registry.rollback(&id).unwrap();
    the_greeter_answers(&registry).await;
    let error = registry.rollback(&id).unwrap_err().to_string();
    assert!(error.contains("no previous generation"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_drain_in_time_is_ended() {
    let settings = RegistrySettings { drain: Duration::from_millis(100), ..RegistrySettings::default() };
    let registry = host_with(settings);
    let id = stage_active(&registry, "greeter_v1").await;
    let second = registry.stage(component("greeter_v2"), Origin::Uploaded).await.unwrap().generation;
    let first = registry.view(&id).unwrap().active.clone().unwrap();
    let slow = running_call(&registry, &first, 4000).await;
    registry.activate(&id, &second.digest, None).unwrap();
    failed_with(&slow.await.unwrap().unwrap_err(), CallFault::Drained, "another generation");
    assert_eq!(first.counters.snapshot().errors, 0, "being replaced is not the plugin's failure");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_canary_serves_its_share_until_rollback() {
    let registry = host();
    let id = stage_active(&registry, "greeter_v1").await;
    let second = registry.stage(component("greeter_v2"), Origin::Uploaded).await.unwrap().generation;
    registry.activate(&id, &second.digest, Some(30)).unwrap();
    let mut by_second = 0;
    for n in 0..200 {
        let outcome = support::ask_for(&registry, "greeter", "{}", &format!("user-{n}")).await.unwrap();
        by_second += usize::from(outcome.output.contains("2.0.0"));
    }
    assert!((30..90).contains(&by_second), "{by_second} of 200 went to a canary of 30 percent");
    registry.rollback(&id).unwrap();
    assert_eq!(registry.view(&id).unwrap().state(), "active");
    the_greeter_answers(&registry).await;
}

#[tokio::test]
async fn a_task_stays_with_one_generation() {
    let registry = host();
    let id = stage_active(&registry, "greeter_v1").await;
    let second = registry.stage(component("greeter_v2"), Origin::Uploaded).await.unwrap().generation;
    registry.activate(&id, &second.digest, Some(50)).unwrap();
    for task in 0..40 {
        let tool = registry.tool("greeter", &format!("topic-{task}"));
        let version = tool.info().unwrap().version.clone();
        // This task has begun on its generation; later ones get the second.
        if task == 20 {
            registry.activate(&id, &second.digest, None).unwrap();
        }
        let outcome = tool.call(CallContext::new("test"), "{}", &about()).await.unwrap();
        assert!(outcome.output.contains(&version), "{version}: {}", outcome.output);
    }
    let tool = registry.tool("greeter", "topic");
    let version = tool.info().unwrap().version.clone();
    registry.rollback(&id).unwrap();
    let outcome = tool.call(CallContext::new("test"), "{}", &about()).await.unwrap();
    assert!(version == "2.0.0" && outcome.output.contains("2.0.0"), "{}", outcome.output);
    registry.quarantine(&id, "a test").unwrap();
    let error = tool.call(CallContext::new("test"), "{}", &about()).await.unwrap_err();
    assert!(matches!(error, CallError::Quarantined { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn followed_pointers_drain_what_they_replace() {
    let settings = RegistrySettings { drain: Duration::from_millis(100), ..RegistrySettings::default() };
    let registry = host_with(settings);
    let id = stage_active(&registry, "greeter_v1").await;
    let second = registry.stage(component("greeter_v2"), Origin::Uploaded).await.unwrap().generation;
    let first = registry.view(&id).unwrap().active.clone().unwrap();
    let slow = running_call(&registry, &first, 4000).await;
    registry.restore(&id, &Pointers { active: Some(second.digest.to_string()), ..Pointers::default() });
    failed_with(&slow.await.unwrap().unwrap_err(), CallFault::Drained, "another generation");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_followed_release_forgives_failures() {
    let registry = host_with(RegistrySettings { quarantine_after: 2, ..RegistrySettings::default() });
    let id = stage_active(&registry, "misbehave").await;
    for _ in 0..2 {
        ask(&registry, "misbehave", r#"{"do":"trap"}"#).await.unwrap_err();
    }
    let view = registry.view(&id).unwrap();
    assert_eq!(view.state(), "quarantined");
    let active = view.active.as_ref().map(|generation| generation.digest.to_string());
    registry.restore(&id, &Pointers { active, ..Pointers::default() });
    ask(&registry, "misbehave", r#"{"do":"trap"}"#).await.unwrap_err();
    ask(&registry, "misbehave", r#"{"do":"ok"}"#).await.expect("one failure is not two in a row");
}

/// Sixteen places: five for tools, three of them for one tool.
const FEW: SandboxSettings = SandboxSettings { calls_max: 16, memory_max_bytes: 256 * 1024 * 1024 };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plugin_that_hangs_leaves_places_to_others() {
    let mut settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
    settings.limits.timeout = Duration::from_secs(3);
    let registry = host_of(&FEW, None, settings);
    stage_active(&registry, "greeter_v1").await;
    let id = stage_active(&registry, "misbehave").await;
    let hanging: Vec<_> = (0..40)
        .map(|_| {
            let registry = registry.clone();
            tokio::spawn(async move { ask(&registry, "misbehave", r#"{"do":"sleep"}"#).await })
        })
        .collect();
    let misbehave = registry.view(&id).unwrap().active.clone().unwrap();
    while misbehave.running() < hanging.len() {
        tokio::task::yield_now().await;
    }
    the_greeter_answers(&registry).await;
    assert!(!hanging.iter().any(tokio::task::JoinHandle::is_finished), "all of them still hang or wait");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_place_is_part_of_the_time() {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let mut settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
    settings.limits.timeout = TIMEOUT;
    let registry = host_of(&FEW, None, settings);
    let id = stage_active(&registry, "misbehave").await;
    let begun = Instant::now();
    let hanging: Vec<_> = (0..6)
        .map(|_| {
            let registry = registry.clone();
            tokio::spawn(async move { ask(&registry, "misbehave", r#"{"do":"sleep"}"#).await })
        })
        .collect();
    for call in hanging {
        let error = call.await.unwrap().unwrap_err();
        let CallError::Failed { fault, .. } = &error else { panic!("{error}") };
        assert!(matches!(fault, CallFault::Timeout | CallFault::Busy), "{error}");
    }
    assert!(begun.elapsed() < TIMEOUT.mul_f64(1.6), "a call took {:?} of {TIMEOUT:?}", begun.elapsed());
    let counters = registry.view(&id).unwrap().active.as_ref().unwrap().counters.snapshot();
    assert_eq!((counters.calls, counters.errors), (6, 3), "who found no place is not to blame");
}

#[tokio::test]
async fn an_engine_describes_itself_without_its_optional_exports() {
    let registry = host();
    let id = stage_active(&registry, "engine_minimal").await;
    let info = registry.engine(&id.name, "").info().unwrap();
    assert_eq!(info.name, "minimal");
    let view = registry.view(&id).unwrap();
    assert_eq!(view.state(), "active");
}
