use lakeport_sdk::dialect::{AccessRequest, Cell, Column, DefaultValue, Dialect, Page, Table};
use lakeport_sql::{Profile, read_statement};

use super::*;
use crate::server::{Product, Server};
use lakeport_carry as carry;

fn rows(columns: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
    let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
    RowSet { columns: columns.iter().map(column).collect(), rows, truncated: false }
}

fn texts(values: &[&str]) -> Vec<Cell> {
    values.iter().map(|&value| if value == "NULL" { Cell::Null } else { Cell::from(value) }).collect()
}

fn orders() -> TableName {
    TableName::new("ods", "orders")
}

/// All queries of both products, with a name and a value that would break out of their quotes if they could.
fn questions() -> Vec<Query> {
    let evil = "o'; DROP TABLE \"t\"; -- \\";
    let page = Page { cursor: Some(evil.to_owned()), limit: 10 };
    let request = AccessRequest {
        tables: Vec::new(),
        since: 0,
        until: 1_000,
        time_zone: "Asia/Shanghai".to_owned(),
        without_users: vec![evil.to_owned(), "root".to_owned()],
        page: page.clone(),
    };
    let names = ["orders", evil];
    let of_names = [
        inspect::heads_query,
        inspect::comments_query,
        inspect::starrocks_layout_query,
        inspect::partitions_query(Product::Doris),
        inspect::partitions_query(Product::StarRocks),
        sizes::sizes_query,
    ];
    let mut questions = who::questions();
    questions.extend(of_names.map(|query| query(evil, &names)));
    questions.extend([lists::databases_query(&page), lists::tables_query(evil, &page)]);
    questions.extend([
        shown::query(&orders()),
        inspect::fields_query(&orders()),
        sizes::count_query(&orders()),
    ]);
    questions.extend(access::questions(&request));
    questions
}

#[test]
fn the_host_accepts_every_catalogue_query() {
    let profile = Profile::new(&carry::info(crate::Doris::describe())).expect("the description is sound");
    let about = [carry::table_name(orders())];
    let written: String = questions()
        .into_iter()
        .map(|question| {
            let fragments: Vec<_> = question.fragments().into_iter().map(carry::fragment).collect();
            let read = read_statement(&profile, &fragments, &about);
            let read = read.unwrap_or_else(|error| panic!("{fragments:?}: {}", error.message));
            assert!(read.binds.is_empty());
            format!("{};\n", read.sql)
        })
        .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/questions.sql");
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(path, &written).unwrap();
    }
    assert_eq!(written, std::fs::read_to_string(path).unwrap());
}

fn variables(comment: &str, mode: &str) -> RowSet {
    rows(&["version_comment", "sql_mode", "lower_case_table_names"], vec![texts(&[comment, mode, "1"])])
}

#[test]
fn product_and_catalogue_features_are_detected() {
    let unicode = rows(&["Variable_name", "Value"], vec![texts(&["enable_unicode_name_support", "true"])]);
    let columns = rows(&["table_name", "column_name"], vec![texts(&["partitions", "REPLICA_NUM"])]);
    let doris = variables("Doris version doris-2.1.7-rc03-443e87e203", "ONLY_FULL_GROUP_BY");
    let info = server_of(&doris, &unicode, &columns, "{\"replicas\":1,\"partitionUnit\":\"day\"}").unwrap();
    assert_eq!((info.product.as_str(), info.version.as_str()), ("Apache Doris", "2.1.7"));
    let server = Server::of(&info);
    assert!(!server.layout && server.partitions && server.unicode_names && server.lower_case_tables);
    assert_eq!((server.replicas, server.partition_unit.name()), (Some(1), "day"));

    let none = rows(&["table_name", "column_name"], Vec::new());
    let starrocks = server_of(&variables("StarRocks version 3.3.5", ""), &none, &none, "{}").unwrap();
    assert_eq!((starrocks.product.as_str(), starrocks.version.as_str()), ("StarRocks", "3.3.5"));
    assert!(!Server::of(&starrocks).layout);
    let config = rows(&["table_name", "column_name"], vec![texts(&["tables_config", "PARTITION_KEY"])]);
    let vendors = server_of(&variables("Fast 3.5.1", ""), &none, &config, "{}").unwrap();
    assert_eq!((vendors.product.as_str(), Server::of(&vendors).layout), ("StarRocks", true));

    let plain_mode = variables("doris-3.0.6", "NO_BACKSLASH_ESCAPES");
    assert_eq!(server_of(&plain_mode, &none, &none, "{}").unwrap_err().code, "unsupported");
    assert_eq!(server_of(&variables("MariaDB", ""), &none, &none, "{}").unwrap_err().code, "unsupported");
}

