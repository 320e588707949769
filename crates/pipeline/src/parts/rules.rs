//! Rules over the codes of records that are counted in parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{AgeBand, Code};
use consequence_rules::language::{Knows, Told};
use consequence_tally::{Block, Rounds, Span, Whose, counts};

use super::Outline;
use crate::load::{self, LoadedRules, RuleOptions};
use crate::{CodeSource, Error, RecordInputs, RuleInput};

/// Reads rules over the codes of a outline. Where they ask for days, ages or values, it is counted first what of these
/// the records know.
pub fn rules_in_rounds(
    inputs: &RecordInputs,
    outline: &Outline,
    rounds: &mut Rounds<'_>,
) -> Result<LoadedRules, Error> {
    let own = outline.own_rules.as_ref().filter(|_| !inputs.no_own_rules);
    let own = own.map(|(name, text)| RuleInput::text(name, Arc::clone(text)));
    let files: Vec<RuleInput> = own.into_iter().chain(inputs.rules.iter().cloned()).collect();
    let options = RuleOptions {
        vocabulary: Some(Arc::clone(&outline.vocabulary)),
        titles: outline.titles.clone(),
        knows: Some(Knows { scales: outline.scales.clone(), ..Knows::default() }),
        numbered: inputs.vocabulary.is_some(),
        unknown_codes: inputs.unknown_codes,
        ..RuleOptions::default()
    };
    rules_of(&files, options, outline, rounds)
}

/// The same with options of one's own.
pub fn rules_of(
    files: &[RuleInput],
    mut options: RuleOptions,
    outline: &Outline,
    rounds: &mut Rounds<'_>,
) -> Result<LoadedRules, Error> {
    let source = CodeSource::Cohort(outline.name.clone());
    let rules = load::rules_over(files, &options, &source)?;
    if !rules.rules.ask_details() {
        return Ok(rules);
    }
    options.knows = Some(knows_in_rounds(outline, rounds)?);
    load::rules_over(files, &options, &source)
}

/// What the records know of days, ages and values.
fn knows_in_rounds(outline: &Outline, rounds: &mut Rounds<'_>) -> Result<Knows, Error> {
    let ToldCounts { dated, births, bands, values } =
        rounds.count(Whose::Cohort, "days, ages and values", |block| {
            Ok::<_, Error>(ToldCounts::of(block))
        })?;
    let spans = values.into_iter().filter_map(|(code, span)| Some((code, span.ends()?)));
    let values = spans.map(|(code, ends)| (code, (number(ends.0), number(ends.1)))).collect();
    let told = Told { dated, births, bands: bands.into_keys().collect(), values };
    Ok(Knows::told(&outline.vocabulary, outline.scales.clone(), told))
}

struct ToldCounts {
    dated: bool,
    births: bool,
    bands: BTreeMap<AgeBand, bool>,
    values: BTreeMap<Code, Span<i64>>,
}

counts!(ToldCounts { dated, births, bands, values });

impl ToldCounts {
    fn of(block: &Block<'_>) -> Self {
        let Some(details) = block.records.details() else {
            let (bands, values) = (BTreeMap::new(), BTreeMap::new());
            return Self { dated: false, births: false, bands, values };
        };
        let values = details.value_spans().into_iter().map(|(code, (least, most))| {
            let mut span = Span::of(ordered(least));
            consequence_tally::Counts::add(&mut span, Span::of(ordered(most)));
            (code, span)
        });
        Self {
            dated: details.dated(),
            births: details.has_births(),
            bands: details.age_bands().into_iter().map(|band| (band, true)).collect(),
            values: values.collect(),
        }
    }
}

/// A whole number that is in order as the value is.
fn ordered(value: f32) -> i64 {
    let bits = value.to_bits() as i32;
    (bits ^ ((bits >> 31) as u32 >> 1) as i32).into()
}

/// The value that a whole number stands for.
fn number(ordered: i64) -> f32 {
    let bits = ordered as i32;
    f32::from_bits((bits ^ ((bits >> 31) as u32 >> 1) as i32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_in_the_order_of_values() {
        let values = [f32::MIN, -2.5, -1e-30, 0.0, 1e-30, 1.0, f32::MAX];
        assert!(values.windows(2).all(|pair| ordered(pair[0]) < ordered(pair[1])));
        assert!(values.iter().all(|&value| number(ordered(value)) == value));
    }
}
