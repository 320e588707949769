//! What is checked before records leave the house, one by one.

use consequence_evaluate::{
    AttributeInference, ClosestRecords, Measured, MembershipInference, Privacy, Rarity, Shown,
};
use consequence_pipeline::words::{count, number};
use serde::Serialize;

use super::ReleaseLimits;
use crate::evaluate::Obedience;

/// Standard errors by which a figure may be off by luck.
const LUCK: f64 = 1.96;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// That enough patients were learned from.
    Patients,
    /// That no rule is broken.
    Rules,
    /// That no record is one patient's.
    Copies,
    /// That records are not nearer to those trained on than to others.
    Nearness,
    /// That nobody can tell who was trained on.
    Membership,
    /// That nobody can guess what else a patient has.
    Attributes,
    /// That static codes are those of many.
    SmallCells,
    /// That codes are those of many.
    RareCodes,
    /// That values are those of many.
    RareValues,
}

/// A check, and how it came out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What was checked.
    pub kind: CheckKind,
    /// What ought to hold, in a sentence.
    pub claim: String,
    /// What was found, in words.
    pub found: String,
    /// The figure that is held against the limit.
    pub figure: Option<f64>,
    /// The limit.
    pub limit: f64,
    /// How it came out.
    pub outcome: Outcome,
    /// What to do if it failed.
    pub advice: &'static str,
}

/// How a check came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The limit is kept.
    Passed,
    /// The limit is passed.
    Failed,
    /// Nobody can say, and why. Records do not leave on that.
    Open(String),
}

impl CheckKind {
    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::Patients => "patients learned from",
            Self::Rules => "rules",
            Self::Copies => "copies of a patient",
            Self::Nearness => "near copies",
            Self::Membership => "who was trained on",
            Self::Attributes => "what else someone has",
            Self::SmallCells => "smallest cells",
            Self::RareCodes => "rare codes",
            Self::RareValues => "rare values",
        }
    }
}

/// All checks, in the order in which they are told.
pub(super) fn checks(
    limits: &ReleaseLimits,
    obedience: Option<&Obedience>,
    rarity: &Rarity,
    privacy: &Privacy,
) -> Vec<Check> {
    let checks = Checks { limits, rarity };
    let mut all = vec![
        checks.patients(),
        checks.rules(obedience),
        checks.copies(),
        measured(&privacy.closest, |found| checks.nearness(found, privacy.synthetic_records)),
        measured(&privacy.membership, |found| checks.membership(found)),
        measured(&privacy.attributes, |found| checks.attributes(found)),
        checks.small_cells(),
        checks.rare_codes(),
    ];
    all.extend(checks.rare_values());
    all
}

struct Checks<'a> {
    limits: &'a ReleaseLimits,
    rarity: &'a Rarity,
}

/// A check of something that could perhaps not be measured.
fn measured<T>(found: &Measured<T>, check: impl Fn(Option<&T>) -> Check) -> Check {
    match found {
        Measured::Measured(found) => check(Some(found)),
        Measured::Unmeasured(why) => {
            Check { outcome: Outcome::Open(why.to_string()), ..check(None) }
        }
    }
}

fn passed(passes: bool) -> Outcome {
    if passes { Outcome::Passed } else { Outcome::Failed }
}

/// A share in words: whole percents where it is some, more digits where it is little.
fn share(part: f64) -> String {
    let percents = format!("{:.2}", 100.0 * part);
    format!("{}%", percents.trim_end_matches('0').trim_end_matches('.'))
}

