//! Reduced ordered binary decision diagrams: what codes that are too entangled for clauses get.
//!
//! A function is a number; equal functions have equal numbers, and a function's number is above
//! those of the functions it leads to. On every path variables are asked for in ascending order.

use rustc_hash::FxHashMap;

/// A function of the variables, by number. Equal functions have equal numbers.
pub type Function = u32;

/// The function that no values make true.
pub const FALSE: Function = 0;
/// The function that all values make true.
pub const TRUE: Function = 1;

/// The diagrams grew past their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNodes;

/// What a function asks for first, and what is left of it after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    /// The variable it asks for; above all others for the two constant functions.
    pub variable: u32,
    /// The function where the variable is false.
    pub low: Function,
    /// The function where the variable is true.
    pub high: Function,
}

impl Node {
    /// The function for a value of the variable.
    pub fn child(self, high: bool) -> Function {
        if high { self.high } else { self.low }
    }
}

/// Makes the new function of a node from those of its children.
type Make<'a> =
    dyn FnMut(&mut Functions, Node, Function, Function) -> Result<Function, TooManyNodes> + 'a;

/// All functions made so far, those that others lead to first.
///
/// ```
/// use consequence_rules::decisions::{FALSE, Functions};
///
/// let mut functions = Functions::new(1_000);
/// let [a, b] = [functions.variable(0, true)?, functions.variable(1, true)?];
/// let both = functions.and(a, b)?;
/// assert_eq!(functions.and_clause(a, &[(1, true)])?, both);
/// assert_eq!(functions.and_clause(both, &[(0, false), (1, false)])?, FALSE);
/// # Ok::<(), consequence_rules::decisions::TooManyNodes>(())
/// ```
#[derive(Clone, Debug)]
pub struct Functions {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Function>,
    choices: FxHashMap<(Function, Function, Function), Function>,
    max_nodes: usize,
}

impl Functions {
    /// The two constants, and room for `max_nodes` functions in all.
    pub fn new(max_nodes: usize) -> Self {
        let terminal = |value| Node { variable: u32::MAX, low: value, high: value };
        Self {
            nodes: vec![terminal(FALSE), terminal(TRUE)],
            numbers: FxHashMap::default(),
            choices: FxHashMap::default(),
            max_nodes,
        }
    }

    /// The functions whose nodes these are, in order, and room for `max_nodes` in all.
    pub fn begin(nodes: &[Node], max_nodes: usize) -> Self {
        let numbers = nodes.iter().copied().zip(0..).skip(2).collect();
        Self { nodes: nodes.to_vec(), numbers, choices: FxHashMap::default(), max_nodes }
    }

    /// What a function asks for first.
    pub fn node(&self, function: Function) -> Node {
        self.nodes[function as usize]
    }

    /// The nodes of all functions, in order.
    pub fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// The variable, or its negation.
    pub fn variable(&mut self, variable: u32, value: bool) -> Result<Function, TooManyNodes> {
        if value { self.make(variable, FALSE, TRUE) } else { self.make(variable, TRUE, FALSE) }
    }

    /// Both functions.
    pub fn and(&mut self, left: Function, right: Function) -> Result<Function, TooManyNodes> {
        self.choose(left, right, FALSE)
    }

    /// Either function.
    pub fn or(&mut self, left: Function, right: Function) -> Result<Function, TooManyNodes> {
        self.choose(left, TRUE, right)
    }

