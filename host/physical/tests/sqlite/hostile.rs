//! A dialect that plans and sends forbidden statements. Each attack fails: the file stays byte for byte the
//! same, and the error names the rule.

use lakeport_bindings::dialect::planner::{AddField, Change};
use lakeport_bindings::dialect::schema::{DefaultValue, ServerInfo, TableName};
use lakeport_bindings::host::types::Error;
use lakeport_physical::{Lent, Loan, Reading, RunError, RunStatus};
use lakeport_plugins::{CallContext, CallError, CallFault};
use sqlx::{Connection, Executor};

use crate::support::{Bench, dialect_of, dialect_quarantined_after, field, named, table};

const VICTIM: &str = "CREATE TABLE victim (secret INTEGER)";
const OWN: &str = "CREATE TABLE own (id INTEGER)";

const HOSTILE: &str = "plugin-fixture/examples/hostile_dialect.wasm";

async fn bench() -> Bench {
    let dialect = dialect_of(HOSTILE).await;
    Bench::with(dialect, &[VICTIM, "INSERT INTO victim VALUES (42)", OWN]).await
}

fn adding(attack: &str) -> Change {
    let mut added = field("note", "INTEGER");
    attack.clone_into(&mut added.comment);
    Change::AddField(AddField { current: named("own"), field: added, behind: None })
}

fn creating(attack: &str) -> Change {
    let mut wanted = table("fresh", vec![field("a", "INTEGER")]);
    attack.clone_into(&mut wanted.comment);
    Change::CreateTable(wanted)
}

