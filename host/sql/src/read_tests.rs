use super::*;
use crate::testing::info;

fn read(fragments: &[Fragment]) -> Result<ReadStatement, String> {
    let profile = Profile::new(&info()).expect("sound");
    let about = [TableName { database: "main".to_owned(), name: "order \"s".to_owned() }];
    read_statement(&profile, fragments, &about).map_err(|error| error.context[0].1.clone())
}

fn sql(text: &str) -> Fragment {
    Fragment::Sql(text.to_owned())
}

fn name(parts: &[&str]) -> Fragment {
    Fragment::Name(parts.iter().map(|part| (*part).to_owned()).collect())
}

fn value(text: &str) -> Fragment {
    Fragment::Value(Cell::Text(text.to_owned()))
}

#[test]
fn values_are_bound_and_names_quoted() {
    let statement = read(&[
        sql("SELECT name FROM pragma_table_xinfo("),
        value("x'; DROP"),
        sql(") WHERE 1 IN (SELECT 1 FROM "),
        name(&["main", "order \"s"]),
        sql(")"),
    ])
    .expect("allowed");
    assert_eq!(
        statement.sql,
        r#"SELECT name FROM pragma_table_xinfo(?) WHERE 1 IN (SELECT 1 FROM "main"."order ""s")"#
    );
    assert_eq!(statement.binds, [Cell::Text("x'; DROP".to_owned())]);
}

#[test]
fn only_the_catalogue_and_what_the_call_is_about() {
    assert!(read(&[sql("SELECT sql FROM sqlite_schema WHERE name = "), value("a")]).is_ok());
    assert!(read(&[sql("SELECT count(*) FROM "), name(&["order \"s"])]).is_ok());
    for other in [name(&["users"]), name(&["temp", "order \"s"]), sql("users"), sql("pragma_database_list()")]
    {
        assert_eq!(read(&[sql("SELECT * FROM "), other]), Err("not_permitted".to_owned()));
    }
    assert_eq!(read(&[sql("SELECT sqlite_compileoption_used('x')")]), Err("denied_function".to_owned()));
    assert_eq!(read(&[sql("SELECT 1; DROP TABLE x")]), Err("one_statement".to_owned()));
    assert_eq!(read(&[sql("SELECT ?")]), Err("parse".to_owned()));
    assert_eq!(read(&[sql("SELECT * FROM "), name(&[])]), Err("parse".to_owned()));
}

#[test]
fn values_are_literals_where_nothing_binds() {
    let mut described = info();
    described.sql.placeholders = "none".to_owned();
    let profile = Profile::new(&described).expect("sound");
    let cells = [
        (Cell::Null, "NULL"),
        (Cell::Boolean(true), "TRUE"),
        (Cell::Integer(-3), "-3"),
        (Cell::Float(0.1), "1e-1"),
        (Cell::Text("it's".to_owned()), "'it''s'"),
    ];
    for (cell, text) in cells {
        let statement =
            read_statement(&profile, &[sql("SELECT "), Fragment::Value(cell)], &[]).expect("fine");
        assert_eq!(statement.sql, format!("SELECT {text}"));
    }
    for cell in [Cell::Float(f64::NAN), Cell::Bytes(vec![1])] {
        assert!(read_statement(&profile, &[sql("SELECT "), Fragment::Value(cell)], &[]).is_err());
    }
}

#[test]
fn a_cached_statement_is_rejudged_per_table() {
    let profile = Profile::new(&info()).expect("sound");
    let of = |name: &str| [TableName { database: "main".to_owned(), name: name.to_owned() }];
    let fragments = [sql("SELECT count(*) FROM "), name(&["main", "a"]), sql(" -- rows")];
    let first = read_statement(&profile, &fragments, &of("a")).expect("it is about this table");
    assert_eq!(first.sql.trim_end(), r#"SELECT count(*) FROM "main"."a""#);
    assert_eq!(read_statement(&profile, &fragments, &of("a")), Ok(first));
    let refused = read_statement(&profile, &fragments, &of("b")).expect_err("it is about another");
    assert!(refused.context.iter().any(|(name, _)| name == "position"), "{refused:?}");
}