impl Checks<'_> {
    fn patients(&self) -> Check {
        let (patients, limit) = (self.rarity.real_records, self.limits.patients);
        Check {
            kind: CheckKind::Patients,
            claim: format!("Records were learned from {} or more", count(limit, "patient")),
            found: count(patients, "patient"),
            figure: Some(patients as f64),
            limit: limit as f64,
            outcome: passed(patients >= limit),
            advice: "learn from more patients: what is said of a few is said of each of them",
        }
    }

    fn rules(&self, obedience: Option<&Obedience>) -> Check {
        let limit = self.limits.violations;
        let claim = match limit {
            0 => "No record breaks a hard rule".to_owned(),
            limit => format!("At most {} of hard rules", count(limit, "violation")),
        };
        Check {
            kind: CheckKind::Rules,
            claim,
            found: obedience.map_or_else(String::new, |found| {
                let violations = count(found.violations, "violation");
                let rules = count(found.hard_rules as u64, "hard rule");
                format!("{violations} of {rules} in {}", count(found.records, "record"))
            }),
            figure: obedience.map(|found| found.violations as f64),
            limit: limit as f64,
            outcome: match obedience {
                Some(found) => passed(found.violations <= limit),
                None => Outcome::Open("no rules were given".to_owned()),
            },
            advice: "give the rules that the records were made with; an audit shows what breaks them, and enforcing them repairs it",
        }
    }

    /// A share of the synthetic records that must not be much above that of other real ones.
    fn above_others(
        &self,
        of: impl Fn(&Shown) -> Option<f64>,
        limit: f64,
    ) -> (Option<f64>, String, Outcome) {
        let synthetic = of(&self.rarity.synthetic);
        let Some(other) = &self.rarity.other else {
            let why = "the real cohort has no records that were not trained on".to_owned();
            let found = synthetic.map_or_else(String::new, share);
            return (None, found, Outcome::Open(why));
        };
        let (one, other) = (synthetic.unwrap_or(0.0), of(other).unwrap_or(0.0));
        let found = format!("{}; of other real records {}", share(one), share(other));
        (Some(one - other), found, passed(one - other <= limit))
    }

    fn copies(&self) -> Check {
        let limit = self.limits.copies;
        let of = |shown: &Shown| Some(shown.of_records(shown.copies));
        let (figure, found, outcome) = self.above_others(of, limit);
        let copies = number(self.rarity.synthetic.copies);
        Check {
            kind: CheckKind::Copies,
            claim: format!(
                "Records are those of one patient, visit by visit, no more than {} oftener than other real records are",
                share(limit)
            ),
            found: format!("{copies}: {found}"),
            figure,
            limit,
            outcome,
            advice: "a generator that copies must not be used: train with fewer epochs, with more patients, or with a smaller network",
        }
    }

    fn nearness(&self, found: Option<&ClosestRecords>, records: u64) -> Check {
        let limit = self.limits.nearer;
        let luck = |share: f64| LUCK * (share * (1.0 - share) / records.max(1) as f64).sqrt();
        let nearer = found.map(|found| found.closer_to_train);
        Check {
            kind: CheckKind::Nearness,
            claim: format!(
                "At most {} of the records are nearer to one trained on than to one held out",
                share(limit)
            ),
            found: nearer.map_or_else(String::new, |nearer| {
                format!("{}, by luck {:.1} more or less", share(nearer), 100.0 * luck(nearer))
            }),
            figure: nearer,
            limit,
            outcome: passed(nearer.is_some_and(|nearer| nearer - luck(nearer) <= limit)),
            advice: "a generator that keeps so near to its patients has learned them by heart: train with fewer epochs or more patients",
        }
    }

    fn membership(&self, found: Option<&MembershipInference>) -> Check {
        let limit = self.limits.membership;
        let told = found.map(|found| (found.auroc, LUCK * found.standard_error.unwrap_or(0.0)));
        Check {
            kind: CheckKind::Membership,
            claim: format!(
                "Nearness to a record tells hardly who was trained on: an AUROC of at most {limit}"
            ),
            found: told.map_or_else(String::new, |(auroc, luck)| {
                format!("{auroc:.3}, by luck {luck:.3} more or less; 0.5 tells nothing")
            }),
            figure: told.map(|(auroc, _)| auroc),
            limit,
            outcome: passed(told.is_some_and(|(auroc, luck)| auroc - luck <= limit)),
            advice: "whoever has a patient's record can tell that it was trained on: train with fewer epochs or more patients",
        }
    }

    fn attributes(&self, found: Option<&AttributeInference>) -> Check {
        let limit = self.limits.attributes;
        let copied = !matches!(self.copies().outcome, Outcome::Passed);
        let gain = found.and_then(|found| {
            let f1 =
                [found.from_synthetic, found.from_held_out, found.of_held_out].map(|one| one.f1);
            let [Some(one), Some(from_others), Some(of_others)] = f1 else { return None };
            // Who copies may have seen the others too, and then they are nobody to compare with.
            let gain = if copied { Some(one - from_others) } else { found.gain() };
            Some(([one, from_others, of_others], gain?))
        });
        let outcome = match (found, gain) {
            (Some(_), None) => Outcome::Open("no sensitive code could be guessed".to_owned()),
            (_, gain) => passed(gain.is_some_and(|(_, gain)| gain <= limit)),
        };
        Check {
            kind: CheckKind::Attributes,
            claim: format!(
                "Guesses of sensitive codes of those trained on gain at most {limit} in F1 over what can be \
                 guessed of anyone"
            ),
            found: gain.map_or_else(String::new, |([one, from_others, of_others], gain)| {
                format!(
                    "{gain:+.3}: F1 {one:.3}; from as many other real records {from_others:.3}; of people \
                     not trained on {of_others:.3}{}",
                    if copied { ", which does not count where records are copies" } else { "" }
                )
            }),
            figure: gain.map(|(_, gain)| gain),
            limit,
            outcome,
            advice: "records tell what else a patient has: train with fewer epochs or more patients",
        }
    }

    fn small_cells(&self) -> Check {
        let (shown, limit) = (&self.rarity.synthetic, self.limits.small_cells);
        let figure = shown.of_records(shown.in_small_cells);
        let smallest = self.rarity.smallest_cell;
        let smallest = smallest.map_or_else(String::new, |least| {
            format!("; the smallest cell has {}", count(least, "patient"))
        });
        Check {
            kind: CheckKind::SmallCells,
            claim: format!(
                "At most {} of the records have the static codes of fewer than {} patients",
                share(limit),
                self.rarity.below
            ),
            found: format!("{}: {}{smallest}", number(shown.in_small_cells), share(figure)),
            figure: Some(figure),
            limit,
            outcome: passed(figure <= limit),
            advice: "use fewer static codes, or wider bands of age, when importing",
        }
    }

    fn rare_codes(&self) -> Check {
        let (shown, limit) = (&self.rarity.synthetic, self.limits.rare_codes);
        let figure = shown.of_records(shown.with_rare_codes);
        let written = count(self.rarity.written.len() as u64, "such code");
        Check {
            kind: CheckKind::RareCodes,
            claim: format!(
                "At most {} of the records have a code of fewer than {} patients",
                share(limit),
                self.rarity.below
            ),
            found: format!("{}: {}; {written}", number(shown.with_rare_codes), share(figure)),
            figure: Some(figure),
            limit,
            outcome: passed(figure <= limit),
            advice: "import the real cohort again without the codes of so few patients, and learn from that",
        }
    }

    /// None where no record has a value.
    fn rare_values(&self) -> Option<Check> {
        let limit = self.limits.rare_values;
        self.rarity.synthetic.rare_value_share()?;
        let (figure, found, outcome) = self.above_others(Shown::rare_value_share, limit);
        Some(Check {
            kind: CheckKind::RareValues,
            claim: format!(
                "Values are those of fewer than {} patients no more than {} oftener than in other real records",
                self.rarity.below,
                share(limit)
            ),
            found,
            figure,
            limit,
            outcome,
            advice: "values are drawn from histograms of ten patients or more; records of another tool may need coarser values",
        })
    }
}