const HEADS: [&str; 4] = ["name", "kind", "engine_name", "comment_text"];
const COMMENTS: [&str; 4] = ["table_name", "name", "comment_text", "key_kind"];
const DESC: [&str; 6] = ["Field", "Type", "Null", "Key", "Default", "Extra"];

/// A server's answers for `ods.orders`, with this comment.
fn answers(comment: &str) -> Answers {
    Answers {
        heads: rows(&HEADS, vec![texts(&["orders", "BASE TABLE", "Doris", comment])]),
        comments: rows(
            &COMMENTS,
            vec![
                texts(&["orders", "id", "the \"order\"", "UNI"]),
                texts(&["orders", "dt", "", "UNI"]),
                texts(&["orders", "note", "it's", ""]),
                texts(&["others", "id", "not ours", "DUP"]),
            ],
        ),
        layout: None,
        partitions: None,
    }
}

fn described() -> RowSet {
    rows(
        &DESC,
        vec![
            texts(&["id", "bigint", "No", "true", "NULL", ""]),
            texts(&["dt", "datev2", "No", "true", "NULL", ""]),
            texts(&["note", "varchar(64)", "Yes", "false", "x", "NONE"]),
            texts(&["n", "bigint", "No", "false", "NULL", "REPLACE,AUTO_INCREMENT"]),
            texts(&["at", "datetime", "Yes", "false", "CURRENT_TIMESTAMP", "NONE"]),
        ],
    )
}

/// `SHOW CREATE TABLE` as Doris writes it: only double quotes in the comment are escaped, with a backslash.
fn create_text(comment: &str, partition: &str) -> String {
    let comment = match comment {
        "" => String::new(),
        text => format!("COMMENT '{}'\n", text.replace('"', "\\\"")),
    };
    format!(
        "CREATE TABLE `orders` (\n  `id` bigint NOT NULL COMMENT 'the \"order\"',\n  `dt` date NOT NULL,\n  \
         `note` varchar(64) NULL DEFAULT \"x\" COMMENT 'it's\n of ON UPDATE',\n  `n` bigint NOT NULL AUTO_INCREMENT(1),\n  \
         `at` datetime NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP COMMENT 'when'\n) ENGINE=OLAP\n\
         UNIQUE KEY(`id`, `dt`)\n{comment}{partition}DISTRIBUTED BY HASH(`id`) BUCKETS 10\nPROPERTIES (\n\
         \"replication_allocation\" = \"tag.location.default: 3\",\n\"min_load_replica_num\" = \"-1\"\n);"
    )
}

const PARTITION: &str = "AUTO PARTITION BY RANGE (date_trunc(`dt`, 'month'))\n(PARTITION p1 VALUES [('2026-01-01'), ('2026-02-01')))\n";

fn read_text(text: &str, comment: &str, partitions: Option<RowSet>) -> Table {
    let of = Of {
        fields: described(),
        shown: Some(rows(&["Table", "Create Table"], vec![texts(&["orders", text])])),
    };
    let given = Answers { partitions, ..answers(comment) };
    table_of(&Server::default(), &orders(), &given, &of).unwrap()
}

fn read(comment: &str, partition: &str) -> Table {
    read_text(&create_text(comment, partition), comment, None)
}

#[test]
fn a_table_is_read_completely() {
    let table = read("what's \"ordered\"", PARTITION);
    assert_eq!((table.kind.as_str(), table.comment.as_str()), ("table", "what's \"ordered\""));
    assert_eq!(table.model.as_deref(), Some("UNIQUE"));
    assert_eq!(
        (table.keys, table.partition),
        (vec!["id".to_owned(), "dt".to_owned()], vec!["dt".to_owned()])
    );
    assert_eq!(
        (table.distribution, table.buckets, table.replicas),
        (vec!["id".to_owned()], Some(10), Some(3))
    );
    assert_eq!(table.extra, None);
    let [id, dt, note, n, at] = table.fields.as_slice() else { panic!("five fields") };
    assert_eq!((id.type_text.as_str(), id.nullable, id.key), ("BIGINT", false, true));
    assert_eq!((id.comment.as_str(), dt.type_text.as_str()), ("the \"order\"", "DATE"));
    assert_eq!(note.defaults_to, DefaultValue::Text("x".to_owned()));
    assert_eq!((note.nullable, note.comment.as_str(), note.extra.as_deref()), (true, "it's", None));
    assert_eq!(n.extra.as_deref(), Some("{\"aggregate\":\"REPLACE\",\"autoIncrement\":true}"));
    assert_eq!((&at.defaults_to, at.extra.as_deref()), (&DefaultValue::Now(0), Some("{\"onUpdate\":true}")));
}

