use dialect_mysql::server::Server;
use lakeport_sdk::dialect::{
    AddField, Change, CommentTable, DefaultValue, Field, OtherChange, RenameTable, SetCount, Table, TableName,
};

use super::{
    alter, drop_field, drop_table, field, mariadb, mysql, orders, pairs, refused, server_of, text, written,
};

fn rename(new_name: &str) -> Change {
    Change::RenameTable(RenameTable { current: orders(), new_name: new_name.to_owned() })
}

fn add(field: Field) -> Change {
    Change::AddField(AddField { current: orders(), field, behind: None })
}

#[test]
fn a_table_is_made_with_all_that_it_has() {
    let mut table = Table { extra: None, partition: vec!["day".to_owned()], ..orders() };
    table.fields = vec![
        Field {
            nullable: false,
            key: true,
            comment: "it's \"the\" \\ id".to_owned(),
            ..field("id", "bigint")
        },
        Field { nullable: true, key: true, ..field("day", "DATE") },
        Field { defaults_to: DefaultValue::Number("1".to_owned()), ..field("total", "numeric(10,2)") },
        Field { defaults_to: DefaultValue::Now(0), ..field("at", "timestamp(3)") },
        Field { nullable: false, defaults_to: text("b'c"), ..field("kind", r"enum('a','b''c','d\\e')") },
        Field { defaults_to: DefaultValue::Boolean(true), ..field("is `on`", "bool") },
    ];
    table.keys = vec!["id".to_owned(), "day".to_owned()];
    let plan = written(&mysql(), &Change::CreateTable(table));
    assert_eq!(
        plan.statements,
        [concat!(
            "CREATE TABLE `shop`.`orders` (`id` BIGINT NOT NULL COMMENT 'it''s \"the\" \\\\ id', `day` DATE NOT NULL, ",
            "`total` DECIMAL(10, 2) NULL DEFAULT 1.00, `at` TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP (3), ",
            "`kind` ENUM('a', 'b''c', 'd\\\\e') NOT NULL DEFAULT 'b''c', `is ``on``` BOOLEAN NULL DEFAULT TRUE, ",
            "PRIMARY KEY (`id`, `day`)) ENGINE = INNODB COMMENT = 'what was ordered' ",
            "PARTITION BY RANGE COLUMNS (`day`) (PARTITION P_REST VALUES LESS THAN (MAXVALUE))"
        )]
    );
    assert_eq!(plan.undo, ["DROP TABLE `shop`.`orders`"]);
    assert_eq!(plan.notes, ["fields[1].isNullable", "fields[2].defaultValue", "fields[3].defaultValue", ""]);
}

#[test]
fn a_table_that_cannot_be_is_refused_member_by_member() {
    let table = Table {
        model: Some("UNIQUE".to_owned()),
        buckets: Some(3),
        replicas: Some(1),
        distribution: vec!["id".to_owned()],
        partition: vec!["note".to_owned(), "gone".to_owned()],
        comment: "x".repeat(2_049),
        fields: vec![
            Field { comment: "😀".to_owned(), ..field("id", "text") },
            Field { defaults_to: text("x"), ..field("ID", "int") },
            Field { comment: "x".repeat(1_025), ..field("what", "nothing") },
        ],
        keys: vec!["id".to_owned(), "id".to_owned()],
        ..orders()
    };
    assert_eq!(
        refused(&mysql(), Change::CreateTable(table)),
        pairs(&[
            ("tableComment", "not_representable"),
            ("tableModel", "unsupported_by_dialect"),
            ("distributionColumn", "unsupported_by_dialect"),
            ("bucketNum", "unsupported_by_dialect"),
            ("replicaNum", "unsupported_by_dialect"),
            ("fields[0].fieldComment", "not_representable"),
            ("fields[1].fieldName", "conflict"),
            ("fields[1].defaultValue", "invalid_value"),
            ("fields[2].fieldComment", "not_representable"),
            ("fields[2].fieldType", "invalid_value"),
            ("keyColumns", "invalid_value"),
            ("partitionColumn", "invalid_value"),
        ])
    );
}

