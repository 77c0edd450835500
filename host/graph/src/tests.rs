use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// A reference implementation in the simplest way.
#[derive(Default)]
struct Oracle(BTreeMap<i64, (Vec<i64>, Vec<i64>)>);

type Edges = BTreeMap<(i64, i64), Vec<i64>>;

impl Oracle {
    fn edges(&self) -> Edges {
        let mut edges = Edges::new();
        for (task, (inputs, outputs)) in &self.0 {
            for (input, output) in inputs.iter().flat_map(|i| outputs.iter().map(move |o| (*i, *o))) {
                let tasks = edges.entry((input, output)).or_default();
                if input != output && tasks.last() != Some(task) {
                    tasks.push(*task);
                }
            }
        }
        edges.retain(|_, tasks| !tasks.is_empty());
        edges
    }

    fn tables(&self) -> BTreeSet<i64> {
        self.0.values().flat_map(|(inputs, outputs)| inputs.iter().chain(outputs)).copied().collect()
    }

    fn distances(&self, from: i64, upstream: bool) -> BTreeMap<i64, i64> {
        let edges = self.edges();
        let mut distances = BTreeMap::from([(from, 0)]);
        let mut left = VecDeque::from([from]);
        while let Some(at) = left.pop_front() {
            let distance = distances[&at] + 1;
            for (source, target) in edges.keys() {
                let (here, next) = if upstream { (target, source) } else { (source, target) };
                if *here == at && !distances.contains_key(next) {
                    distances.insert(*next, distance);
                    left.push_back(*next);
                }
            }
        }
        distances
    }

    fn walk(&self, from: i64, direction: Direction, depth: Option<u32>) -> Vec<Reached> {
        let mut best = BTreeMap::<i64, i64>::new();
        let sides: &[bool] = match direction {
            Direction::Upstream => &[true],
            Direction::Downstream => &[false],
            Direction::Both => &[true, false],
        };
        for upstream in sides {
            for (id, distance) in self.distances(from, *upstream) {
                let signed = if *upstream { -distance } else { distance };
                let is_nearer = best.get(&id).is_none_or(|known| distance < known.abs());
                if is_nearer && depth.is_none_or(|depth| distance <= i64::from(depth)) {
                    best.insert(id, signed);
                }
            }
        }
        let mut reached: Vec<Reached> =
            best.into_iter().map(|(id, distance)| Reached { id, distance }).collect();
        reached.sort_by_key(|table| (table.distance.abs(), table.id));
        reached
    }
}

fn shown(graph: &Graph, ids: impl IntoIterator<Item = i64>) -> Edges {
    let among = graph.among(ids);
    let edges: Edges = among.edges().map(|edge| ((edge.source, edge.target), edge.tasks.to_vec())).collect();
    assert_eq!(edges.len(), among.count());
    edges
}