#[test]
fn a_boolean_default_keeps_its_spelling() {
    let fields =
        |default: &str| rows(&DESC, vec![texts(&["ok", "boolean", "Yes", "false", default, "NONE"])]);
    let read = |default: &str| {
        let of = Of { fields: fields(default), shown: None };
        let table = table_of(&Server::default(), &orders(), &answers(""), &of).unwrap();
        (table.fields[0].defaults_to.clone(), table.fields[0].extra.clone())
    };
    assert_eq!(read("true"), (DefaultValue::Boolean(true), None));
    assert_eq!(read("1"), (DefaultValue::Boolean(true), Some("{\"defaultText\":\"1\"}".to_owned())));
    assert_eq!(read("0"), (DefaultValue::Boolean(false), Some("{\"defaultText\":\"0\"}".to_owned())));
    assert_eq!(read("NULL"), (DefaultValue::Absent, None));
}

#[test]
fn a_uniform_replica_count_is_read() {
    let text = create_text("", "");
    let of = |least: &str, most: &str| {
        let columns = ["name", "replica_least", "replica_most", "partition_count"];
        let listed = rows(&columns, vec![texts(&["orders", least, most, "12"])]);
        read_text(&text, "", Some(listed)).replicas
    };
    assert_eq!(of("3", "3"), Some(3));
    assert_eq!((of("2", "3"), of("2", "2"), of("NULL", "NULL")), (None, None, None));
    let none = rows(&["name", "replica_least", "replica_most", "partition_count"], Vec::new());
    assert_eq!(read_text(&text, "", Some(none)).replicas, Some(3));
}

#[test]
fn facts_that_decide_counts_are_read() {
    let text = create_text("", PARTITION);
    let tagged = text.replace("default: 3", "default: 2, tag.location.b: 1");
    let tagged = read_text(&tagged, "", None);
    let extra = "{\"replicaAllocation\":\"tag.location.default: 2, tag.location.b: 1\"}";
    assert_eq!((tagged.replicas, tagged.extra.as_deref()), (Some(3), Some(extra)));
    let colocated = text.replace("PROPERTIES (", "PROPERTIES (\n\"colocate_with\" = \"g\",");
    assert_eq!(read_text(&colocated, "", None).extra.as_deref(), Some("{\"colocated\":true}"));
    let cloud = text.replace(
        "\"replication_allocation\" = \"tag.location.default: 3\"",
        "\"file_cache_ttl_seconds\" = \"0\"",
    );
    let cloud = read_text(&cloud, "", None);
    assert_eq!((cloud.replicas, cloud.extra.as_deref()), (None, Some("{\"cloud\":true}")));
    let ahead = |enabled: &str| {
        let properties = format!(
            "PROPERTIES (\n\"dynamic_partition.enable\" = \"{enabled}\",\n\"dynamic_partition.buckets\" = \"4\","
        );
        read_text(&text.replace("PROPERTIES (", &properties), "", None).extra
    };
    assert_eq!(ahead("true").as_deref(), Some("{\"dynamicPartitions\":true}"));
    assert_eq!(ahead("false"), None);
}

#[test]
fn a_comment_that_looks_like_a_clause_is_none() {
    for comment in [
        "",
        "x'\nPARTITION BY RANGE(`note`)\n()\nDISTRIBUTED BY HASH(`note`) BUCKETS 1\nPROPERTIES (\n\"replication_num\" = \"9\"\n);",
        "'\nAUTO PARTITION BY LIST (`note`)",
        "COMMENT 'x'",
        "\n) ENGINE=OLAP\nDUPLICATE KEY(`note`)\n",
        "'",
    ] {
        for (partition, expected) in [("", Vec::new()), (PARTITION, vec!["dt".to_owned()])] {
            let table = read(comment, partition);
            assert_eq!(table.partition, expected, "{comment:?}");
            assert_eq!((table.distribution, table.buckets), (vec!["id".to_owned()], Some(10)), "{comment:?}");
            assert_eq!((table.model.as_deref(), table.replicas), (Some("UNIQUE"), Some(3)), "{comment:?}");
        }
    }
}

#[test]
fn a_layout_that_is_not_understood_is_not_known() {
    for text in ["", "CREATE VIEW v AS SELECT 1", "DISTRIBUTED BY HASH(`id`)"] {
        assert_eq!(shown(text, "", &["id"]), None, "{text}");
    }
    let random = create_text("", "").replace("HASH(`id`) BUCKETS 10", "RANDOM BUCKETS AUTO");
    let random = shown(&random, "", &["id", "dt"]).unwrap();
    assert!(random.extra.random && random.distribution.is_empty() && random.buckets.is_none());
}