    /// `then` where `condition` holds, `otherwise` elsewhere.
    pub fn choose(
        &mut self,
        condition: Function,
        then: Function,
        otherwise: Function,
    ) -> Result<Function, TooManyNodes> {
        match (condition, then, otherwise) {
            (TRUE, ..) => return Ok(then),
            (FALSE, ..) => return Ok(otherwise),
            (_, TRUE, FALSE) => return Ok(condition),
            _ if then == otherwise => return Ok(then),
            _ => {}
        }
        if let Some(&known) = self.choices.get(&(condition, then, otherwise)) {
            return Ok(known);
        }
        let parts = [condition, then, otherwise].map(|part| self.node(part));
        let variable = parts.iter().map(|node| node.variable).min().unwrap_or(u32::MAX);
        let [c, t, o] =
            [(condition, parts[0]), (then, parts[1]), (otherwise, parts[2])].map(|(part, node)| {
                if node.variable == variable { (node.low, node.high) } else { (part, part) }
            });
        let low = self.choose(c.0, t.0, o.0)?;
        let high = self.choose(c.1, t.1, o.1)?;
        let result = self.make(variable, low, high)?;
        self.choices.insert((condition, then, otherwise), result);
        Ok(result)
    }

    /// The function where the clause holds too. Literals are variables and values, ascending.
    ///
    /// When there is no more room, nodes that `root` does not need are dropped, once.
    pub fn and_clause(
        &mut self,
        root: Function,
        clause: &[(u32, bool)],
    ) -> Result<Function, TooManyNodes> {
        self.conjoin(root, clause).or_else(|TooManyNodes| {
            let root = self.keep(root);
            self.conjoin(root, clause)
        })
    }

