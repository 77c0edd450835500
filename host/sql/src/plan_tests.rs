use lakeport_bindings::dialect::planner::{AddField, AlterField, DropField, DropTable, RenameTable};
use lakeport_bindings::dialect::schema::{DefaultValue, Table};
use lakeport_bindings::dialect::statements::{OtherToken, TextToken, Token, TypeToken};

use super::*;
use crate::names::check_names;
use crate::testing::{field, info, strings, table, text_rule};

fn profile() -> Profile {
    Profile::new(&info()).expect("the description is sound")
}

fn kw(words: &str) -> Token {
    Token::Keyword(words.to_owned())
}

fn name(parts: &[&str]) -> Token {
    Token::Name(strings(parts))
}

fn symbol(symbol: &str) -> Token {
    Token::Symbol(symbol.to_owned())
}

fn text(value: &str) -> Token {
    Token::Text(TextToken { value: value.to_owned(), rule: "literal".to_owned() })
}

fn integer() -> Token {
    Token::DataType(vec![TypeToken::Word("INTEGER".to_owned())])
}

fn action(statement: Vec<Token>) -> Action {
    Action { statement, probe: None }
}

fn step(statement: Vec<Token>, undo: Vec<Vec<Token>>) -> Step {
    Step {
        purpose: "does it".to_owned(),
        action: action(statement),
        undo: undo.into_iter().map(action).collect(),
        undo_complete: true,
        destroys: false,
        cost: "metadata".to_owned(),
        locks: "brief".to_owned(),
    }
}

fn plan(steps: Vec<Step>, new_names: &[&str]) -> ChangePlan {
    let named = |name: &&str| TableName { database: "main".to_owned(), name: (*name).to_owned() };
    ChangePlan {
        steps,
        transactional: true,
        new_names: new_names.iter().map(named).collect(),
        notes: Vec::new(),
    }
}

fn orders() -> Table {
    let mut table = table("orders", &["id", "total"]);
    table.fields[1].defaults_to = DefaultValue::Expression("1 + 1".to_owned());
    table
}

fn adding() -> Change {
    Change::AddField(AddField { current: orders(), field: field("note"), behind: None })
}

fn altering() -> Change {
    let current = orders();
    let before = current.fields[1].clone();
    let mut after = before.clone();
    after.name = "amount".to_owned();
    Change::AlterField(AlterField { current, before, after })
}

/// `ALTER TABLE "main"."orders" ADD COLUMN "note" INTEGER` and more.
fn add(more: Vec<Token>) -> Vec<Token> {
    let mut tokens =
        vec![kw("ALTER TABLE"), name(&["main", "orders"]), kw("ADD COLUMN"), name(&["note"]), integer()];
    tokens.extend(more);
    tokens
}

fn undo_add() -> Vec<Token> {
    vec![kw("ALTER TABLE"), name(&["main", "orders"]), kw("DROP COLUMN"), name(&["note"])]
}

fn refusal(change: &Change, plan: &ChangePlan) -> Refusal {
    match check_plan(&profile(), change, plan) {
        Err(PlanRefused::Plugin(refusal)) => refusal,
        other => panic!("not refused as the plugin's: {other:?}"),
    }
}

