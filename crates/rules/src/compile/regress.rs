//! Step four, looking across visits: what the past of a visit asks of the visit before it.

use std::sync::Arc;

use consequence_record::{Code, Kind};

use super::clause::{Atom, Encoder, Encoding, LiteralId, VisitRange, either};
use super::stage::Stages;
use crate::Fact;

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
            let parts = step(encoder, atom, named, kind, present);
            alternatives = either(&alternatives, &parts)?;
        }
        let release = encoder.now(encoder.vocabulary.end(), true, kind).literal();
        for (stages, release) in [(open, release), (given, None)] {
            let released = |clause: &Vec<LiteralId>| {
                encoder.sorted(clause.iter().copied().chain(release).collect())
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
        .filter_map(|&(atom, _)| encoder.atoms.seen_in(atom))
        .flat_map(|(_, window)| window.visits())
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

/// One literal, one visit earlier: parts that must all hold, each a list of which one must, of literals or
/// their settled values.
fn step(
    encoder: &mut Encoder<'_>,
    atom: u32,
    named: Option<u16>,
    kind: Kind,
    present: bool,
) -> Vec<Vec<Encoding>> {
    match encoder.atoms.atoms()[atom as usize].clone() {
        Atom::In { code, .. } => step_window(encoder, atom, code, named, kind, present),
        Atom::Fact(fact) => step_fact(encoder, &fact, kind, present),
        // The visit before the next one is this one.
        Atom::FactBefore(fact) => vec![vec![encoder.fact(&fact, present, kind)]],
    }
}

fn step_window(
    encoder: &mut Encoder<'_>,
    atom: u32,
    code: Code,
    named: Option<u16>,
    kind: Kind,
    present: bool,
) -> Vec<Vec<Encoding>> {
    let Some((_, window)) = encoder.atoms.seen_in(atom) else { return Vec::new() };
    let selected = window.is_past()
        || window.distances().first() == Some(&1)
        || named.is_some_and(|visit| window.visits().contains(&visit));
    let rest = window.one_visit_earlier();
    // A window that does not select the visit asks nothing of it.
    let unasked = if present { Encoding::Never } else { Encoding::Always };
    let now = if selected { encoder.now(code, present, kind) } else { unasked };
    let rest = encoder.past(code, &rest, present, kind);
    // Present: now or in what is left of the window. Absent: absent now and from what is left of it.
    if present { vec![vec![now, rest]] } else { vec![vec![now], vec![rest]] }
}

/// A fact that the visits before tell.
fn step_fact(
    encoder: &mut Encoder<'_>,
    fact: &Fact,
    kind: Kind,
    present: bool,
) -> Vec<Vec<Encoding>> {
    let now = |encoder: &Encoder<'_>, codes: &[Code], present: bool| -> Vec<Encoding> {
        codes.iter().map(|&code| encoder.now(code, present, kind)).collect()
    };
    match fact {
        Fact::Seen { codes, count, .. } => {
            let still = encoder.fact(fact, present, kind);
            let fewer = Fact::Seen { codes: Arc::clone(codes), days: None, count: count - 1 };
            let fewer = encoder.fact_or_true(&fewer, *count > 1, present, kind);
            let now = now(encoder, codes, present);
            if present {
                // Seen so often already, or here and once less before.
                vec![[vec![still], now].concat(), vec![fewer]]
            } else {
                let one_more = now.into_iter().map(|absent| vec![absent, fewer]);
                [vec![still]].into_iter().chain(one_more).collect()
            }
        }
        Fact::Since { codes, mark } => {
            let still = encoder.fact(fact, present, kind);
            let marked = Fact::Seen { codes: Arc::clone(mark), days: None, count: 1 };
            let marked = encoder.fact(&marked, present, kind);
            let (seen, mark) = (now(encoder, codes, present), now(encoder, mark, !present));
            if present {
                // No mark here, and the code here after an earlier one, or since it already.
                let mut parts: Vec<Vec<Encoding>> =
                    mark.into_iter().map(|part| vec![part]).collect();
                parts.push([vec![still], seen].concat());
                parts.push(vec![still, marked]);
                parts
            } else {
                let with_mark = |others: &[Encoding]| [mark.as_slice(), others].concat();
                let after = seen.into_iter().map(|absent| with_mark(&[absent, marked]));
                [with_mark(&[still])].into_iter().chain(after).collect()
            }
        }
        Fact::FirstVisit => {
            let first = kind == Kind::Static;
            vec![vec![if first == present { Encoding::Always } else { Encoding::Never }]]
        }
        // Revealed with the visit: no clause that is moved to the visit before has it.
        Fact::Age { .. } | Fact::Value { .. } => vec![vec![Encoding::Never]],
    }
}
