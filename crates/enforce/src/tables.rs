//! An enforcer as flat tables, for a writer on another device.
//!
//! A [`Program`](crate::Program) tells what a plan means; these are what a [`Writer`](crate::Writer) itself looks at, laid
//! end to end: bits, conjunctions of them, and under which bit each is filed. Whoever follows them decides as the
//! writer does, visit by visit, for records that may end anywhere.

use consequence_record::Lists;
use consequence_rules::{Stage, VisitRange, Window};

use crate::enforcer::{Enforcer, Source};
use crate::index::Index;

/// Conjunctions of conditions, each filed under a bit or under none.
#[derive(Clone, Debug)]
pub struct FiledConjunctions {
    /// The conditions of each: a bit times two, plus one if it must be set.
    pub conditions: Lists<u32>,
    /// The visits at which each can hold.
    pub visits: Vec<VisitRange>,
    /// Which of them are filed under each bit.
    pub filed: Lists<u32>,
}

/// What an enforcer looks at.
///
/// Bits come in rows of [`row_bits`](Self::row_bits): first a row of the codes that are decided to be present in the visit at
/// hand, by their positions, then a row for each of [`windows`](Self::windows).
///
/// ```
/// use std::sync::Arc;
/// use consequence_enforce::Enforcer;
/// use consequence_rules::{CompileOptions, RuleSet, compile};
///
/// let rules = RuleSet::parse("rule r: A and B in past => C", None)?;
/// let enforcer = Enforcer::new(&compile(Arc::new(rules), &CompileOptions::default())?);
/// let tables = enforcer.tables().expect("rules about codes");
/// // C, and the end of a record at the last visit that there may be.
/// assert_eq!((tables.windows.len(), tables.outputs.len()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tables {
    /// Bits of a row.
    pub row_bits: u32,
    /// The window of each row after the first.
    pub windows: Vec<Window>,
    /// Bits of windows that some condition asks for: the others need not be known.
    pub asked: Vec<u32>,
    /// What puts codes on, or has them drawn.
    pub demands: FiledConjunctions,
    /// The code of each of these.
    pub outputs: Vec<u32>,
    /// The soft implication that draws it, by its number in [`soft`](Self::soft); none if it is put on.
    pub drawn_by: Vec<Option<u32>>,
    /// For each soft implication the number of its rule and its probability; of two the later wins.
    pub soft: Vec<(u32, f64)>,
    /// What keeps codes off, each filed under its code.
    pub bars: FiledConjunctions,
    /// What makes clauses due that one of several codes may meet, and which.
    pub due: (FiledConjunctions, Lists<u32>),
    /// What a code makes due that the model was not trained with, filed under it, and which codes may meet it.
    pub tests: (FiledConjunctions, Lists<u32>),
    /// Demands that are filed under no bit, of the static visit and of encounters, by their codes.
    pub standing: [Vec<u32>; 2],
    /// Due clauses that are filed under none.
    pub standing_due: [Vec<u32>; 2],
}

impl Enforcer {
    /// What this looks at, as flat tables; none if its rules speak of days, counts, ages or values, or are
    /// decided by a diagram: for these there are no tables.
    pub fn tables(&self) -> Option<Tables> {
        let layout = &self.layout;
        if layout.asks_facts() || self.plan.diagram().is_some() || self.plan.end_given() {
            return None;
        }
        let flat = |index: &Index| {
            let (mut conditions, mut visits) = (Lists::default(), Vec::new());
            for id in 0..index.len() as u32 {
                // Records may end anywhere, so it is known at which stage each visit is.
                let at_stage =
                    |bit| layout.stages_at(bit).map(|stages| stages.contains(Stage::OPEN));
                let own = index.conditions(id);
                let open =
                    own.iter().all(|one| at_stage(one.bit()).is_none_or(|is| is == one.wanted()));
                let rest = own.iter().filter(|one| at_stage(one.bit()).is_none());
                conditions.push(rest.map(|one| one.bit() << 1 | u32::from(one.wanted())));
                visits.push(match open {
                    true => index.visits(id),
                    false => VisitRange { first: 1, last: 0 },
                });
            }
            let bits = 0..layout.row_bits() * (layout.windows().len() as u32 + 1);
            let mut filed = Lists::default();
            bits.for_each(|bit| filed.push(index.filed(bit).iter().copied()));
            FiledConjunctions { conditions, visits, filed }
        };
        let standing = |lists: &[Vec<(u32, u32)>; 2]| {
            lists.each_ref().map(|list| list.iter().map(|&(_, id)| id).collect())
        };
        let asked = (0..layout.row_bits() / 32 * (layout.windows().len() as u32 + 1)).map(|word| {
            (0..32).map(|bit| u32::from(layout.is_asked(32 * word + bit)) << bit).sum()
        });
        Some(Tables {
            row_bits: layout.row_bits(),
            windows: layout.windows().to_vec(),
            asked: asked.collect(),
            demands: flat(&self.demands),
            outputs: self.demanded.iter().map(|demand| demand.output).collect(),
            drawn_by: self
                .demanded
                .iter()
                .map(|demand| match demand.source {
                    Source::Clause(_) => None,
                    Source::Soft(number) => Some(number),
                })
                .collect(),
            soft: self.plan.soft().iter().map(|soft| (soft.rule, soft.probability)).collect(),
            bars: flat(&self.bars),
            due: (flat(&self.due.index), self.due.codes.clone()),
            tests: (flat(&self.tests.index), self.tests.codes.clone()),
            standing: standing(&self.standing),
            standing_due: standing(&self.due.standing),
        })
    }
}