#[derive(Debug, Clone)]
enum Act {
    Set(i64, Vec<i64>, Vec<i64>),
    Remove(i64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let tables = || vec(0..14i64, 0..4);
    let act = prop_oneof![
        4 => (0..10i64, tables(), tables()).prop_map(|(task, inputs, outputs)| Act::Set(task, inputs, outputs)),
        1 => (0..10i64).prop_map(Act::Remove),
    ];
    vec(act, 0..40)
}

proptest! {
    #[test]
    fn it_is_what_a_plain_list_of_tasks_says(acts in acts(), from in 0..16i64, depth in prop::option::of(0..5u32)) {
        let (mut graph, mut oracle) = (Graph::default(), Oracle::default());
        for act in acts {
            match act {
                Act::Set(task, inputs, outputs) => {
                    graph.set_task(task, &inputs, &outputs);
                    oracle.0.insert(task, (inputs, outputs));
                }
                Act::Remove(task) => {
                    graph.remove_task(task);
                    oracle.0.remove(&task);
                }
            }
            prop_assert_eq!(graph.table_count(), oracle.tables().len());
            prop_assert_eq!(graph.task_count(), oracle.0.len());
            prop_assert_eq!(graph.edge_count(), oracle.edges().len());
        }
        prop_assert_eq!(shown(&graph, 0..16), oracle.edges());
        let mut some = oracle.edges();
        some.retain(|(source, target), _| *source < 7 && *target < 7);
        prop_assert_eq!(shown(&graph, 0..7), some);
        for direction in [Direction::Upstream, Direction::Downstream, Direction::Both] {
            prop_assert_eq!(graph.walk(from, direction, depth), oracle.walk(from, direction, depth));
        }
    }
}

#[test]
fn a_task_makes_no_self_edge() {
    let mut graph = Graph::default();
    graph.set_task(1, &[1, 2], &[2]);
    assert_eq!(shown(&graph, [1, 2]), Edges::from([((1, 2), vec![1])]));
}

#[test]
fn an_edge_lasts_until_its_last_task() {
    let mut graph = Graph::default();
    graph.set_task(7, &[1], &[2]);
    graph.set_task(3, &[1], &[2]);
    assert_eq!(shown(&graph, [1, 2]), Edges::from([((1, 2), vec![3, 7])]));
    graph.remove_task(7);
    assert_eq!(shown(&graph, [1, 2]), Edges::from([((1, 2), vec![3])]));
    graph.remove_task(3);
    assert_eq!((graph.edge_count(), graph.table_count()), (0, 0));
}

#[test]
fn in_a_cycle_the_shorter_side_counts() {
    let mut graph = Graph::default();
    for (task, (from, to)) in [(1, 2), (2, 3), (3, 4), (4, 1)].into_iter().enumerate() {
        graph.set_task(task as i64, &[from], &[to]);
    }
    let distances: Vec<(i64, i64)> =
        graph.walk(1, Direction::Both, None).iter().map(|table| (table.id, table.distance)).collect();
    assert_eq!(distances, [(1, 0), (2, 1), (4, -1), (3, -2)]);
}

#[test]
fn long_chains_and_hubs_are_walked_fast() {
    const TABLES: i64 = 200_000;
    let mut graph = Graph::default();
    let begun = Instant::now();
    for id in 0..TABLES {
        graph.set_task(id, &[id], &[id + 1]);
        graph.set_task(TABLES + id, &[id], &[-1]);
    }
    let built = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(graph.walk(0, Direction::Downstream, None).len() as i64, TABLES + 2);
    let walked = begun.elapsed();
    let begun = Instant::now();
    assert_eq!(graph.walk(TABLES / 2, Direction::Both, Some(2)).len(), 6);
    let near = begun.elapsed();
    let begun = Instant::now();
    (0..TABLES).for_each(|id| graph.remove_task(TABLES + id));
    println!(
        "{TABLES} tables: built in {built:?}, walked in {walked:?}, two steps in {near:?}, hub left in {:?}",
        begun.elapsed()
    );
    assert_eq!(graph.edge_count() as i64, TABLES);
}

/// Uses public lineage graphs if they lie beside the repository.
#[test]
fn real_lineage_matches_a_plain_walk() {
    for name in ["gitlab", "mattermost"] {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/lineage");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files = files.filter(|file| file.file_name().to_string_lossy().contains(name));
        let Some(text) = files.next().and_then(|file| std::fs::read_to_string(file.path()).ok()) else {
            eprintln!("NOT TESTED on the lineage of {name}: it is not in {folder}");
            continue;
        };
        let (mut graph, mut oracle, mut ids) = (Graph::default(), Oracle::default(), BTreeMap::new());
        for (task, line) in text.lines().enumerate() {
            let (source, target) = line.split_once('\t').expect("two names");
            let [source, target] = [source, target].map(|name| {
                let next = ids.len() as i64;
                *ids.entry(name.to_owned()).or_insert(next)
            });
            graph.set_task(task as i64, &[source], &[target]);
            oracle.0.insert(task as i64, (vec![source], vec![target]));
        }
        let edges = oracle.edges();
        assert_eq!((graph.table_count(), graph.edge_count()), (ids.len(), edges.len()));
        assert_eq!(shown(&graph, ids.values().copied()), edges);
        for from in ids.values().step_by(ids.len() / 10) {
            assert_eq!(graph.walk(*from, Direction::Both, None), oracle.walk(*from, Direction::Both, None));
        }
    }
}
