//! Hostile texts in every place that a user or a database fills.

use lakeport_bindings::dialect::planner::{AddField, Change};
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};

use super::samples::{self, Samples};
use super::trial::{Trial, shown};
use crate::report::Area;

/// Texts that end literals, names, comments and statements in some database. All contain the mark.
const HOSTILE: [&str; 34] = [
    "zqx9",
    "'; DROP TABLE zqx9; --",
    "\"; DROP TABLE zqx9; --",
    "`; DROP TABLE zqx9; --",
    "]; DROP TABLE zqx9; --",
    "'' zqx9",
    "\\'; DROP TABLE zqx9; --",
    "\\\"; DROP TABLE zqx9; --",
    "'\\''; zqx9",
    "zqx9 \\",
    "zqx9 \\\\",
    "zqx9 '",
    "zqx9 \"",
    "zqx9 `",
    "both ' and \" zqx9",
    "all ' \" ` \\ zqx9 \\'",
    "/* zqx9 */",
    "*/ zqx9 /*",
    "/*! zqx9 */",
    "-- zqx9",
    "# zqx9",
    "line\nzqx9\r\nline\t",
    "zqx9 ; zqx9",
    "$$ zqx9 $$",
    "$1 ? :zqx9 @zqx9 {zqx9}",
    "%s %zqx9 %",
    "zqx9\u{0}zqx9",
    "\u{feff}zqx9\u{202e}",
    "\u{2019}\u{ff07}\u{ff02}zqx9",
    "\u{bf}' zqx9",
    "中文 zqx9 🦀",
    ") zqx9 (",
    ", zqx9 INT",
    "zqx9\u{1b}\u{8}\u{7f}",
];

/// Texts that are neither types nor valid after one.
const HOSTILE_TYPES: [&str; 12] = [
    "INTEGER); DROP TABLE zqx9; --",
    "INTEGER DEFAULT zqx9",
    "INTEGER zqx9",
    "INTEGER REFERENCES zqx9 (id)",
    "INTEGER CHECK (zqx9 > 0)",
    "INTEGER COMMENT 'zqx9'",
    "VARCHAR(1) COLLATE zqx9",
    "VARCHAR(zqx9)",
    "VARCHAR(1'zqx9)",
    "ENUM('a\\','zqx9)",
    "STRUCT<`zqx9` INTEGER, b> zqx9",
    "INTEGER /* zqx9 */ -- zqx9",
];

/// Expressions that a hostile database could report. The dialect returns them unchanged, and the host parses
/// them.
const HOSTILE_EXPRESSIONS: [&str; 6] = [
    "(SELECT zqx9 FROM zqx9)",
    "1) , (zqx9 INTEGER",
    "1; DROP TABLE zqx9",
    "1 -- zqx9",
    "'zqx9",
    "load_file('zqx9')",
];

/// Tries every hostile text in every place.
pub async fn attacks(trial: &mut Trial, samples: &Samples) {
    for text in HOSTILE {
        let mut changes = said(samples, text);
        // No database has a name with NUL, and the host refuses one before it asks.
        if !text.contains('\0') {
            changes.extend(named(samples, text));
            changes.extend(kept(samples, text));
        }
        for (slot, change) in changes {
            trial.judge(Area::Quoting, &format!("{slot} {}", shown(text)), &change).await;
        }
    }
    for text in HOSTILE_TYPES {
        let field = samples::field("more", text);
        let mut made = samples.orders();
        made.fields.push(field.clone());
        let changes = [
            Change::CreateTable(made.clone()),
            samples::add(samples.orders(), field),
            samples::alter(samples.orders(), "note", |field| field.type_text = text.to_owned()),
            // As if the database had reported it.
            samples::drop_field(made.clone(), "more"),
            samples::alter(made, "more", |field| field.nullable = false),
        ];
        for change in changes {
            trial.judge(Area::Quoting, &format!("the type {}", shown(text)), &change).await;
        }
    }
    for text in HOSTILE_EXPRESSIONS {
        for change in expressions(samples, text) {
            trial.judge_expression(&format!("the expression {}", shown(text)), &change).await;
        }
    }
}

/// As a name.
fn named(samples: &Samples, text: &str) -> Vec<(&'static str, Change)> {
    let orders = || samples.orders();
    let renamed = |mut table: Table| {
        table.name.name = text.to_owned();
        table
    };
    let elsewhere = |mut table: Table| {
        table.name.database = text.to_owned();
        table
    };
    let with = |mut table: Table| {
        table.fields.push(samples.number(text));
        table
    };
    let keyed = || {
        let key = Field { key: true, nullable: false, ..samples.number(text) };
        let mut table = samples::table("orders", vec![key, samples.text("note")]);
        table.distribution = vec![text.to_owned()];
        table
    };
    let companion = |mut table: Table| {
        table.companions = vec![text.to_owned()];
        table
    };
    let mut list = vec![
        ("the table", Change::CreateTable(renamed(orders()))),
        ("the database", Change::CreateTable(elsewhere(orders()))),
        ("a field", Change::CreateTable(with(orders()))),
        ("the key", Change::CreateTable(keyed())),
        ("the new name", samples::rename(orders(), text)),
        ("the new name", samples::restore(orders(), text)),
        ("a field", samples::add(orders(), samples.number(text))),
        ("the new name", samples::alter(orders(), "note", |field| field.name = text.to_owned())),
        ("a field", samples::alter(with(orders()), text, |field| field.comment = "new".to_owned())),
        ("a field", samples::alter(with(orders()), text, |field| field.name = "other".to_owned())),
        ("a field", samples::drop_field(with(orders()), text)),
        ("another field", samples::drop_field(with(orders()), "note")),
        ("the companion", samples::rename(companion(orders()), "bills")),
        ("the companion", samples::drop_table(companion(orders()))),
        ("the key", samples::buckets(keyed(), 8)),
    ];
    for table in [renamed(orders()), elsewhere(orders())] {
        list.push(("the table", samples::rename(table.clone(), "bills")));
        list.push(("the table", samples::drop_table(table.clone())));
        list.push(("the table", samples::comment(table.clone(), "new")));
        list.push(("the table", samples::add(table.clone(), samples.number("more"))));
        list.push(("the table", samples::drop_field(table.clone(), "note")));
        list.push(("the table", samples::replicas(table, 2)));
    }
    let behind =
        AddField { current: with(orders()), field: samples.number("more"), behind: Some(text.to_owned()) };
    list.push(("the field before", Change::AddField(behind)));
    list
}

