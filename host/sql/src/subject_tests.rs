use lakeport_bindings::dialect::about::{TextRule, Vocabulary};
use lakeport_bindings::dialect::planner::{AddField, Change, ChangePlan, DropField, SetCount};
use lakeport_bindings::dialect::statements::{Action, Step, TextToken, Token, TypeToken};

use crate::plan::{PlanRefused, check_plan};
use crate::profile::Profile;
use crate::testing::{field, info, strings, table, text_rule};

fn kw(words: &str) -> Token {
    Token::Keyword(words.to_owned())
}

fn name(parts: &[&str]) -> Token {
    Token::Name(strings(parts))
}

fn altering(more: Vec<Token>) -> Vec<Token> {
    [vec![kw("ALTER TABLE"), name(&["main", "orders"])], more].concat()
}

fn plan(statement: Vec<Token>, undo: Option<Vec<Token>>) -> ChangePlan {
    let action = |statement| Action { statement, probe: None };
    let step = Step {
        purpose: "does it".to_owned(),
        action: action(statement),
        undo: undo.into_iter().map(action).collect(),
        undo_complete: true,
        destroys: false,
        cost: "metadata".to_owned(),
        locks: "brief".to_owned(),
    };
    ChangePlan { steps: vec![step], transactional: true, new_names: Vec::new(), notes: Vec::new() }
}

/// The statement and its undo as written, or the rule that refuses them.
fn judged(
    profile: &Profile,
    change: &Change,
    plan: &ChangePlan,
) -> Result<(String, Option<String>), &'static str> {
    match check_plan(profile, change, plan) {
        Ok(checked) => {
            let step = &checked.steps[0];
            Ok((step.action.sql.to_string(), step.undo.first().map(|undo| undo.sql.to_string())))
        }
        Err(PlanRefused::Plugin(found)) => Err(found.rule),
        Err(PlanRefused::Text(problem)) => panic!("{problem:?}"),
    }
}

#[test]
fn undoing_a_drop_restores_the_position() {
    let mut info = info();
    for vocabulary in &mut info.vocabularies {
        vocabulary.words.push("AFTER".to_owned());
    }
    let profile = Profile::new(&info).expect("sound");
    let current = table("orders", &["id", "note", "total"]);
    let change = Change::DropField(DropField { current, field: "total".to_owned() });
    let drop = |field: &str| altering(vec![kw("DROP COLUMN"), name(&[field])]);
    let back = |words: &str, other: &str| {
        let integer = Token::DataType(vec![TypeToken::Word("INTEGER".to_owned())]);
        let undo = altering(vec![kw("ADD COLUMN"), name(&["total"]), integer, kw(words), name(&[other])]);
        judged(&profile, &change, &plan(drop("total"), Some(undo)))
    };
    let undo = back("AFTER", "note").expect("sound").1.expect("there is one");
    assert_eq!(undo, r#"ALTER TABLE "main"."orders" ADD COLUMN "total" INTEGER AFTER "note""#);
    assert_eq!(back("AFTER", "id"), Err("names"));
    assert_eq!(back("DEFAULT", "note"), Err("names"));
    // The statement itself may not name it, after that word or another.
    assert_eq!(judged(&profile, &change, &plan(drop("note"), None)), Err("names"));
    let behind = [drop("total"), vec![kw("AFTER"), name(&["note"])]].concat();
    assert_eq!(judged(&profile, &change, &plan(behind, None)), Err("names"));
}

#[test]
fn bucket_changes_name_the_distribution_fields() {
    let mut info = info();
    info.vocabularies.push(Vocabulary {
        operation: "set_buckets".to_owned(),
        heads: strings(&["ALTER TABLE"]),
        words: strings(&["DISTRIBUTED", "BY", "HASH", "BUCKETS"]),
    });
    let profile = Profile::new(&info).expect("sound");
    let mut current = table("orders", &["id", "total"]);
    current.distribution = strings(&["id"]);
    let change = Change::SetBuckets(SetCount { current, count: 8 });
    let spread = |field: &str| {
        let symbol = |symbol: &str| Token::Symbol(symbol.to_owned());
        let by = vec![kw("DISTRIBUTED BY HASH"), symbol("("), name(&[field]), symbol(")"), kw("BUCKETS")];
        let statement = altering([by, vec![Token::Number("8".to_owned())]].concat());
        judged(&profile, &change, &plan(statement, None))
    };
    let (sql, _) = spread("id").expect("sound");
    assert_eq!(sql, r#"ALTER TABLE "main"."orders" DISTRIBUTED BY HASH ("id") BUCKETS 8"#);
    assert_eq!(spread("total"), Err("names"));
}

#[test]
fn mysql_reads_an_escaped_quote_in_one_way() {
    let mut info = info();
    info.transport = "mysql".to_owned();
    info.quoting.name_quote = "`".to_owned();
    info.quoting.texts = vec![TextRule { quotes: strings(&["\""]), ..text_rule("literal", "backslash") }];
    let profile = Profile::new(&info).expect("sound");
    let current = table("orders", &["id"]);
    let change = Change::AddField(AddField { current, field: field("note"), behind: None });
    let text = Token::Text(TextToken { value: r#"it's "so\"#.to_owned(), rule: "literal".to_owned() });
    let integer = Token::DataType(vec![TypeToken::Word("INTEGER".to_owned())]);
    let statement = altering(vec![kw("ADD COLUMN"), name(&["note"]), integer, kw("DEFAULT"), text]);
    let (sql, _) = judged(&profile, &change, &plan(statement, None)).expect("sound");
    assert!(sql.ends_with(r#"DEFAULT "it's \"so\\""#), "{sql}");
}
