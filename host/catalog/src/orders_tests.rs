use proptest::prelude::*;

use super::*;
use crate::entry::tests::entry;

fn table(id: i64, value: Option<i64>) -> Entry {
    Entry { row_count: value, ..entry(id, "main", &format!("t{}", value.unwrap_or(id % 3))) }
}

/// The result of sorting everything.
fn expected(places: &[Option<Entry>], by: SortBy) -> Vec<u32> {
    let mut all: Vec<u32> =
        (0..places.len() as u32).filter(|place| places[*place as usize].is_some()).collect();
    all.sort_by(|one, other| compared(by, places, *one, *other));
    all
}

#[derive(Debug, Clone)]
enum Step {
    Put(usize, Option<i64>),
    Remove(usize),
    Ask,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..60_usize, prop::option::of(0..9_i64)).prop_map(|(place, value)| Step::Put(place, value)),
        1 => (0..60_usize).prop_map(Step::Remove),
        2 => Just(Step::Ask),
    ]
}

proptest! {
    #[test]
    fn an_updated_order_equals_a_full_sort(steps in prop::collection::vec(step(), 1..200)) {
        let (mut orders, mut places) = (Orders::default(), vec![None; 60]);
        for step in steps.into_iter().chain([Step::Ask]) {
            match step {
                Step::Put(place, value) => {
                    let after = Some(table(1_000 - place as i64, value));
                    orders.note(place as u32, places[place].as_ref(), after.as_ref());
                    places[place] = after;
                }
                Step::Remove(place) => {
                    orders.note(place as u32, places[place].as_ref(), None);
                    places[place] = None;
                }
                Step::Ask => {
                    for by in [SortBy::RowCount, SortBy::TableName] {
                        let sorted = orders.read(by, &places);
                        let walked: Vec<u32> = sorted.walk(false).collect();
                        prop_assert_eq!(&walked, &expected(&places, by));
                        let back: Vec<u32> = sorted.walk(true).collect();
                        let has_value = |place: &&u32| {
                            places[**place as usize].as_ref().is_some_and(|entry| by.key(entry).is_some())
                        };
                        let with_value = walked.iter().filter(has_value).rev();
                        let others = walked.iter().filter(|place| !has_value(place)).rev();
                        prop_assert_eq!(back, with_value.chain(others).copied().collect::<Vec<_>>());
                    }
                }
            }
        }
    }
}
