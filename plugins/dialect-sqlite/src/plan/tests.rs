use lakeport_sdk::dialect::{
    Action, AddField, AlterField, CommentTable, DefaultValue, DropField, DropTable, Field, OtherChange,
    RenameTable, SetCount, Table, TableName, Token, TypeToken,
};

use super::*;
use crate::facts::TableFacts;

/// Tokens as SQL text.
fn said(tokens: &[Token]) -> String {
    let one = |token: &Token| match token {
        Token::Keyword(words) => words.clone(),
        Token::Name(parts) => parts.iter().map(|part| format!("\"{part}\"")).collect::<Vec<_>>().join("."),
        Token::Text(text) => format!("{}:'{}'", text.rule, text.value),
        Token::Number(digits) => digits.clone(),
        Token::DataType(tokens) => {
            let part = |token: &TypeToken| match token {
                TypeToken::Word(text) | TypeToken::Symbol(text) => text.clone(),
                TypeToken::Number(number) => number.to_string(),
                other => panic!("{other:?}"),
            };
            format!("<{}>", tokens.iter().map(part).collect::<Vec<_>>().join(" "))
        }
        Token::Symbol(symbol) => symbol.clone(),
        Token::Expression(text) => format!("{{{text}}}"),
        other => panic!("{other:?}"),
    };
    tokens.iter().map(one).collect::<Vec<_>>().join(" ")
}

fn actions(actions: &[Action]) -> Vec<String> {
    actions.iter().map(|action| said(&action.statement)).collect()
}

fn steps(plan: &ChangePlan) -> Vec<String> {
    plan.steps.iter().map(|step| said(&step.action.statement)).collect()
}

/// The undo, from the last step to the first.
fn undo(plan: &ChangePlan) -> Vec<String> {
    plan.steps.iter().rev().flat_map(|step| actions(&step.undo)).collect()
}

fn server() -> ServerInfo {
    ServerInfo { product: "SQLite".to_owned(), version: "3.45.1".to_owned(), facts: "{}".to_owned() }
}

fn old_server() -> ServerInfo {
    ServerInfo { version: "3.20.0".to_owned(), ..server() }
}

fn field(name: &str, type_text: &str) -> Field {
    Field::new(name, type_text)
}

/// `orders (id INTEGER NOT NULL key, note TEXT default, total DECIMAL(10,2))`, as it was read.
fn orders() -> Table {
    let facts = TableFacts { understood: true, ..TableFacts::default() };
    Table {
        extra: Some(facts.to_json()),
        ..Table::new(
            TableName::new("main", "orders"),
            vec![
                Field { nullable: false, key: true, ..field("id", "INTEGER") },
                Field { defaults_to: DefaultValue::Text("it's".to_owned()), ..field("note", "TEXT") },
                Field {
                    defaults_to: DefaultValue::Expression("1 + 1".to_owned()),
                    ..field("total", "decimal(10, 2)")
                },
            ],
        )
    }
}

fn planned(change: Change) -> ChangePlan {
    plan(&server(), &change).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Members and codes of the problems.
fn refused(server: &ServerInfo, change: Change) -> Vec<(String, String)> {
    let problems = plan(server, &change).expect_err("the change is impossible");
    for problem in &problems {
        assert!(problem.message.len() > 15, "{problem:?}");
    }
    problems.into_iter().map(|problem| (problem.member, problem.code)).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(member, code)| ((*member).to_owned(), (*code).to_owned())).collect()
}

fn note_members(plan: &ChangePlan) -> Vec<&str> {
    assert!(plan.notes.iter().all(|note| note.code == "adjusted"));
    plan.notes.iter().map(|note| note.member.as_str()).collect()
}

fn alter(table: Table, name: &str, change: impl FnOnce(&mut Field)) -> Change {
    let before = table.fields.iter().find(|field| field.name == name).expect("the table has it").clone();
    let mut after = before.clone();
    change(&mut after);
    Change::AlterField(AlterField { current: table, before, after })
}

fn add(field: Field) -> Change {
    Change::AddField(AddField { current: orders(), field, behind: None })
}

fn drop_field(table: Table, name: &str) -> Change {
    Change::DropField(DropField { current: table, field: name.to_owned() })
}

