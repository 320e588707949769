//! What nobody needs to be told: rules that follow from how records are built, rather than from
//! medicine, each held against every record.
//!
//! - One code of each static category (one sex, one age band): what stands before the last `//`
//!   tells which codes are of one category.
//! - Nothing after death: a code of an encounter whose name says that the patient died.
//! - A death within a stay is how the stay ended: where codes of discharge say that a patient died and other codes
//!   do too, one of each comes with the other.
//! - One code for the time since the encounter before, in every encounter but the first.
//! - One stay at a time: nobody comes back within fewer days than the stay before took.
//! - What encounters are made of: codes of a family (what stands before the first `//`) that come only with those of
//!   another, as diagnoses do with a stay; what an encounter without a stay has; no encounter without any code; one
//!   code of a family in an encounter. Each where enough records show it that chance does not explain it.
//! - Nobody has a code that no real patient of the same sex has. A code of three patients shows
//!   too little for a rule of medicine; that none of them was a man is reason enough not to write
//!   it for men. This goes for every static category of two or three codes.
//!
//! The last are for writing records, and not for models to train with or to be measured by: a record
//! that was never seen may well have a code that was not seen so far. They are a file of their own.
//!
//! A rule stays unless more than [`MOST_BROKEN`] of the records that could break it do. What a sex
//! never has is looked for outside the held-out split, which models are measured on.

mod count;
mod structure;

use std::fmt::Write;

use consequence_feedback::words::number;
use consequence_record::{Cohort, Part, Split, Vocabulary};
use consequence_rules::language::{Expression, ExpressionKind, Quantifier, RuleItem};
use consequence_rules::{Formula, Window};
use serde::Serialize;

use crate::claim::{plain, statement};
use crate::records::Columns;
use count::{Category, Found, Pair};
use structure::Family;

/// The most of the records that could break a rule that may do so.
pub const MOST_BROKEN: f64 = 0.01;
/// Records that a sex needs before what it never has counts.
const LEAST_RECORDS: u64 = 20;
/// The most codes of a static category whose patients are told apart by what they never have.
const MOST_KINDS: usize = 3;

/// What a rule of common sense is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sense {
    /// One code of a static category.
    OneOf,
    /// Nothing comes after death.
    Death,
    /// A death within a stay, and a stay that ended in death, come together.
    StayDeath,
    /// One code for the time since the encounter before.
    Gap,
    /// A stay is over before the next encounter.
    Stay,
    /// What encounters are made of.
    Structure,
    /// Codes that no patient of a sex has.
    NeverSeen,
}

impl Sense {
    fn heading(self) -> &'static str {
        match self {
            Self::OneOf => "One code of each static category",
            Self::Death => "Nothing after death",
            Self::StayDeath => "A death within a stay is how it ended",
            Self::Gap => "One time since the encounter before",
            Self::Stay => "One stay at a time",
            Self::Structure => "What encounters are made of",
            Self::NeverSeen => "Codes that no patient of a sex has, here",
        }
    }
}

/// A rule of common sense, and what real records say of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SenseRule {
    /// What it is about.
    pub sense: Sense,
    /// Its name in the rule file.
    pub name: String,
    /// The rule as a statement of the language.
    pub statement: String,
    /// What it says, in words.
    pub sentence: String,
    /// Records that could break it.
    pub could_break: u64,
    /// Records that do.
    pub broken: u64,
    /// Whether it is a rule; false where too many records break it.
    pub kept: bool,
}

/// Rules of common sense for a cohort.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CommonSense {
    /// The rules, and those that were left out.
    pub rules: Vec<SenseRule>,
    /// Sensible checks that could not be made, and why.
    pub missing: Vec<String>,
    /// Codes that are static, as the rule file declares them.
    #[serde(skip)]
    statics: Vec<String>,
}

