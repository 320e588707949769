//! Step two, the order of the vocabulary: what a rule reads comes before what it writes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

use consequence_record::{Code, Kind, Lists, Part, RecordView, Vocabulary};

use crate::{Formula, Rule};

/// A vocabulary, and the order in which the codes of a visit are decided: static codes first.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Cohort, Kind, Record, Vocabulary};
/// use consequence_rules::Order;
///
/// let vocabulary = Vocabulary::new([("A", Kind::Encounter), ("SEX//F", Kind::Static)])?;
/// let order = Order::natural(Arc::new(vocabulary));
/// let [a, f] = ["A", "SEX//F"].map(|name| order.vocabulary().code(name).unwrap());
/// assert_eq!((order.range(0), order.range(1)), (0..1, 1..3));
/// let mut cohort = Cohort::default();
/// cohort.push("p", &Record::new(vec![vec![f], vec![a]]));
/// assert_eq!(order.positions(cohort.record(0), 1), [1, 2]); // A, and END
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    vocabulary: Arc<Vocabulary>,
    codes: Vec<Code>,
    positions: Vec<u32>,
    statics: u32,
    end: u32,
}

impl Order {
    /// An order from a list of all codes; `None` if the list is not a permutation of them with the
    /// static codes first.
    pub fn new(codes: Vec<Code>, vocabulary: Arc<Vocabulary>) -> Option<Self> {
        let mut positions = vec![u32::MAX; vocabulary.len()];
        let mut encounters = false;
        for (position, &code) in codes.iter().enumerate() {
            if code.index() >= positions.len() || positions[code.index()] != u32::MAX {
                return None;
            }
            encounters |= vocabulary.kind(code) == Kind::Encounter;
            if encounters && vocabulary.kind(code) == Kind::Static {
                return None;
            }
            positions[code.index()] = position as u32;
        }
        let statics = vocabulary.statics().count() as u32;
        let end = positions[vocabulary.end().index()];
        let all = codes.len() == positions.len();
        all.then_some(Self { vocabulary, codes, positions, statics, end })
    }

