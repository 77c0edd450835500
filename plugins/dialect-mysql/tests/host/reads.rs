use std::cell::RefCell;

use dialect_mysql::read::{self, Ask};
use lakeport_sdk::dialect::{AccessRequest, Cell, Column, Error, Page, Query, RowSet, ServerInfo, TableName};
use lakeport_sql::{Profile, read_statement};

use super::{mariadb, mysql, profile};

/// Judges each query as the host would, and answers from a list.
struct Judge {
    profile: Profile,
    about: Vec<TableName>,
    answers: Vec<(&'static str, RowSet)>,
    asked: RefCell<Vec<String>>,
}

impl Judge {
    fn new(about: &[TableName], answers: Vec<(&'static str, RowSet)>) -> Judge {
        Judge { profile: profile(), about: about.to_vec(), answers, asked: RefCell::new(Vec::new()) }
    }

    fn count(&self) -> usize {
        self.asked.borrow().len()
    }
}

impl Ask for Judge {
    fn ask_within(&self, query: Query, _timeout_ms: u32) -> Result<RowSet, Error> {
        let about: Vec<_> = self.about.iter().cloned().map(lakeport_carry::table_name).collect();
        let fragments: Vec<_> = query.fragments().into_iter().map(lakeport_carry::fragment).collect();
        let statement = read_statement(&self.profile, &fragments, &about)
            .unwrap_or_else(|error| panic!("{}: {:?}", error.message, error.context));
        let known = self.answers.iter().find(|(part, _)| statement.sql.contains(part));
        self.asked.borrow_mut().push(statement.sql);
        Ok(known.map_or_else(|| rows(&[], Vec::new()), |(_, rows)| rows.clone()))
    }
}

fn rows(columns: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
    let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
    RowSet { columns: columns.iter().map(column).collect(), rows, truncated: false }
}

fn text(value: &str) -> Cell {
    Cell::Text(value.to_owned())
}

fn variables(pairs: &[(&str, &str)]) -> RowSet {
    rows(
        &["Variable_name", "Value"],
        pairs.iter().map(|(name, value)| vec![text(name), text(value)]).collect(),
    )
}

const HEAD: [&str; 6] = ["name", "kind", "engine", "collation", "options", "comment"];

fn heads(options: &str) -> RowSet {
    let of = |name: &str, kind: &str| {
        vec![text(name), text(kind), text("InnoDB"), text("utf8mb4_bin"), text(options), text("VIEW")]
    };
    rows(&HEAD, vec![of("orders", "BASE TABLE"), of("report", "VIEW"), of("numbers", "SEQUENCE")])
}

fn orders() -> Vec<TableName> {
    vec![TableName::new("shop", "orders"), TableName::new("shop", "report")]
}

#[test]
fn versions_are_detected_old_ones_refused() {
    let of =
        |pairs: &[(&str, &str)]| read::server(&Judge::new(&[], vec![("SHOW VARIABLES", variables(pairs))]));
    let server: ServerInfo = of(&[
        ("version", "10.11.19-MariaDB-0+deb12u1"),
        ("sql_mode", "ANSI_QUOTES"),
        ("lower_case_table_names", "1"),
        ("explicit_defaults_for_timestamp", "ON"),
    ])
    .unwrap();
    assert_eq!(server.product, "MariaDB");
    assert!(server.facts.contains("ANSI_QUOTES") && server.facts.contains(r#""lowerCaseTableNames":1"#));
    assert_eq!(of(&[("version", "8.4.3"), ("version_comment", "MySQL Community")]).unwrap().product, "MySQL");
    assert_eq!(of(&[("version", "5.7.44")]).unwrap_err().code, "unsupported");
    let old = of(&[("version", "8.0.16")]).unwrap_err();
    assert!(old.code == "unsupported" && old.message.contains("8.0.17"), "{}", old.message);
    assert_eq!(of(&[("version", "8.0.17")]).unwrap().version, "8.0.17");
    assert_eq!(of(&[("version", "10.5.1-MariaDB")]).unwrap_err().code, "unsupported");
}

#[test]
fn paging_continues_after_the_last_name() {
    let names = rows(&["name"], ["numbers", "orders", "report"].map(|name| vec![text(name)]).into());
    let judge = Judge::new(&[], vec![("ENGINE", heads("")), ("SCHEMATA", names.clone()), ("LIMIT", names)]);
    let page = |limit| Page { cursor: Some("a'; --".to_owned()), limit };
    let databases = read::databases(&judge, &page(2)).unwrap();
    assert_eq!((databases.databases.len(), databases.next.as_deref()), (2, Some("orders")));
    let tables = read::tables(&judge, "shop", &page(3)).unwrap();
    assert_eq!((tables.tables.len(), tables.next), (2, None));
    assert_eq!(tables.tables[1].kind, "view");
    assert_eq!(tables.tables[1].comment, "");
}

#[test]
fn two_hundred_tables_take_a_dozen_questions() {
    for server in [mysql(), mariadb()] {
        let tables: Vec<TableName> =
            (0..200).map(|number| TableName::new("shop", format!("t{number}"))).collect();
        let judge = Judge::new(&tables, vec![("ENGINE", heads("partitioned"))]);
        let found = read::inspect(&judge, &server, &tables, false).unwrap();
        assert_eq!(found.len(), 200);
        assert!(found.iter().all(|table| table.as_ref().is_err_and(|error| error.code == "not_found")));
        assert!(judge.count() <= 9, "{}", judge.count());
    }
}

#[test]
fn views_are_looked_for_where_a_change_could_break_them() {
    for (server, part) in [(mysql(), "VIEW_TABLE_USAGE"), (mariadb(), "LOCATE(")] {
        let judge = Judge::new(&orders(), vec![("ENGINE", heads(""))]);
        read::inspect(&judge, &server, &orders(), true).unwrap();
        for part in [part, "information_schema.VIEWS AS v WHERE v.TABLE_SCHEMA = "] {
            assert!(judge.asked.borrow().iter().any(|sql| sql.contains(part)), "{part}");
        }
        let judge = Judge::new(&orders(), vec![("ENGINE", heads(""))]);
        read::inspect(&judge, &server, &orders(), false).unwrap();
        assert!(judge.asked.borrow().iter().all(|sql| !sql.contains("VIEWS")));
    }
}

#[test]
fn sizes_and_statements_pass_the_guard() {
    for fresh in [false, true] {
        let judge = Judge::new(&orders(), vec![("ENGINE", heads("partitioned"))]);
        let sizes = read::statistics(&judge, &mysql(), &orders(), fresh);
        assert!(sizes.unwrap()[1].is_ok());
        assert!(
            !fresh
                || judge
                    .asked
                    .borrow()
                    .iter()
                    .any(|sql| sql == "SELECT COUNT(*) AS `lakeport_measured` FROM `shop`.`report`")
        );
    }
    let judge = Judge::new(
        &orders(),
        vec![(
            "SHOW CREATE TABLE `shop`.`orders`",
            rows(&["Table", "Create Table"], vec![vec![text("orders"), text("CREATE TABLE x")]]),
        )],
    );
    assert_eq!(read::ddl(&judge, &orders()[0]).unwrap(), "CREATE TABLE x;");
    assert_eq!(read::ddl(&judge, &orders()[1]).unwrap_err().code, "not_found");
}

fn request() -> AccessRequest {
    AccessRequest {
        tables: Vec::new(),
        since: 1_000_000,
        until: 2_000_000,
        time_zone: "Europe/Berlin".to_owned(),
        without_users: vec!["lakeport".to_owned()],
        page: Page { cursor: None, limit: 100 },
    }
}

#[test]
fn accesses_come_from_the_best_source_that_there_is() {
    let known = rows(&["known"], vec![vec![Cell::Integer(0)]]);
    let log = rows(
        &["day", "account", "chosen", "said", "n", "last_ms"],
        vec![vec![
            text("2026-01-31"),
            text("anna"),
            text("anna@localhost on shop using TCP/IP"),
            text("SELECT 1"),
            Cell::Integer(3),
            Cell::Integer(5),
        ]],
    );
    let on = [("general_log", "ON"), ("log_output", "FILE,TABLE"), ("performance_schema", "ON")];
    let answers = vec![("SHOW VARIABLES", variables(&on)), ("AS known", known), ("AS chosen", log)];
    let judge = Judge::new(&[], answers);
    let page = read::access(&judge, &mysql(), &request()).unwrap();
    let asked = judge.asked.borrow();
    let bounded = asked.iter().find(|sql| sql.contains("AS chosen")).unwrap();
    assert!(bounded.contains("g.event_time >= FROM_UNIXTIME"), "{bounded}");
    assert_eq!((page.rows.len(), page.source.as_str(), page.complete), (1, "general log", false));
    assert!(page.note.contains("Europe/Berlin"));

    let digests = rows(
        &["db", "digest", "n", "first_ms", "last_ms"],
        vec![
            vec![
                text("shop"),
                text("SELECT * FROM `orders` , `other` . `t`"),
                Cell::Integer(3),
                Cell::Integer(7),
                Cell::Integer(9),
            ],
            vec![
                text("shop"),
                text("INSERT INTO `orders` VALUES (...)"),
                Cell::Integer(2),
                Cell::Integer(8),
                Cell::Integer(12),
            ],
            vec![Cell::Null, Cell::Null, Cell::Integer(4), Cell::Integer(5), Cell::Integer(9)],
        ],
    );
    let answers =
        vec![("SHOW VARIABLES", variables(&[("performance_schema", "ON")])), ("by_digest", digests)];
    let page = read::access(&Judge::new(&[], answers), &mysql(), &request()).unwrap();
    let counted: Vec<_> =
        page.counters.iter().map(|one| (one.table.name.as_str(), one.count, one.since, one.last)).collect();
    assert_eq!(counted, [("t", 3, Some(5), Some(9)), ("orders", 5, Some(5), Some(12))]);
    assert!(page.note.contains("4 statements"));

    for name in ["performance_schema", "userstat"] {
        let judge = Judge::new(&[], vec![("SHOW VARIABLES", variables(&[(name, "ON")]))]);
        let page = read::access(&judge, &mariadb(), &request()).unwrap();
        assert!(page.counters.is_empty() && !page.source.is_empty(), "{name}");
    }
    let judge = Judge::new(&[], vec![("SHOW VARIABLES", variables(&[]))]);
    let page = read::access(&judge, &mariadb(), &request()).unwrap();
    assert!(page.source.is_empty() && page.note.contains("general_log"));
}
