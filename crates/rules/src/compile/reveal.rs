//! What is revealed when a visit begins: the days since the one before, and with them what happened
//! so many days ago, how old the patient is, and what codes would measure.
//!
//! A visit has two steps: the days since the visit before are chosen, then its codes are decided. In
//! between facts are revealed that nobody chooses. So before its codes are decided a visit is possible if
//! some number of days leaves every clause true, whatever is revealed then. A fact of `A in last 30
//! days` is
//! - what it was at the visit before, or true if that one had `A`, where no day has passed;
//! - false if more days than 30 have passed;
//! - true if the visit before had `A`, where no more have;
//! - else false if it could not be true before, and otherwise open.
//!
//! Days are told apart by thresholds only, so a proof is about finitely many cells of them; whoever
//! decides a visit knows the days themselves.

use std::sync::Arc;

use consequence_record::{AgeBand, Code, DayBand, Kind, Vocabulary};

use super::Outlook;
use super::clause::{Encoder, Encoding, LiteralId, VisitRange, either};
use crate::{Days, Fact, Rule, Window};

/// The days between two visits, cut into cells that rules tell apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct GapAxis {
    /// The last day of every cell but the last, ascending.
    pub thresholds: Arc<[u32]>,
    /// Whether a cell has a number of days that some code of the vocabulary tells.
    available: Vec<bool>,
    /// Codes that tell the days since the visit before.
    pub told: Vec<(Code, DayBand)>,
}

/// Cells in a row, first and last included.
type Cells = (usize, usize);

impl GapAxis {
    /// The axis that rules need; of one cell where they speak of no days.
    pub fn new(rules: &[Rule], vocabulary: &Vocabulary) -> Self {
        let mut thresholds = Vec::new();
        for rule in rules {
            rule.formula().for_each_fact(&mut |fact| match fact {
                Fact::Seen { days: Some(Days { from, to }), .. } => {
                    thresholds.extend([Some(0), from.checked_sub(1), Some(*to)]);
                }
                Fact::Age { .. } => thresholds.push(Some(0)),
                Fact::Seen { .. } | Fact::Since { .. } | Fact::FirstVisit | Fact::Value { .. } => {}
            });
        }
        if thresholds.is_empty() {
            return Self { available: vec![true], ..Self::default() };
        }
        let band = |code: Code| Some((code, DayBand::of_gap(vocabulary.name(code))?));
        let encounters =
            vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Encounter);
        let told: Vec<(Code, DayBand)> = encounters.filter_map(band).collect();
        for (_, band) in &told {
            thresholds.extend([band.from.checked_sub(1), band.to.map(|to| to - 1)]);
        }
        let mut thresholds: Vec<u32> = thresholds.into_iter().flatten().collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        let ends = thresholds.iter().map(|&last| i64::from(last));
        let first_beyond = thresholds.last().map_or(0, |&last| i64::from(last) + 1);
        let is_told = |day: i64| told.is_empty() || told.iter().any(|(_, band)| band.holds(day));
        let available = ends.chain([first_beyond]).map(is_told).collect();
        Self { thresholds: thresholds.into(), available, told }
    }

    /// How many cells there are.
    pub fn cells(&self) -> usize {
        self.available.len()
    }

    /// Whether days of a cell can be.
    pub fn is_available(&self, cell: usize) -> bool {
        self.available[cell]
    }

    /// The cells that a clause excludes once its other literals are false, and those beside them that
    /// cannot be anyway.
    pub fn excluded(&self, clause: &[LiteralId]) -> Cells {
        let (mut first, mut last) = (0, self.cells() - 1);
        for literal in clause {
            if let Some(threshold) = literal.threshold() {
                match literal.present() {
                    true => last = threshold as usize,
                    false => first = threshold as usize + 1,
                }
            }
        }
        while first > 0 && !self.available[first - 1] {
            first -= 1;
        }
        while last + 1 < self.cells() && !self.available[last + 1] {
            last += 1;
        }
        (first, last)
    }

    /// The cells of two in one row, if they are more than those of either.
    pub fn joined(one: Cells, other: Cells) -> Option<Cells> {
        let (left, right) = if one <= other { (one, other) } else { (other, one) };
        let joined = (left.0, left.1.max(right.1));
        (right.0 <= left.1 + 1 && joined != left && joined != right).then_some(joined)
    }

    /// The literals by which a clause excludes cells; none if they are all.
    pub fn excluding(&self, (first, last): Cells) -> impl Iterator<Item = LiteralId> {
        let below = first.checked_sub(1).map(|threshold| LiteralId::gap(threshold as u32, false));
        let above = (last + 1 < self.cells()).then(|| LiteralId::gap(last as u32, true));
        below.into_iter().chain(above)
    }
}

