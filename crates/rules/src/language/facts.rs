//! What counts, `since`, ages and values mean as formulas.

use std::sync::Arc;

use consequence_record::{Code, Scale};

use super::diagnostic::{Diagnostic, Topic};
use super::expand::{Expander, any};
use super::knows::Ages;
use super::names::show;
use super::parser::Failed;
use super::source::Span;
use super::tree::{AGE_NAME, Bound, Expression, ExpressionKind, LookBack, Times, is_age};
use crate::{Days, Fact, Formula, ValueRange};

/// The oldest age that can be compared with.
pub(super) const OLDEST: u16 = 150;

/// How much of the values of a code is in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Share {
    None,
    Some,
    All,
}

impl<'a> Expander<'a> {
    /// A count of visits: `X at least 2 times` and its kin.
    pub(super) fn times(
        &mut self,
        what: &'a Expression,
        times: &Times,
        span: Span,
    ) -> Result<Formula, Failed> {
        let codes =
            self.codes_of(what, "a count is of visits with a code, or with any of a set")?;
        let days = match &times.within {
            Some(LookBack::Days(days)) => Some(*days),
            _ => None,
        };
        if let Some(within) = &times.within {
            self.check_dates(within, span)?;
        }
        let least = match times.bound {
            Bound::AtLeast => times.count,
            // Not one more.
            Bound::AtMost => times.count + 1,
        };
        let reached = match times.within {
            Some(_) => seen(&codes, days, least),
            None => seen_by_now(&codes, least),
        };
        Ok(match times.bound {
            Bound::AtLeast => reached,
            Bound::AtMost => reached.not(),
        })
    }

    /// `X since Y`.
    pub(super) fn since(
        &mut self,
        what: &'a Expression,
        mark: &'a Expression,
    ) -> Result<Formula, Failed> {
        let help =
            "`B since A` looks for a code, or any of a set, after the last visit with another";
        let codes = self.codes_of(what, help)?;
        let mark = self.codes_of(mark, help)?;
        if codes.is_empty() || mark.is_empty() {
            return Ok(Formula::Constant(false));
        }
        Ok(Formula::Fact(Fact::Since { codes: codes.into(), mark: mark.into() }))
    }

    /// `X > 6.5` and its kin.
    pub(super) fn compare(
        &mut self,
        what: &'a Expression,
        range: ValueRange,
        span: Span,
    ) -> Result<Formula, Failed> {
        if is_age(what) && !self.is_let(AGE_NAME) {
            return self.age(range, span);
        }
        let codes = match self.test(what) {
            Some(codes) => codes,
            None => {
                self.codes_of(what, "values are those of a code, of a set of them or of a test")?
            }
        };
        if codes.contains(&self.vocabulary.end()) {
            return Err(self.error(Diagnostic::error("`END` has no value"), span));
        }
        let mut parts = Vec::new();
        for &code in &codes {
            let scale = self.knows.and_then(|knows| knows.scales.get(&code));
            match scale.map_or(Share::Some, |scale| share(scale, range)) {
                Share::None => {}
                Share::All => parts.push(Formula::Now(code)),
                Share::Some => {
                    let value = Formula::Fact(Fact::Value { code, range });
                    parts.push(Formula::And(vec![Formula::Now(code), value]));
                }
            }
        }
        if !codes.is_empty() && (parts.is_empty() || self.is_unseen(&codes, range)) {
            self.warn_no_value(&codes, what, range, span);
        }
        Ok(any(parts))
    }

    /// The codes of a test, if the name is that of a test and of no code.
    fn test(&self, what: &Expression) -> Option<Vec<Code>> {
        let name = match &what.kind {
            ExpressionKind::Name(name) if !self.is_let(name) => name,
            ExpressionKind::Code(name) => name,
            _ => return None,
        };
        let codes = self.knows?.codes_of(name);
        (self.vocabulary.code(name).is_none() && !codes.is_empty()).then_some(codes)
    }

    /// Whether values of the codes were looked at, and none is in the range.
    fn is_unseen(&self, codes: &[Code], range: ValueRange) -> bool {
        let Some(values) = self.knows.and_then(|knows| knows.values.as_ref()) else { return false };
        !codes.iter().filter_map(|code| values.get(code)).any(|&(least, most)| {
            let (lowest, highest) = ends(range);
            lowest <= most && least <= highest
        })
    }

