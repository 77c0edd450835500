use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::{Entry, SortBy, Texts};

const BY_NAME: SortBy = SortBy::TableName;
const BY_LAYER: SortBy = SortBy::Layer;
const BY_ROWS: SortBy = SortBy::RowCount;

fn entry(id: i64, table_name: &str, layer: Option<&str>, row_count: Option<i64>) -> Entry {
    Entry {
        id,
        cluster_id: Some(1 + id % 2),
        db_name: "main".into(),
        table_name: table_name.into(),
        table_comment: None,
        layer: layer.map(Into::into),
        business_domain: None,
        data_domain: None,
        owner: None,
        tags: Box::default(),
        is_deprecated: false,
        is_physical: false,
        has_drift: false,
        row_count,
        data_size: None,
        index_size: None,
        created_at_ms: 0,
        updated_at_ms: 0,
    }
}

fn index(entries: Vec<Entry>) -> Index {
    let mut index = Index::default();
    entries.into_iter().for_each(|entry| index.put(entry, &Texts::default()));
    index
}

fn few() -> Index {
    index(vec![
        entry(1, "b", Some("ODS"), Some(5)),
        entry(2, "a", None, None),
        entry(3, "B", Some("DWD"), Some(9)),
        Entry {
            owner: Some("ann".into()),
            business_domain: Some("sales".into()),
            tags: Box::new(["a".into(), "核心".into()]),
            ..entry(4, "表", Some("ODS"), Some(5))
        },
        Entry { is_deprecated: true, ..entry(5, "gone", None, Some(1)) },
    ])
}

fn ids(index: &Index, by: SortBy, is_descending: bool) -> Vec<i64> {
    let (total, ids) = index.page(&Filter::default(), Order { by, is_descending }, 0, 10);
    assert_eq!(total, ids.len());
    ids
}

#[test]
fn missing_values_sort_last_ties_by_id() {
    let index = few();
    assert_eq!(ids(&index, BY_NAME, false), [3, 2, 1, 4]);
    assert_eq!(ids(&index, BY_NAME, true), [4, 1, 2, 3]);
    assert_eq!(ids(&index, BY_ROWS, false), [1, 4, 3, 2]);
    assert_eq!(ids(&index, BY_ROWS, true), [3, 4, 1, 2]);
    assert_eq!(ids(&index, BY_LAYER, false), [3, 1, 4, 2]);
}

#[test]
fn each_filter_counts_what_fits() {
    let index = few();
    let total = |filter: Filter<'_>| index.page(&filter, Order { by: BY_NAME, is_descending: false }, 0, 1).0;
    assert_eq!(total(Filter::default()), 4);
    assert_eq!(total(Filter { keyword: "b", ..Filter::default() }), 2);
    assert_eq!(total(Filter { layer: Some("ODS"), ..Filter::default() }), 2);
    assert_eq!(total(Filter { owner: Some("ann"), ..Filter::default() }), 1);
    assert_eq!(total(Filter { tag: Some("核心"), ..Filter::default() }), 1);
    assert_eq!(total(Filter { tag: Some("核"), ..Filter::default() }), 0);
    assert_eq!(
        total(Filter { business_domain: Some("sales"), data_domain: Some("x"), ..Filter::default() }),
        0
    );
    assert_eq!(total(Filter { cluster_id: Some(2), ..Filter::default() }), 2);
    assert_eq!(total(Filter { but_cluster_id: Some(2), ..Filter::default() }), 2);
    assert_eq!(total(Filter { keyword: "gone", ..Filter::default() }), 0);
    assert_eq!(total(Filter { has_drift: Some(true), ..Filter::default() }), 0);
    assert_eq!(total(Filter { has_drift: Some(false), ..Filter::default() }), 4);
}

#[test]
fn pages_of_many_are_those_of_a_whole_sort() {
    const MANY: i64 = 20_000;
    let value = |id: i64| (id * 7_919 + 13) % 1_009;
    let index =
        index((0..MANY).map(|id| entry(id, &format!("t{}", value(id)), None, Some(value(id)))).collect());
    let mut wanted: Vec<i64> = (0..MANY).collect();
    wanted.sort_by_key(|id| (value(*id), *id));
    let order = Order { by: BY_ROWS, is_descending: false };
    for (offset, size) in [(0, 20), (20, 20), (9_990, 20), (19_990, 20), (20_000, 20), (0, 500)] {
        let (total, ids) = index.page(&Filter::default(), order, offset, size);
        let expected: Vec<i64> = wanted.iter().copied().skip(offset).take(size).collect();
        assert_eq!((total, ids), (MANY as usize, expected), "{offset}");
    }
}

