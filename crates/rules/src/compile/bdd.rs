//! Reduced ordered binary decision diagrams, just enough of them for [`super::diagram`].

use rustc_hash::FxHashMap;

/// A function of the variables, by number. Equal functions have equal numbers.
pub(crate) type Function = u32;

pub(crate) const FALSE: Function = 0;
pub(crate) const TRUE: Function = 1;

/// The diagrams grew past their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyNodes;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub variable: u32,
    pub low: Function,
    pub high: Function,
}

/// Makes the new function of a node from those of its children.
type Make<'a> =
    dyn FnMut(&mut Functions, Node, Function, Function) -> Result<Function, TooManyNodes> + 'a;

/// All functions made so far.
pub(crate) struct Functions {
    nodes: Vec<Node>,
    numbers: FxHashMap<Node, Function>,
    choices: FxHashMap<(Function, Function, Function), Function>,
    max_nodes: usize,
}

impl Functions {
    pub fn new(max_nodes: usize) -> Self {
        let terminal = |value| Node { variable: u32::MAX, low: value, high: value };
        Self {
            nodes: vec![terminal(FALSE), terminal(TRUE)],
            numbers: FxHashMap::default(),
            choices: FxHashMap::default(),
            max_nodes,
        }
    }

    pub fn node(&self, function: Function) -> Node {
        self.nodes[function as usize]
    }

    /// The variable, or its negation.
    pub fn variable(&mut self, variable: u32, value: bool) -> Result<Function, TooManyNodes> {
        if value { self.make(variable, FALSE, TRUE) } else { self.make(variable, TRUE, FALSE) }
    }

    pub fn and(&mut self, left: Function, right: Function) -> Result<Function, TooManyNodes> {
        self.choose(left, right, FALSE)
    }

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

    /// Whether values for the variables from `first` on make the function true, as a function of
    /// those before it.
    pub fn possible(&mut self, function: Function, first: u32) -> Result<Function, TooManyNodes> {
        self.rebuild(function, &mut |functions, node, low, high| {
            if node.variable >= first { Ok(TRUE) } else { functions.make(node.variable, low, high) }
        })
    }

    /// The function with every variable replaced by a function.
    pub fn substitute(
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
