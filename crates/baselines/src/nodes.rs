//! Nodes of reduced ordered decision diagrams, and the one operation on them: one more clause.

use rustc_hash::FxHashMap;

/// A function of the variables, by number. Equal functions have equal numbers.
pub(crate) type Function = u32;

pub(crate) const FALSE: Function = 0;
pub(crate) const TRUE: Function = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub level: u32,
    pub low: Function,
    pub high: Function,
}

impl Node {
    pub fn child(self, high: bool) -> Function {
        if high { self.high } else { self.low }
    }
}

/// There is no room for another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full;

/// Nodes, children before parents; the first two stand for false and true.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Function>,
    limit: usize,
}

impl Nodes {
    pub fn new(limit: usize) -> Self {
        let leaf = |value| Node { level: u32::MAX, low: value, high: value };
        Self { nodes: vec![leaf(FALSE), leaf(TRUE)], numbers: FxHashMap::default(), limit }
    }

    /// Nodes that another diagram begins with.
    pub fn begin(nodes: &[Node], limit: usize) -> Self {
        let numbers = nodes.iter().copied().zip(0..).skip(2).collect();
        Self { nodes: nodes.to_vec(), numbers, limit }
    }

    pub fn node(&self, function: Function) -> Node {
        self.nodes[function as usize]
    }

    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// The function where the clause holds too. Literals are levels and values, ascending.
    ///
    /// When there is no more room, nodes that `root` does not need are dropped, once.
    pub fn and_clause(&mut self, root: Function, clause: &[(u32, bool)]) -> Result<Function, Full> {
        self.conjoin(root, clause).or_else(|Full| {
            let root = self.keep(root);
            self.conjoin(root, clause)
        })
    }

    /// A node depends on the clause through the literals at its level and below: those above were
    /// all false, or it would stay as it is. So each node has one image.
    fn conjoin(&mut self, root: Function, clause: &[(u32, bool)]) -> Result<Function, Full> {
        let Some(&(last, _)) = clause.last() else { return Ok(FALSE) };
        let mut images: FxHashMap<Function, Function> = FxHashMap::default();
        let mut open = vec![root];
        while let Some(&top) = open.last() {
            let node = self.node(top);
            if node.level > last || images.contains_key(&top) {
                open.pop();
                continue;
            }
            let literal = clause.binary_search_by_key(&node.level, |&(level, _)| level);
            let satisfied = literal.ok().map(|at| clause[at].1);
            let before = open.len();
            for high in [false, true] {
                let child = node.child(high);
                let waits = self.node(child).level <= last && !images.contains_key(&child);
                if satisfied != Some(high) && waits {
                    open.push(child);
                }
            }
            if open.len() > before {
                continue;
            }
            let mut children = [node.low, node.high];
            for (high, child) in [false, true].into_iter().zip(&mut children) {
                if satisfied != Some(high) {
                    *child = self.under(*child, node.level + 1, clause, &images)?;
                }
            }
            let image = self.make(node.level, children[0], children[1])?;
            images.insert(top, image);
            open.pop();
        }
        self.under(root, 0, clause, &images)
    }

    /// A function and the literals from a level on: the literals above its own node, then its image.
    fn under(
        &mut self,
        function: Function,
        level: u32,
        clause: &[(u32, bool)],
        images: &FxHashMap<Function, Function>,
    ) -> Result<Function, Full> {
        if function == FALSE {
            return Ok(FALSE);
        }
        let own = self.node(function).level;
        // Below the last literal the clause has failed.
        let mut image = images.get(&function).copied().unwrap_or(FALSE);
        let skipped = clause.iter().rev().filter(|(at, _)| (level..own).contains(at));
        for &(at, value) in skipped {
            let (low, high) = if value { (image, function) } else { (function, image) };
            image = self.make(at, low, high)?;
        }
        Ok(image)
    }

    fn make(&mut self, level: u32, low: Function, high: Function) -> Result<Function, Full> {
        if low == high {
            return Ok(low);
        }
        let node = Node { level, low, high };
        if let Some(&known) = self.numbers.get(&node) {
            return Ok(known);
        }
        if self.nodes.len() >= self.limit {
            return Err(Full);
        }
        let number = self.nodes.len() as Function;
        self.nodes.push(node);
        self.numbers.insert(node, number);
        Ok(number)
    }

    /// Drops the nodes that a function does not need; gives its new number.
    pub fn keep(&mut self, root: Function) -> Function {
        let mut needed = vec![false; self.nodes.len()];
        needed[root as usize] = true;
        for index in (2..self.nodes.len()).rev().filter(|&index| index <= root as usize) {
            if needed[index] {
                let node = self.nodes[index];
                needed[node.low as usize] = true;
                needed[node.high as usize] = true;
            }
        }
        let mut moved: Vec<Function> = (0..self.nodes.len() as u32).collect();
        let mut kept = vec![self.nodes[0], self.nodes[1]];
        for index in (2..self.nodes.len()).filter(|&index| needed[index]) {
            let node = self.nodes[index];
            moved[index] = kept.len() as Function;
            let [low, high] = [node.low, node.high].map(|child| moved[child as usize]);
            kept.push(Node { low, high, ..node });
        }
        self.numbers = kept.iter().copied().zip(0..).skip(2).collect();
        self.nodes = kept;
        moved[root as usize]
    }
}