#[test]
fn partition_columns_need_key_and_suitable_type() {
    let with = |partition: &str| {
        Change::CreateTable(Table {
            partition: vec![partition.to_owned()],
            fields: orders().fields[..3].to_vec(),
            ..orders()
        })
    };
    assert_eq!(written(&mysql(), &with("id")).statements.len(), 1);
    assert_eq!(refused(&mysql(), with("note")), pairs(&[("partitionColumn", "invalid_value")]));
    let mut free = Table { keys: Vec::new(), partition: vec!["total".to_owned()], ..orders() };
    free.fields.truncate(3);
    assert_eq!(refused(&mysql(), Change::CreateTable(free)), pairs(&[("partitionColumn", "invalid_value")]));
}

#[test]
fn a_table_is_renamed_and_back() {
    let plan = written(&mysql(), &rename("orders_deprecated_20260131120000"));
    assert_eq!(
        plan.statements,
        ["RENAME TABLE `shop`.`orders` TO `shop`.`orders_deprecated_20260131120000`"]
    );
    assert_eq!(plan.undo, ["RENAME TABLE `shop`.`orders_deprecated_20260131120000` TO `shop`.`orders`"]);
    assert!(written(&mysql(), &rename("orders")).statements.is_empty());
    assert_eq!(written(&mysql(), &rename("ORDERS")).statements.len(), 1);
    for (mode, new_name) in [(1, "Bills"), (1, "ORDERS"), (2, "ORDERS")] {
        let server = Server { lower_case_table_names: mode, ..mysql() };
        assert_eq!(refused(&server, rename(new_name)).len(), 1, "{mode} {new_name}");
    }
    assert_eq!(refused(&mysql(), rename("#sql-1")), pairs(&[("tableName", "invalid_name")]));
    assert_eq!(written(&mysql(), &rename(&"数".repeat(48))).statements.len(), 1);
    assert_eq!(refused(&mysql(), rename(&"数".repeat(49))), pairs(&[("tableName", "name_too_long")]));
}

