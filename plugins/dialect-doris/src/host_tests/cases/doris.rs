//! The cases of Apache Doris only, newer and older.

use lakeport_sdk::dialect::{
    Change, CommentTable, DefaultValue, DropField, Field, ServerInfo, SetCount, Table, TableName,
};

use super::{Case, Make, altered, boxed, common, field, key, orders, server, strings};

pub fn doris() -> Vec<Case> {
    let on = |server: ServerInfo| {
        move |(name, change): (&'static str, Make)| Case { name, server: server.clone(), change }
    };
    let newest = server("Apache Doris", "4.0.2", "{\"partitions\":true,\"unicodeNames\":false}");
    let before_one_parser = server("Apache Doris", "3.1.4", "{\"partitions\":true,\"unicodeNames\":false}");
    let older = server("Apache Doris", "3.0.6", "{\"unicodeNames\":false}");
    let cluster =
        server("Apache Doris", "2.1.7", "{\"replicas\":1,\"partitionUnit\":\"day\",\"unicodeNames\":true}");
    let mut cases: Vec<Case> = common(orders).into_iter().map(on(newest.clone())).collect();
    let own: Vec<(&'static str, Make)> = vec![(
        "a data source says how many copies and how long partitions are",
        boxed(|| {
            Change::CreateTable(Table { name: TableName::new("ods", "订单"), replicas: None, ..orders() })
        }),
    )];
    cases.extend(own.into_iter().map(on(cluster)));
    cases.extend(of_doris().into_iter().map(on(newest)));
    cases.extend(of_older_doris().into_iter().map(on(older)));
    cases.extend(of_doris_before_one_parser().into_iter().map(on(before_one_parser)));
    cases
}

/// `ods.orders` with further facts of one field, or of itself.
fn orders_with(field: &str, extra: &str) -> Table {
    let mut table = orders();
    match table.fields.iter_mut().find(|one| one.name == field) {
        Some(field) => field.extra = Some(extra.to_owned()),
        None => table.extra = Some(extra.to_owned()),
    }
    table
}

