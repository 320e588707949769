//! What mining found, and its text as a file to read.

use std::fmt::Write;

use consequence_feedback::words::number;
use consequence_rules::Formula;
use consequence_rules::language::Expression;
use serde::Serialize;

/// The kinds of rules: the paper's five, and some beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Template {
    /// At most one code of a demographic category, or exactly one.
    OneOf,
    /// At most one code of a family in a visit, or exactly one.
    OneInVisit,
    /// A code that never comes without another in the same visit.
    Together,
    /// A code that nothing comes after.
    Last,
    /// A code, or a group of codes, that a demographic group never has.
    NeverFor,
    /// A code that only comes after another, in a later encounter.
    OnlyAfter,
    /// A code that only comes within a few encounters after another.
    SoonAfter,
    /// A code that is in every encounter after its first.
    Stays,
    /// A code that no record has twice.
    Once,
    /// A code that only comes from an age on, or only before it.
    Ages,
    /// A code that comes again only after some days.
    Apart,
}

impl Template {
    /// All of them, in the order rules are written.
    pub const ALL: [Self; 11] = [
        Self::OneOf,
        Self::OneInVisit,
        Self::Together,
        Self::Last,
        Self::NeverFor,
        Self::OnlyAfter,
        Self::SoonAfter,
        Self::Stays,
        Self::Once,
        Self::Ages,
        Self::Apart,
    ];

    /// A heading for rules of this kind.
    pub fn heading(self) -> &'static str {
        match self {
            Self::OneOf => "One of each demographic category",
            Self::OneInVisit => "One code of a kind in a visit",
            Self::Together => "Codes that never come without another in the same visit",
            Self::Last => "Codes that nothing comes after",
            Self::NeverFor => "Codes that a demographic group never has",
            Self::OnlyAfter => "Codes that only come after another, in a later visit",
            Self::SoonAfter => "Codes that only come soon after another",
            Self::Stays => "Codes that stay once they are there",
            Self::Once => "Codes that no record has twice",
            Self::Ages => "Codes of some ages only",
            Self::Apart => "Codes that come again only after some days",
        }
    }
}

/// How sure a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// No exception, and evidence that exceptions are not merely rare.
    Certain,
    /// No exception, and further records are unlikely to have one.
    Likely,
    /// Few exceptions.
    Frequent,
    /// No exception, and not evidence enough that there are none. Never a rule.
    Doubted,
}

impl Class {
    /// The classes of rules, in the order they are written.
    pub const OF_RULES: [Self; 3] = [Self::Certain, Self::Likely, Self::Frequent];

    /// The class in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Frequent => "frequent",
            Self::Doubted => "doubted",
        }
    }

    /// A heading for rules of this class.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Certain => "Certain: no exception, and evidence that there is none",
            Self::Likely => "Likely: no exception, on less evidence",
            Self::Frequent => "Frequent: few exceptions",
            Self::Doubted => "Doubted: no exception, on too little evidence",
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
/// What counts as an occasion depends on the template: for a category, records with a code of it, or
/// all of them where each has exactly one; for a family, visits likewise; for a code that stays,
/// visits with it that another visit follows; for the others, visits with the code, or with one of
/// the codes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MinedRule {
    /// The kind of rule.
    pub template: Template,
    /// How sure it is.
    pub class: Class,
    /// What the codes of a rule about several have in common; of a rule about ages or days, which.
    pub label: Option<String>,
    /// The rule's name in the rule file.
    pub name: String,
    /// The rule as a statement of the language.
    pub statement: String,
    /// The rule over the cohort's vocabulary.
    #[serde(skip)]
    pub formula: Formula,
    /// The names of the codes it speaks of, the one it is about first; of a demographic group that
    /// never has several codes, the group last.
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
    /// Another rule says it too.
    Covered,
    /// A likely rule, where likely rules are to be left.
    Left,
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
    /// Of the rest, those that are likely.
    pub likely: u64,
    /// Those that are doubted.
    pub doubted: u64,
}