#[test]
fn views_that_stop_working_are_noted() {
    let table = Table { extra: Some(r#"{"engine":"InnoDB","views":["report"]}"#.to_owned()), ..orders() };
    let to = |current: &Table, name: &str| {
        Change::RestoreTable(RenameTable { current: current.clone(), new_name: name.to_owned() })
    };
    assert_eq!(written(&mysql(), &to(&table, "bills")).notes, ["extra"]);
    let in_bin = Table { name: TableName::new("shop", "orders_deprecated_20260131120000"), ..table };
    assert!(written(&mysql(), &to(&in_bin, "orders")).notes.is_empty());
}

#[test]
fn a_table_that_others_refer_to_is_not_dropped() {
    let plan = written(&mysql(), &drop_table(Table { fields: orders().fields[..2].to_vec(), ..orders() }));
    assert_eq!(plan.statements, ["DROP TABLE `shop`.`orders`"]);
    assert!(
        plan.destroys
            && plan.undo[0].starts_with("CREATE TABLE `shop`.`orders` (`id` BIGINT NOT NULL AUTO_INCREMENT")
    );
    let referred = Table { extra: Some(r#"{"referencedBy":["lines"]}"#.to_owned()), ..orders() };
    assert_eq!(refused(&mysql(), drop_table(referred)), pairs(&[("", "conflict")]));
    let alone = Table {
        extra: Some(r#"{"engine":"InnoDB","referencedBy":["itself"],"indexes":["x"]}"#.to_owned()),
        ..orders()
    };
    assert!(written(&mysql(), &drop_table(alone)).undo.is_empty());
}

#[test]
fn comments_are_kept_letter_by_letter() {
    for (comment, expected) in [
        ("", "''"),
        ("it's; DROP TABLE x; --", "'it''s; DROP TABLE x; --'"),
        (r"\'", r"'\\'''"),
        (r"\", r"'\\'"),
        ("\"`/*!50000 x*/", "'\"`/*!50000 x*/'"),
        ("备注\n行", "'备注\n行'"),
    ] {
        let change = Change::CommentTable(CommentTable { current: orders(), comment: comment.to_owned() });
        let plan = written(&mysql(), &change);
        assert_eq!(plan.statements, [format!("ALTER TABLE `shop`.`orders` COMMENT = {expected}")]);
        assert_eq!(plan.undo, ["ALTER TABLE `shop`.`orders` COMMENT = 'what was ordered'"]);
    }
    let plain = server_of("MySQL", "8.4.0", "NO_BACKSLASH_ESCAPES");
    let change = Change::CommentTable(CommentTable { current: orders(), comment: r"a\b".to_owned() });
    assert_eq!(written(&plain, &change).statements, [r"ALTER TABLE `shop`.`orders` COMMENT = 'a\b'"]);
}

#[test]
fn a_field_is_added_where_it_should_be() {
    let new = Field {
        nullable: false,
        defaults_to: DefaultValue::Number("0".to_owned()),
        comment: "how many".to_owned(),
        ..field("pieces", "int unsigned")
    };
    let change = Change::AddField(AddField { current: orders(), field: new, behind: Some("id".to_owned()) });
    let plan = written(&mysql(), &change);
    assert_eq!(
        plan.statements,
        [
            "ALTER TABLE `shop`.`orders` ADD COLUMN `pieces` INT UNSIGNED NOT NULL DEFAULT 0 COMMENT 'how many' AFTER `id`"
        ]
    );
    assert_eq!(plan.undo, ["ALTER TABLE `shop`.`orders` DROP COLUMN `pieces`"]);
}

#[test]
fn what_would_go_wrong_in_silence_is_not_added() {
    for (field, expected) in [
        (Field { nullable: false, ..field("x", "int") }, ("isNullable", "unsupported_by_dialect")),
        (Field { key: true, ..field("x", "int") }, ("isPrimaryKey", "unsupported_by_dialect")),
        (field("NOTE", "int"), ("fieldName", "conflict")),
        (field("x", "int comment 'y'"), ("fieldType", "invalid_value")),
        (
            Field { defaults_to: DefaultValue::Number("1.255".to_owned()), ..field("x", "decimal(9,2)") },
            ("defaultValue", "invalid_value"),
        ),
        (
            Field { generated: Some("1".to_owned()), ..field("x", "int") },
            ("fieldName", "unsupported_by_dialect"),
        ),
    ] {
        assert_eq!(refused(&mysql(), add(field)), pairs(&[expected]));
    }
    let versioned = Table { extra: Some(r#"{"versioned":true}"#.to_owned()), ..orders() };
    let change = Change::AddField(AddField { current: versioned, field: field("x", "int"), behind: None });
    assert_eq!(refused(&mariadb(), change), pairs(&[("", "unsupported_by_dialect")]));
    let implicit = Server { explicit_timestamps: false, ..mariadb() };
    let bare = Field { nullable: false, ..field("x", "timestamp") };
    assert!(refused(&implicit, add(bare)).contains(&("defaultValue".to_owned(), "invalid_value".to_owned())));
}

#[test]
fn a_name_alone_is_a_statement_of_its_own() {
    let plan = written(&mysql(), &alter(orders(), "note", |after| after.name = "remark".to_owned()));
    assert_eq!(plan.statements, ["ALTER TABLE `shop`.`orders` RENAME COLUMN `note` TO `remark`"]);
    assert_eq!(plan.undo, ["ALTER TABLE `shop`.`orders` RENAME COLUMN `remark` TO `note`"]);
    let named = alter(orders(), "total", |after| after.name = "sum".to_owned());
    assert_eq!(refused(&mysql(), named), pairs(&[("fieldName", "conflict")]));
    for extra in [r#"{"triggers":["t"]}"#, r#"{"views":["v"]}"#] {
        let mut table = orders();
        table.fields[1].extra = Some(extra.to_owned());
        let change = alter(table, "note", |after| after.name = "remark".to_owned());
        assert_eq!(refused(&mysql(), change), pairs(&[("fieldName", "conflict")]));
    }
    let checked = Table { extra: Some(r#"{"checks":["`note` <> ''"]}"#.to_owned()), ..orders() };
    let change = alter(checked, "note", |after| after.name = "remark".to_owned());
    assert_eq!(refused(&mysql(), change), pairs(&[("fieldName", "conflict")]));
}

#[test]
fn a_new_definition_keeps_what_it_is_not_about() {
    let plan = written(
        &mysql(),
        &alter(orders(), "note", |after| {
            after.name = "remark".to_owned();
            after.type_text = "varchar(40)".to_owned();
            after.nullable = false;
        }),
    );
    assert_eq!(
        plan.statements,
        ["ALTER TABLE `shop`.`orders` CHANGE COLUMN `note` `remark` VARCHAR(40) CHARACTER SET 'latin1' \
          COLLATE 'latin1_bin' NOT NULL DEFAULT 'it''s' INVISIBLE COMMENT 'a note'"]
    );
    assert_eq!(
        plan.undo,
        ["ALTER TABLE `shop`.`orders` CHANGE COLUMN `remark` `note` VARCHAR(20) CHARACTER SET 'latin1' \
          COLLATE 'latin1_bin' NULL DEFAULT 'it''s' INVISIBLE COMMENT 'a note'"]
    );
    let plan = written(&mysql(), &alter(orders(), "id", |after| after.comment = "its number".to_owned()));
    assert_eq!(
        plan.statements,
        [
            "ALTER TABLE `shop`.`orders` MODIFY COLUMN `id` BIGINT NOT NULL AUTO_INCREMENT COMMENT 'its number'"
        ]
    );
    assert_eq!(plan.costs, ["metadata"]);
    let plan =
        written(&mysql(), &alter(orders(), "changed", |after| after.type_text = "datetime(6)".to_owned()));
    assert_eq!(
        plan.statements,
        ["ALTER TABLE `shop`.`orders` MODIFY COLUMN `changed` DATETIME(6) NULL \
          DEFAULT CURRENT_TIMESTAMP (6) ON UPDATE CURRENT_TIMESTAMP (6)"]
    );
    assert_eq!(plan.notes, ["defaultValue"]);
    let plan = written(&mysql(), &alter(orders(), "twice", |after| after.comment = "2x".to_owned()));
    assert_eq!(
        plan.statements,
        ["ALTER TABLE `shop`.`orders` MODIFY COLUMN `twice` DECIMAL(11, 2) \
          GENERATED ALWAYS AS ((`total` * 2)) VIRTUAL COMMENT '2x'"]
    );
}

#[test]
fn expressions_of_either_server_go_back_as_they_came() {
    for (server, type_text, expression, expected) in [
        (
            mysql(),
            "varchar(30)",
            "concat(_utf8mb4'a',_utf8mb4'b')",
            "DEFAULT (concat(_utf8mb4'a',_utf8mb4'b'))",
        ),
        (mysql(), "bit(3)", "b'101'", "DEFAULT b'101'"),
        (mysql(), "varbinary(5)", "0x6162", "DEFAULT 0x6162"),
        (mysql(), "date", "curdate()", "DEFAULT (curdate())"),
        (mysql(), "varchar(36)", "uuid()", "DEFAULT (uuid())"),
        (mysql(), "json", "json_array()", "DEFAULT (json_array())"),
        (mysql(), "datetime", "(now() + interval 1 day)", "DEFAULT ((now() + interval 1 day))"),
        (mariadb(), "bigint(20)", "(1 + 2)", "DEFAULT ((1 + 2))"),
        (mariadb(), "date", "curdate()", "DEFAULT (curdate())"),
        (mariadb(), "varchar(9)", "convert('a' using latin1)", "DEFAULT (convert('a' using latin1))"),
        (mariadb(), "int", "(`id` DIV 2)", "DIV"),
        (mariadb(), "boolean", "(`note` regexp 'x')", "regexp"),
        (mariadb(), "boolean", "(`note` like 'x' escape '#')", "escape"),
        (mariadb(), "boolean", "(`id` <=> 3 xor `id` << 2)", "<=>"),
        (mariadb(), "date", "(curdate() - interval 3 month)", "interval"),
        (mariadb(), "json", "json_extract('{}','$.a')", "json_extract"),
        (mysql(), "json", "json_extract(`doc`,'$.a')", "json_extract"),
        (mysql(), "json", "json_unquote(json_extract(`doc`,'$[0].a'))", "json_unquote"),
        (mysql(), "boolean", "(`id` in (1,2))", "in"),
        (mysql(), "int", "(case when (`id` > 1) then 1 else 2 end)", "case"),
        (mysql(), "boolean", "regexp_like(`note`,'x')", "regexp_like"),
        (mysql(), "int", "cast(`note` as unsigned)", "unsigned"),
        (mysql(), "int", "cast(`note` as signed)", "signed"),
        (mysql(), "varbinary(9)", "cast(`note` as binary)", "binary"),
        (mysql(), "varchar(9)", "(`note` collate utf8mb4_bin)", "collate"),
        (mysql(), "datetime", "timestamp'2026-01-01 00:00:00'", "timestamp"),
        (mysql(), "int", "(`id` & ~(3) | 4 ^ 5)", "~"),
        (mysql(), "varchar(9)", "substr(`note`,1,3)", "substr"),
        (mysql(), "varchar(9)", "trim(both ' ' from `note`)", "trim"),
        (mysql(), "int", "extract(year from `changed`)", "extract"),
        (mysql(), "varchar(9)", "if((`id` is null),'a','b')", "if"),
        (mysql(), "varchar(9)", "_utf8mb4'\\\''", "_utf8mb4"),
        (mysql(), "int", "(to_days(`changed`) % 7)", "%"),
        (mysql(), "int", "timestampdiff(DAY,`changed`,now())", "timestampdiff"),
        (mysql(), "date", "date_add(`changed`, interval 3 day)", "date_add"),
        (mysql(), "int", "(`id` between 1 and 2)", "between"),
        (mysql(), "int", "(not(`id`))", "not"),
    ] {
        let mut table = orders();
        table.fields[2] = Field {
            defaults_to: DefaultValue::Expression(expression.to_owned()),
            ..field("total", type_text)
        };
        let change = alter(table, "total", |after| after.comment = "x".to_owned());
        let plan = written(&server, &change);
        assert!(plan.statements[0].contains(expected), "{}", plan.statements[0]);
    }
}

#[test]
fn nothing_changes_where_nothing_differs() {
    for change in [
        alter(orders(), "id", |after| after.type_text = "BIGINT".to_owned()),
        alter(orders(), "total", |after| after.defaults_to = DefaultValue::Null),
        alter(orders(), "note", |_| ()),
    ] {
        assert!(written(&mysql(), &change).statements.is_empty());
    }
}

#[test]
fn a_type_that_loses_values_or_ties_is_refused() {
    let to =
        |name: &str, type_text: &str| alter(orders(), name, |after| after.type_text = type_text.to_owned());
    for change in [
        to("note", "varchar(10)"),
        to("total", "decimal(10,1)"),
        to("changed", "datetime"),
        to("note", "int"),
    ] {
        assert!(
            refused(&mysql(), change)
                .contains(&("fieldType".to_owned(), "unsupported_by_dialect".to_owned()))
        );
    }
    assert_eq!(
        refused(&mysql(), to("twice", "decimal(12,2)")),
        pairs(&[("fieldType", "unsupported_by_dialect")])
    );
    assert_eq!(refused(&mysql(), to("id", "decimal(20,0)")), pairs(&[("fieldType", "invalid_value")]));
    for (extra, code) in
        [(r#"{"references":["c"]}"#, "conflict"), (r#"{"indexes":["i, part 1 of 1"]}"#, "conflict")]
    {
        let mut table = orders();
        table.fields[1].extra = Some(extra.to_owned());
        table.fields[1].defaults_to = DefaultValue::Absent;
        let change = alter(table, "note", |after| after.type_text = "text".to_owned());
        assert_eq!(refused(&mysql(), change), pairs(&[("fieldType", code)]));
    }
}

#[test]
fn a_definition_that_cannot_be_written_back_is_not_overwritten() {
    let mut table = orders();
    table.fields[2].extra = Some(r#"{"unwritable":["CHECK (`total` > 0)"]}"#.to_owned());
    let change = alter(table.clone(), "total", |after| after.comment = "x".to_owned());
    assert_eq!(refused(&mariadb(), change), pairs(&[("fieldComment", "not_representable")]));
    table.fields[2].extra = None;
    table.fields[2].type_text = "varchar(255) /*M!100301 COMPRESSED*/".to_owned();
    let change = alter(table, "total", |after| after.nullable = false);
    assert!(refused(&mariadb(), change).contains(&("isNullable".to_owned(), "not_representable".to_owned())));
}

#[test]
fn unrepresentable_defaults_are_refused() {
    let expression = |said: &str| DefaultValue::Expression(said.to_owned());
    for (type_text, default) in [
        ("varbinary(5)", text("?A")),
        ("varchar(9)", text("?x")),
        ("bigint(20)", expression("nextval(`shop`.`numbers`)")),
        ("varchar(9)", expression("cast(1 as char charset utf8mb4)")),
        ("varchar(9)", expression("char(65 using utf8mb4)")),
        ("tinyint(4)", expression("!`id`")),
    ] {
        let mut table = orders();
        table.fields[2] = Field { defaults_to: default, ..field("total", type_text) };
        table.fields.truncate(3);
        let change = alter(table.clone(), "total", |after| after.comment = "x".to_owned());
        assert_eq!(
            refused(&mariadb(), change),
            pairs(&[("fieldComment", "not_representable")]),
            "{type_text}"
        );
        assert!(written(&mariadb(), &drop_field(table.clone(), "total")).undo.is_empty());
        let plan = written(&mariadb(), &alter(table, "total", |after| after.name = "sum".to_owned()));
        assert_eq!(plan.statements, ["ALTER TABLE `shop`.`orders` RENAME COLUMN `total` TO `sum`"]);
    }
    let mut generated = orders();
    generated.fields[4].generated = Some("last_insert_id() + `total`".to_owned());
    let change = alter(generated, "twice", |after| after.comment = "x".to_owned());
    assert_eq!(refused(&mariadb(), change), pairs(&[("fieldComment", "not_representable")]));
}

#[test]
fn a_default_that_stays_is_written_as_mariadb_has_it() {
    for (type_text, default, expected) in [
        ("json", text(r#"{"a":1}"#), r#"JSON NULL DEFAULT '{"a":1}'"#),
        ("blob", text("xyz"), "BLOB NULL DEFAULT 'xyz'"),
        ("varbinary(9)", text("xyz"), "VARBINARY(9) NULL DEFAULT 'xyz'"),
        ("inet6", text("::1"), "INET6 NULL DEFAULT '::1'"),
        ("longtext", text("x"), "LONGTEXT NULL DEFAULT 'x'"),
    ] {
        let mut table = orders();
        table.fields[2] = Field { defaults_to: default, ..field("total", type_text) };
        table.fields.truncate(3);
        let plan = written(&mariadb(), &alter(table, "total", |after| after.comment = "c".to_owned()));
        let expected = format!("ALTER TABLE `shop`.`orders` MODIFY COLUMN `total` {expected} COMMENT 'c'");
        assert_eq!(plan.statements, [expected]);
    }
    let mut table = orders();
    table.fields[1] = Field { defaults_to: text("long enough"), ..field("note", "text") };
    let change = alter(table.clone(), "note", |after| after.type_text = "varchar(3)".to_owned());
    assert_eq!(refused(&mariadb(), change), pairs(&[("fieldType", "unsupported_by_dialect")]));
    let change = alter(table, "note", |after| after.type_text = "blob".to_owned());
    assert_eq!(refused(&mariadb(), change), pairs(&[("fieldType", "unsupported_by_dialect")]));
}

#[test]
fn null_goes_only_where_the_server_is_strict() {
    let change = || alter(orders(), "note", |after| after.nullable = false);
    assert_eq!(written(&mysql(), &change()).costs, ["rewrite"]);
    let lax = Server { is_strict: false, ..mysql() };
    assert_eq!(refused(&lax, change()), pairs(&[("isNullable", "unsupported_by_dialect")]));
    let change = alter(orders(), "id", |after| after.nullable = true);
    assert_eq!(refused(&mysql(), change), pairs(&[("isNullable", "invalid_value")]));
}

#[test]
fn a_field_is_dropped_and_comes_back_empty() {
    let plan = written(&mysql(), &drop_field(orders(), "note"));
    assert_eq!(plan.statements, ["ALTER TABLE `shop`.`orders` DROP COLUMN `note`"]);
    assert_eq!(
        plan.undo,
        [
            "ALTER TABLE `shop`.`orders` ADD COLUMN `note` VARCHAR(20) CHARACTER SET 'latin1' COLLATE 'latin1_bin' \
          NULL DEFAULT 'it''s' INVISIBLE COMMENT 'a note' AFTER `id`"
        ]
    );
    assert!(plan.destroys && plan.costs == ["metadata"]);
    let old = server_of("MySQL", "8.0.20", "");
    assert_eq!(written(&old, &drop_field(orders(), "note")).costs, ["rewrite"]);
}

#[test]
fn what_would_go_along_in_silence_is_not_dropped() {
    assert_eq!(
        refused(&mysql(), drop_field(orders(), "id")),
        pairs(&[("fieldName", "unsupported_by_dialect")])
    );
    assert_eq!(refused(&mysql(), drop_field(orders(), "total")), pairs(&[("fieldName", "conflict")]));
    assert_eq!(refused(&mysql(), drop_field(orders(), "gone")), pairs(&[("fieldName", "missing")]));
    for extra in [
        r#"{"indexes":["by_day, part 2 of 2"]}"#,
        r#"{"indexes":["i, within an expression"]}"#,
        r#"{"references":["customers"]}"#,
        r#"{"referencedBy":["lines"]}"#,
        r#"{"triggers":["t"]}"#,
        r#"{"views":["v"]}"#,
    ] {
        let mut table = orders();
        table.fields[1].extra = Some(extra.to_owned());
        assert_eq!(
            refused(&mysql(), drop_field(table, "note")),
            pairs(&[("fieldName", "conflict")]),
            "{extra}"
        );
    }
    let mut table = orders();
    table.fields[1].extra = Some(r#"{"indexes":["by_note, part 1 of 1"]}"#.to_owned());
    assert_eq!(written(&mysql(), &drop_field(table, "note")).notes, ["extra"]);
    let mut table = orders();
    table.partition = vec!["note".to_owned()];
    assert_eq!(
        refused(&mysql(), drop_field(table, "note")),
        pairs(&[("fieldName", "unsupported_by_dialect")])
    );
}

#[test]
fn what_the_server_has_nothing_for_is_refused_by_member() {
    let count = || SetCount { current: orders(), count: 3 };
    let other = OtherChange { operation: "optimize".to_owned(), current: None, input: "{}".to_owned() };
    for (change, member) in [
        (Change::SetBuckets(count()), "bucketNum"),
        (Change::SetReplicas(count()), "replicaNum"),
        (Change::Other(other), ""),
    ] {
        assert_eq!(refused(&mysql(), change), pairs(&[(member, "unsupported_by_dialect")]));
    }
    let view = Table { kind: "view".to_owned(), ..orders() };
    assert!(
        refused(&mysql(), drop_table(view)).contains(&(String::new(), "unsupported_by_dialect".to_owned()))
    );
}

#[test]
fn no_name_and_no_text_leaves_its_quotes() {
    let pieces = ["a", "'", "\"", "`", "\\", ";", "\n", "--", "/*", "*/", "#", "中", "\u{a0}", "%"];
    for one in pieces {
        for other in pieces {
            for third in ["'", "\\", "`", "x"] {
                let value = format!("{one}{other}{third}");
                let new = Field {
                    comment: value.clone(),
                    defaults_to: text(&value),
                    ..field(&value, "varchar(50)")
                };
                for server in [mysql(), mariadb()] {
                    assert_eq!(written(&server, &add(new.clone())).statements.len(), 1, "{value}");
                }
            }
        }
    }
}