    /// A node depends on the clause through the literals at its variable and after it: those before
    /// were all false, or it would stay as it is. So each node has one image.
    fn conjoin(
        &mut self,
        root: Function,
        clause: &[(u32, bool)],
    ) -> Result<Function, TooManyNodes> {
        let Some(&(last, _)) = clause.last() else { return Ok(FALSE) };
        let mut images: FxHashMap<Function, Function> = FxHashMap::default();
        let mut open = vec![root];
        while let Some(&top) = open.last() {
            let node = self.node(top);
            if node.variable > last || images.contains_key(&top) {
                open.pop();
                continue;
            }
            let literal = clause.binary_search_by_key(&node.variable, |&(variable, _)| variable);
            let satisfied = literal.ok().map(|at| clause[at].1);
            let before = open.len();
            for high in [false, true] {
                let child = node.child(high);
                let waits = self.node(child).variable <= last && !images.contains_key(&child);
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
                    *child = self.under(*child, node.variable + 1, clause, &images)?;
                }
            }
            let image = self.make(node.variable, children[0], children[1])?;
            images.insert(top, image);
            open.pop();
        }
        self.under(root, 0, clause, &images)
    }

    /// A function and the literals from a variable on: the literals before its own variable, then
    /// its image.
    fn under(
        &mut self,
        function: Function,
        from: u32,
        clause: &[(u32, bool)],
        images: &FxHashMap<Function, Function>,
    ) -> Result<Function, TooManyNodes> {
        if function == FALSE {
            return Ok(FALSE);
        }
        let own = self.node(function).variable;
        // After the last literal the clause has failed.
        let mut image = images.get(&function).copied().unwrap_or(FALSE);
        let skipped = clause.iter().rev().filter(|(at, _)| (from..own).contains(at));
        for &(at, value) in skipped {
            let (low, high) = if value { (image, function) } else { (function, image) };
            image = self.make(at, low, high)?;
        }
        Ok(image)
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
        self.choices.clear();
        moved[root as usize]
    }

    /// Whether values for the variables from `first` on make the function true, as a function of
    /// those before it.
    pub fn possible(&mut self, function: Function, first: u32) -> Result<Function, TooManyNodes> {
        self.rebuild(function, &mut |functions, node, low, high| {
            if node.variable >= first { Ok(TRUE) } else { functions.make(node.variable, low, high) }
        })
    }

    /// The function with every variable replaced by a function.
    pub(crate) fn substitute(
        &mut self,
        function: Function,
        replacement: &[Function],
    ) -> Result<Function, TooManyNodes> {
        self.rebuild(function, &mut |functions, node, low, high| {
            functions.choose(replacement[node.variable as usize], high, low)
        })
    }

    /// Rebuilds a function from below, each node from its rebuilt children.
    fn rebuild(
        &mut self,
        function: Function,
        make: &mut Make<'_>,
    ) -> Result<Function, TooManyNodes> {
        let mut done: FxHashMap<Function, Function> = FxHashMap::default();
        done.extend([(FALSE, FALSE), (TRUE, TRUE)]);
        let mut open = vec![function];
        while let Some(&top) = open.last() {
            if done.contains_key(&top) {
                open.pop();
                continue;
            }
            let node = self.node(top);
            match (done.get(&node.low).copied(), done.get(&node.high).copied()) {
                (Some(low), Some(high)) => {
                    let made = make(self, node, low, high)?;
                    done.insert(top, made);
                    open.pop();
                }
                (None, _) => open.push(node.low),
                (_, None) => open.push(node.high),
            }
        }
        Ok(done[&function])
    }

    fn make(
        &mut self,
        variable: u32,
        low: Function,
        high: Function,
    ) -> Result<Function, TooManyNodes> {
        if low == high {
            return Ok(low);
        }
        let node = Node { variable, low, high };
        if let Some(&known) = self.numbers.get(&node) {
            return Ok(known);
        }
        if self.nodes.len() >= self.max_nodes {
            return Err(TooManyNodes);
        }
        let number = self.nodes.len() as Function;
        self.nodes.push(node);
        self.numbers.insert(node, number);
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every function of three variables by its truth table, and the operations on them.
    #[test]
    fn operations_agree_with_truth_tables() {
        let mut functions = Functions::new(10_000);
        let table = |functions: &Functions, function: Function| {
            (0..8u32)
                .filter(|world| {
                    let mut at = function;
                    while at > TRUE {
                        let node = functions.node(at);
                        at = if world >> node.variable & 1 == 1 { node.high } else { node.low };
                    }
                    at == TRUE
                })
                .fold(0u8, |bits, world| bits | 1 << world)
        };
        let mut by_table = vec![FALSE; 256];
        for wanted in 0..256u32 {
            let mut function = FALSE;
            for world in (0..8u32).filter(|world| wanted >> world & 1 == 1) {
                let mut row = TRUE;
                for variable in 0..3 {
                    let literal = functions.variable(variable, world >> variable & 1 == 1).unwrap();
                    row = functions.and(row, literal).unwrap();
                }
                function = functions.or(function, row).unwrap();
            }
            assert_eq!(u32::from(table(&functions, function)), wanted);
            by_table[wanted as usize] = function;
        }
        for (one, other) in (0..256usize).flat_map(|one| (0..256).map(move |other| (one, other))) {
            let and = functions.and(by_table[one], by_table[other]).unwrap();
            assert_eq!(and, by_table[one & other], "equal functions have equal numbers");
            let or = functions.or(by_table[one], by_table[other]).unwrap();
            assert_eq!(or, by_table[one | other]);
        }
        for (wanted, &function) in by_table.iter().enumerate() {
            let possible = functions.possible(function, 1).unwrap();
            let expected = (0..8)
                .filter(|world| {
                    (0..8).any(|other: usize| other & 1 == world & 1 && wanted >> other & 1 == 1)
                })
                .fold(0usize, |bits, world| bits | 1 << world);
            assert_eq!(possible, by_table[expected]);
            // x0 := x1, x1 := not x2, x2 := false.
            let replacement = [
                functions.variable(1, true).unwrap(),
                functions.variable(2, false).unwrap(),
                FALSE,
            ];
            let substituted = functions.substitute(function, &replacement).unwrap();
            let expected = (0..8usize)
                .filter(|world| {
                    let image = (world >> 1 & 1) | (1 - (world >> 2 & 1)) << 1;
                    wanted >> image & 1 == 1
                })
                .fold(0usize, |bits, world| bits | 1 << world);
            assert_eq!(substituted, by_table[expected]);
        }
    }

    #[test]
    fn growth_is_bounded() {
        let mut functions = Functions::new(4);
        let made: Result<Vec<_>, _> =
            (0..4).map(|variable| functions.variable(variable, true)).collect();
        assert_eq!(made, Err(TooManyNodes));
    }
}
