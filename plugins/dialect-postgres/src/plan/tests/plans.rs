use lakeport_sdk::dialect::{AddField, CommentTable, DropField, DropTable, RenameTable};

use super::*;

#[test]
fn creating_a_table_adds_comment_statements() {
    let mut table = Table { comment: "what was \"ordered\"".to_owned(), extra: None, ..orders() };
    table.fields[2].comment = "in euros, it's a \\ backslash".to_owned();
    assert_eq!(
        sql(Change::CreateTable(table.clone())),
        [
            r#"CREATE TABLE "shop"."orders" ("id" BIGINT NOT NULL, "note" TEXT DEFAULT 'it''s', "total" NUMERIC(10, 2), PRIMARY KEY ("id"))"#,
            r#"COMMENT ON TABLE "shop"."orders" IS 'what was "ordered"'"#,
            r#"COMMENT ON COLUMN "shop"."orders"."total" IS E'in euros, it''s a \\ backslash'"#,
        ]
    );
    assert_eq!(undo(Change::CreateTable(table)), [r#"DROP TABLE "shop"."orders""#]);
}

#[test]
fn a_key_accepts_any_ordered_type() {
    let fields = vec![field("id", "uuid"), field("during", "tstzrange")];
    let keys = vec!["id".to_owned(), "during".to_owned()];
    assert_eq!(
        sql(Change::CreateTable(Table { fields, keys, ..orders() })),
        [
            r#"CREATE TABLE "shop"."orders" ("id" UUID NOT NULL, "during" TSTZRANGE NOT NULL, PRIMARY KEY ("id", "during"))"#
        ]
    );
}

#[test]
fn each_kind_of_default_is_written() {
    for (type_text, default, expected) in [
        ("int", DefaultValue::Number("-1".to_owned()), "DEFAULT -1"),
        ("boolean", DefaultValue::Boolean(true), "DEFAULT TRUE"),
        ("boolean", DefaultValue::Boolean(false), "DEFAULT FALSE"),
        ("text", DefaultValue::Null, "DEFAULT NULL"),
        ("timestamp", DefaultValue::Now(0), "DEFAULT CURRENT_TIMESTAMP"),
        ("timestamp", DefaultValue::Now(6), "DEFAULT CURRENT_TIMESTAMP (6)"),
        (
            "timestamp",
            DefaultValue::Expression("CURRENT_TIMESTAMP(0)".to_owned()),
            "DEFAULT (CURRENT_TIMESTAMP(0))",
        ),
        ("timestamptz(3)", DefaultValue::Now(3), "DEFAULT CURRENT_TIMESTAMP (3)"),
        ("date", DefaultValue::Now(0), "DEFAULT CURRENT_DATE"),
        ("int", DefaultValue::Expression("(1 + 1)".to_owned()), "DEFAULT ((1 + 1))"),
    ] {
        let fields = vec![Field { defaults_to: default, ..field("a", type_text) }];
        let table = Table { fields, keys: Vec::new(), ..orders() };
        let text = sql(Change::CreateTable(table)).remove(0);
        assert!(text.ends_with(&format!("{expected})")), "{text}");
    }
}

#[test]
fn a_partitioned_table_has_a_default_partition() {
    let mut table = orders();
    table.fields.push(Field { nullable: true, key: true, ..field("day", "date") });
    table.keys.push("day".to_owned());
    table.partition = vec!["day".to_owned()];
    let (plan, _) = checked(Change::CreateTable(table.clone()));
    assert_eq!(plan.new_names, [TableName::new("shop", "orders_default")]);
    assert_eq!(plan.notes.len(), 2);
    let made = sql(Change::CreateTable(table.clone()));
    assert!(
        made[0].ends_with(r#""day" DATE NOT NULL, PRIMARY KEY ("id", "day")) PARTITION BY RANGE ("day")"#),
        "{}",
        made[0]
    );
    assert_eq!(made[1], r#"CREATE TABLE "shop"."orders_default" PARTITION OF "shop"."orders" DEFAULT"#);
    assert!(made[2].starts_with(r#"COMMENT ON TABLE "shop"."orders_default" IS '"#));

    table.companions = vec!["orders_default".to_owned()];
    let rename = Change::RenameTable(RenameTable { current: table, new_name: "old".to_owned() });
    assert_eq!(
        sql(rename.clone()),
        [
            r#"ALTER TABLE "shop"."orders" RENAME TO "old""#,
            r#"ALTER TABLE "shop"."orders_default" RENAME TO "old_default""#,
        ]
    );
    assert_eq!(
        undo(rename),
        [
            r#"ALTER TABLE "shop"."old_default" RENAME TO "orders_default""#,
            r#"ALTER TABLE "shop"."old" RENAME TO "orders""#,
        ]
    );
}

#[test]
fn a_table_is_renamed_commented_and_dropped() {
    let rename = RenameTable { current: orders(), new_name: "or\"ders".to_owned() };
    assert_eq!(sql(Change::RestoreTable(rename)), [r#"ALTER TABLE "shop"."orders" RENAME TO "or""ders""#]);
    let comment =
        |text: &str| Change::CommentTable(CommentTable { current: orders(), comment: text.to_owned() });
    assert_eq!(sql(comment("'; --")), [r#"COMMENT ON TABLE "shop"."orders" IS '''; --'"#]);
    assert_eq!(undo(comment("'; --")), [r#"COMMENT ON TABLE "shop"."orders" IS NULL"#]);
    assert!(sql(comment("")).is_empty());
    let drop = Change::DropTable(DropTable { current: orders(), at_once: true });
    assert_eq!(sql(drop.clone()), [r#"DROP TABLE "shop"."orders""#]);
    assert_eq!(undo(drop).len(), 1);
    let indexed =
        with_facts(&TableFacts { parts: ["index by_day".to_owned()].into(), ..TableFacts::default() });
    assert!(undo(Change::DropTable(DropTable { current: indexed, at_once: true })).is_empty());
}

#[test]
fn renaming_a_table_notes_its_users() {
    let used = with_facts(&TableFacts {
        users: ["the view shop.report".to_owned()].into(),
        ..TableFacts::default()
    });
    let (plan, _) = checked(Change::RenameTable(RenameTable { current: used, new_name: "old".to_owned() }));
    assert!(plan.notes[0].message.contains("shop.report"));
}

#[test]
fn a_field_is_added_last_with_its_comment() {
    let new = Field {
        nullable: false,
        defaults_to: DefaultValue::Number("0".to_owned()),
        comment: "how many".to_owned(),
        ..field("pieces", "int[]")
    };
    let new = Field { type_text: "int".to_owned(), ..new };
    let add = Change::AddField(AddField { current: orders(), field: new, behind: Some("id".to_owned()) });
    assert_eq!(
        sql(add.clone()),
        [
            r#"ALTER TABLE "shop"."orders" ADD COLUMN "pieces" INTEGER NOT NULL DEFAULT 0"#,
            r#"COMMENT ON COLUMN "shop"."orders"."pieces" IS 'how many'"#,
        ]
    );
    assert_eq!(undo(add.clone()), [r#"ALTER TABLE "shop"."orders" DROP COLUMN "pieces""#]);
    assert_eq!(checked(add).0.notes[0].member, "fieldOrder");
}

#[test]
fn each_field_property_has_its_own_undo() {
    let change = alter(orders(), "total", |after| {
        after.name = "sum".to_owned();
        after.type_text = "numeric(12,2)".to_owned();
        after.nullable = false;
        after.defaults_to = DefaultValue::Number("0.00".to_owned());
        after.comment = "new".to_owned();
    });
    let table = r#"ALTER TABLE "shop"."orders""#;
    assert_eq!(
        sql(change.clone()),
        [
            format!(r#"{table} ALTER COLUMN "total" TYPE NUMERIC(12, 2)"#),
            format!(r#"{table} ALTER COLUMN "total" SET DEFAULT 0.00"#),
            format!(r#"{table} ALTER COLUMN "total" SET NOT NULL"#),
            format!(r#"{table} RENAME COLUMN "total" TO "sum""#),
            r#"COMMENT ON COLUMN "shop"."orders"."sum" IS 'new'"#.to_owned(),
        ]
    );
    assert_eq!(
        undo(change),
        [
            r#"COMMENT ON COLUMN "shop"."orders"."sum" IS NULL"#.to_owned(),
            format!(r#"{table} RENAME COLUMN "sum" TO "total""#),
            format!(r#"{table} ALTER COLUMN "total" DROP NOT NULL"#),
            format!(r#"{table} ALTER COLUMN "total" DROP DEFAULT"#),
            format!(r#"{table} ALTER COLUMN "total" TYPE NUMERIC(10, 2)"#),
        ]
    );
}

#[test]
fn undoing_a_type_casts_where_needed() {
    let mut table = orders();
    table.fields.push(field("count", "integer"));
    let change = alter(table, "count", |after| after.type_text = "text".to_owned());
    assert_eq!(sql(change.clone()), [r#"ALTER TABLE "shop"."orders" ALTER COLUMN "count" TYPE TEXT"#]);
    assert_eq!(
        undo(change.clone()),
        [r#"ALTER TABLE "shop"."orders" ALTER COLUMN "count" TYPE INTEGER USING CAST ("count" AS INTEGER)"#]
    );
    assert_eq!(checked(change).0.steps[0].cost, "rewrite");
}

#[test]
fn defaults_are_reset_in_the_new_type() {
    let change = alter(orders(), "note", |after| after.type_text = "varchar".to_owned());
    let column = r#"ALTER TABLE "shop"."orders" ALTER COLUMN "note""#;
    assert_eq!(
        sql(change),
        [
            format!("{column} DROP DEFAULT"),
            format!("{column} TYPE CHARACTER VARYING"),
            format!("{column} SET DEFAULT 'it''s'"),
        ]
    );
}

#[test]
fn nothing_is_done_where_nothing_changes() {
    assert!(sql(alter(orders(), "total", |after| after.type_text = "decimal(10,2)".to_owned())).is_empty());
    assert!(sql(alter(orders(), "total", |after| after.defaults_to = DefaultValue::Null)).is_empty());
}

#[test]
fn a_dropped_field_comes_back_empty() {
    let facts = FieldFacts { own: ["index by_note".to_owned()].into(), ..FieldFacts::default() };
    let drop =
        Change::DropField(DropField { current: with_field_facts("note", &facts), field: "note".to_owned() });
    assert_eq!(sql(drop.clone()), [r#"ALTER TABLE "shop"."orders" DROP COLUMN "note""#]);
    assert_eq!(undo(drop.clone()), [r#"ALTER TABLE "shop"."orders" ADD COLUMN "note" TEXT DEFAULT 'it''s'"#]);
    let (plan, host) = checked(drop);
    assert!(plan.notes[0].message.contains("index by_note"));
    assert!(host.steps[0].destroys && !host.steps[0].undo_complete);
}