    fn warn_no_value(&mut self, codes: &[Code], what: &Expression, range: ValueRange, span: Span) {
        let (source, knows) = (self.source, self.knows);
        self.warnings.push(Topic::NoValue, || {
            let values = knows.and_then(|knows| knows.values.as_ref());
            let measured =
                values.is_none_or(|values| codes.iter().any(|code| values.contains_key(code)));
            let unit = codes.iter().find_map(|code| knows?.scales.get(code)?.unit.as_deref());
            let what = show(&what.to_string());
            let message = format!("no value of {what} is `{range}`");
            let help = match unit {
                _ if !measured => format!("it is never true here: {what} has no values"),
                Some(unit) => format!("it is never true here; the values are in {}", show(unit)),
                None => "it is never true here; look at the unit of the values".to_owned(),
            };
            Diagnostic::warning(message).at(source.location(span)).help(help)
        });
    }

    /// An age in completed years. Where it is not known nothing is true of it.
    fn age(&mut self, range: ValueRange, span: Span) -> Result<Formula, Failed> {
        let is_year =
            |number: f32| number.fract() == 0.0 && (0.0..=f32::from(OLDEST)).contains(&number);
        let limits = [range.least, range.most];
        if !limits.iter().flatten().all(|limit| is_year(limit.number)) {
            let message = format!("an age that is no whole number from 0 to {OLDEST}");
            let help = "ages are completed years: `AGE >= 18`, `AGE between 12 and 17`";
            return Err(self.error(Diagnostic::error(message).help(help), span));
        }
        // The first year that is in the range, and the first that is too old.
        let from = range.least.map(|limit| limit.number as u16 + u16::from(!limit.included));
        let until = range.most.map(|limit| limit.number as u16 + u16::from(limit.included));
        self.check_age([from, until], span)?;
        let least = Formula::Fact(Fact::Age { least: from.unwrap_or(0) });
        Ok(match until {
            None => least,
            Some(until) => {
                let too_old = Formula::Fact(Fact::Age { least: until });
                Formula::And(vec![least, too_old.not()])
            }
        })
    }

    /// Refuses thresholds that the cohort cannot tell.
    fn check_age(&mut self, thresholds: [Option<u16>; 2], span: Span) -> Result<(), Failed> {
        let refused = match self.knows.and_then(|knows| knows.ages.as_ref()) {
            None | Some(Ages::Years) => return Ok(()),
            Some(Ages::Unknown) => Diagnostic::error("an age in a cohort without ages").help(
                "it has no dates of birth, no age bands at encounters and no static codes such as \
                 `AGE//40-60`",
            ),
            Some(Ages::Bands(bands)) => {
                let inside = |&year: &u16| {
                    let band = bands
                        .iter()
                        .find(|band| band.from < year && band.to.is_none_or(|to| year < to));
                    band.map(|band| (year, *band))
                };
                let Some((year, band)) = thresholds.iter().flatten().find_map(inside) else {
                    return Ok(());
                };
                let borders: std::collections::BTreeSet<u16> =
                    bands.iter().flat_map(|band| [Some(band.from), band.to]).flatten().collect();
                // Where bands overlap, a border of one may lie inside another.
                let borders = borders.into_iter().filter(|border| inside(border).is_none());
                let borders: Vec<String> = borders.take(20).map(|year| year.to_string()).collect();
                let help = match borders.is_empty() {
                    true => "only age bands are known, and every border of one lies inside another"
                        .to_owned(),
                    false => format!(
                        "only age bands are known; compare with where they begin and end: {}",
                        borders.join(", ")
                    ),
                };
                Diagnostic::error(format!("age {year} lies inside the band `{band}`")).help(help)
            }
        };
        Err(self.error(refused, span))
    }

    /// Refuses days where encounters have none.
    pub(super) fn check_dates(&mut self, within: &LookBack, span: Span) -> Result<(), Failed> {
        let LookBack::Days(days) = within else { return Ok(()) };
        if self.knows.and_then(|knows| knows.dated) != Some(false) {
            return Ok(());
        }
        let message = format!("`{days}` in a cohort without dates");
        let help = "its encounters have an order only; look back by visits: `in last 3 visits`";
        Err(self.error(Diagnostic::error(message).help(help), span))
    }

