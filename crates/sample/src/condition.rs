//! What every record must be: conditions on the static visit, and groups that it is of.

use consequence_feedback::{Advice, Advise};
use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{Formula, Origin, Rule, RuleSet, Says};
use thiserror::Error;

/// Something that must be so of every record.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_rules::RuleSet;
/// use consequence_sample::{Condition, Given};
///
/// let codes = [("SEX//F", Kind::Static), ("AGE//40-60", Kind::Static), ("RX//insulin", Kind::Encounter)];
/// let codes = Arc::new(Vocabulary::new(codes)?);
/// let text = "rule treated: RX//insulin in past";
/// let groups = RuleSet::parse(text, Some(codes))?;
///
/// let given = Condition::parse_list("SEX//F, not AGE//40-60, treated", &groups)?;
/// assert!(matches!(given[0].what, Given::Static(_)) && !given[1].present);
/// assert!(matches!(given[2].what, Given::Group(_)));
/// assert!(Condition::parse_list("SEX//X", &groups).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What it is about.
    pub what: Given,
    /// Whether it is so, rather than not.
    pub present: bool,
}

/// What a condition is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A static code that the record has. It is decided, as a rule decides codes.
    Static(Code),
    /// A rule that is true at some visit of the record. Records are drawn until one is so.
    Group(Rule),
}

/// Why a list of conditions cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConditionError {
    /// The model does not know the code, and no group has the name.
    #[error("the model has no code `{name}`, and no group has that name")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// Groups and static codes whose names begin alike.
        similar: Vec<String>,
    },
    /// Every record has an end.
    #[error("every record that is written has an end, so that `END` is no condition")]
    End,
    /// There is nothing between two commas.
    #[error("a condition is empty")]
    Empty,
    /// A quote is not closed.
    #[error("a name begins with a quote and does not end with one")]
    OpenQuote,
}

impl Advise for ConditionError {
    fn advice(&self) -> Option<Advice> {
        Some(match self {
            Self::Unknown { similar, .. } if similar.is_empty() => {
                Advice::new("codes of the model can be given, and names of the files in {groups}")
            }
            Self::Unknown { similar, .. } => {
                Advice::new(format!("there is {}", similar.join(", ")))
            }
            Self::End => Advice::new("leave it out"),
            Self::Empty => Advice::new("write codes with commas between, `SEX//F, not SMOKER`"),
            Self::OpenQuote => Advice::new("close the quote"),
        })
    }
}

impl Condition {
    /// Reads names with commas between them, each with `not` before it where it must not be so: a group, a
    /// static code, or a code of encounters, which some encounter has. Groups are rules over the codes of the
    /// model; a name with a comma or a space in it stands in double quotes, and is then a code.
    pub fn parse_list(text: &str, groups: &RuleSet) -> Result<Vec<Self>, ConditionError> {
        parts(text)?.into_iter().map(|part| Self::parse(part, groups)).collect()
    }

    fn parse(text: &str, groups: &RuleSet) -> Result<Self, ConditionError> {
        let after = text.strip_prefix("not").filter(|rest| rest.starts_with([' ', '\t', '"']));
        let (name, present) = match after {
            Some(rest) => (rest.trim(), false),
            None => (text, true),
        };
        let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let group = groups.iter().find(|rule| quoted.is_none() && *rule.name == *name);
        let name = quoted.unwrap_or(name);
        if name.is_empty() {
            return Err(ConditionError::Empty);
        }
        let vocabulary = groups.vocabulary();
        let what = match (group, vocabulary.code(name)) {
            (Some(rule), _) => Given::Group(rule.clone()),
            (None, Some(code)) if code == vocabulary.end() => return Err(ConditionError::End),
            (None, Some(code)) => match vocabulary.kind(code) {
                Kind::Static => Given::Static(code),
                Kind::Encounter => Given::Group(Rule::hard(name, Formula::Now(code))),
            },
            (None, None) => {
                let similar = similar(name, groups);
                return Err(ConditionError::Unknown { name: name.into(), similar });
            }
        };
        Ok(Self { what, present })
    }

    /// The condition as a hard rule, if it is one of the static visit.
    pub(crate) fn rule(&self, vocabulary: &Vocabulary) -> Option<Rule> {
        let Given::Static(code) = self.what else { return None };
        let text = self.text(vocabulary);
        Some(Rule {
            name: format!("given {text}").into(),
            says: Says::Hard(Formula::literal(code, self.present)),
            visits: None,
            origin: Origin { file: "the conditions given".into(), line: 1, text: text.into() },
        })
    }

    /// The group of the condition, if it has one.
    pub fn group(&self) -> Option<&Rule> {
        match &self.what {
            Given::Static(_) => None,
            Given::Group(rule) => Some(rule),
        }
    }

    /// The condition as it is written.
    pub(crate) fn text(&self, vocabulary: &Vocabulary) -> String {
        let not = if self.present { "" } else { "not " };
        match &self.what {
            Given::Static(code) => format!("{not}{}", vocabulary.name(*code)),
            Given::Group(rule) => format!("{not}{}", rule.name),
        }
    }
}

/// The text between commas that stand in no quotes.
fn parts(text: &str) -> Result<Vec<&str>, ConditionError> {
    let mut quoted = false;
    let split = text.split(|character: char| {
        quoted ^= character == '"';
        character == ',' && !quoted
    });
    let parts: Vec<&str> = split.map(str::trim).collect();
    match (quoted, parts.contains(&"")) {
        (true, _) => Err(ConditionError::OpenQuote),
        (false, true) => Err(ConditionError::Empty),
        (false, false) => Ok(parts),
    }
}

/// A few groups and static codes whose first part is that of the name, or the first of all.
fn similar(name: &str, groups: &RuleSet) -> Vec<String> {
    let vocabulary = groups.vocabulary();
    let first = |name: &str| name.split("//").next().unwrap_or_default().to_ascii_lowercase();
    let all = || {
        let codes = vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static);
        let named = groups.iter().map(|rule| rule.name.to_string());
        named.chain(codes.map(|code| vocabulary.name(code).to_owned()))
    };
    let alike: Vec<String> = all().filter(|other| first(other) == first(name)).collect();
    let all = if alike.is_empty() { all().collect() } else { alike };
    all.into_iter().take(8).collect()
}