#[test]
fn newer_starrocks_lists_layouts_in_bulk() {
    let starrocks = Server { product: Product::StarRocks, layout: true, ..Server::default() };
    let columns =
        ["name", "model", "spread_by", "spread_kind", "bucket_count", "partition_key", "property_text"];
    let of = Of { fields: described(), shown: None };
    let read = |told: &[&str]| {
        let given = Answers { layout: Some(rows(&columns, vec![texts(told)])), ..answers("") };
        table_of(&starrocks, &orders(), &given, &of).unwrap()
    };
    let table = read(&["orders", "UNQ_KEYS", "id,dt", "HASH", "16", "dt", "{\"replication_num\":\"2\"}"]);
    assert_eq!(
        (table.distribution.join(","), table.partition.join(",")),
        ("id,dt".to_owned(), "dt".to_owned())
    );
    assert_eq!((table.buckets, table.replicas, table.model.as_deref()), (Some(16), Some(2), Some("UNIQUE")));
    let group = "{\"replication_num\":\"1\",\"colocate_with\":\"g\"}";
    let table = read(&["orders", "PRI_KEYS", "id", "HASH", "16", "dt", group]);
    assert_eq!(table.extra.as_deref(), Some("{\"colocated\":true}"));
    let table = read(&["orders", "PRI_KEYS", "", "RANDOM", "0", "date_trunc('dt', `dt`)", "{}"]);
    assert_eq!((table.partition.join(","), table.replicas, table.buckets), ("dt".to_owned(), None, None));
    assert_eq!(table.extra.as_deref(), Some("{\"distribution\":\"RANDOM\"}"));
}

#[test]
fn only_tables_have_a_key_model() {
    let server = Server::default();
    let mut given = answers("");
    given.heads = rows(&HEADS, vec![texts(&["orders", "VIEW", "View", ""])]);
    let of = Of { fields: described(), shown: None };
    let view = table_of(&server, &orders(), &given, &of).unwrap();
    assert_eq!((view.kind.as_str(), view.model, view.keys.len()), ("view", None, 0));
    let missing = table_of(&server, &TableName::new("ods", "nobody"), &given, &of).unwrap_err();
    assert_eq!(missing.code, "not_found");
    for (product, kind, engine, expected) in [
        (Product::StarRocks, "BASE TABLE", "MATERIALIZED_VIEW", "materialized_view"),
        (Product::Doris, "BASE TABLE", "NULL", "materialized_view"),
        (Product::StarRocks, "BASE TABLE", "NULL", "table"),
        (Product::Doris, "BASE TABLE", "Doris", "table"),
        (Product::Doris, "BASE TABLE", "JDBC", "external"),
        (Product::StarRocks, "BASE TABLE", "StarRocks", "table"),
        (Product::Doris, "VIEW", "View", "view"),
        (Product::Doris, "SYSTEM VIEW", "MEMORY", "view"),
    ] {
        let heads = rows(&HEADS, vec![texts(&["t", kind, engine, ""])]);
        assert_eq!(lists::kind_of(product, &heads.first().unwrap()), expected, "{kind} {engine}");
    }
}

#[test]
fn sizes_are_estimates_missing_means_unknown() {
    let told = rows(
        &["name", "kind", "engine_name", "row_count", "data_bytes", "index_bytes"],
        vec![
            texts(&["orders", "BASE TABLE", "Doris", "12", "3400", "0"]),
            texts(&["v", "VIEW", "View", "NULL", "NULL", "NULL"]),
        ],
    );
    let partitions = rows(&["name", "partition_count"], vec![texts(&["orders", "4"])]);
    let of = |product: Product, name: &str| {
        let server = Server { product, ..Server::default() };
        sizes::statistics_of(&server, &TableName::new("ods", name), &told, Some(&partitions)).unwrap()
    };
    let doris = of(Product::Doris, "orders");
    assert_eq!((doris.row_count, doris.row_accuracy.as_str()), (Some(12), "estimate"));
    assert_eq!((doris.data_bytes, doris.index_bytes, doris.partition_count), (Some(3_400), Some(0), Some(4)));
    assert_eq!(of(Product::StarRocks, "orders").index_bytes, None);
    let view = of(Product::Doris, "v");
    assert_eq!((view.row_count, view.row_accuracy.as_str()), (None, "unknown"));
}

#[test]
fn an_unknown_table_is_not_a_failure() {
    let answered = |code: &str, message: &str| {
        let upstream = lakeport_sdk::Upstream {
            system: "Doris".to_owned(),
            status: None,
            code: Some(code.to_owned()),
            message: message.to_owned(),
        };
        missing(Error::upstream_failed("no").upstream(upstream), &orders()).code
    };
    assert_eq!(answered("1146", "no such table"), "not_found");
    assert_eq!(answered("1105", "errCode = 2, detailMessage = Unknown table 'x'"), "not_found");
    assert_eq!(answered("1051", "errCode = 2, detailMessage = x"), "not_found");
    assert_eq!(answered("1105", "errCode = 2, detailMessage = out of memory"), "upstream_failed");
}
