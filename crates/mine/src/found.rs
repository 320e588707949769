//! What mining found, and its text as a file to read.

use std::fmt::Write;

use consequence_feedback::words::number;
use consequence_rules::Formula;
use consequence_rules::language::Expression;
use serde::Serialize;

/// The paper's five kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// At most one code of a demographic category.
    OneOf,
    /// A code that never comes without another in the same visit.
    Together,
    /// A code that a demographic group never has.
    NeverFor,
    /// A code that only comes after another, in a later encounter.
    OnlyAfter,
    /// A code that is in every encounter after its first.
    Stays,
}

impl Template {
    /// All of them, in the order rules are written.
    pub const ALL: [Self; 5] =
        [Self::OneOf, Self::Together, Self::NeverFor, Self::OnlyAfter, Self::Stays];

    /// A heading for rules of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::OneOf => "At most one of each demographic category",
            Self::Together => "Codes that never come without another in the same visit",
            Self::NeverFor => "Codes that a demographic group never has",
            Self::OnlyAfter => "Codes that only come after another, in a later visit",
            Self::Stays => "Codes that stay once they are there",
        }
    }
}

/// How often a rule could have failed, and how often it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Occasions on which it could have failed.
    pub support: u64,
    /// Occasions on which it did.
    pub exceptions: u64,
}

/// A rule with its evidence.
///
/// What counts as an occasion depends on the template: records with a code of the category; visits
/// with the code; visits with the code; visits with the code; visits with the code that another
/// visit follows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MinedRule {
    /// The kind of rule.
    pub template: Template,
    /// The rule's name in the rule file.
    pub name: String,
    /// The rule as a statement of the language.
    pub statement: String,
    /// The rule over the cohort's vocabulary.
    #[serde(skip)]
    pub formula: Formula,
    /// The names of the codes it speaks of, the one it is about first.
    pub codes: Vec<String>,
    /// For a soft rule, the probability it states.
    pub probability: Option<f64>,
    /// What the train split shows.
    pub train: Tally,
    /// Records of the train split with an occasion.
    pub records: u64,
    /// The most that the rate of exceptions may be with 95% confidence, with records as trials.
    pub bound: f64,
    /// The probability that exceptions are rare rather than none, judging by the other candidates
    /// of its kind; none for soft rules, and where no evidence was asked for.
    pub doubt: Option<f64>,
    /// What the tuning split shows.
    pub tuning: Tally,
}

/// Why a claim did not become a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The tuning split has exceptions, or too many of them for a soft rule.
    Contradicted,
    /// Without exceptions, but too likely to have rare ones.
    Doubted,
    /// A soft rule whose code another soft rule decides, or that would close a cycle.
    Crowded,
}

/// A claim that did not become a rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dropped {
    /// Why.
    pub reason: Reason,
    /// The rule it would have been.
    pub rule: MinedRule,
}

/// What became of the candidates of a template.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// The template.
    pub template: Template,
    /// All candidates.
    pub candidates: u64,
    /// Those without exceptions in the train split.
    pub without_exception: u64,
    /// Of these, those that independent codes would show too, with this many candidates.
    pub by_chance: u64,
    /// Of the rest, those that are doubted.
    pub doubted: u64,
}

impl Tried {
    pub(crate) fn new(template: Template) -> Self {
        Self { template, candidates: 0, without_exception: 0, by_chance: 0, doubted: 0 }
    }
}

/// Rules found in a cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mined {
    /// Records of the train split.
    pub train_records: u64,
    /// Encounters of the train split.
    pub train_visits: u64,
    /// Records of the tuning split.
    pub tuning_records: u64,
    /// The rules, by template; hard rules before soft ones.
    pub rules: Vec<MinedRule>,
    /// Claims that did not become rules, in the same order.
    pub dropped: Vec<Dropped>,
    /// What became of all candidates.
    pub tried: Vec<Tried>,
}

impl Mined {
    /// The rules as the text of a rule file, grouped by template, each with its evidence in the
    /// comments above it. `titles` gives the title of a code where it is known.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use consequence_mine::{MineOptions, mine};
    /// # use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
    /// # let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//741", Kind::Encounter)])?);
    /// # let bifida = vocabulary.code("ICD9CM//741").unwrap();
    /// # let mut cohort = Cohort::default();
    /// # for number in 0..200 {
    /// #     let visit = if number % 5 == 0 { vec![bifida] } else { vec![] };
    /// #     cohort.push(&number.to_string(), &Record::new(vec![vec![], visit.clone(), visit]));
    /// # }
    /// # let splits = vec![Split::Train; cohort.len()];
    /// let mined = mine(&cohort, &vocabulary, &splits, &MineOptions::default())?;
    /// let text = mined.text(&|code| (code == "ICD9CM//741").then(|| "Spina bifida".to_owned()));
    /// assert!(text.contains("# Spina bifida stays\n"));
    /// assert!(text.contains("rule ICD9CM//741-stays: ICD9CM//741 in previous => ICD9CM//741\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn text(&self, titles: &dyn Fn(&str) -> Option<String>) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, titles);
        text
    }

    fn write(
        &self,
        out: &mut String,
        titles: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), std::fmt::Error> {
        let soft = self.rules.iter().filter(|rule| rule.probability.is_some()).count();
        let (records, visits) = (number(self.train_records), number(self.train_visits));
        writeln!(
            out,
            "# Rules found in the {records} records ({visits} visits) of the train split"
        )?;
        let tuning = number(self.tuning_records);
        writeln!(out, "# and held against the {tuning} records of the tuning split.")?;
        writeln!(out, "# Hard rules: {}, soft rules: {soft}.", self.rules.len() - soft)?;
        writeln!(out, "#")?;
        writeln!(out, "# The rate given with each rule is the most that exceptions may come to,")?;
        writeln!(out, "# with 95% confidence, judged by the records that show the rule.")?;
        for template in Template::ALL {
            let rules: Vec<&MinedRule> =
                self.rules.iter().filter(|rule| rule.template == template).collect();
            let contradicted = |dropped: &&Dropped| {
                dropped.rule.template == template && dropped.reason == Reason::Contradicted
            };
            let dropped: Vec<&Dropped> = self.dropped.iter().filter(contradicted).collect();
            if rules.is_empty() && dropped.is_empty() {
                continue;
            }
            writeln!(out, "\n\n# ---- {} ----", template.heading())?;
            if template == Template::OneOf && !rules.is_empty() {
                writeln!(out, "\n{}", static_codes(rules.iter().copied()))?;
            }
            for rule in rules {
                writeln!(out, "\n# {}", sentence(rule, titles))?;
                writeln!(out, "# {}", evidence(rule))?;
                writeln!(out, "{}", rule.statement)?;
            }
            if !dropped.is_empty() {
                writeln!(out, "\n# Left out, as the tuning split has exceptions:")?;
            }
            for Dropped { rule, .. } in dropped {
                let (failed, all) = (number(rule.tuning.exceptions), number(rule.tuning.support));
                writeln!(out, "#   {} ({failed} of {all})", one_line(&rule.statement))?;
            }
        }
        Ok(())
    }
}

