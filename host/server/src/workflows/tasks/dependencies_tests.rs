use proptest::prelude::*;

use super::*;

/// The tables of a few tasks.
fn workflows() -> impl Strategy<Value = Vec<(Vec<i64>, Vec<i64>)>> {
    let tables = || prop::collection::vec(1i64..9, 0..3);
    prop::collection::vec((tables(), tables()), 1..9)
}

fn bound(tasks: &[(Vec<i64>, Vec<i64>)]) -> Vec<Bound<'_>> {
    let tasks = tasks.iter().enumerate();
    tasks.map(|(at, (inputs, outputs))| Bound { task_id: at as i64 + 1, inputs, outputs }).collect()
}

/// Whether a task can be reached from itself, by its edges alone.
fn is_in_circle(edges: &[(i64, i64)], task: i64) -> bool {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![task];
    while let Some(at) = waiting.pop() {
        for (_, next) in edges.iter().filter(|(before, _)| *before == at) {
            if reached.insert(*next) {
                waiting.push(*next);
            }
        }
    }
    reached.contains(&task)
}

proptest! {
    #[test]
    fn an_edge_is_where_one_reads_what_another_writes(tasks in workflows()) {
        let tasks = bound(&tasks);
        let mut expected = Vec::new();
        for (before, after) in tasks.iter().flat_map(|task| tasks.iter().map(move |other| (task, other))) {
            if before.task_id != after.task_id && before.outputs.iter().any(|table| after.inputs.contains(table)) {
                expected.push((before.task_id, after.task_id));
            }
        }
        prop_assert_eq!(edges(&tasks, 1_000), expected);
    }

    #[test]
    fn a_circle_is_found_exactly_where_there_is_one(tasks in workflows()) {
        let tasks = bound(&tasks);
        let edges = edges(&tasks, 1_000);
        for task in &tasks {
            let way = through(*task, &tasks);
            prop_assert_eq!(way.is_some(), is_in_circle(&edges, task.task_id));
            if let Some(way) = way {
                prop_assert_eq!((way.first(), way.last()), (Some(&task.task_id), Some(&task.task_id)));
                prop_assert!(way.len() > 2);
                for step in way.windows(2) {
                    prop_assert!(edges.contains(&(step[0], step[1])), "{:?} {:?}", way, edges);
                }
            }
        }
    }
}

#[test]
fn who_reads_what_another_writes_comes_after_it() {
    let tasks = [(vec![], vec![1, 2]), (vec![1, 2], vec![3]), (vec![3], vec![3]), (vec![2, 3], vec![])];
    assert_eq!(edges(&bound(&tasks), 10), [(1, 2), (1, 4), (2, 3), (2, 4), (3, 4)]);
    assert_eq!(edges(&bound(&tasks), 2).len(), 3);
}

#[test]
fn reading_what_it_writes_itself_is_no_circle() {
    let tasks = [(vec![1], vec![1])];
    assert_eq!(edges(&bound(&tasks), 10), []);
    assert_eq!(through(bound(&tasks)[0], &bound(&tasks)), None);
}

#[test]
fn the_shortest_cycle_is_listed_in_order() {
    let tasks = [(vec![9], vec![1]), (vec![1], vec![2]), (vec![2], vec![3]), (vec![3, 1], vec![9])];
    assert_eq!(through(bound(&tasks)[0], &bound(&tasks)), Some(vec![1, 4, 1]));
    assert_eq!(through(bound(&tasks[..3])[0], &bound(&tasks[..3])), None);
}