/// Finds the rules of common sense that a cohort speaks of.
///
/// ```
/// use std::sync::Arc;
/// use consequence_mine::common_sense;
/// use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
///
/// let names = [("SEX//F", Kind::Static), ("SEX//M", Kind::Static), ("DEATH", Kind::Encounter)];
/// let vocabulary = Vocabulary::new(names)?;
/// let [female, male, death] = ["SEX//F", "SEX//M", "DEATH"].map(|name| vocabulary.code(name).unwrap());
/// let mut cohort = Cohort::default();
/// for number in 0..60 {
///     let sex = if number % 2 == 0 { female } else { male };
///     cohort.push(&number.to_string(), &Record::new(vec![vec![sex], vec![], vec![death]]));
/// }
/// let found = common_sense(&cohort, &vocabulary, &vec![Split::Train; 60]);
/// let text = found.text();
/// assert!(text.contains("exactly one of SEX//F, SEX//M\n"));
/// assert!(text.contains("DEATH => END\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn common_sense(cohort: &Cohort, vocabulary: &Vocabulary, splits: &[Split]) -> CommonSense {
    let columns = Columns::of_all(vocabulary, false);
    let found = Found::in_cohort(cohort, splits, vocabulary, &columns);
    let mut writer =
        RuleWriter { vocabulary, columns: &columns, found: &found, out: CommonSense::default() };
    writer.one_of();
    writer.death();
    writer.stay_deaths();
    writer.gaps();
    writer.stays();
    writer.structure();
    writer.never_seen();
    writer.out
}

impl CommonSense {
    /// The rules that are kept.
    pub fn kept(&self) -> impl Iterator<Item = &SenseRule> {
        self.rules.iter().filter(|rule| rule.kept)
    }

    /// The rules that too many real records break.
    pub fn left_out(&self) -> impl Iterator<Item = &SenseRule> {
        self.rules.iter().filter(|rule| !rule.kept)
    }

    /// The text of a rule file: all but the codes that a sex never has.
    pub fn text(&self) -> String {
        let head = "# Common sense about the records of this cohort: rules of how records are built,\n\
                    # held against every real record.\n";
        let senses = [
            Sense::OneOf,
            Sense::Death,
            Sense::StayDeath,
            Sense::Gap,
            Sense::Stay,
            Sense::Structure,
        ];
        let mut text = self.of(&senses, head);
        if !self.missing.is_empty() {
            text.push_str("\n\n# ---- What could not be checked ----\n\n");
        }
        for missing in &self.missing {
            text.push_str(&format!("# {missing}\n"));
        }
        text
    }

    /// The text of a rule file of the codes that a sex never has.
    pub fn never_seen_text(&self) -> String {
        let head = "# Codes that no patient of a sex has in this cohort. For writing records: a rare code\n\
                    # shows too little for a rule of medicine, and enough not to be written where it was not seen.\n";
        self.of(&[Sense::NeverSeen], head)
    }

    fn of(&self, senses: &[Sense], head: &str) -> String {
        let mut text = head.to_owned();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, senses);
        text
    }

    fn write(&self, out: &mut String, senses: &[Sense]) -> std::fmt::Result {
        if !self.statics.is_empty() {
            writeln!(out, "\nstatic {}", self.statics.join(", "))?;
        }
        for &sense in senses {
            let of_sense: Vec<&SenseRule> =
                self.rules.iter().filter(|rule| rule.sense == sense).collect();
            if !of_sense.is_empty() {
                writeln!(out, "\n\n# ---- {} ----", sense.heading())?;
            }
            for rule in of_sense {
                let (broken, all) = (number(rule.broken), number(rule.could_break));
                writeln!(out, "\n# {}", rule.sentence)?;
                writeln!(out, "# broken by {broken} of the {all} records that could break it")?;
                match rule.kept {
                    true => writeln!(out, "{}", rule.statement)?,
                    false => writeln!(out, "# left out, as that is too many: {}", rule.name)?,
                }
            }
        }
        Ok(())
    }
}

/// Whether a rule stays that so many records could break and so many do.
fn holds([could_break, broken]: [u64; 2]) -> bool {
    broken as f64 <= MOST_BROKEN * could_break as f64
}

