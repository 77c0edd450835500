//! The golden cases: one change each, of a table as it would have been read.

mod doris;

pub use doris::doris;

use lakeport_sdk::dialect::{
    AddField, AlterField, Change, CommentTable, DefaultValue, DropField, DropTable, Field, RenameTable,
    ServerInfo, SetCount, Table, TableName,
};

/// A change and its server.
pub struct Case {
    pub name: &'static str,
    pub server: ServerInfo,
    pub change: Box<dyn Fn() -> Change>,
}

pub fn server(product: &str, version: &str, facts: &str) -> ServerInfo {
    ServerInfo { product: product.to_owned(), version: version.to_owned(), facts: facts.to_owned() }
}

pub fn field(name: &str, type_text: &str) -> Field {
    Field::new(name, type_text)
}

fn key(name: &str, type_text: &str) -> Field {
    Field { nullable: false, key: true, ..field(name, type_text) }
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// `ods.orders`, partitioned by its day, as requested.
pub fn orders() -> Table {
    Table {
        comment: "what was ordered".to_owned(),
        model: Some("UNIQUE".to_owned()),
        distribution: strings(&["id"]),
        buckets: Some(10),
        replicas: Some(3),
        partition: strings(&["dt"]),
        ..Table::new(
            TableName::new("ods", "orders"),
            vec![
                Field { comment: "the order".to_owned(), ..key("id", "BIGINT") },
                Field { comment: "when".to_owned(), ..key("dt", "DATE") },
                Field {
                    comment: "it's a note".to_owned(),
                    defaults_to: DefaultValue::Text("x\"y\\z".to_owned()),
                    ..field("note", "VARCHAR(64)")
                },
                Field {
                    defaults_to: DefaultValue::Number("0".to_owned()),
                    nullable: false,
                    ..field("total", "DECIMAL(18,2)")
                },
                field("tags", "ARRAY<STRING>"),
            ],
        )
    }
}

/// The same for StarRocks, with a default that Doris could not store.
fn orders_primary() -> Table {
    let mut table = Table { model: Some("PRIMARY".to_owned()), ..orders() };
    table.fields[2].defaults_to = DefaultValue::Text("x\"y'z\\".to_owned());
    table
}

fn altered(table: Table, name: &str, change: impl Fn(&mut Field)) -> Change {
    let before = table.fields.iter().find(|field| field.name == name).expect("the table has it").clone();
    let mut after = before.clone();
    change(&mut after);
    Change::AlterField(AlterField { current: table, before, after })
}

type Make = Box<dyn Fn() -> Change>;

fn boxed(change: impl Fn() -> Change + 'static) -> Make {
    Box::new(change)
}

/// The cases of both products, each on its own table.
fn common(table: fn() -> Table) -> Vec<(&'static str, Make)> {
    let alter = move |name: &'static str, edit: fn(&mut Field)| boxed(move || altered(table(), name, edit));
    let add = move |field: fn() -> Field, behind: Option<&'static str>| {
        boxed(move || {
            Change::AddField(AddField { current: table(), field: field(), behind: behind.map(str::to_owned) })
        })
    };
    let comment = move |comment: &'static str| {
        boxed(move || Change::CommentTable(CommentTable { current: table(), comment: comment.to_owned() }))
    };
    let drop_field = move |name: &'static str| {
        boxed(move || Change::DropField(DropField { current: table(), field: name.to_owned() }))
    };
    let rename = move |name: &'static str| {
        boxed(move || Change::RenameTable(RenameTable { current: table(), new_name: name.to_owned() }))
    };
    vec![
        (
            "a table with a model, a partition, buckets and copies",
            boxed(move || Change::CreateTable(table())),
        ),
        (
            "a table of which only fields are said",
            boxed(move || {
                Change::CreateTable(Table {
                    fields: vec![field("a", "INT"), field("b", "STRING")],
                    keys: Vec::new(),
                    model: None,
                    distribution: Vec::new(),
                    buckets: None,
                    replicas: None,
                    partition: Vec::new(),
                    comment: String::new(),
                    ..table()
                })
            }),
        ),
        (
            "key fields go first, in the key's order",
            boxed(move || {
                Change::CreateTable(Table {
                    fields: vec![field("v", "INT"), key("b", "INT"), key("a", "VARCHAR(8)")],
                    keys: strings(&["a", "b"]),
                    model: Some("unique_keys".to_owned()),
                    distribution: Vec::new(),
                    partition: strings(&["a"]),
                    ..table()
                })
            }),
        ),
        (
            "every type and every default",
            boxed(move || {
                let with = |name: &str, of: &str, defaults_to: DefaultValue| Field {
                    defaults_to,
                    ..field(name, of)
                };
                Change::CreateTable(Table {
                    fields: vec![
                        key("k", "LARGEINT"),
                        with("f1", "BOOL", DefaultValue::Boolean(true)),
                        with("f2", "TINYINT(4)", DefaultValue::Number("-1".to_owned())),
                        with("f3", "SMALLINT", DefaultValue::Null),
                        with("f4", "FLOAT", DefaultValue::Number("1.5".to_owned())),
                        with("f5", "DOUBLE", DefaultValue::Absent),
                        with("f6", "DECIMAL(10)", DefaultValue::Number("0".to_owned())),
                        with("f7", "DATETIME", DefaultValue::Now(0)),
                        with("f8", "CHAR(3)", DefaultValue::Text("a\nb".to_owned())),
                        with("f9", "JSON", DefaultValue::Absent),
                        with("f10", "MAP<STRING,ARRAY<INT>>", DefaultValue::Absent),
                        with("f11", "STRUCT<a:INT,b:VARCHAR(9)>", DefaultValue::Absent),
                    ],
                    keys: strings(&["k"]),
                    model: None,
                    distribution: strings(&["k"]),
                    partition: Vec::new(),
                    ..table()
                })
            }),
        ),
        (
            "comments that try to leave their quotes",
            boxed(move || {
                let with =
                    |name: &str, comment: &str| Field { comment: comment.to_owned(), ..field(name, "INT") };
                Change::CreateTable(Table {
                    comment: "C:\\dir\\ it's '; DROP TABLE o; --".to_owned(),
                    fields: vec![
                        key("id", "INT"),
                        with("a", "'; DROP TABLE o; -- "),
                        with("b", "\"; DROP TABLE o; -- "),
                        with("c", "/* */ # ; \n 中文"),
                    ],
                    keys: strings(&["id"]),
                    partition: Vec::new(),
                    ..table()
                })
            }),
        ),
        (
            "all that is wrong with a new table is said at once",
            boxed(move || {
                Change::CreateTable(Table {
                    fields: vec![
                        field("k", "STRING"),
                        field("K", "INT COMMENT 'x'"),
                        Field { defaults_to: DefaultValue::Text("0".to_owned()), ..field("n", "INT") },
                        Field { comment: "a\\b".to_owned(), ..field("__DORIS_X__", "INT") },
                        field("名", "INT"),
                    ],
                    keys: strings(&["k", "nobody"]),
                    model: Some("AGGREGATE".to_owned()),
                    distribution: strings(&["nobody"]),
                    partition: strings(&["k", "n"]),
                    buckets: Some(0),
                    replicas: Some(0),
                    ..table()
                })
            }),
        ),
        ("a table is renamed", rename("orders_deprecated_20261121174700")),
        (
            "a table is restored",
            boxed(move || {
                Change::RestoreTable(RenameTable { current: table(), new_name: "orders_2".to_owned() })
            }),
        ),
        (
            "a table is dropped",
            boxed(move || Change::DropTable(DropTable { current: table(), at_once: false })),
        ),
        (
            "a table is dropped at once",
            boxed(move || Change::DropTable(DropTable { current: table(), at_once: true })),
        ),
        ("a table's comment changes", comment("it's other")),
        ("a table's comment goes", comment("")),
        ("a table's comment has a backslash", comment("C:\\dir")),
        ("a table's comment has both quotes", comment("it's \"so\"")),
        ("a table's comment ends with a backslash", comment("C:\\")),
        (
            "a field is added",
            add(
                || Field {
                    comment: "how many".to_owned(),
                    defaults_to: DefaultValue::Number("0".to_owned()),
                    nullable: false,
                    ..field("n", "INT")
                },
                Some("note"),
            ),
        ),
        ("a field is added last", add(|| field("n", "DATETIME"), None)),
        ("a field is added within the key", add(|| field("n", "INT"), Some("id"))),
        (
            "a field is added that rows have no value for",
            add(|| Field { nullable: false, ..field("n", "INT") }, None),
        ),
        ("a field is added to the key", add(|| key("n", "INT"), None)),
        ("a field is added that is there", add(|| field("NOTE", "INT"), None)),
        ("a field gets a wider type", alter("note", |field| field.type_text = "VARCHAR(128)".to_owned())),
        (
            "a field gets a type that rewrites its data",
            alter("note", |field| field.type_text = "STRING".to_owned()),
        ),
        (
            "a field gets another spelling of its type",
            alter("total", |field| field.type_text = "decimal(18, 2)".to_owned()),
        ),
        ("a field gets a narrower type", alter("note", |field| field.type_text = "VARCHAR(32)".to_owned())),
        ("a field gets a type that loses values", alter("note", |field| field.type_text = "INT".to_owned())),
        (
            "a field of the key gets another type",
            alter("id", |field| field.type_text = "LARGEINT".to_owned()),
        ),
        ("a field may be NULL", alter("total", |field| field.nullable = true)),
        ("a field may no longer be NULL", alter("note", |field| field.nullable = false)),
        (
            "a field gets another default",
            alter("total", |field| field.defaults_to = DefaultValue::Number("1".to_owned())),
        ),
        ("a field gets another comment", alter("note", |field| field.comment = "say \"so\"".to_owned())),
        (
            "a field's comment has both quotes",
            alter("note", |field| field.comment = "it's \"so\"".to_owned()),
        ),
        ("a field's comment has a backslash", alter("note", |field| field.comment = "C:\\dir".to_owned())),
        ("a field's comment ends with a backslash", alter("note", |field| field.comment = "C:\\".to_owned())),
        ("a field of the key gets another comment", alter("id", |field| field.comment = "number".to_owned())),
        ("a field gets another name", alter("note", |field| field.name = "remark".to_owned())),
        (
            "a field gets another name, type and comment",
            alter("note", |field| {
                field.name = "remark".to_owned();
                field.type_text = "VARCHAR(128)".to_owned();
                field.comment = "C:\\dir".to_owned();
            }),
        ),
        (
            "the field that parts the table gets another name",
            alter("dt", |field| field.name = "day".to_owned()),
        ),
        ("a field is dropped", drop_field("note")),
        ("a field of the key is dropped", drop_field("id")),
        (
            "the number of buckets changes",
            boxed(move || Change::SetBuckets(SetCount { current: table(), count: 32 })),
        ),
        (
            "the number of buckets is what it was",
            boxed(move || Change::SetBuckets(SetCount { current: table(), count: 10 })),
        ),
        (
            "rows that are spread by chance get other buckets",
            boxed(move || {
                let current = Table {
                    distribution: Vec::new(),
                    extra: Some("{\"distribution\":\"RANDOM\"}".to_owned()),
                    model: Some("DUPLICATE".to_owned()),
                    ..table()
                };
                Change::SetBuckets(SetCount { current, count: 32 })
            }),
        ),
        (
            "a table without partitions gets other buckets",
            boxed(move || {
                Change::SetBuckets(SetCount {
                    current: Table { partition: Vec::new(), ..table() },
                    count: 32,
                })
            }),
        ),
        (
            "the number of copies changes",
            boxed(move || Change::SetReplicas(SetCount { current: table(), count: 1 })),
        ),
        (
            "the number of copies is what it was",
            boxed(move || Change::SetReplicas(SetCount { current: table(), count: 3 })),
        ),
        (
            "partitions have different numbers of copies",
            boxed(move || {
                Change::SetReplicas(SetCount { current: Table { replicas: None, ..table() }, count: 3 })
            }),
        ),
    ]
}

pub fn starrocks() -> Vec<Case> {
    let on = |server: ServerInfo| {
        move |(name, change): (&'static str, Make)| Case { name, server: server.clone(), change }
    };
    let newest = server("StarRocks", "4.0.1", "{\"partitions\":true,\"unicodeNames\":true}");
    let old = server("StarRocks", "3.0.9", "{\"unicodeNames\":true}");
    let mut cases: Vec<Case> = common(orders_primary).into_iter().map(on(newest)).collect();
    let own: Vec<(&'static str, Make)> = vec![
        (
            "an old server cannot rename fields",
            boxed(|| altered(orders_primary(), "note", |field| field.name = "n".to_owned())),
        ),
        (
            "an old server cannot change a table's comment",
            boxed(|| {
                Change::CommentTable(CommentTable { current: orders_primary(), comment: "x".to_owned() })
            }),
        ),
        (
            "an old server cannot change buckets",
            boxed(|| Change::SetBuckets(SetCount { current: orders_primary(), count: 32 })),
        ),
    ];
    cases.extend(own.into_iter().map(on(old)));
    cases
}
