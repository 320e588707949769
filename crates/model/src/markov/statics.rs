//! The static visits that were seen, as a tree: each code in order, given the codes before it.

use serde::{Deserialize, Serialize};

/// Records that a code's overall frequency counts for, beside those that began alike.
const PRIOR: f64 = 0.5;

/// A table of sets of static codes, read code by code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct StaticTree {
    frequencies: Vec<f64>,
    nodes: Vec<Node>,
}

/// All records whose static visits begin with the same codes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Node {
    records: u64,
    /// By the next code present.
    next: Vec<(u32, u32)>,
}

impl StaticTree {
    /// Counts static visits, each as ascending positions below `statics`.
    pub fn fit<'a>(statics: usize, visits: impl Iterator<Item = &'a [u32]>) -> Self {
        let mut counts = vec![0u64; statics];
        let mut nodes = vec![Node::default()];
        for visit in visits {
            let mut at = 0;
            nodes[at].records += 1;
            for &position in visit {
                counts[position as usize] += 1;
                let index = nodes[at].next.binary_search_by_key(&position, |&(code, _)| code);
                let child = match index {
                    Ok(index) => nodes[at].next[index].1,
                    Err(index) => {
                        let child = nodes.len() as u32;
                        nodes.push(Node::default());
                        nodes[at].next.insert(index, (position, child));
                        child
                    }
                };
                at = child as usize;
                nodes[at].records += 1;
            }
        }
        let records = nodes[0].records as f64;
        let frequency = |&count: &u64| (count as f64 + 0.5) / (records + 1.0);
        Self { frequencies: counts.iter().map(frequency).collect(), nodes }
    }

    /// Has every static code decided, in order.
    pub fn walk(&self, mut decide: impl FnMut(u32, f64) -> bool) {
        let mut next = self.nodes[0].next.as_slice();
        let mut alike = self.nodes[0].records;
        for (position, frequency) in (0..).zip(&self.frequencies) {
            let child = next.split_first().filter(|(first, _)| first.0 == position);
            let node = child.map(|(first, _)| &self.nodes[first.1 as usize]);
            let present = node.map_or(0, |node| node.records);
            let probability = (present as f64 + PRIOR * frequency) / (alike as f64 + PRIOR);
            let decided = decide(position, probability);
            alike -= present;
            if let Some((_, rest)) = child {
                next = rest;
            }
            if decided {
                (next, alike) = node.map_or((&[][..], 0), |node| (&node.next[..], node.records));
            }
        }
    }

    /// Whether this is a tree over so many static codes.
    pub fn matches(&self, statics: usize) -> bool {
        let proper = |&frequency: &f64| 0.0 < frequency && frequency < 1.0;
        self.frequencies.len() == statics
            && self.frequencies.iter().all(proper)
            && !self.nodes.is_empty()
            && (0..).zip(&self.nodes).all(|(index, node)| self.fits(index, node, statics))
    }

    fn fits(&self, index: u32, node: &Node, statics: usize) -> bool {
        let mut left = node.records;
        node.next.is_sorted_by(|one, other| one.0 < other.0)
            && node.next.iter().all(|&(position, child)| {
                let Some(below) = self.nodes.get(child as usize) else { return false };
                let further = below.next.first().is_none_or(|first| first.0 > position);
                let rest = left.checked_sub(below.records);
                left = rest.unwrap_or(0);
                rest.is_some() && further && child > index && (position as usize) < statics
            })
    }
}