impl Tried {
    pub(crate) fn new(template: Template) -> Self {
        Self { template, candidates: 0, without_exception: 0, by_chance: 0, likely: 0, doubted: 0 }
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
    /// The most encounters of a record.
    #[serde(skip)]
    pub longest: usize,
    /// The rules, by class and template.
    pub rules: Vec<MinedRule>,
    /// Claims that did not become rules, in the same order.
    pub dropped: Vec<Dropped>,
    /// What became of all candidates.
    pub tried: Vec<Tried>,
}

impl Mined {
    /// The rules as the text of a rule file, grouped by class and template, each with its evidence in the
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
        let of_class = |class: Class| self.rules.iter().filter(|rule| rule.class == class).count();
        let [certain, likely, frequent] = Class::OF_RULES.map(of_class);
        writeln!(out, "# Certain: {certain}, likely: {likely}, frequent: {frequent}.")?;
        writeln!(out, "#")?;
        writeln!(out, "# The rate given with each rule is the most that exceptions may come to,")?;
        writeln!(out, "# with 95% confidence, judged by the records that show the rule.")?;
        for class in Class::OF_RULES {
            if !self.of(class).is_empty() || !self.dropped_of(class).is_empty() {
                writeln!(out, "\n\n# ==== {} ====", class.heading())?;
            }
            for template in Template::ALL {
                self.write_part(out, class, template, titles)?;
            }
        }
        Ok(())
    }

    /// The rules of a class.
    pub fn of(&self, class: Class) -> Vec<&MinedRule> {
        self.rules.iter().filter(|rule| rule.class == class).collect()
    }

    /// Claims of a class that the file lists in its comments.
    fn dropped_of(&self, class: Class) -> Vec<&Dropped> {
        let listed = |dropped: &&Dropped| {
            dropped.rule.class == class
                && matches!(dropped.reason, Reason::Contradicted | Reason::Left)
        };
        self.dropped.iter().filter(listed).collect()
    }

    fn write_part(
        &self,
        out: &mut String,
        class: Class,
        template: Template,
        titles: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), std::fmt::Error> {
        let rules = self.of(class).into_iter().filter(|rule| rule.template == template);
        let rules: Vec<&MinedRule> = rules.collect();
        let dropped = |reason: Reason| -> Vec<&MinedRule> {
            let all = self.dropped_of(class).into_iter();
            let some = all.filter(|one| one.rule.template == template && one.reason == reason);
            some.map(|one| &one.rule).collect()
        };
        let (contradicted, left) = (dropped(Reason::Contradicted), dropped(Reason::Left));
        if rules.is_empty() && contradicted.is_empty() && left.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n\n# ---- {} ----", template.heading())?;
        if template == Template::OneOf && !rules.is_empty() {
            writeln!(out, "\n{}", static_codes(rules.iter().copied()))?;
        }
        for rule in rules {
            writeln!(out, "\n# {}", sentence(rule, titles))?;
            if let Some(members) = members(rule, titles) {
                writeln!(out, "# {members}")?;
            }
            writeln!(out, "# {}", rule.evidence())?;
            writeln!(out, "{}", rule.statement)?;
        }
        if !left.is_empty() {
            writeln!(out, "\n# Likely, and left out of the rules:")?;
        }
        for rule in left {
            writeln!(out, "#   {}", sentence(rule, titles))?;
            writeln!(out, "#     {}", rule.evidence())?;
            writeln!(out, "#     {}", one_line(&rule.statement))?;
        }
        if !contradicted.is_empty() {
            writeln!(out, "\n# Left out, as the tuning split has exceptions:")?;
        }
        for rule in contradicted {
            let (failed, all) = (number(rule.tuning.exceptions), number(rule.tuning.support));
            writeln!(out, "#   {} ({failed} of {all})", one_line(&rule.statement))?;
        }
        Ok(())
    }
}