/// The cases of Doris only.
fn of_doris() -> Vec<(&'static str, Make)> {
    let made_with = |default: &'static str| {
        boxed(move || {
            let mut table = orders();
            table.fields[2].defaults_to = DefaultValue::Text(default.to_owned());
            Change::CreateTable(table)
        })
    };
    vec![
        (
            "a time with digits of a second",
            boxed(|| {
                Change::CreateTable(Table {
                    fields: vec![
                        key("id", "INT"),
                        Field { defaults_to: DefaultValue::Now(3), ..field("at", "DATETIME(3)") },
                        field("v", "VARIANT"),
                        field("ip", "IPV4"),
                    ],
                    keys: strings(&["id"]),
                    partition: Vec::new(),
                    ..orders()
                })
            }),
        ),
        (
            "a table's comment has both quotes from the beginning",
            boxed(|| {
                Change::CreateTable(Table {
                    comment: "it's \"so\"".to_owned(),
                    partition: Vec::new(),
                    ..orders()
                })
            }),
        ),
        ("a default has both quotes", made_with("x\"y'z")),
        ("a default ends with a backslash", made_with("C:\\")),
        (
            "a field gets a wider type where rows replace rows as they are read",
            boxed(|| {
                let table = orders_with("note", "{\"aggregate\":\"REPLACE\"}");
                altered(table, "note", |field| field.type_text = "VARCHAR(128)".to_owned())
            }),
        ),
        (
            "a field that follows each update gets another type",
            boxed(|| {
                let table = orders_with("note", "{\"onUpdate\":true}");
                altered(table, "note", |field| field.type_text = "VARCHAR(128)".to_owned())
            }),
        ),
        (
            "a field that follows each update gets another comment",
            boxed(|| {
                let table = orders_with("note", "{\"onUpdate\":true}");
                altered(table, "note", |field| field.comment = "other".to_owned())
            }),
        ),
        (
            "a field that follows each update is dropped",
            boxed(|| {
                let current = orders_with("note", "{\"onUpdate\":true}");
                Change::DropField(DropField { current, field: "note".to_owned() })
            }),
        ),
        (
            "the server has chosen the number of buckets so far",
            boxed(|| {
                Change::SetBuckets(SetCount { current: Table { buckets: None, ..orders() }, count: 32 })
            }),
        ),
        (
            "partitions are made ahead of time, and get other buckets",
            boxed(|| {
                let current = orders_with("", "{\"dynamicPartitions\":true}");
                Change::SetBuckets(SetCount { current, count: 32 })
            }),
        ),
        (
            "partitions are made ahead of time, and get other copies",
            boxed(|| {
                let current = orders_with("", "{\"dynamicPartitions\":true}");
                Change::SetReplicas(SetCount { current, count: 1 })
            }),
        ),
        (
            "a truth value is defined again as the server keeps it",
            boxed(|| {
                let mut table = orders();
                table.fields[3] = Field {
                    nullable: false,
                    defaults_to: DefaultValue::Boolean(true),
                    extra: Some("{\"defaultText\":\"1\"}".to_owned()),
                    ..field("total", "BOOLEAN")
                };
                altered(table, "total", |field| field.nullable = true)
            }),
        ),
        (
            "a required text becomes optional",
            boxed(|| {
                let mut table = orders();
                table.fields[2] = Field { nullable: false, ..field("note", "VARCHAR(64)") };
                altered(table, "note", |field| field.nullable = true)
            }),
        ),
        (
            "defaults that only the server would refuse",
            boxed(|| {
                let with = |name: &str, of: &str, defaults_to: DefaultValue| Field {
                    defaults_to,
                    ..field(name, of)
                };
                let text = |text: &str| DefaultValue::Text(text.to_owned());
                Change::CreateTable(Table {
                    fields: vec![
                        key("id", "INT"),
                        with("a", "FLOAT", DefaultValue::Number("0.1".to_owned())),
                        with("b", "VARCHAR(3)", text("four")),
                        with("c", "DATE", text("2026-02-30")),
                        with("d", "DATETIME", text("2026-02-28")),
                        with("e", "IPV4", text("localhost")),
                        with("f", "INT", DefaultValue::Number("3000000000".to_owned())),
                        with("g", "DECIMAL(4,2)", DefaultValue::Number("100".to_owned())),
                    ],
                    keys: strings(&["id"]),
                    partition: Vec::new(),
                    ..orders()
                })
            }),
        ),
        (
            "a colocated table gets other buckets",
            boxed(|| {
                let current = orders_with("", "{\"colocated\":true}");
                Change::SetBuckets(SetCount { current, count: 32 })
            }),
        ),
        (
            "a colocated table gets other copies",
            boxed(|| {
                let current = orders_with("", "{\"colocated\":true}");
                Change::SetReplicas(SetCount { current, count: 1 })
            }),
        ),
        (
            "a table in shared storage gets other buckets",
            boxed(|| {
                let current = Table { replicas: None, ..orders_with("", "{\"cloud\":true}") };
                Change::SetBuckets(SetCount { current, count: 32 })
            }),
        ),
        (
            "a table in shared storage gets other copies",
            boxed(|| {
                let current = Table { replicas: None, ..orders_with("", "{\"cloud\":true}") };
                Change::SetReplicas(SetCount { current, count: 1 })
            }),
        ),
        (
            "copies lie by tags",
            boxed(|| {
                let tags = "tag.location.default: 2, tag.location.b: 1";
                let current = orders_with("", &format!("{{\"replicaAllocation\":\"{tags}\"}}"));
                Change::SetReplicas(SetCount { current, count: 4 })
            }),
        ),
    ]
}

/// The cases of the last Doris whose ALTER TABLE reads backslashes.
fn of_doris_before_one_parser() -> Vec<(&'static str, Make)> {
    vec![
        (
            "3.1 gives a table a comment with a backslash",
            boxed(|| Change::CommentTable(CommentTable { current: orders(), comment: "C:\\dir".to_owned() })),
        ),
        (
            "3.1 defines a field with a backslash in its default",
            boxed(|| altered(orders(), "note", |field| field.type_text = "VARCHAR(128)".to_owned())),
        ),
    ]
}

/// The cases of an older Doris, whose ALTER TABLE reads backslashes and which does not list partitions.
fn of_older_doris() -> Vec<(&'static str, Make)> {
    vec![
        (
            "an old server makes a table with a backslash in a default",
            boxed(|| Change::CreateTable(orders())),
        ),
        (
            "an old server gives a table a comment with a backslash",
            boxed(|| Change::CommentTable(CommentTable { current: orders(), comment: "C:\\dir".to_owned() })),
        ),
        (
            "an old server gives a field a comment with a backslash",
            boxed(|| altered(orders(), "total", |field| field.comment = "C:\\dir".to_owned())),
        ),
        (
            "an old server defines a field with a backslash in its default",
            boxed(|| altered(orders(), "note", |field| field.type_text = "VARCHAR(128)".to_owned())),
        ),
        (
            "an old server drops a field with a backslash in its default",
            boxed(|| Change::DropField(DropField { current: orders(), field: "note".to_owned() })),
        ),
        (
            "an old server changes copies that it does not list by partition",
            boxed(|| Change::SetReplicas(SetCount { current: orders(), count: 1 })),
        ),
    ]
}