    /// The codes that an expression stands for, ascending, each once. What is more than a set of codes is
    /// refused with the help.
    fn codes_of(&mut self, what: &'a Expression, help: &str) -> Result<Vec<Code>, Failed> {
        let mut codes = Vec::new();
        let formula = self.formula(what)?;
        if !gather(&formula, &mut codes) {
            let message = "expected a code or a set of codes";
            return Err(self.error(Diagnostic::error(message).help(help), what.span));
        }
        codes.sort_unstable();
        codes.dedup();
        Ok(codes)
    }
}

/// Adds the codes of which a formula says that any is in the visit; false if it says anything else.
fn gather(formula: &Formula, codes: &mut Vec<Code>) -> bool {
    match formula {
        Formula::Now(code) => {
            codes.push(*code);
            true
        }
        // A code that is not known, or a pattern of none: it was reported.
        Formula::Constant(false) => true,
        Formula::Or(parts) => parts.iter().all(|part| gather(part, codes)),
        _ => false,
    }
}

/// At least so many earlier visits have one of the codes.
fn seen(codes: &[Code], days: Option<Days>, count: u16) -> Formula {
    match codes.is_empty() {
        true => Formula::Constant(false),
        false => Formula::Fact(Fact::Seen { codes: Arc::from(codes), days, count }),
    }
}

/// At least so many visits up to this one have one of the codes.
fn seen_by_now(codes: &[Code], count: u16) -> Formula {
    if codes.is_empty() {
        return Formula::Constant(false);
    }
    let now = any(codes.iter().copied().map(Formula::Now).collect());
    let before = seen(codes, None, count);
    match count {
        1 => Formula::Or(vec![before, now]),
        _ => Formula::Or(vec![before, Formula::And(vec![now, seen(codes, None, count - 1)])]),
    }
}

/// The smallest and the largest number in a range.
fn ends(range: ValueRange) -> (f32, f32) {
    let lowest = range.least.map_or(f32::MIN, |limit| match limit.included {
        true => limit.number,
        false => limit.number.next_up(),
    });
    let highest = range.most.map_or(f32::MAX, |limit| match limit.included {
        true => limit.number,
        false => limit.number.next_down(),
    });
    (lowest, highest)
}

/// How much of a part of a scale is in a range.
fn share(scale: &Scale, range: ValueRange) -> Share {
    let lowest = scale.above.map_or(f32::MIN, f32::next_up);
    let highest = scale.up_to.unwrap_or(f32::MAX);
    let (from, to) = ends(range);
    if from > highest || to < lowest || from > to {
        Share::None
    } else if from <= lowest && highest <= to {
        Share::All
    } else {
        Share::Some
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_parts_are_those_of_their_numbers() {
        let limits = [None, Some(2.0), Some(4.0), Some(6.5)];
        let ranges = [2.0, 3.0, 4.0, 6.5].into_iter().flat_map(|number| {
            [
                ValueRange::above(number),
                ValueRange::at_least(number),
                ValueRange::below(number),
                ValueRange::at_most(number),
                ValueRange::between(number, 5.0_f32.max(number)),
            ]
        });
        for range in ranges {
            for (above, up_to) in limits.into_iter().flat_map(|a| limits.map(|b| (a, b))) {
                if above.zip(up_to).is_some_and(|(above, up_to)| above >= up_to) {
                    continue;
                }
                let scale = Scale { above, up_to, ..Scale::default() };
                let near = [2.0_f32, 3.0, 4.0, 5.0, 6.5, -1e30, 1e30, f32::MIN, f32::MAX];
                let near =
                    near.iter().flat_map(|number| [number.next_down(), *number, number.next_up()]);
                let inside: Vec<bool> = near
                    .filter(|number| number.is_finite() && scale.holds(*number))
                    .map(|number| range.holds(number))
                    .collect();
                let expected = match (inside.contains(&true), inside.contains(&false)) {
                    (true, true) => Share::Some,
                    (true, false) => Share::All,
                    _ => Share::None,
                };
                assert_eq!(share(&scale, range), expected, "{scale:?} {range}");
            }
        }
    }
}
