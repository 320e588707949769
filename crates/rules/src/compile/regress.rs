//! Step four, looking across visits: what the past of a visit asks of the visit before it.

use consequence_record::{Code, Kind};

use super::clause::{Encoder, Encoding, LiteralId, VisitRange, sort_clause};
use super::stage::Stages;
use crate::Window;

/// The most alternatives one clause about the past may split into.
const MAX_ALTERNATIVES: usize = 1 << 12;

/// A literal about the past: its atom, and whether it asks for the code or for its absence.
pub(crate) type PastLiteral = (u32, bool);

/// The clauses at visit `t` that say what `clause`, which only looks back, says at visit `t + 1`.
///
/// One visit earlier, `previous` is now, `past` is past or now, `visit k` is now at visit `k`, and
/// `n visits ago` is `n - 1` visits ago. Where the end is open, `END` releases the clause, since no
/// visit follows it; where it is given, the stages say which visits have another after them. `None`
/// if the clause splits into too many.
pub(crate) fn regress(
    encoder: &mut Encoder<'_>,
    clause: &[PastLiteral],
    visits: VisitRange,
    stages: Stages,
) -> Option<Vec<(Vec<LiteralId>, VisitRange, Stages)>> {
    let (open, given) = (stages.meet(Stages::OPEN), stages.one_visit_earlier());
    let mut found = Vec::new();
    for (earlier, named) in segments(encoder, clause, visits) {
        let kind = Kind::of_visit(earlier.first.into());
        let mut alternatives: Vec<Vec<LiteralId>> = vec![Vec::new()];
        for &(atom, present) in clause {
            let (code, window) = (encoder.atoms.code(atom), encoder.atoms.window(atom).clone());
            let parts = step(encoder, code, &window, named, kind, present);
            if present {
                // Present in the window: now or in what is left of the window.
                for alternative in &mut alternatives {
                    alternative.extend(parts.iter().filter_map(|part| part.literal()));
                }
            } else {
                // Absent from the window: absent now and from what is left of it.
                let mut split = Vec::new();
                for part in parts.iter().filter(|part| **part != Encoding::Always) {
                    split.extend(alternatives.iter().map(|alternative| {
                        alternative.iter().copied().chain(part.literal()).collect::<Vec<_>>()
                    }));
                }
                alternatives = split;
            }
            if alternatives.len() > MAX_ALTERNATIVES {
                return None;
            }
        }
        let release = encoder.now(encoder.vocabulary.end(), true, kind).literal();
        for (stages, release) in [(open, release), (given, None)] {
            let released = |clause: &Vec<LiteralId>| {
                sort_clause(clause.iter().copied().chain(release).collect())
            };
            if !stages.is_empty() {
                let clauses = alternatives.iter().filter_map(released);
                found.extend(clauses.map(|clause| (clause, earlier, stages)));
            }
        }
    }
    Some(found)
}

/// The visits before those of the range, cut so that within each piece every window steps back in
/// the same way. The second part is the visit's number where some window names it.
fn segments(
    encoder: &Encoder<'_>,
    clause: &[PastLiteral],
    visits: VisitRange,
) -> Vec<(VisitRange, Option<u16>)> {
    let mut pieces = Vec::new();
    if visits.first == 0 {
        return pieces;
    }
    if visits.first == 1 {
        pieces.push((VisitRange { first: 0, last: 0 }, Some(0)));
    }
    // The last position ends the record, which releases the clause, or, where the end is given,
    // lies beyond every record: it does no harm if the clause holds there too.
    let last = if visits.last == encoder.max_visits { visits.last } else { visits.last - 1 };
    let mut first = (visits.first - 1).max(1);
    let mut named: Vec<u16> = clause
        .iter()
        .flat_map(|&(atom, _)| encoder.atoms.window(atom).visits())
        .copied()
        .filter(|&visit| first <= visit && visit <= last)
        .collect();
    named.sort_unstable();
    named.dedup();
    for visit in named {
        if first < visit {
            pieces.push((VisitRange { first, last: visit - 1 }, None));
        }
        pieces.push((VisitRange { first: visit, last: visit }, Some(visit)));
        first = visit + 1;
    }
    if first <= last {
        pieces.push((VisitRange { first, last }, None));
    }
    pieces
}

/// One literal, one visit earlier: its part about that visit and its part about what came before,
/// each a literal or its settled value.
fn step(
    encoder: &mut Encoder<'_>,
    code: Code,
    window: &Window,
    named: Option<u16>,
    kind: Kind,
    present: bool,
) -> [Encoding; 2] {
    let selected = window.is_past()
        || window.distances().first() == Some(&1)
        || named.is_some_and(|visit| window.visits().contains(&visit));
    // A window that does not select the visit asks nothing of it.
    let unasked = if present { Encoding::Never } else { Encoding::Always };
    let now = if selected { encoder.now(code, present, kind) } else { unasked };
    let rest = window.one_visit_earlier();
    [now, encoder.past(code, &rest, present, kind)]
}
