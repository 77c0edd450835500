//! Tests without a server: names as people write them, the search, kept tables, and the views against the
//! schema.

use lakeport_bindings::tool::tool::Artifact;

use super::catalog::parts;
use super::results::Kept;
use super::*;

fn table(content: &str) -> Artifact {
    Artifact { kind: "table".to_owned(), content: content.to_owned() }
}

#[test]
fn a_name_is_taken_apart_however_it_is_quoted() {
    assert_eq!(parts("Orders"), ["orders"]);
    assert_eq!(parts("main.\"Order.Items\""), ["main", "order.items"]);
    assert_eq!(parts(" `shop`.[main].'订单' "), ["shop", "main", "订单"]);
}

#[test]
fn a_page_goes_on_where_the_one_before_ended() {
    let page = |cursor: Option<&str>| Page { cursor: cursor.map(str::to_owned), limit: 2 };
    assert_eq!(page_of(vec![1, 2, 3], &page(None)).unwrap(), (vec![1, 2], Some("2".to_owned())));
    assert_eq!(page_of(vec![1, 2, 3], &page(Some("2"))).unwrap(), (vec![3], None));
    assert_eq!(page_of(vec![1, 2, 3], &page(Some("x"))).unwrap_err().code, "invalid_input");
}

#[test]
fn the_latest_tables_of_a_task_are_kept() {
    let kept = Kept::default();
    for number in 0..25 {
        let content =
            format!(r#"{{"columns":[{{"name":"n","type":"INTEGER"}}],"rows":[[{number}],[null]]}}"#);
        kept.keep(&format!("c{number}"), "run_sql", &[table(&content)]);
    }
    kept.keep("bad", "run_sql", &[table(r#"{"columns":[],"rows":[[1]]}"#), table("no JSON")]);
    let tables = kept.tables();
    assert_eq!(tables.len(), 20);
    assert_eq!((tables[0].call_id.as_str(), tables[0].row_count), ("c24", 2));
    let rows = kept.rows("c24", 1).unwrap();
    assert_eq!(rows.rows, [[lakeport_bindings::host::data::Cell::Integer(24)]]);
    assert!(rows.truncated);
    assert_eq!(kept.rows("c0", 9).unwrap_err().code, "not_found");
}