/// A table after a change: few distinct values, so that many tables share one.
fn changed() -> impl Strategy<Value = Entry> {
    let text = |values: &'static [&'static str]| prop::option::of(prop::sample::select(values));
    let names = prop::sample::select(&["a", "Ab", "aab", "表", "b.a", "main"][..]);
    (
        0..20_i64,
        names,
        text(&["ODS", "DWD"]),
        text(&["ann", "bob"]),
        prop::option::of(1..4_i64),
        any::<bool>(),
    )
        .prop_map(|(id, name, layer, owner, row_count, is_deprecated)| Entry {
            db_name: if id % 3 == 0 { "a".into() } else { "main".into() },
            cluster_id: (row_count != Some(3)).then_some(1 + id % 2),
            owner: owner.map(Into::into),
            tags: owner.into_iter().chain(layer).map(Into::into).collect(),
            is_deprecated: is_deprecated && id % 2 == 0,
            ..entry(id, name, layer, row_count)
        })
}

/// The result of scanning all entries and sorting.
fn looked_at(known: &BTreeMap<i64, Entry>, filter: &Filter<'_>, is_descending: bool) -> Vec<i64> {
    let keyword = filter.keyword.to_lowercase();
    let has = |entry: &Entry| {
        let (db, table) = (entry.db_name.to_lowercase(), entry.table_name.to_lowercase());
        db.contains(&keyword) || table.contains(&keyword) || format!("{db}.{table}").contains(&keyword)
    };
    let mut fitting: Vec<&Entry> = known
        .values()
        .filter(|entry| !entry.is_deprecated && has(entry))
        .filter(|entry| filter.layer.is_none_or(|layer| entry.layer.as_deref() == Some(layer)))
        .filter(|entry| filter.owner.is_none_or(|owner| entry.owner.as_deref() == Some(owner)))
        .filter(|entry| filter.tag.is_none_or(|tag| entry.tags.iter().any(|known| **known == *tag)))
        .filter(|entry| filter.cluster_id.is_none() || entry.cluster_id == filter.cluster_id)
        .filter(|entry| filter.but_cluster_id.is_none() || entry.cluster_id != filter.but_cluster_id)
        .collect();
    fitting.sort_by_key(|entry| (entry.row_count, entry.id));
    if is_descending {
        fitting.reverse();
    }
    let (valued, others): (Vec<&Entry>, Vec<&Entry>) =
        fitting.into_iter().partition(|entry| entry.row_count.is_some());
    valued.into_iter().chain(others).map(|entry| entry.id).collect()
}

proptest! {
    #[test]
    fn an_updated_index_equals_a_full_scan(
        steps in prop::collection::vec((changed(), 0..4_u8), 1..80)
    ) {
        let (mut index, mut known) = (Index::default(), BTreeMap::new());
        for (entry, what) in steps {
            if what == 0 {
                index.remove(entry.id);
                known.remove(&entry.id);
            } else {
                index.put(entry.clone(), &Texts::default());
                known.insert(entry.id, entry);
            }
            for filter in [
                Filter::default(),
                Filter { keyword: "A", ..Filter::default() },
                Filter { keyword: "aa", tag: Some("ann"), ..Filter::default() },
                Filter { keyword: "main.a", but_cluster_id: Some(1), ..Filter::default() },
                Filter { keyword: "表", cluster_id: Some(2), ..Filter::default() },
                Filter { layer: Some("ODS"), owner: Some("bob"), ..Filter::default() },
            ] {
                for is_descending in [false, true] {
                    let (total, ids) = index.page(&filter, Order { by: BY_ROWS, is_descending }, 0, 100);
                    prop_assert_eq!(total, ids.len());
                    prop_assert_eq!(ids, looked_at(&known, &filter, is_descending), "{:?}", filter);
                }
            }
        }
    }
}
