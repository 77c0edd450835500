//! The order of tasks, and cycles among them. An edge leads from a task to another one that reads its
//! outputs; a task that reads its own outputs has no edge to itself. Pure functions.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

/// The tables of one task.
#[derive(Debug, Clone, Copy)]
pub struct Bound<'b> {
    pub task_id: i64,
    pub inputs: &'b [i64],
    pub outputs: &'b [i64],
}

/// All edges, sorted; one more than `at_most` if there are more. Further tables with the same edge cost
/// little.
pub fn edges(tasks: &[Bound<'_>], at_most: usize) -> Vec<(i64, i64)> {
    let mut readers: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, task) in tasks.iter().enumerate() {
        for table in task.inputs {
            readers.entry(*table).or_default().push(at);
        }
    }
    let mut edges = Vec::new();
    // By reader, the source of its last edge; initially itself.
    let mut last_before: Vec<Option<usize>> = vec![None; tasks.len()];
    'all: for (before, task) in tasks.iter().enumerate() {
        last_before[before] = Some(before);
        for &after in task.outputs.iter().filter_map(|table| readers.get(table)).flatten() {
            if last_before[after] == Some(before) {
                continue;
            }
            last_before[after] = Some(before);
            edges.push((task.task_id, tasks[after].task_id));
            if edges.len() > at_most {
                break 'all;
            }
        }
    }
    edges.sort_unstable();
    edges
}

/// All tasks that come after one.
pub fn reached(edges: &[(i64, i64)], from: i64) -> HashSet<i64> {
    let (mut reached, mut open) = (HashSet::new(), vec![from]);
    while let Some(task) = open.pop() {
        let first = edges.partition_point(|(source, _)| *source < task);
        let next = edges[first..].iter().take_while(|(source, _)| *source == task);
        open.extend(next.map(|(_, target)| *target).filter(|target| reached.insert(*target)));
    }
    reached
}

/// A task in a cycle, where the edges are pairs of tasks below `count`; `None`: there is no cycle.
pub fn in_circle(count: usize, edges: &[(i64, i64)]) -> Option<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
    for &(source, target) in edges {
        after[source as usize].push(target as usize);
        before[target as usize].push(source as usize);
    }
    let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
    let mut free: Vec<usize> = (0..count).filter(|&at| waits[at] == 0).collect();
    while let Some(at) = free.pop() {
        for &next in &after[at] {
            waits[next] -= 1;
            if waits[next] == 0 {
                free.push(next);
            }
        }
    }
    // Each task that still waits, waits for another one: so many steps back lead into a cycle.
    let mut at = (0..count).find(|&at| waits[at] > 0)?;
    for _ in 0..count {
        at = *before[at].iter().find(|&&source| waits[source] > 0)?;
    }
    Some(at)
}

/// The shortest path from a task over others back to it, starting with it; `None`: it is in no cycle.
pub fn through(task: Bound<'_>, others: &[Bound<'_>]) -> Option<Vec<i64>> {
    let mut readers: HashMap<i64, Vec<usize>> = HashMap::new();
    for (at, other) in others.iter().enumerate().filter(|(_, other)| other.task_id != task.task_id) {
        for table in other.inputs {
            readers.entry(*table).or_default().push(at);
        }
    }
    let ends: BTreeSet<i64> = task.inputs.iter().copied().collect();
    // The predecessor of each; `None`: the task itself.
    let mut reached: HashMap<usize, Option<usize>> = HashMap::new();
    let mut waiting: VecDeque<(Option<usize>, &[i64])> = VecDeque::from([(None, task.outputs)]);
    while let Some((by, outputs)) = waiting.pop_front() {
        // A reader of a table is reached at the first visit.
        for at in outputs.iter().filter_map(|table| readers.remove(table)).flatten() {
            if reached.contains_key(&at) {
                continue;
            }
            reached.insert(at, by);
            if others[at].outputs.iter().any(|table| ends.contains(table)) {
                return Some(way(task.task_id, at, &reached, others));
            }
            waiting.push_back((Some(at), others[at].outputs));
        }
    }
    None
}

fn way(from: i64, to: usize, reached: &HashMap<usize, Option<usize>>, others: &[Bound<'_>]) -> Vec<i64> {
    let mut way = vec![from];
    let mut at = Some(to);
    while let Some(step) = at {
        way.push(others[step].task_id);
        at = reached.get(&step).copied().flatten();
    }
    way.push(from);
    way.reverse();
    way
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