/// What the rule says, in words.
fn sentence(rule: &MinedRule, titles: &dyn Fn(&str) -> Option<String>) -> String {
    let shown = |index: usize| {
        let code = rule.codes.get(index).map_or("", String::as_str);
        one_line(&titles(code).unwrap_or_else(|| code.to_owned()))
    };
    let (first, second) = (shown(0), shown(1));
    let soft = rule.probability.is_some();
    let label = one_line(rule.label.as_deref().unwrap_or_default());
    let exactly = rule.statement.contains("exactly one of ");
    match rule.template {
        Template::OneOf if exactly => format!("every record has one of {label}, and no record two"),
        Template::OneOf => format!("no record has two of {label}"),
        Template::OneInVisit if exactly && rule.statement.contains(" in previous") => {
            format!("every visit but a record's first has one of {label}, and no visit two")
        }
        Template::OneInVisit if exactly => {
            format!("every visit has one of {label}, and no visit two")
        }
        Template::OneInVisit => format!("no visit has two of {label}"),
        Template::Together if soft => format!("{first} comes nearly always with {second}"),
        Template::Together if rule.statement.contains(" <=> ") => {
            format!("{first} and {second} come only together")
        }
        Template::Together => format!("{first} never comes without {second}"),
        Template::Last if soft => format!("hardly anything comes after {first}"),
        Template::Last => format!("nothing comes after {first}"),
        Template::NeverFor if rule.label.is_some() => {
            let members = rule.codes.len().saturating_sub(1);
            format!("none of {members} codes ({label}) for {}", shown(members))
        }
        Template::NeverFor if soft => format!("{first} hardly ever for {second}"),
        Template::NeverFor => format!("{first} never for {second}"),
        Template::OnlyAfter if soft => format!("{first} hardly ever comes before {second}"),
        Template::OnlyAfter => format!("{first} only after {second}"),
        Template::SoonAfter if soft => format!("{first} comes nearly always soon after {second}"),
        Template::SoonAfter => format!("{first} only soon after {second}"),
        Template::Once if soft => format!("{first} hardly ever twice"),
        Template::Once => format!("{first} at most once"),
        Template::Ages => format!("{first} only {label}"),
        Template::Apart => format!("{first} again only {label}"),
        Template::Stays if soft => format!("{first} nearly always stays"),
        Template::Stays => format!("{first} stays"),
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

/// What the codes of a group are called.
fn members(rule: &MinedRule, titles: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    if rule.template != Template::NeverFor || rule.label.is_none() {
        return None;
    }
    let members = &rule.codes[..rule.codes.len().saturating_sub(1)];
    let known: Vec<String> = members.iter().filter_map(|code| titles(code)).collect();
    (!known.is_empty()).then(|| one_line(&known.join("; ")))
}

impl MinedRule {
    /// What it says, in words. `titles` gives the title of a code where it is known.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use consequence_mine::{MineOptions, mine, static_codes};
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
    /// assert_eq!(rule.sentence(&|_| Some("Spina bifida".to_owned())), "Spina bifida stays");
    /// assert!(rule.evidence().starts_with("no exception in 40 visits with another after them"));
    /// assert_eq!(static_codes(&mined.rules), "", "no rule is about a demographic category");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sentence(&self, titles: &dyn Fn(&str) -> Option<String>) -> String {
        sentence(self, titles)
    }

    /// What was seen, in words.
    pub fn evidence(&self) -> String {
        let occasions = match self.template {
            Template::OneOf => "records",
            Template::Stays => "visits with another after them",
            _ => "visits",
        };
        let exceptions = match self.train.exceptions {
            0 => "no exception".to_owned(),
            1 => "1 exception".to_owned(),
            several => format!("{} exceptions", number(several)),
        };
        let mut text = format!("{exceptions} in {} {occasions}", number(self.train.support));
        if self.template != Template::OneOf {
            let _ = write!(text, " of {} records", number(self.records));
        }
        let _ = write!(text, "; at most {}", percent(self.bound));
        if self.tuning.support > 0 {
            let (failed, all) = (number(self.tuning.exceptions), number(self.tuning.support));
            let _ = write!(text, "; tuning: {failed} of {all}");
        }
        text
    }
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