    /// Static codes, then codes of encounters, of which those that tell the time come first; else as
    /// the vocabulary has them.
    pub fn natural(vocabulary: Arc<Vocabulary>) -> Self {
        let mut codes: Vec<Code> = vocabulary.codes().collect();
        codes.sort_by_key(|&code| match vocabulary.part(code) {
            Part::Static => 0,
            Part::Time => 1,
            Part::Codes | Part::End | Part::Values => 2,
        });
        Self::new(codes, vocabulary).expect("all codes, the static ones first")
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The number of codes, `END` among them.
    #[allow(clippy::len_without_is_empty, reason = "END makes it never empty")]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// The number of static codes: their positions are those below it.
    pub fn statics(&self) -> usize {
        self.statics as usize
    }

    /// The position of `END`.
    #[inline]
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The positions of the codes that a visit may hold; visit 0 is the static one.
    pub fn range(&self, visit: usize) -> Range<u32> {
        if visit == 0 { 0..self.statics } else { self.statics..self.len() as u32 }
    }

    /// The positions of the codes of a record's visit in ascending order, with that of `END` where
    /// the record ends.
    pub fn positions(&self, record: RecordView<'_>, visit: usize) -> Vec<u32> {
        let codes = record.visit(visit).iter().map(|&code| self.position(code));
        let end = record.ends_at(visit).then(|| self.end());
        let mut positions: Vec<u32> = codes.chain(end).collect();
        positions.sort_unstable();
        positions
    }

    /// The codes, first decided first. Static codes come before encounter codes.
    pub fn codes(&self) -> &[Code] {
        &self.codes
    }

    /// The code at a position.
    #[inline]
    pub fn code(&self, position: u32) -> Code {
        self.codes[position as usize]
    }

    /// The position of a code.
    #[inline]
    pub fn position(&self, code: Code) -> u32 {
        self.positions[code.index()]
    }
}

/// What ordering the vocabulary found.
#[derive(Debug)]
pub(crate) struct Ordered {
    pub order: Order,
    /// Codes that depend on each other in a cycle, each cycle sorted.
    pub cycles: Vec<Vec<Code>>,
    /// Soft rules that are part of a cycle, by index.
    pub cyclic_soft: Vec<usize>,
}

/// Which codes a rule reads and which it writes, one pair for each implication at its top.
fn directions(formula: &Formula, found: &mut Vec<(Vec<Code>, Vec<Code>)>) {
    match formula {
        Formula::And(parts) => parts.iter().for_each(|part| directions(part, found)),
        Formula::Implies(antecedent, consequent) => {
            found.push((antecedent.codes_now(), consequent.codes_now()));
        }
        _ => {}
    }
}

/// Orders the vocabulary so that antecedents come before outputs, and otherwise as it was.
///
/// Codes that tell the time come before those of what happened then, whatever the rules say; with
/// `end_first`, `END` comes before every other encounter code.
pub(crate) fn order(vocabulary: &Arc<Vocabulary>, rules: &[Rule], end_first: bool) -> Ordered {
    let codes = vocabulary.len();
    let end = vocabulary.end();
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut soft_nodes: Vec<(usize, u32)> = Vec::new();
    let mut nodes = codes as u32;
    let mut found = Vec::new();
    let is_time = |code: Code| vocabulary.part(code) == Part::Time;
    let goes_first = |code: Code| is_time(code) || end_first && code == end;
    for (index, rule) in rules.iter().enumerate() {
        directions(&rule.formula(), &mut found);
        for (reads, writes) in found.drain(..) {
            // A code of the other kind is never in the same visit, so it has no say in the order.
            for kind in [Kind::Static, Kind::Encounter] {
                // A node for the rule keeps the edges linear in the rule's size.
                let node = nodes;
                nodes += 1;
                if !rule.is_hard() {
                    soft_nodes.push((index, node));
                }
                let of_kind = |code: &&Code| vocabulary.kind(**code) == kind;
                edges.extend(reads.iter().filter(of_kind).map(|code| (code.0, node)));
                let writes = writes.iter().filter(of_kind);
                let writes = writes.filter(|&&code| !goes_first(code));
                edges.extend(writes.map(|code| (node, code.0)));
            }
        }
    }
    let graph = Graph::new(nodes as usize, &edges);
    let groups = graph.components();
    let group_count = groups.iter().max().map_or(0, |&group| group as usize + 1);

    // Rule nodes have no position of their own: they leave the queue as soon as they are ready.
    let key = |node: u32| -> (u8, u32) {
        let code = Code(node);
        if node as usize >= codes {
            (0, 0)
        } else if vocabulary.kind(code) == Kind::Static {
            (1, node)
        } else if end_first && code == end {
            (2, 0)
        } else if is_time(code) {
            (3, node)
        } else {
            (4, node)
        }
    };
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); group_count];
    let mut keys = vec![(u8::MAX, 0); group_count];
    let mut sizes = vec![0u32; group_count];
    for node in 0..nodes {
        let group = groups[node as usize] as usize;
        sizes[group] += 1;
        if (node as usize) < codes {
            members[group].push(node);
        }
    }
    for (group, members) in members.iter().enumerate() {
        keys[group] = members.iter().map(|&node| key(node)).min().unwrap_or((0, group as u32));
    }
    let between: Vec<(u32, u32)> = edges
        .iter()
        .map(|&(from, to)| (groups[from as usize], groups[to as usize]))
        .filter(|(from, to)| from != to)
        .collect();
    let condensed = Graph::new(group_count, &between);
    let mut waiting = vec![0u32; group_count];
    for &(_, to) in &between {
        waiting[to as usize] += 1;
    }
    let mut ready: BinaryHeap<Reverse<((u8, u32), u32)>> = (0..group_count as u32)
        .filter(|&group| waiting[group as usize] == 0)
        .map(|group| Reverse((keys[group as usize], group)))
        .collect();
    let mut sequence = Vec::with_capacity(codes);
    let mut cycles = Vec::new();
    while let Some(Reverse((_, group))) = ready.pop() {
        let members = &members[group as usize];
        sequence.extend(members.iter().map(|&node| Code(node)));
        if members.len() > 1 {
            cycles.push(members.iter().map(|&node| Code(node)).collect());
        }
        for &next in condensed.successors(group) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                ready.push(Reverse((keys[next as usize], next)));
            }
        }
    }
    let order = Order::new(sequence, Arc::clone(vocabulary))
        .expect("every code is in one component, and static codes never wait for encounter codes");
    let mut cyclic_soft: Vec<usize> = soft_nodes
        .into_iter()
        .filter(|&(_, node)| sizes[groups[node as usize] as usize] > 1)
        .map(|(index, _)| index)
        .collect();
    cyclic_soft.dedup();
    Ordered { order, cycles, cyclic_soft }
}