/// Writes rules of what was counted.
struct RuleWriter<'a> {
    vocabulary: &'a Vocabulary,
    columns: &'a Columns,
    found: &'a Found<'a>,
    out: CommonSense,
}

impl RuleWriter<'_> {
    fn push(
        &mut self,
        sense: Sense,
        name: &str,
        sentence: String,
        formula: &Formula,
        tally: [u64; 2],
    ) {
        let name = format!("common-sense-{}", plain(name));
        let statement = statement(&name, formula, None, self.vocabulary);
        self.push_statement(sense, name, statement, sentence, tally);
    }

    fn push_statement(
        &mut self,
        sense: Sense,
        name: String,
        statement: String,
        sentence: String,
        tally: [u64; 2],
    ) {
        let ([could_break, broken], kept) = (tally, holds(tally));
        self.out.rules.push(SenseRule {
            sense,
            name,
            statement,
            sentence,
            could_break,
            broken,
            kept,
        });
    }

    fn group_codes(&self, category: &Category<'_>) -> Vec<Formula> {
        category.groups.iter().map(|&group| Formula::Now(self.columns.groups[group])).collect()
    }

    fn one_of(&mut self) {
        let Found { categories, counts, .. } = self.found;
        let statics: Vec<usize> =
            categories.iter().flat_map(|category| category.groups.iter().copied()).collect();
        let shown = |&group: &usize| {
            Expression::literal(self.vocabulary.name(self.columns.groups[group])).to_string()
        };
        self.out.statics = statics.iter().map(shown).collect();
        if categories.is_empty() {
            let missing =
                "one sex and one age a record: no static code names a category, as `SEX//F` does";
            self.out.missing.push(missing.into());
        }
        for (number, category) in categories.iter().enumerate() {
            let (without, several) = (counts.without[number], counts.several[number]);
            let codes = self.group_codes(category);
            let (name, records) = (category.name, counts.records);
            let missing_too = without + several;
            if missing_too as f64 <= MOST_BROKEN * records as f64 {
                let sentence = format!("every record has one of {name}");
                let formula = Formula::ExactlyOne(codes);
                let rule_name = format!("exactly-one-{name}");
                self.push(Sense::OneOf, &rule_name, sentence, &formula, [records, missing_too]);
            } else if category.groups.len() > 1 {
                let sentence = format!("no record has two of {name}");
                let formula = Formula::AtMostOne(codes);
                let rule_name = format!("at-most-one-{name}");
                let tally = [records - without, several];
                self.push(Sense::OneOf, &rule_name, sentence, &formula, tally);
            }
        }
    }

    fn death(&mut self) {
        let Found { deaths, counts, .. } = self.found;
        if deaths.is_empty() {
            let missing = "nothing after death: no code of an encounter is called death, dead, died, deceased or expired";
            self.out.missing.push(missing.into());
        }
        let end = Formula::Now(self.vocabulary.end());
        for (number, &column) in deaths.iter().enumerate() {
            let code = self.columns.codes[column];
            let name = self.vocabulary.name(code);
            let formula = Formula::Now(code).implies(end.clone());
            let tally = [counts.deaths[number], counts.goes_on[number]];
            let sentence = format!("nothing comes after {name}");
            self.push(Sense::Death, &format!("nothing-after-{name}"), sentence, &formula, tally);
        }
    }

    /// Only what some record shows: nobody may have died within a stay, or the code may not go with stays here.
    fn stay_deaths(&mut self) {
        let Found { pairs, counts, .. } = self.found;
        for (number, Pair { death, others, stays }) in pairs.iter().enumerate() {
            let tally = [counts.paired[number], counts.unpaired[number]];
            if tally[0] == 0 {
                continue;
            }
            let code = |&column: &usize| Formula::Now(self.columns.codes[column]);
            let any = |columns: &[usize]| Formula::Or(columns.iter().map(code).collect());
            let name = self.vocabulary.name(self.columns.codes[*death]);
            let (must, rule_name, sentence) = match stays.is_empty() {
                true => (code(death), "death-with", format!("{name} comes with a death")),
                false => {
                    let within = Formula::And(vec![code(death), any(stays)]);
                    (
                        within,
                        "stay-ends-with",
                        format!("{name} within a stay is how the stay ended"),
                    )
                }
            };
            let rule_name = format!("{rule_name}-{name}");
            self.push(Sense::StayDeath, &rule_name, sentence, &must.implies(any(others)), tally);
        }
    }

    /// In a record's first encounter the visit before is the static one, which tells the first from
    /// the others where every record has a static code.
    fn gaps(&mut self) {
        let Found { categories, gaps, counts, .. } = self.found;
        if gaps.is_empty() {
            return;
        }
        let codes = || gaps.iter().map(|&gap| Formula::Now(self.columns.codes[gap])).collect();
        let exact = categories.iter().enumerate().find(|&(number, _)| {
            let odd = counts.without[number] + counts.several[number];
            odd as f64 <= MOST_BROKEN * counts.records as f64
        });
        let Some((_, category)) = exact else {
            let sentence = "no encounter has two times since the one before".to_owned();
            let formula = Formula::AtMostOne(codes());
            let tally = [counts.records, counts.several_gaps];
            self.push(Sense::Gap, "one-gap", sentence, &formula, tally);
            return;
        };
        let statics = category.groups.iter().map(|&group| self.columns.groups[group]);
        let first =
            Formula::Or(statics.map(|code| Formula::In(code, Window::previous())).collect());
        let none = Formula::Or(codes()).not();
        let one = Formula::ExactlyOne(codes());
        let tally = [counts.records, counts.gap_at_first];
        let sentence = "the first encounter has no time since the one before".to_owned();
        self.push(Sense::Gap, "no-gap-at-first", sentence, &first.clone().implies(none), tally);
        let tally = [counts.records, counts.odd_gaps_later];
        let sentence = "every encounter but the first has one time since the one before".to_owned();
        self.push(Sense::Gap, "one-gap-later", sentence, &first.not().implies(one), tally);
    }

    fn stays(&mut self) {
        let Found { stays, counts, .. } = self.found;
        if stays.is_empty() {
            return;
        }
        let code = |column: usize| self.columns.codes[column];
        let over = stays.iter().map(|(stay, shorter)| {
            let gaps = shorter.iter().map(|&gap| Formula::Now(code(gap))).collect();
            Formula::In(code(*stay), Window::previous()).implies(Formula::Or(gaps).not())
        });
        let formula = Formula::And(over.collect());
        let sentence = "nobody comes back before the stay before is over".to_owned();
        let tally = [counts.follow_stay, counts.within_stay];
        self.push(Sense::Stay, "one-stay-at-a-time", sentence, &formula, tally);
    }

    /// What encounters are made of. Families are written as patterns, so that a rule stays short however many codes
    /// it speaks of.
    fn structure(&mut self) {
        let Found { families, counts, .. } = self.found;
        let of = |family: usize| self.codes_of(&families.all[family]);
        let group = |quantifier, codes| Expression::from(ExpressionKind::Group(quantifier, codes));
        let mut rules: Vec<(String, String, Expression, [u64; 2])> = Vec::new();
        for (needed, family) in families.all.iter().enumerate() {
            let name = family.name;
            let needing = counts.families.needing(families, needed);
            let (more, less): (Vec<_>, Vec<_>) =
                needing.into_iter().partition(|(_, [_, broken])| *broken == 0);
            // What no record breaks is one rule; what some do has its own count.
            let more = (!more.is_empty()).then_some(more);
            for needing in more.into_iter().chain(less.into_iter().map(|one| vec![one])) {
                let names: Vec<&str> =
                    needing.iter().map(|&(family, _)| families.all[family].name).collect();
                let codes = needing.iter().flat_map(|&(family, _)| of(family)).collect();
                let formula =
                    group(Quantifier::None, of(needed)).implies(group(Quantifier::None, codes));
                let sentence =
                    format!("codes of {} come only with those of {name}", names.join(", "));
                let rule_name = match needing[..] {
                    [(one, _)] => format!("{}-needs-{name}", families.all[one].name),
                    _ => format!("only-with-{name}"),
                };
                // A record that has several of them could break it once.
                let could = needing.iter().map(|(_, [could, _])| *could).max().unwrap_or(0);
                let broken = needing.iter().map(|(_, [_, broken])| *broken).max().unwrap_or(0);
                rules.push((rule_name, sentence, formula, [could, broken]));
            }
        }
        let instead = counts.families.instead_of_stay(families);
        if let Some((instead, tally)) = instead {
            let stays = families.all.iter().position(|family| family.is_stay);
            let stays = stays.map(of).unwrap_or_default();
            let formula =
                group(Quantifier::None, stays).implies(group(Quantifier::Any, of(instead)));
            let name = families.all[instead].name;
            let sentence = format!("an encounter that is no stay has {name}");
            rules.push((format!("no-stay-has-{name}"), sentence, formula, tally));
        } else if let Some(tally) = counts.families.never_empty() {
            let alone = families.alone.iter().map(|&column| self.literal(column));
            let codes: Vec<Expression> =
                (0..families.all.len()).flat_map(of).chain(alone).collect();
            let sentence = "no encounter is without any code".to_owned();
            if !codes.is_empty() {
                rules.push(("some-code".into(), sentence, group(Quantifier::Any, codes), tally));
            }
        }
        for (number, family) in families.all.iter().enumerate() {
            if let Some(tally) = counts.families.one_of(families, number) {
                let name = family.name;
                let sentence = format!("no encounter has two of {name}");
                let formula = group(Quantifier::AtMostOne, of(number));
                rules.push((format!("at-most-one-{name}"), sentence, formula, tally));
            }
        }
        for (name, sentence, formula, tally) in rules {
            let name = format!("common-sense-{}", plain(&name));
            let statement = RuleItem::new(&name, formula).to_string();
            self.push_statement(Sense::Structure, name, statement, sentence, tally);
        }
    }

    fn literal(&self, column: usize) -> Expression {
        Expression::literal(self.vocabulary.name(self.columns.codes[column]))
    }

    fn codes_of(&self, family: &Family<'_>) -> Vec<Expression> {
        match family.is_pattern {
            true => vec![ExpressionKind::Glob(format!("{}//*", family.name)).into()],
            false => family.columns.iter().map(|&column| self.literal(column)).collect(),
        }
    }

    fn never_seen(&mut self) {
        let Found { categories, counts, .. } = self.found;
        let width = self.columns.len();
        for category in categories {
            if !(2..=MOST_KINDS).contains(&category.groups.len()) {
                continue;
            }
            for &group in &category.groups {
                let records = counts.group_records[group];
                if records < LEAST_RECORDS {
                    continue;
                }
                let seen = |group: usize, column: usize| counts.group_with[group * width + column];
                let event =
                    |column: usize| self.vocabulary.part(self.columns.codes[column]) == Part::Codes;
                let never: Vec<Formula> = (0..self.columns.end())
                    .filter(|&column| event(column))
                    .filter(|&column| seen(group, column) == 0)
                    .filter(|&column| category.groups.iter().any(|&other| seen(other, column) > 0))
                    .map(|column| Formula::Now(self.columns.codes[column]))
                    .collect();
                if never.is_empty() {
                    continue;
                }
                let code = self.columns.groups[group];
                let name = self.vocabulary.name(code);
                let sentence = format!(
                    "{} codes that others have and none of {} records with {name}",
                    number(never.len() as u64),
                    number(records)
                );
                let formula =
                    Formula::In(code, Window::static_visit()).implies(Formula::Or(never).not());
                let rule_name = format!("never-seen-for-{name}");
                self.push(Sense::NeverSeen, &rule_name, sentence, &formula, [records, 0]);
            }
        }
    }
}
