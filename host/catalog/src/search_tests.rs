use std::time::{Duration, Instant};

use super::*;
use crate::entry::tests::entry;
use crate::{Entry, Order, SortBy, Texts};

fn texts(fields: &[(i64, &str, &str)]) -> Texts {
    let fields = fields.iter().map(|(id, name, about)| (*id, (*name).to_owned(), (*about).to_owned()));
    Texts { description: None, fields: fields.collect() }
}

fn few() -> Index {
    let mut index = Index::default();
    index.put(entry(1, "main", "Orders"), &texts(&[(11, "id", ""), (12, "order", "the 订 itself")]));
    index.put(entry(2, "main", "order"), &texts(&[(21, "orders", "")]));
    index.put(entry(3, "main", "old_orders"), &texts(&[]));
    let said = Entry { table_comment: Some("of orders".into()), ..entry(4, "main", "bills") };
    index.put(said, &texts(&[(41, "x", "ORDER")]));
    let gone = Entry { is_deprecated: true, ..entry(5, "main", "order") };
    index.put(gone, &texts(&[(51, "order", "")]));
    index
}

fn found(index: &Index, keyword: &str, filter: &Filter<'_>) -> Vec<i64> {
    let (total, hits) = index.search(keyword, filter, |_| true, 0, 100);
    assert_eq!(total, hits.len());
    hits.into_iter().map(|hit| hit.field_id.unwrap_or(hit.table_id)).collect()
}

#[test]
fn names_stand_before_what_is_said_and_tables_before_fields() {
    let index = few();
    assert_eq!(found(&index, "order", &Filter::default()), [2, 12, 1, 21, 3, 4, 41]);
    assert_eq!(found(&index, "订", &Filter::default()), [12]);
    assert_eq!(found(&index, "%", &Filter::default()), [] as [i64; 0]);
    assert_eq!(found(&index, "_", &Filter::default()), [3]);
    let other = Filter { cluster_id: Some(9), ..Filter::default() };
    assert_eq!(found(&index, "order", &other), [] as [i64; 0]);
}

#[test]
fn of_several_words_each_must_be_there_in_whatever_text() {
    let mut index = few();
    let tagged = Entry { tags: Box::new(["tag_a".into()]), ..entry(6, "main", "customer_names") };
    index.put(tagged, &texts(&[(61, "name", "of the customer"), (62, "since", "")]));
    assert_eq!(found(&index, "tag_a name", &Filter::default()), [6, 61]);
    assert_eq!(found(&index, "name tag_a", &Filter::default()), [6, 61]);
    assert_eq!(found(&index, "customer_names since", &Filter::default()), [62], "one is its table's name");
    assert_eq!(found(&index, "customer of the", &Filter::default()), [61]);
    assert_eq!(found(&index, "tag_a tag_a", &Filter::default()), [6], "no field has one of them");
    assert_eq!(found(&index, "tag_a order", &Filter::default()), [] as [i64; 0]);
}

#[test]
fn a_table_is_found_by_its_qualified_name() {
    let index = few();
    assert_eq!(found(&index, "main.order", &Filter::default()), [2, 1]);
    assert_eq!(found(&index, "main.orders itself", &Filter::default()), [12]);
    assert_eq!(found(&index, "other.order", &Filter::default()), [] as [i64; 0]);
}

#[test]
fn pages_follow_each_other_over_all_ranks() {
    let index = few();
    let whole = index.search("order", &Filter::default(), |_| true, 0, 100).1;
    for size in 1..4 {
        let pages = (0..whole.len()).step_by(size);
        let page = |offset| index.search("order", &Filter::default(), |_| true, offset, size).1;
        assert_eq!(pages.flat_map(page).collect::<Vec<_>>(), whole, "{size}");
    }
    assert_eq!(index.search("order", &Filter::default(), |_| true, 7, 5), (7, Vec::new()));
}

#[test]
fn fields_of_hidden_tables_are_not_found() {
    let mut index = few();
    let other = Entry { cluster_id: Some(2), ..entry(6, "main", "order") };
    index.put(other, &texts(&[(61, "orders", "")]));
    let (total, hits) = index.search("order", &Filter::default(), |source| source == Some(2), 0, 100);
    assert_eq!((total, hits.iter().all(|hit| hit.table_id == 6)), (2, true));
}

#[test]
fn what_is_changed_or_removed_is_searched_no_more() {
    let mut index = few();
    index.put(entry(2, "main", "bills2"), &texts(&[(22, "y", "")]));
    index.remove(1);
    assert_eq!(found(&index, "order", &Filter::default()), [3, 4, 41]);
    assert_eq!(found(&index, "y", &Filter::default()), [22]);
}

#[test]
fn two_million_fields_are_searched_within_bounds() {
    const TABLES: i64 = 100_000;
    const FIELDS: i64 = 20;
    // Many times the usual duration, for a busy machine.
    const LIST_MAX: Duration = Duration::from_millis(500);
    const SEARCH_MAX: Duration = Duration::from_secs(5);
    let mut index = Index::default();
    for id in 0..TABLES {
        let fields = (0..FIELDS).map(|place| {
            let number = id * FIELDS + place;
            (number, format!("field_{}_{place}", number % 9_973), format!("字段的说明 {number}"))
        });
        let texts = Texts { description: None, fields: fields.collect() };
        index.put(entry(id, "warehouse", &format!("dwd_trade_{}_{id}", id % 977)), &texts);
    }
    let fields_mib = index.fields_bytes / 1024 / 1024;
    assert!(fields_mib < 200, "{fields_mib} MiB");
    let order = Order { by: SortBy::TableName, is_descending: false };
    let timed = |what: &str, at_most: Duration, work: &dyn Fn() -> usize| {
        let began = Instant::now();
        let total = work();
        let took = began.elapsed();
        println!("{what}: {total} in {took:?}; fields have {fields_mib} MiB");
        assert!(took < at_most, "{what}: {took:?}");
        total
    };
    let list = Filter { keyword: "trade_97", ..Filter::default() };
    timed("list", LIST_MAX, &|| index.page(&list, order, 0, 20).0);
    for (keyword, at_least) in [("field_42_7", 1), ("字", HITS_MAX), ("nowhere", 0), ("dwd_trade_5_5", 1)] {
        let total =
            timed(keyword, SEARCH_MAX, &|| index.search(keyword, &Filter::default(), |_| true, 0, 20).0);
        assert!(total >= at_least, "{keyword}: {total}");
    }
}