/// A directed graph: the successors of each node.
struct Graph(Lists<u32>);

impl Graph {
    fn new(nodes: usize, edges: &[(u32, u32)]) -> Self {
        Self(Lists::filed(nodes, edges))
    }

    fn successors(&self, node: u32) -> &[u32] {
        self.0.list(node as usize)
    }

    /// The strongly connected component of each node, by Tarjan's algorithm without recursion.
    fn components(&self) -> Vec<u32> {
        const UNSEEN: u32 = u32::MAX;
        let nodes = self.0.len();
        let mut component = vec![UNSEEN; nodes];
        let mut index = vec![UNSEEN; nodes];
        let mut low = vec![0u32; nodes];
        let (mut counter, mut components) = (0, 0);
        let mut open: Vec<u32> = Vec::new();
        let mut path: Vec<(u32, u32)> = Vec::new();
        for root in 0..nodes as u32 {
            if index[root as usize] != UNSEEN {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (node, ref mut edge)) = path.last_mut() {
                let at = node as usize;
                if *edge == 0 {
                    index[at] = counter;
                    low[at] = counter;
                    counter += 1;
                    open.push(node);
                }
                if let Some(&next) = self.successors(node).get(*edge as usize) {
                    *edge += 1;
                    if index[next as usize] == UNSEEN {
                        path.push((next, 0));
                    } else if component[next as usize] == UNSEEN {
                        low[at] = low[at].min(index[next as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[at]);
                }
                if low[at] == index[at] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member == node {
                            break;
                        }
                    }
                    components += 1;
                }
            }
        }
        component
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Says;

    fn hard(formula: Formula) -> Rule {
        Rule::hard("r", formula)
    }

    fn soft(formula: Formula) -> Rule {
        Rule::new("r", Says::soft(formula, 0.5).unwrap())
    }

    fn now(code: u32) -> Formula {
        Formula::Now(Code(code))
    }

    fn vocabulary() -> Arc<Vocabulary> {
        let kinds =
            [Kind::Encounter, Kind::Encounter, Kind::Encounter, Kind::Encounter, Kind::Static];
        let named = kinds.iter().enumerate().map(|(index, &kind)| (format!("c{index}"), kind));
        Arc::new(Vocabulary::new(named).unwrap())
    }

    fn sequence(ordered: &Ordered) -> Vec<u32> {
        ordered.order.codes().iter().map(|code| code.0).collect()
    }

    #[test]
    fn antecedents_first_and_otherwise_as_given() {
        let rules = [hard(now(3).implies(now(1)))];
        assert_eq!(sequence(&order(&vocabulary(), &rules, false)), [4, 0, 2, 3, 1, 5]);
        assert_eq!(sequence(&order(&vocabulary(), &rules, true)), [4, 5, 0, 2, 3, 1]);
    }

    #[test]
    fn cycles_are_found_and_kept_together() {
        let rules = [
            hard(now(3).implies(now(1))),
            hard(now(1).implies(now(3))),
            soft(now(2).implies(now(1))),
        ];
        let ordered = order(&vocabulary(), &rules, false);
        assert_eq!(ordered.cycles, [[Code(1), Code(3)]]);
        assert_eq!(sequence(&ordered), [4, 0, 2, 1, 3, 5]);
        assert!(ordered.cyclic_soft.is_empty());
        let rules = [soft(now(3).implies(now(1))), hard(now(1).implies(now(3)))];
        assert_eq!(order(&vocabulary(), &rules, false).cyclic_soft, [0]);
    }
}
