//! The lineage graph: the tables, the tables they are made from, and the tasks that make them. Plain data and
//! algorithms: no I/O, no clock.
//!
//! Tasks are inserted and removed, and edges follow from them. Tables are numbered from 0 in the order of
//! insertion, so that a walk marks visited tables in one bit set. The graph knows no names, and no tables
//! without tasks.

mod marks;
mod walk;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use marks::Marks;
pub use walk::{Direction, Reached};

/// The index of a table in the graph's arrays.
type Place = u32;

/// Tables, the edges between them, and the tasks behind the edges.
#[derive(Debug, Default)]
pub struct Graph {
    places: HashMap<i64, Place>,
    nodes: Vec<Node>,
    /// Free places, for the next tables.
    free: Vec<Place>,
    links: HashMap<(Place, Place), Link>,
    tasks: HashMap<i64, Bound>,
}

#[derive(Debug, Default)]
struct Node {
    id: i64,
    upstream: Vec<Place>,
    downstream: Vec<Place>,
    /// How many times tasks refer to it.
    uses: u32,
}

/// One edge: its tasks, and its index in the lists of both ends, so that it is found in constant time however
/// many edges they have.
#[derive(Debug)]
struct Link {
    /// Sorted.
    tasks: Vec<i64>,
    in_downstream: u32,
    in_upstream: u32,
}

/// The tables of a task, each once.
#[derive(Debug)]
struct Bound {
    inputs: Vec<Place>,
    outputs: Vec<Place>,
}

impl Bound {
    fn pairs(&self) -> impl Iterator<Item = (Place, Place)> {
        let pairs = self.inputs.iter().flat_map(|input| self.outputs.iter().map(|output| (*input, *output)));
        pairs.filter(|(input, output)| input != output)
    }
}

/// An edge from a table to one that is made from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge<'g> {
    pub source: i64,
    pub target: i64,
    /// Sorted; never empty.
    pub tasks: &'g [i64],
}

impl Graph {
    /// Inserts a task or replaces it. Each output depends on each input; a table never depends on itself.
    pub fn set_task(&mut self, task: i64, inputs: &[i64], outputs: &[i64]) {
        // Holds the new tables before it releases the old ones, so that a table in both keeps its place.
        let bound = Bound { inputs: self.hold(inputs), outputs: self.hold(outputs) };
        self.remove_task(task);
        for pair in bound.pairs() {
            self.link(pair, task);
        }
        self.tasks.insert(task, bound);
    }

    /// Removes a task, if it exists.
    pub fn remove_task(&mut self, task: i64) {
        let Some(bound) = self.tasks.remove(&task) else { return };
        for pair in bound.pairs() {
            self.unlink(pair, task);
        }
        for place in bound.inputs.into_iter().chain(bound.outputs) {
            self.let_go(place);
        }
    }

    /// The number of tables with tasks.
    pub fn table_count(&self) -> usize {
        self.places.len()
    }

    /// The number of edges.
    pub fn edge_count(&self) -> usize {
        self.links.len()
    }

    /// The number of tasks.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Whether a task refers to this table.
    pub fn contains(&self, id: i64) -> bool {
        self.places.contains_key(&id)
    }

    /// The subgraph of these tables.
    pub fn among(&self, ids: impl IntoIterator<Item = i64>) -> Among<'_> {
        let mut among = Among { graph: self, places: Vec::new(), marks: Marks::new(self.nodes.len()) };
        for id in ids {
            if let Some(place) = self.places.get(&id).filter(|place| among.marks.set(**place)) {
                among.places.push(*place);
            }
        }
        among
    }

    fn node(&self, place: Place) -> &Node {
        &self.nodes[place as usize]
    }

    fn node_mut(&mut self, place: Place) -> &mut Node {
        &mut self.nodes[place as usize]
    }

    /// The places of these tables, each once, with one more use counted.
    fn hold(&mut self, ids: &[i64]) -> Vec<Place> {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().map(|id| self.hold_one(id)).collect()
    }

    fn hold_one(&mut self, id: i64) -> Place {
        let place = match self.places.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.nodes.push(Node::default());
                    Place::try_from(self.nodes.len() - 1).expect("there are fewer than 2^32 tables")
                });
                self.nodes[place as usize].id = id;
                *new.insert(place)
            }
        };
        self.node_mut(place).uses += 1;
        place
    }

    fn let_go(&mut self, place: Place) {
        let node = self.node_mut(place);
        node.uses -= 1;
        if node.uses == 0 {
            let id = std::mem::take(node).id;
            self.places.remove(&id);
            self.free.push(place);
        }
    }

    fn link(&mut self, (source, target): (Place, Place), task: i64) {
        match self.links.entry((source, target)) {
            Entry::Occupied(mut known) => {
                let tasks = &mut known.get_mut().tasks;
                if let Err(at) = tasks.binary_search(&task) {
                    tasks.insert(at, task);
                }
            }
            Entry::Vacant(new) => {
                let downstream = &mut self.nodes[source as usize].downstream;
                let in_downstream = downstream.len() as u32;
                downstream.push(target);
                let upstream = &mut self.nodes[target as usize].upstream;
                let in_upstream = upstream.len() as u32;
                upstream.push(source);
                new.insert(Link { tasks: vec![task], in_downstream, in_upstream });
            }
        }
    }

    fn unlink(&mut self, (source, target): (Place, Place), task: i64) {
        let Some(link) = self.links.get_mut(&(source, target)) else { return };
        link.tasks.retain(|known| *known != task);
        if !link.tasks.is_empty() {
            return;
        }
        let link = self.links.remove(&(source, target)).expect("it was just found");
        let (down, up) = (link.in_downstream as usize, link.in_upstream as usize);
        // The last link moves into the gap, and its edge is updated.
        let downstream = &mut self.node_mut(source).downstream;
        downstream.swap_remove(down);
        if let Some(moved) = downstream.get(down).copied() {
            self.links.get_mut(&(source, moved)).expect("each neighbour has a link").in_downstream =
                link.in_downstream;
        }
        let upstream = &mut self.node_mut(target).upstream;
        upstream.swap_remove(up);
        if let Some(moved) = upstream.get(up).copied() {
            self.links.get_mut(&(moved, target)).expect("each neighbour has a link").in_upstream =
                link.in_upstream;
        }
    }
}

/// A subgraph: some tables, and the edges between them.
pub struct Among<'g> {
    graph: &'g Graph,
    places: Vec<Place>,
    marks: Marks,
}

impl<'g> Among<'g> {
    /// The number of edges.
    pub fn count(&self) -> usize {
        let inside = |place: &Place| {
            let targets = &self.graph.node(*place).downstream;
            targets.iter().filter(|target| self.marks.is_set(**target)).count()
        };
        self.places.iter().map(inside).sum()
    }

    /// The edges, by source in the order of the tables, then by target.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'g>> {
        self.places.iter().flat_map(|source| {
            let node = self.graph.node(*source);
            let inside = node.downstream.iter().filter(|target| self.marks.is_set(**target));
            let mut edges: Vec<Edge<'g>> = inside
                .map(|target| Edge {
                    source: node.id,
                    target: self.graph.node(*target).id,
                    tasks: &self.graph.links[&(*source, *target)].tasks,
                })
                .collect();
            edges.sort_unstable_by_key(|edge| edge.target);
            edges
        })
    }
}