#[tokio::test]
async fn refused_plans_quarantine_their_dialect() {
    let bench = Bench::with(dialect_quarantined_after(3, HOSTILE).await, &[VICTIM, OWN]).await;
    for attack in ["drop_head", "other_table", "many_steps"] {
        let refused = bench.run(adding(attack)).await;
        assert!(matches!(refused, Err(RunError::Refused(_))), "{attack}: {refused:?}");
    }
    match bench.run(adding("drop_head")).await {
        Err(RunError::Dialect(CallError::Quarantined { reason, .. })) => {
            assert!(reason.starts_with("3 calls in a row of planner.plan failed"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_plan_is_refused_by_its_rule() {
    let bench = bench().await;
    let before = bench.bytes();
    for (attack, rule) in [
        ("keyword_semicolon", "words"),
        ("keyword_comment", "words"),
        ("keyword_not_declared", "words"),
        ("keyword_denied", "words"),
        ("drop_head", "head"),
        ("other_table", "names"),
        ("name_not_announced", "names"),
        ("name_breaks_out", "names"),
        ("name_with_nul", "names"),
        ("unknown_rule", "text_rule"),
        ("false_rule", "reread"),
        ("false_rule_ends_late", "reread"),
        ("type_word", "data_type"),
        ("type_text", "data_type"),
        ("type_bracket", "data_type"),
        ("expression_of_its_own", "expression"),
        ("expression_handed_in", "expression"),
        ("second_statement", "shape"),
        ("many_tokens", "head"),
        ("other_token", "unknown_token"),
        ("host_value", "host_value"),
        ("number", "shape"),
        ("number_comment", "shape"),
        ("open_bracket", "shape"),
        ("no_statement", "head"),
        ("own_name", "new_names"),
        ("other_database", "new_names"),
        ("many_steps", "limits"),
        ("dropping_undo", "head"),
        ("hostile_probe", "probe"),
        ("second_step_drops", "head"),
    ] {
        match bench.run(adding(attack)).await {
            Err(RunError::Refused(refusal)) => {
                assert_eq!(refusal.rule, rule, "{attack}: {refusal}");
                assert!(refusal.message.len() < 1_000, "{attack}: a message of {}", refusal.message.len());
            }
            other => panic!("{attack}: {other:?}"),
        }
        assert_eq!(bench.bytes(), before, "{attack}");
    }
    let taken = bench.run(adding("taken_name")).await;
    assert!(matches!(&taken, Err(RunError::NameTaken(message)) if message.contains("victim")), "{taken:?}");
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn a_new_table_is_no_better_way_in() {
    let bench = bench().await;
    let before = bench.bytes();
    for attack in
        ["keyword_semicolon", "other_table", "second_step_drops", "second_statement", "dropping_undo"]
    {
        match bench.run(creating(attack)).await {
            Err(RunError::Refused(_)) => {}
            other => panic!("{attack}: {other:?}"),
        }
        assert_eq!(bench.bytes(), before, "{attack}");
    }
}

#[tokio::test]
async fn an_expression_that_was_handed_in_must_be_harmless_itself() {
    let bench = bench().await;
    let before = bench.bytes();
    for text in ["(SELECT max(secret) FROM victim)", "1), x INTEGER DEFAULT (1", "1 --"] {
        let mut added = field("note", "INTEGER");
        "expression_handed_in".clone_into(&mut added.comment);
        added.defaults_to = DefaultValue::Expression(text.to_owned());
        let change = Change::AddField(AddField { current: named("own"), field: added, behind: None });
        match bench.run(change).await {
            Err(RunError::Refused(refusal)) => {
                assert!(matches!(refusal.rule, "expression" | "reread"), "{text}: {refusal}");
            }
            other => panic!("{text}: {other:?}"),
        }
        assert_eq!(bench.bytes(), before, "{text}");
    }
}

#[tokio::test]
async fn a_plan_that_gives_something_else_is_taken_back() {
    let bench = bench().await;
    let schema = bench.schema().await;
    // The dialect omits the requested default from its plan.
    let mut added = field("note", "INTEGER");
    added.defaults_to = DefaultValue::Number("7".to_owned());
    let change = Change::AddField(AddField { current: named("own"), field: added, behind: None });
    let outcome = bench.run(change).await.expect("the plan itself is sound");
    assert_eq!(outcome.status, RunStatus::TakenBack);
    assert_eq!(outcome.drift[0].member, "fields[1].defaultValue");
    assert_eq!(bench.schema().await, schema);
    // The same dialect can be honest.
    let outcome = bench.run(adding("")).await.expect("honest");
    assert_eq!(outcome.status, RunStatus::Done, "{:?}", outcome.drift);
}

async fn ddl(bench: &Bench, attack: &str) -> Result<String, CallError> {
    let (_, profile) = bench.dialect.described().expect("active");
    let name = TableName { database: "main".to_owned(), name: attack.to_owned() };
    let loan = Loan { profile, about: vec![name.clone()] };
    let lent = Box::new(
        Lent::on(&Reading::open(&bench.database()).await.expect("opens"), loan).expect("it is for such"),
    );
    let server = ServerInfo { product: "SQLite".into(), version: "3".into(), facts: "{}".into() };
    bench.dialect.ddl(CallContext::new("test"), lent, &server, &name).await
}

fn rule(error: &Error) -> &str {
    error.context.iter().find(|(name, _)| name == "rule").map(|(_, rule)| rule.as_str()).unwrap_or_default()
}

#[tokio::test]
async fn each_hostile_read_is_refused() {
    let bench = bench().await;
    let before = bench.bytes();
    for attack in [
        "delete",
        "delete_returning",
        "insert",
        "update",
        "drop",
        "two_statements",
        "second_hidden",
        "attach",
        "pragma",
        "pragma_function",
        "vacuum",
        "load_extension",
        "writefile",
        "other_table",
        "subquery",
        "join",
        "shadowed",
        "placeholder",
        "nothing",
        "name_of_another",
        "name_breaks_out",
    ] {
        match ddl(&bench, attack).await {
            Err(CallError::Answered(error)) => {
                assert_eq!(error.code, "guard_refused", "{attack}: {}", error.message);
                assert!(!rule(&error).is_empty(), "{attack}");
            }
            other => panic!("{attack}: {other:?}"),
        }
        assert_eq!(bench.bytes(), before, "{attack}");
    }
    let echoed = ddl(&bench, "value_breaks_out").await.expect("a value is only a value");
    assert!(echoed.contains("1 rows"), "{echoed}");
    match ddl(&bench, "many_queries").await {
        Err(CallError::Answered(error)) => assert_eq!(error.code, "limit_exceeded"),
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn an_endless_read_ends_with_its_call() {
    let bench = bench().await;
    match ddl(&bench, "endless").await {
        Err(CallError::Failed { fault, .. }) => assert_eq!(fault, CallFault::Timeout),
        other => panic!("{other:?}"),
    }
    // Nothing keeps running: another program can lock the file.
    let mut other = bench.connect(false).await;
    other.execute("BEGIN EXCLUSIVE").await.expect("no reader is left");
    other.close().await.expect("closes");
}