#[test]
fn a_table_is_created_with_its_key() {
    let mut table = Table { comment: "what was ordered".to_owned(), extra: None, ..orders() };
    table.fields[2].comment = "in euros".to_owned();
    let plan = planned(Change::CreateTable(table));
    assert_eq!(
        steps(&plan),
        [
            r#"CREATE TABLE "main"."orders" ( "id" <INTEGER> NOT NULL , "note" <TEXT> DEFAULT literal:'it's' , "total" <DECIMAL ( 10 , 2 )> DEFAULT ( {1 + 1} ) , PRIMARY KEY ( "id" ) )"#
        ]
    );
    assert_eq!(undo(&plan), [r#"DROP TABLE "main"."orders""#]);
    assert!(plan.transactional && plan.steps[0].undo_complete && !plan.steps[0].destroys);
    assert_eq!(note_members(&plan), ["tableComment", "fields[2].fieldComment"]);
}

#[test]
fn each_kind_of_default_is_written() {
    let defaults = [
        (DefaultValue::Null, "DEFAULT NULL"),
        (DefaultValue::Number("-1.5".to_owned()), "DEFAULT -1.5"),
        (DefaultValue::Boolean(true), "DEFAULT TRUE"),
        (DefaultValue::Boolean(false), "DEFAULT FALSE"),
        (DefaultValue::Now(0), "DEFAULT CURRENT_TIMESTAMP"),
    ];
    for (default, expected) in defaults {
        let table = Table {
            fields: vec![Field { defaults_to: default, ..field("a", "ANY") }],
            keys: Vec::new(),
            ..orders()
        };
        let plan = planned(Change::CreateTable(table));
        assert_eq!(steps(&plan), [format!(r#"CREATE TABLE "main"."orders" ( "a" <ANY> {expected} )"#)]);
    }
}

#[test]
fn all_errors_of_a_new_table_together() {
    let table = Table {
        name: TableName::new("main", "SQLite_orders"),
        model: Some("DUPLICATE".to_owned()),
        buckets: Some(3),
        replicas: Some(2),
        distribution: vec!["id".to_owned()],
        partition: vec!["id".to_owned()],
        keys: vec!["id".to_owned(), "nobody".to_owned()],
        fields: vec![
            field("id", "INT COMMENT 'x'"),
            Field { defaults_to: DefaultValue::Now(3), ..field("ID", "TEXT") },
        ],
        ..orders()
    };
    assert_eq!(
        refused(&server(), Change::CreateTable(table)),
        pairs(&[
            ("tableName", "invalid_name"),
            ("tableModel", "unsupported_by_dialect"),
            ("distributionColumn", "unsupported_by_dialect"),
            ("bucketNum", "unsupported_by_dialect"),
            ("replicaNum", "unsupported_by_dialect"),
            ("partitionColumn", "unsupported_by_dialect"),
            ("fields[0].fieldType", "invalid_value"),
            ("fields[1].defaultValue", "not_representable"),
            ("fields[1].fieldName", "conflict"),
            ("keyColumns", "invalid_value"),
        ])
    );
    let empty = Table { fields: Vec::new(), keys: Vec::new(), ..orders() };
    assert_eq!(refused(&server(), Change::CreateTable(empty)), pairs(&[("fields", "missing")]));
}

#[test]
fn a_table_is_renamed_and_back() {
    let rename = |name: &str| RenameTable { current: orders(), new_name: name.to_owned() };
    for change in [Change::RenameTable(rename("orders\"2")), Change::RestoreTable(rename("orders\"2"))] {
        let plan = planned(change);
        assert_eq!(steps(&plan), [r#"ALTER TABLE "main"."orders" RENAME TO "orders"2""#]);
        assert_eq!(undo(&plan), [r#"ALTER TABLE "main"."orders"2" RENAME TO "orders""#]);
        assert!(plan.steps[0].undo_complete);
    }
    assert_eq!(steps(&planned(Change::RenameTable(rename("orders")))), [""; 0]);
    let member = "tableName";
    assert_eq!(
        refused(&server(), Change::RenameTable(rename("ORDERS"))),
        pairs(&[(member, "unsupported_by_dialect")])
    );
    assert_eq!(
        refused(&server(), Change::RenameTable(rename("sqlite_x"))),
        pairs(&[(member, "invalid_name")])
    );
    let view =
        RenameTable { current: Table { kind: "view".to_owned(), ..orders() }, new_name: "v".to_owned() };
    assert_eq!(refused(&server(), Change::RenameTable(view)), pairs(&[("", "unsupported_by_dialect")]));
}

#[test]
fn a_table_is_dropped_unless_others_refer_to_it() {
    let drop = |current: Table| Change::DropTable(DropTable { current, at_once: true });
    let plan = planned(drop(orders()));
    assert_eq!(steps(&plan), [r#"DROP TABLE "main"."orders""#]);
    assert_eq!(undo(&plan), steps(&planned(Change::CreateTable(orders()))));
    assert!(plan.steps[0].destroys && !plan.steps[0].undo_complete);

    let facts = TableFacts { understood: true, indexes: vec!["by_day".to_owned()], ..TableFacts::default() };
    let indexed = Table { extra: Some(facts.to_json()), ..orders() };
    assert_eq!(undo(&planned(drop(indexed))), [""; 0]);

    let facts =
        TableFacts { understood: true, referenced_by: vec!["lines".to_owned()], ..TableFacts::default() };
    let parent = Table { extra: Some(facts.to_json()), ..orders() };
    assert_eq!(refused(&server(), drop(parent)), pairs(&[("", "conflict")]));
}

#[test]
fn comments_are_kept_by_lakeport_alone() {
    let change = |comment: &str| CommentTable { current: orders(), comment: comment.to_owned() };
    let plan = planned(Change::CommentTable(change("new")));
    assert_eq!((plan.steps.len(), note_members(&plan)), (0, vec!["tableComment"]));
    assert!(planned(Change::CommentTable(change(""))).notes.is_empty());
    let plan = planned(alter(orders(), "note", |after| after.comment = "new".to_owned()));
    assert_eq!((plan.steps.len(), note_members(&plan)), (0, vec!["fieldComment"]));
}

#[test]
fn a_field_is_added_last() {
    let new = Field {
        nullable: false,
        defaults_to: DefaultValue::Number("0".to_owned()),
        comment: "how many".to_owned(),
        ..field("pieces", "int")
    };
    let plan =
        planned(Change::AddField(AddField { current: orders(), field: new, behind: Some("id".to_owned()) }));
    assert_eq!(steps(&plan), [r#"ALTER TABLE "main"."orders" ADD COLUMN "pieces" <INT> NOT NULL DEFAULT 0"#]);
    assert_eq!(undo(&plan), [r#"ALTER TABLE "main"."orders" DROP COLUMN "pieces""#]);
    assert_eq!(note_members(&plan), ["fieldComment", "fieldOrder"]);
    let behind_the_last =
        AddField { current: orders(), field: field("x", "TEXT"), behind: Some("total".to_owned()) };
    assert!(planned(Change::AddField(behind_the_last)).notes.is_empty());

    let plan = plan_for(&old_server(), add(field("x", "TEXT")));
    assert!(plan.steps[0].undo.is_empty() && !plan.steps[0].undo_complete);
}

fn plan_for(server: &ServerInfo, change: Change) -> ChangePlan {
    plan(server, &change).unwrap()
}

#[test]
fn a_field_unaddable_to_rows_is_refused() {
    let refusals = [
        (Field { nullable: false, ..field("x", "INT") }, ("isNullable", "unsupported_by_dialect")),
        (
            Field { nullable: false, defaults_to: DefaultValue::Null, ..field("x", "INT") },
            ("isNullable", "unsupported_by_dialect"),
        ),
        (
            Field { defaults_to: DefaultValue::Now(0), ..field("x", "INT") },
            ("defaultValue", "unsupported_by_dialect"),
        ),
        (
            Field { defaults_to: DefaultValue::Expression("1+1".to_owned()), ..field("x", "INT") },
            ("defaultValue", "unsupported_by_dialect"),
        ),
        (Field { key: true, ..field("x", "INT") }, ("isPrimaryKey", "unsupported_by_dialect")),
        (field("NOTE", "INT"), ("fieldName", "conflict")),
        (field("x", "INT COMMENT 'x'"), ("fieldType", "invalid_value")),
        (
            Field { generated: Some("1".to_owned()), ..field("x", "INT") },
            ("fieldName", "unsupported_by_dialect"),
        ),
    ];
    for (field, expected) in refusals {
        assert_eq!(refused(&server(), add(field)), pairs(&[expected]));
    }
    let several = Field { nullable: false, key: true, ..field("id", "WHAT") };
    assert_eq!(refused(&server(), add(several)).len(), 4);
}

#[test]
fn a_strict_table_takes_only_its_own_types() {
    let facts =
        TableFacts { understood: true, constraints: vec!["STRICT".to_owned()], ..TableFacts::default() };
    let strict = Table { extra: Some(facts.to_json()), ..orders() };
    let add = |type_text: &str| {
        Change::AddField(AddField { current: strict.clone(), field: field("x", type_text), behind: None })
    };
    assert_eq!(steps(&planned(add("text"))).len(), 1);
    assert_eq!(refused(&server(), add("VARCHAR(3)")), pairs(&[("fieldType", "invalid_value")]));
}

#[test]
fn a_field_is_renamed_by_a_statement_of_its_own() {
    let rename = |name: &'static str| alter(orders(), "note", move |after| after.name = name.to_owned());
    let plan = planned(rename("remark"));
    assert_eq!(steps(&plan), [r#"ALTER TABLE "main"."orders" RENAME COLUMN "note" TO "remark""#]);
    assert_eq!(undo(&plan), [r#"ALTER TABLE "main"."orders" RENAME COLUMN "remark" TO "note""#]);
    assert!(plan.new_names.is_empty() && plan.steps[0].undo_complete);
    assert_eq!(steps(&planned(rename("NOTE"))).len(), 1);
    assert_eq!(refused(&server(), rename("Total")), pairs(&[("fieldName", "conflict")]));
    assert_eq!(refused(&old_server(), rename("remark")), pairs(&[("fieldName", "unsupported_by_dialect")]));
    // A table that cannot be rebuilt can still be renamed.
    let unknown = Table { extra: None, ..orders() };
    assert_eq!(steps(&planned(alter(unknown, "note", |after| after.name = "remark".to_owned()))).len(), 1);
}

#[test]
fn another_shape_rebuilds_the_table() {
    let plan = planned(alter(orders(), "note", |after| {
        after.name = "remark".to_owned();
        after.type_text = "varchar(20)".to_owned();
        after.nullable = false;
    }));
    let columns = |note: &str| {
        format!(
            r#"( "id" <INTEGER> NOT NULL , {note} DEFAULT literal:'it's' , "total" <DECIMAL ( 10 , 2 )> DEFAULT ( {{1 + 1}} ) , PRIMARY KEY ( "id" ) )"#
        )
    };
    let (orders, other) = (r#""main"."orders""#, r#""main"."orders_rebuild""#);
    assert_eq!(
        steps(&plan),
        [
            format!("CREATE TABLE {other} {}", columns(r#""remark" <VARCHAR ( 20 )> NOT NULL"#)),
            format!(
                r#"INSERT INTO {other} ( "id" , "remark" , "total" ) SELECT "id" , "note" , "total" FROM {orders}"#
            ),
            format!("DROP TABLE {orders}"),
            format!(r#"ALTER TABLE {other} RENAME TO "orders""#),
        ]
    );
    assert_eq!(
        undo(&plan),
        [
            format!(r#"ALTER TABLE {orders} RENAME TO "orders_rebuild""#),
            format!("CREATE TABLE {orders} {}", columns(r#""note" <TEXT>"#)),
            format!(
                r#"INSERT INTO {orders} ( "id" , "note" , "total" ) SELECT "id" , "remark" , "total" FROM {other}"#
            ),
            format!("DROP TABLE {other}"),
        ]
    );
    assert!(plan.transactional);
    assert_eq!(plan.new_names, [TableName::new("main", "orders_rebuild")]);
    assert_eq!(plan.steps[1].cost, "rewrite");
    assert!(plan.steps.iter().all(|step| !step.destroys && step.undo_complete));
}

#[test]
fn each_change_of_shape_rebuilds() {
    let count = |change: Change| planned(change).steps.len();
    assert_eq!(count(alter(orders(), "total", |after| after.defaults_to = DefaultValue::Absent)), 4);
    assert_eq!(count(alter(orders(), "total", |after| after.nullable = false)), 4);
    assert_eq!(count(alter(orders(), "total", |after| after.type_text = "DECIMAL(10,2)".to_owned())), 0);
    assert_eq!(count(alter(orders(), "total", |_| ())), 0);
}

#[test]
fn a_key_renamed_by_rebuilding_stays_key() {
    let plan = planned(alter(orders(), "id", |after| {
        after.name = "number".to_owned();
        after.type_text = "INT".to_owned();
    }));
    assert!(steps(&plan)[0].ends_with(r#"PRIMARY KEY ( "number" ) )"#), "{:?}", steps(&plan));
    assert!(undo(&plan)[1].ends_with(r#"PRIMARY KEY ( "id" ) )"#));
}

#[test]
fn conversions_that_may_change_values_destroy() {
    for (name, type_text, destroys) in [
        ("note", "INTEGER", true),
        ("note", "REAL", true),
        ("note", "BLOB", false),
        ("note", "CLOB", false),
        ("id", "TEXT", false),
        ("id", "REAL", true),
        ("total", "REAL", true),
        ("total", "INT", false),
    ] {
        let plan = planned(alter(orders(), name, |after| after.type_text = type_text.to_owned()));
        assert_eq!(plan.steps.iter().any(|step| step.destroys), destroys, "{name} {type_text}");
        assert_eq!(plan.steps.iter().all(|step| step.undo_complete), !destroys, "{name} {type_text}");
    }
}

#[test]
fn rebuilds_that_could_lose_something_are_refused() {
    let names = |name: &str| vec![name.to_owned()];
    let plain = || TableFacts { understood: true, ..TableFacts::default() };
    let facts = [
        (TableFacts::default(), "not understood"),
        (TableFacts { constraints: names("CHECK"), ..plain() }, "CHECK"),
        (TableFacts { indexes: names("by_day"), ..plain() }, "by_day"),
        (TableFacts { triggers: names("guard"), ..plain() }, "guard"),
        (TableFacts { foreign_keys: names("customers"), ..plain() }, "customers"),
        (TableFacts { referenced_by: names("lines"), ..plain() }, "lines"),
        (TableFacts { mentioned_by: names("report"), ..plain() }, "report"),
    ];
    let retype = |table: Table| alter(table, "note", |after| after.type_text = "BLOB".to_owned());
    for (facts, reason) in facts {
        let change = retype(Table { extra: Some(facts.to_json()), ..orders() });
        let problems = plan(&server(), &change).unwrap_err();
        assert_eq!(
            (problems[0].code.as_str(), problems[0].member.as_str()),
            ("not_representable", "fieldType")
        );
        assert!(problems[0].message.contains(reason), "{}", problems[0].message);
    }
    for extra in [None, Some("{}{".to_owned()), Some(r#"{"rebuild": 1}"#.to_owned())] {
        let change = retype(Table { extra, ..orders() });
        assert_eq!(refused(&server(), change), pairs(&[("fieldType", "not_representable")]));
    }
    let mut collated = orders();
    collated.fields[1].extra = crate::facts::field_json(["COLLATE".to_owned()].iter());
    assert_eq!(refused(&server(), retype(collated)), pairs(&[("fieldType", "not_representable")]));
    let mut strange = orders();
    strange.fields[2].type_text = "GEOMETRY COMMENT 'x'".to_owned();
    assert_eq!(refused(&server(), retype(strange)), pairs(&[("fieldType", "not_representable")]));
    let mut generated = orders();
    generated.fields[2].generated = Some("id + 1".to_owned());
    assert_eq!(refused(&server(), retype(generated)), pairs(&[("fieldType", "not_representable")]));
    let change = alter(Table { extra: None, ..orders() }, "note", |after| after.nullable = false);
    assert_eq!(refused(&server(), change), pairs(&[("isNullable", "not_representable")]));
    let change =
        alter(Table { extra: None, ..orders() }, "note", |after| after.defaults_to = DefaultValue::Null);
    assert_eq!(refused(&server(), change), pairs(&[("defaultValue", "not_representable")]));
}

#[test]
fn the_key_itself_stays() {
    let change = alter(orders(), "note", |after| after.key = true);
    assert_eq!(refused(&server(), change), pairs(&[("isPrimaryKey", "unsupported_by_dialect")]));
}

#[test]
fn the_table_of_a_rebuild_has_a_name_that_fits() {
    let long = Table { name: TableName::new("main", "é".repeat(255)), ..orders() };
    let plan = planned(alter(long, "note", |after| after.nullable = false));
    let name = &plan.new_names[0].name;
    assert_eq!(name.chars().count(), 255);
    assert!(name.ends_with("_rebuild"));
}

#[test]
fn a_field_is_dropped_and_comes_back_empty() {
    let plan = planned(drop_field(orders(), "note"));
    assert_eq!(steps(&plan), [r#"ALTER TABLE "main"."orders" DROP COLUMN "note""#]);
    assert_eq!(
        undo(&plan),
        [r#"ALTER TABLE "main"."orders" ADD COLUMN "note" <TEXT> DEFAULT literal:'it's'"#]
    );
    assert!(plan.steps[0].destroys && !plan.steps[0].undo_complete);

    let mut table = orders();
    table.fields[2].nullable = false;
    let plan = planned(drop_field(table, "total"));
    assert_eq!(undo(&plan), [r#"ALTER TABLE "main"."orders" ADD COLUMN "total" <DECIMAL ( 10 , 2 )>"#]);

    let mut strange = orders();
    strange.fields[1].type_text = String::new();
    assert_eq!(undo(&planned(drop_field(strange, "note"))), [""; 0]);
}

#[test]
fn a_field_that_sqlite_does_not_drop_is_refused() {
    let unsupported = pairs(&[("fieldName", "unsupported_by_dialect")]);
    assert_eq!(refused(&server(), drop_field(orders(), "id")), unsupported);
    assert_eq!(refused(&old_server(), drop_field(orders(), "note")), unsupported);
    let last = Table { fields: vec![field("a", "TEXT")], keys: Vec::new(), ..orders() };
    assert_eq!(refused(&server(), drop_field(last, "a")), unsupported);
    for word in ["UNIQUE", "REFERENCES"] {
        let mut held = orders();
        held.fields[1].extra = crate::facts::field_json([word.to_owned()].iter());
        assert_eq!(refused(&server(), drop_field(held, "note")), unsupported, "{word}");
    }
    assert_eq!(refused(&server(), drop_field(orders(), "nobody")), pairs(&[("fieldName", "missing")]));
}

#[test]
fn what_sqlite_has_nothing_for_is_refused_by_member() {
    let count = || SetCount { current: orders(), count: 3 };
    let refusals = [
        (Change::SetBuckets(count()), "bucketNum"),
        (Change::SetReplicas(count()), "replicaNum"),
        (
            Change::Other(OtherChange {
                operation: "vacuum".to_owned(),
                current: None,
                input: "{}".to_owned(),
            }),
            "",
        ),
    ];
    for (change, member) in refusals {
        assert_eq!(refused(&server(), change), pairs(&[(member, "unsupported_by_dialect")]));
    }
}

#[test]
fn plans_have_only_words_that_are_declared() {
    let declared = crate::describe::describe().vocabularies;
    let words = |operation: &str| -> Vec<String> {
        let vocabulary = declared.iter().find(|one| one.operation == operation).expect("declared");
        vocabulary
            .heads
            .iter()
            .chain(&vocabulary.words)
            .flat_map(|text| text.split(' '))
            .map(str::to_owned)
            .collect()
    };
    let check = |operation: &str, action: &Action| {
        for token in &action.statement {
            let Token::Keyword(text) = token else { continue };
            for word in text.split(' ') {
                assert!(words(operation).contains(&word.to_owned()), "{operation}: {word}");
            }
        }
    };
    let rename = RenameTable { current: orders(), new_name: "o".to_owned() };
    let changes = [
        ("create_table", "drop_table", Change::CreateTable(orders())),
        ("drop_table", "create_table", Change::DropTable(DropTable { current: orders(), at_once: false })),
        ("rename_table", "rename_table", Change::RenameTable(rename.clone())),
        ("restore_table", "restore_table", Change::RestoreTable(rename)),
        (
            "add_field",
            "drop_field",
            add(Field { defaults_to: DefaultValue::Boolean(true), ..field("x", "INT") }),
        ),
        ("drop_field", "add_field", drop_field(orders(), "note")),
        ("alter_field", "alter_field", alter(orders(), "note", |after| after.nullable = false)),
        ("alter_field", "alter_field", alter(orders(), "note", |after| after.name = "n".to_owned())),
    ];
    for (operation, reverse, change) in changes {
        for step in planned(change).steps {
            check(operation, &step.action);
            step.undo.iter().for_each(|action| check(reverse, action));
        }
    }
}

#[test]
fn what_is_no_number_is_no_number_for_a_default() {
    let long = "9".repeat(101);
    for text in ["", "-", "1; DROP TABLE orders", "0x10", "1.", ".5", "--1", "1e", long.as_str()] {
        let number = DefaultValue::Number(text.to_owned());
        let added = Field { defaults_to: number, ..field("more", "INTEGER") };
        let problems =
            plan(&server(), &Change::AddField(AddField { current: orders(), field: added, behind: None }))
                .expect_err(text);
        assert_eq!(
            (problems[0].member.as_str(), problems[0].code.as_str()),
            ("defaultValue", "invalid_value")
        );
    }
}