#[test]
fn a_sound_plan_is_written() {
    let steps = vec![step(add(vec![kw("DEFAULT"), text("it's; --")]), vec![undo_add()])];
    let checked = check_plan(&profile(), &adding(), &plan(steps, &[])).expect("sound");
    assert_eq!(
        checked.steps[0].action.sql.as_str(),
        r#"ALTER TABLE "main"."orders" ADD COLUMN "note" INTEGER DEFAULT 'it''s; --'"#
    );
    assert_eq!(checked.steps[0].undo[0].sql.as_str(), r#"ALTER TABLE "main"."orders" DROP COLUMN "note""#);
    assert!(!checked.rebuilds);
}

#[test]
fn hostile_statements_are_refused_with_the_rule() {
    let other = Token::Other(OtherToken { kind: "raw".to_owned(), value: "DROP".to_owned() });
    let false_type = Token::DataType(vec![TypeToken::Word("VARCHAR".to_owned())]);
    let open_type = Token::DataType(vec![
        TypeToken::Word("INTEGER".to_owned()),
        TypeToken::Symbol(",".to_owned()),
        TypeToken::Name("x".to_owned()),
    ]);
    let unknown_rule = Token::Text(TextToken { value: "x".to_owned(), rule: "raw".to_owned() });
    let cases: Vec<(Vec<Token>, &str)> = vec![
        (add(vec![kw("; DROP TABLE users")]), "words"),
        (add(vec![kw("DROP")]), "words"),
        (add(vec![kw("NOT  NULL")]), "words"),
        (add(vec![kw("CHECK")]), "words"),
        (add(vec![symbol(","), name(&["id"])]), "names"),
        (add(vec![symbol(";")]), "shape"),
        (add(vec![symbol(")")]), "shape"),
        (add(vec![symbol("(")]), "shape"),
        (add(vec![Token::Number("1; DROP".to_owned())]), "shape"),
        (add(vec![false_type]), "data_type"),
        (add(vec![open_type]), "data_type"),
        (add(vec![unknown_rule]), "text_rule"),
        (add(vec![Token::Expression("2 + 2".to_owned())]), "expression"),
        (add(vec![other]), "unknown_token"),
        (add(vec![Token::HostValue("session-id".to_owned())]), "host_value"),
        (add(vec![kw("DEFAULT"); 30_000]), "limits"),
        (vec![kw("DROP TABLE"), name(&["main", "orders"])], "head"),
        (vec![name(&["orders"])], "head"),
        (vec![kw("ALTER TABLE"), name(&["main", "users"]), kw("ADD COLUMN"), name(&["note"])], "names"),
        (vec![kw("ALTER TABLE"), name(&["other", "orders"]), kw("ADD COLUMN"), name(&["note"])], "names"),
        // A field of the change is not a table, whatever its name.
        (vec![kw("ALTER TABLE"), name(&["note"]), kw("ADD COLUMN"), name(&["note"]), integer()], "names"),
    ];
    for (statement, rule) in cases {
        let found = refusal(&adding(), &plan(vec![step(statement.clone(), vec![])], &[]));
        assert_eq!(found.rule, rule, "{found} for {:?}", statement.get(..6));
        assert_eq!(found.place, "steps[0].action");
    }
}

#[test]
fn expressions_must_be_harmless_too() {
    let mut current = orders();
    for text in ["(SELECT 1)", "1) , (y INT", "1 -- x"] {
        current.fields[1].defaults_to = DefaultValue::Expression(text.to_owned());
        let change =
            Change::AddField(AddField { current: current.clone(), field: field("note"), behind: None });
        let statement =
            add(vec![kw("DEFAULT"), symbol("("), Token::Expression(text.to_owned()), symbol(")")]);
        let found = refusal(&change, &plan(vec![step(statement, vec![])], &[]));
        assert!(matches!(found.rule, "expression" | "reread"), "{text}: {found}");
    }
    current.fields[1].defaults_to = DefaultValue::Expression("load_extension('x')".to_owned());
    let change = Change::AddField(AddField { current, field: field("note"), behind: None });
    let reaching = Token::Expression("load_extension('x')".to_owned());
    let statement = add(vec![kw("DEFAULT"), symbol("("), reaching, symbol(")")]);
    match check_plan(&profile(), &change, &plan(vec![step(statement, vec![])], &[])) {
        Err(PlanRefused::Text(problem)) => assert!(problem.message.contains("load_extension"), "{problem:?}"),
        other => panic!("{other:?}"),
    }
    let statement = add(vec![kw("DEFAULT"), symbol("("), Token::Expression("1 + 1".to_owned()), symbol(")")]);
    assert!(check_plan(&profile(), &adding(), &plan(vec![step(statement, vec![])], &[])).is_ok());
}

#[test]
fn a_false_escape_rule_is_seen() {
    let mut info = info();
    info.quoting.texts = vec![text_rule("literal", "backslash")];
    let profile = Profile::new(&info).expect("the rule is a known one");
    let statement = add(vec![kw("DEFAULT"), text("x'; DROP TABLE users; --")]);
    match check_plan(&profile, &adding(), &plan(vec![step(statement, vec![])], &[])) {
        Err(PlanRefused::Plugin(found)) => assert_eq!(found.rule, "reread", "{found}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_rule_cannot_carry_is_the_users_matter() {
    let mut info = info();
    info.quoting.texts = vec![text_rule("literal", "verbatim")];
    let profile = Profile::new(&info).expect("the rule is a known one");
    let statement = add(vec![kw("DEFAULT"), text("it's")]);
    match check_plan(&profile, &adding(), &plan(vec![step(statement, vec![])], &[])) {
        Err(PlanRefused::Text(problem)) => assert_eq!(problem.code, "not_representable"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_undo_is_the_reverse_and_no_more() {
    let drops_table = vec![kw("DROP TABLE"), name(&["main", "orders"])];
    let found = refusal(&adding(), &plan(vec![step(add(vec![]), vec![drops_table])], &[]));
    assert_eq!(found.rule, "rebuild", "{found}");
    let drops_other = vec![kw("ALTER TABLE"), name(&["main", "orders"]), kw("DROP COLUMN"), name(&["id"])];
    let found = refusal(&adding(), &plan(vec![step(add(vec![]), vec![drops_other])], &[]));
    assert_eq!((found.rule, found.place.as_str()), ("names", "steps[0].undo[0]"));
    let change = Change::DropField(DropField { current: orders(), field: "total".to_owned() });
    let drop = vec![kw("ALTER TABLE"), name(&["main", "orders"]), kw("DROP COLUMN"), name(&["total"])];
    let drop_again = drop.clone();
    let found = refusal(&change, &plan(vec![step(drop, vec![drop_again])], &[]));
    assert_eq!(found.place, "steps[0].undo[0]");
}

#[test]
fn new_names_are_announced_and_new() {
    let change = Change::RenameTable(RenameTable { current: orders(), new_name: "bills".to_owned() });
    let rename = |to: &str| vec![kw("ALTER TABLE"), name(&["main", "orders"]), kw("RENAME TO"), name(&[to])];
    assert!(check_plan(&profile(), &change, &plan(vec![step(rename("bills"), vec![])], &[])).is_ok());
    let found = refusal(&change, &plan(vec![step(rename("users"), vec![])], &[]));
    assert_eq!(found.rule, "names");
    for taken in ["orders", "bills"] {
        assert_eq!(refusal(&change, &plan(vec![], &[taken])).rule, "new_names");
    }
    let mut elsewhere = plan(vec![], &["x"]);
    elsewhere.new_names[0].database = "other".to_owned();
    assert_eq!(refusal(&change, &elsewhere).rule, "new_names");
    let change = Change::DropTable(DropTable { current: orders(), at_once: true });
    let both = vec![kw("DROP TABLE"), name(&["orders"]), symbol(","), name(&["users"])];
    assert_eq!(refusal(&change, &plan(vec![step(both, vec![])], &[])).rule, "names");
}

fn rebuild() -> Vec<Vec<Token>> {
    vec![
        vec![
            kw("CREATE TABLE"),
            name(&["main", "new"]),
            symbol("("),
            name(&["id"]),
            integer(),
            symbol(","),
            name(&["amount"]),
            integer(),
            symbol(")"),
        ],
        vec![
            kw("INSERT INTO"),
            name(&["main", "new"]),
            symbol("("),
            name(&["id"]),
            symbol(","),
            name(&["amount"]),
            symbol(")"),
            kw("SELECT"),
            name(&["id"]),
            symbol(","),
            kw("CAST"),
            symbol("("),
            name(&["total"]),
            kw("AS"),
            integer(),
            symbol(")"),
            kw("FROM"),
            name(&["main", "orders"]),
        ],
        vec![kw("DROP TABLE"), name(&["main", "orders"])],
        vec![kw("ALTER TABLE"), name(&["main", "new"]), kw("RENAME TO"), name(&["orders"])],
    ]
}

fn rebuilt(statements: Vec<Vec<Token>>) -> ChangePlan {
    plan(statements.into_iter().map(|tokens| step(tokens, vec![])).collect(), &["new"])
}

#[test]
fn rebuilding_a_table_keeps_its_rows() {
    let checked = check_plan(&profile(), &altering(), &rebuilt(rebuild())).expect("a sound rebuild");
    assert!(checked.rebuilds);
    assert_eq!(
        checked.steps[1].action.sql.as_str(),
        r#"INSERT INTO "main"."new" ("id", "amount") SELECT "id", CAST ("total" AS INTEGER) FROM "main"."orders""#
    );
    let mut undone = rebuilt(rebuild());
    undone.steps[0].undo = vec![action(vec![kw("DROP TABLE"), name(&["main", "new"])])];
    assert!(check_plan(&profile(), &altering(), &undone).is_ok());
    let mut apart = rebuilt(rebuild());
    apart.transactional = false;
    assert_eq!(refusal(&altering(), &apart).rule, "rebuild");
}

#[test]
fn a_rebuild_that_loses_something_is_refused() {
    let cases: [fn(&mut Vec<Vec<Token>>); 8] = [
        // Dropped before it was copied; not copied; copied from nothing; not renamed back.
        |steps| steps.swap(1, 2),
        |steps| drop(steps.remove(1)),
        |steps| steps[1][17] = name(&["main", "new"]),
        |steps| drop(steps.pop()),
        // Fields swapped, left out, copied under conditions.
        |steps| steps[1].swap(8, 12),
        |steps| {
            steps[1].drain(9..16);
            steps[1].drain(4..6);
        },
        |steps| steps[1].extend([kw("FROM"), name(&["orders"])]),
        |steps| steps[2].extend([symbol(","), name(&["new"])]),
    ];
    for (index, spoil) in cases.iter().enumerate() {
        let mut statements = rebuild();
        spoil(&mut statements);
        let found = refusal(&altering(), &rebuilt(statements));
        assert!(matches!(found.rule, "rebuild" | "names"), "case {index}: {found}");
    }
    assert_eq!(refusal(&adding(), &rebuilt(rebuild())).rule, "head");
}

#[test]
fn limits_of_plans() {
    let many = (0..=STEPS_MAX).map(|_| step(add(vec![]), vec![])).collect();
    assert_eq!(refusal(&adding(), &plan(many, &[])).rule, "limits");
    let mut asked = plan(vec![step(add(vec![]), vec![])], &[]);
    asked.steps[0].action.probe = Some(Probe {
        query: Vec::new(),
        key_column: None,
        rules: Vec::new(),
        otherwise: "done".to_owned(),
        when_empty: "done".to_owned(),
        message_column: None,
        poll_ms: 100,
        abort: Vec::new(),
    });
    assert_eq!(refusal(&adding(), &asked).rule, "transaction");
    asked.transactional = false;
    assert_eq!(refusal(&adding(), &asked).rule, "probe");
}

#[test]
fn names_are_checked_before_planning() {
    let codes = |change: &Change| {
        let found = check_names(&profile(), change).into_iter();
        found.map(|problem| format!("{} {}", problem.member, problem.code)).collect::<Vec<_>>()
    };
    let long = "x".repeat(65);
    let created = Change::CreateTable(table(&long, &["a", "a", &long, ""]));
    assert_eq!(
        codes(&created),
        [
            "tableName name_too_long",
            "fields[1].fieldName conflict",
            "fields[2].fieldName name_too_long",
            "fields[3].fieldName invalid_name"
        ]
    );
    assert!(codes(&adding()).is_empty());
    let taken = Change::AddField(AddField { current: orders(), field: field("total"), behind: None });
    assert_eq!(codes(&taken), ["fieldName conflict"]);
    assert!(codes(&Change::CreateTable(table("表 \"x\"", &["选择", "select"]))).is_empty());
}

#[test]
fn a_table_is_renamed_away_in_no_spelling() {
    let (orders, new) = (|| name(&["main", "orders"]), || name(&["new"]));
    let renaming_type = Token::DataType(vec![TypeToken::Word("RENAME".to_owned())]);
    let cases = [
        vec![kw("ALTER TABLE"), orders(), kw("RENAME"), kw("TO"), new()],
        vec![kw("ALTER"), kw("TABLE"), orders(), kw("rename"), kw("to"), new()],
        vec![kw("ALTER"), kw("TABLE"), orders(), kw("RENAME TO"), new()],
        vec![kw("ALTER TABLE"), orders(), kw("RENAME"), new()],
        vec![kw("ALTER TABLE"), orders(), renaming_type, kw("TO"), new()],
        vec![
            kw("ALTER TABLE"),
            orders(),
            kw("RENAME COLUMN"),
            name(&["total"]),
            kw("TO"),
            name(&["amount"]),
            symbol(","),
            kw("RENAME TO"),
            new(),
        ],
    ];
    let mut described = info();
    described.type_words.push("RENAME".to_owned());
    assert!(Profile::new(&described).is_err(), "no word of a type");
    let profile = Profile::new(&info()).expect("sound");
    for (index, statement) in cases.into_iter().enumerate() {
        match check_plan(&profile, &altering(), &rebuilt(vec![statement])) {
            Err(PlanRefused::Plugin(found)) => {
                assert!(matches!(found.rule, "rebuild" | "names" | "data_type"), "case {index}: {found}");
            }
            other => panic!("case {index}: {other:?}"),
        }
    }
    for column in [vec![kw("RENAME COLUMN")], vec![kw("RENAME"), kw("COLUMN")]] {
        let mut statement = vec![kw("ALTER TABLE"), orders()];
        statement.extend(column);
        statement.extend([name(&["total"]), kw("TO"), name(&["amount"])]);
        let plan = plan(vec![step(statement, vec![])], &[]);
        assert!(check_plan(&profile, &altering(), &plan).is_ok());
    }
}