/// The line of a rule file that says that the codes of demographic categories are static: without a
/// cohort at hand nothing else does. Empty where no rule is about a category.
pub fn static_codes<'a>(rules: impl IntoIterator<Item = &'a MinedRule>) -> String {
    let of_category = rules.into_iter().filter(|rule| rule.template == Template::OneOf);
    let codes = of_category.flat_map(|rule| &rule.codes);
    let codes: Vec<String> = codes.map(|code| Expression::literal(code).to_string()).collect();
    if codes.is_empty() { String::new() } else { format!("static {}", codes.join(", ")) }
}

/// What a rule says, in words. `titles` gives the title of a code where it is known.
///
/// ```
/// # use std::sync::Arc;
/// # use consequence_mine::{MineOptions, evidence, mine, sentence, static_codes};
/// # use consequence_record::{Cohort, Kind, Record, Split, Vocabulary};
/// # let vocabulary = Arc::new(Vocabulary::new([("ICD9CM//741", Kind::Encounter)])?);
/// # let bifida = vocabulary.code("ICD9CM//741").unwrap();
/// # let mut cohort = Cohort::default();
/// # for number in 0..200 {
/// #     let visit = if number % 5 == 0 { vec![bifida] } else { vec![] };
/// #     cohort.push(&number.to_string(), &Record::new(vec![vec![], visit.clone(), visit]));
/// # }
/// # let splits = vec![Split::Train; cohort.len()];
/// let mined = mine(&cohort, &vocabulary, &splits, &MineOptions::default())?;
/// let rule = &mined.rules[0];
/// assert_eq!(sentence(rule, &|_| Some("Spina bifida".to_owned())), "Spina bifida stays");
/// assert!(evidence(rule).starts_with("no exception in 40 visits with another after them"));
/// assert_eq!(static_codes(&mined.rules), "", "no rule is about a demographic category");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sentence(rule: &MinedRule, titles: &dyn Fn(&str) -> Option<String>) -> String {
    let shown = |index: usize| {
        let code = rule.codes.get(index).map_or("", String::as_str);
        one_line(&titles(code).unwrap_or_else(|| code.to_owned()))
    };
    let (first, second) = (shown(0), shown(1));
    let soft = rule.probability.is_some();
    match rule.template {
        Template::OneOf => {
            let code = rule.codes.first().map_or("", String::as_str);
            let category = code.rsplit_once("//").map_or(code, |parts| parts.0);
            format!("no record has two of {}", one_line(category))
        }
        Template::Together if soft => format!("{first} comes nearly always with {second}"),
        Template::Together if rule.statement.contains(" <=> ") => {
            format!("{first} and {second} come only together")
        }
        Template::Together => format!("{first} never comes without {second}"),
        Template::NeverFor if soft => format!("{first} hardly ever for {second}"),
        Template::NeverFor => format!("{first} never for {second}"),
        Template::OnlyAfter if soft => format!("{first} hardly ever comes before {second}"),
        Template::OnlyAfter => format!("{first} only after {second}"),
        Template::Stays if soft => format!("{first} nearly always stays"),
        Template::Stays => format!("{first} stays"),
    }
}

/// What was seen of a rule, in words.
pub fn evidence(rule: &MinedRule) -> String {
    let occasions = match rule.template {
        Template::OneOf => "records",
        Template::Together | Template::NeverFor | Template::OnlyAfter => "visits",
        Template::Stays => "visits with another after them",
    };
    let exceptions = match rule.train.exceptions {
        0 => "no exception".to_owned(),
        1 => "1 exception".to_owned(),
        several => format!("{} exceptions", number(several)),
    };
    let mut text = format!("{exceptions} in {} {occasions}", number(rule.train.support));
    if rule.template != Template::OneOf {
        let _ = write!(text, " of {} records", number(rule.records));
    }
    let _ = write!(text, "; at most {}", percent(rule.bound));
    if rule.tuning.support > 0 {
        let (failed, all) = (number(rule.tuning.exceptions), number(rule.tuning.support));
        let _ = write!(text, "; tuning: {failed} of {all}");
    }
    text
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits =
        if percent >= 10.0 { 0 } else { (1.0 - percent.log10().floor()).clamp(1.0, 6.0) as usize };
    format!("{percent:.digits$}%")
}

/// Text that stays within a comment line.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 200;
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    text.chars().take(LONGEST).map(clean).collect()
}