/// As a comment or a default.
fn said(samples: &Samples, text: &str) -> Vec<(&'static str, Change)> {
    let orders = || samples.orders();
    let commented = |field: Field| Field { comment: text.to_owned(), ..field };
    let mut list = vec![
        ("the comment", Change::CreateTable(Table { comment: text.to_owned(), ..orders() })),
        ("the comment", samples::comment(orders(), text)),
        ("the old comment", samples::comment(Table { comment: text.to_owned(), ..orders() }, "new")),
        ("the comment", samples::add(orders(), commented(samples.text("more")))),
        ("the comment", samples::alter(orders(), "note", |field| field.comment = text.to_owned())),
    ];
    let mut table = orders();
    table.fields[1].comment = text.to_owned();
    list.push((
        "the old comment",
        samples::alter(table.clone(), "note", |field| field.name = "other".to_owned()),
    ));
    list.push(("the old comment", samples::drop_field(table.clone(), "note")));
    list.push(("the comment", Change::CreateTable(table)));
    for default in [DefaultValue::Text(text.to_owned()), DefaultValue::Number(text.to_owned())] {
        let with = |field: Field| Field { defaults_to: default.clone(), ..field };
        let mut table = orders();
        table.fields[1] = with(table.fields[1].clone());
        list.push(("the default", Change::CreateTable(table.clone())));
        list.push(("the default", samples::add(orders(), with(samples.text("more")))));
        list.push(("the default", samples::add(orders(), with(samples.number("more")))));
        list.push(("the default", samples::alter(orders(), "note", |field| *field = with(field.clone()))));
        list.push(("the old default", samples::alter(table.clone(), "note", |field| field.nullable = false)));
        list.push(("the old default", samples::drop_field(table, "note")));
    }
    list
}

/// In the facts of the dialect's own reader, and in the words of a model.
fn kept(samples: &Samples, text: &str) -> Vec<(&'static str, Change)> {
    let mut list = Vec::new();
    let json = serde_json::json!({ "collation": text, "characterSet": text, "sql": text, "engine": text, "kind": text });
    for extra in [text.to_owned(), json.to_string()] {
        let mut table = samples.orders();
        table.extra = Some(extra.clone());
        list.push(("the table's extra", samples::rename(table.clone(), "bills")));
        list.push(("the table's extra", samples::add(table.clone(), samples.number("more"))));
        list.push(("the table's extra", samples::drop_field(table, "note")));
        let mut table = samples.orders();
        table.fields[1].extra = Some(extra);
        list.push((
            "the field's extra",
            samples::alter(table.clone(), "note", |field| field.nullable = false),
        ));
        list.push(("the field's extra", samples::drop_field(table, "note")));
    }
    let strange = || vec![text.to_owned()];
    for table in [
        Table { model: Some(text.to_owned()), ..samples.orders() },
        Table { partition: strange(), ..samples.orders() },
        Table { distribution: strange(), buckets: Some(1), ..samples.orders() },
        Table { keys: strange(), ..samples.orders() },
        Table { kind: text.to_owned(), ..samples.orders() },
    ] {
        list.push(("a word of the table", Change::CreateTable(table.clone())));
        list.push(("a word of the table", samples::buckets(table.clone(), 8)));
        list.push(("a word of the table", samples::add(table, samples.number("more"))));
    }
    list
}

fn expressions(samples: &Samples, text: &str) -> Vec<Change> {
    let with = |mut table: Table| {
        table.fields[1].defaults_to = DefaultValue::Expression(text.to_owned());
        table
    };
    let generated = |mut table: Table| {
        table.fields[1].generated = Some(text.to_owned());
        table
    };
    let expression = Field { defaults_to: DefaultValue::Expression(text.to_owned()), ..samples.text("more") };
    vec![
        Change::CreateTable(with(samples.orders())),
        Change::CreateTable(generated(samples.orders())),
        samples::add(samples.orders(), expression),
        samples::alter(with(samples.orders()), "note", |field| field.nullable = false),
        samples::alter(generated(samples.orders()), "note", |field| field.comment = "new".to_owned()),
        samples::drop_field(with(samples.orders()), "note"),
        samples::drop_field(generated(samples.orders()), "note"),
        samples::alter(generated(samples.orders()), "total", |field| field.name = "sum".to_owned()),
    ]
}