/// The clauses about what is known before the days are that make a clause hold whatever is revealed, at
/// the first encounter and at later ones; or that it may hold by what could be revealed, if that is asked.
/// `None` if they are too many.
pub(crate) fn conceal(
    encoder: &mut Encoder<'_>,
    clause: &[LiteralId],
    visits: VisitRange,
    outlook: Outlook,
) -> Option<Vec<(Vec<LiteralId>, VisitRange)>> {
    let first = VisitRange { first: 1, last: 1 };
    let later = VisitRange { first: 2, last: VisitRange::OPEN };
    let mut found = Vec::new();
    for (piece, is_first) in [(first, true), (later, false)] {
        let Some(visits) = visits.meet(piece) else { continue };
        if outlook == Outlook::Best && !is_first {
            // At the best everything is revealed as it has to be.
            continue;
        }
        let mut alternatives: Vec<Vec<LiteralId>> = vec![Vec::new()];
        for &literal in clause {
            let revealed = literal.atom().filter(|&atom| encoder.atoms.is_revealed(atom));
            let Some(fact) = revealed.and_then(|atom| encoder.atoms.fact(atom).cloned()) else {
                alternatives.iter_mut().for_each(|alternative| alternative.push(literal));
                continue;
            };
            let parts = if is_first {
                at_first(encoder, &fact, literal.present(), outlook)
            } else {
                for_sure(encoder, &fact, literal.present())
            };
            alternatives = either(&alternatives, &parts)?;
        }
        let sorted = alternatives.into_iter().filter_map(|clause| encoder.sorted(clause));
        found.extend(sorted.map(|clause| (clause, visits)));
    }
    Some(found)
}

/// What makes a revealed literal hold at the first encounter, whatever is revealed: parts that must all hold,
/// each a list of which one must.
fn at_first(
    encoder: &mut Encoder<'_>,
    fact: &Fact,
    present: bool,
    outlook: Outlook,
) -> Vec<Vec<Encoding>> {
    match (fact, outlook) {
        (Fact::Age { .. } | Fact::Value { .. }, Outlook::Best) => Vec::new(),
        (Fact::Age { least }, Outlook::Worst) => {
            // The age lies in the band that the static visit tells.
            let sure = |band: &AgeBand| match present {
                true => band.from >= *least,
                false => band.to.is_some_and(|to| to <= *least),
            };
            let bands = AgeBand::of_statics(encoder.vocabulary);
            let sure = bands.into_iter().filter(|(_, band)| sure(band)).map(|(code, _)| code);
            let codes: Vec<Code> = sure.collect();
            let tells = |code| encoder.past(code, &Window::static_visit(), true, Kind::Encounter);
            vec![codes.into_iter().map(tells).collect()]
        }
        // Nothing was before, and nobody knows a value.
        (Fact::Seen { .. }, _) if !present => Vec::new(),
        _ => vec![vec![Encoding::Never]],
    }
}

/// The same at later encounters, by the days since the visit before.
fn for_sure(encoder: &mut Encoder<'_>, fact: &Fact, present: bool) -> Vec<Vec<Encoding>> {
    let before = encoder.fact_before(fact, present);
    let no_day = Encoding::Literal(encoder.gap(0, false));
    let days_pass = Encoding::Literal(encoder.gap(0, true));
    match fact {
        Fact::Age { .. } if present => vec![vec![before]],
        Fact::Age { .. } => vec![vec![no_day], vec![before]],
        Fact::Seen { codes, days: Some(days), count } => {
            let Days { from, to } = *days;
            let fewer =
                Fact::Seen { codes: Arc::clone(codes), days: Some(*days), count: count - 1 };
            let fewer = encoder.fact_before(&fewer, present);
            let then: Vec<Encoding> = codes
                .iter()
                .map(|&code| encoder.past(code, &Window::previous(), present, Kind::Encounter))
                .collect();
            let too_late = Encoding::Literal(encoder.gap(to, true));
            let in_time = Encoding::Literal(encoder.gap(to, false));
            match (present, from) {
                (true, _) => {
                    let mut ways = vec![vec![vec![no_day], vec![before]]];
                    if *count == 1 {
                        // It was at the visit before, which is among the days.
                        let mut way = vec![vec![in_time], then];
                        if let Some(nearer) = from.checked_sub(1) {
                            way.push(vec![Encoding::Literal(encoder.gap(nearer, true))]);
                        }
                        ways.push(way);
                    } else if from == 0 {
                        ways.push(vec![vec![no_day], then, vec![fewer]]);
                    }
                    any_way(ways)
                }
                (false, 0) => {
                    // Too late, or not before, and not once more with the visit before.
                    let one_more = then.into_iter().map(|absent| vec![too_late, absent, fewer]);
                    [vec![too_late, before]].into_iter().chain(one_more).collect()
                }
                (false, _) => {
                    let ever = Fact::Seen { codes: Arc::clone(codes), days: None, count: *count };
                    let never = encoder.fact(&ever, false, Kind::Encounter);
                    vec![vec![too_late, no_day, never], vec![days_pass, before]]
                }
            }
        }
        // Nobody knows a value; other facts are known before.
        _ => vec![vec![Encoding::Never]],
    }
}

/// One of several conjunctions, as parts that must all hold: one member of each.
fn any_way(ways: Vec<Vec<Vec<Encoding>>>) -> Vec<Vec<Encoding>> {
    let mut parts: Vec<Vec<Encoding>> = vec![Vec::new()];
    for way in ways {
        let with = |member: &Vec<Encoding>| {
            parts.iter().map(|part| [part.as_slice(), member].concat()).collect::<Vec<_>>()
        };
        parts = way.iter().flat_map(with).collect();
    }
    parts
}
