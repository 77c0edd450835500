//! Walks from one table along its edges, breadth first on both sides at once, so that nearer tables come
//! first.

use crate::marks::Marks;
use crate::{Graph, Place};

/// The direction of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the tables that it is made from.
    Upstream,
    /// To the tables that are made from it.
    Downstream,
    Both,
}

/// A table that a walk reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reached {
    pub id: i64,
    /// Steps on the shortest path; negative upstream. Of two equal paths the upstream one counts.
    pub distance: i64,
}

/// One side of a walk.
struct Side {
    upstream: bool,
    seen: Marks,
    /// The places that the last step reached.
    front: Vec<Place>,
}

impl Side {
    fn new(upstream: bool, graph: &Graph, from: Place) -> Side {
        let mut seen = Marks::new(graph.nodes.len());
        seen.set(from);
        Side { upstream, seen, front: vec![from] }
    }

    fn step(&mut self, graph: &Graph) {
        let mut next = Vec::new();
        for place in &self.front {
            let node = graph.node(*place);
            let neighbours = if self.upstream { &node.upstream } else { &node.downstream };
            next.extend(neighbours.iter().copied().filter(|place| self.seen.set(*place)));
        }
        self.front = next;
    }
}

impl Graph {
    /// All reachable tables, starting with this one: nearest first, then by id. `depth` is the maximum of
    /// steps; `None`: no limit. The result for a table without tasks is the table alone.
    pub fn walk(&self, from: i64, direction: Direction, depth: Option<u32>) -> Vec<Reached> {
        let mut reached = vec![Reached { id: from, distance: 0 }];
        let Some(&start) = self.places.get(&from) else { return reached };
        let sides = match direction {
            Direction::Upstream => &[true][..],
            Direction::Downstream => &[false],
            Direction::Both => &[true, false],
        };
        let mut sides: Vec<Side> = sides.iter().map(|upstream| Side::new(*upstream, self, start)).collect();
        let mut told = Marks::new(self.nodes.len());
        told.set(start);
        let mut distance = 0;
        while sides.iter().any(|side| !side.front.is_empty())
            && depth.is_none_or(|depth| distance < i64::from(depth))
        {
            distance += 1;
            let begin = reached.len();
            for side in &mut sides {
                side.step(self);
                let signed = if side.upstream { -distance } else { distance };
                let new = side.front.iter().filter(|place| told.set(**place));
                reached.extend(new.map(|place| Reached { id: self.node(*place).id, distance: signed }));
            }
            reached[begin..].sort_unstable_by_key(|table| table.id);
        }
        reached
    }
}
