//! A huge answer, alone in its process, which measures memory.

mod support;

use lakeport_plugins::{CallError, CallFault};

use support::{ask, host, stage_active};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_a_gibibyte_is_refused_without_being_taken() {
    let registry = host();
    stage_active(&registry, "misbehave").await;
    let before = support::resident_bytes();
    for what in ["answer", "answer_repeated"] {
        let error = ask(&registry, "misbehave", &format!(r#"{{"do":"{what}"}}"#)).await.unwrap_err();
        let CallError::Failed { fault, .. } = &error else { panic!("{what}: {error}") };
        assert!(matches!(fault, CallFault::Answer | CallFault::Memory), "{what}: {error}");
    }
    let grown = support::resident_bytes().saturating_sub(before);
    assert!(grown < 300 * 1024 * 1024, "the host grew by {grown} bytes");
}
