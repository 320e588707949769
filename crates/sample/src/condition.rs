//! Conditions on the static visit.

use consequence_feedback::{Advice, Advise};
use consequence_record::{Code, Kind, Vocabulary};
use consequence_rules::{Formula, Origin, Rule, Says};
use thiserror::Error;

/// Something that must be so in the static visit of every record: a code that is there, or is not.
///
/// ```
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_sample::Condition;
///
/// let codes = Vocabulary::new([("SEX//F", Kind::Static), ("AGE//40-60", Kind::Static)])?;
/// let given = Condition::parse_list("SEX//F, not AGE//40-60", &codes)?;
/// assert_eq!((given.len(), given[1].present), (2, false));
/// assert!(Condition::parse_list("SEX//X", &codes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// A static code.
    pub code: Code,
    /// Whether it is there.
    pub present: bool,
}

/// Why a list of conditions cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConditionError {
    /// The model does not know the code.
    #[error("the model has no code `{name}`")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// Static codes whose names begin alike.
        similar: Vec<String>,
    },
    /// The code is none of the static visit.
    #[error("`{0}` is no static code, and only the static visit can be given")]
    NotStatic(String),
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
                Advice::new("only static codes of the model can be given")
            }
            Self::Unknown { similar, .. } => Advice::new(format!("it has {}", similar.join(", "))),
            Self::NotStatic(_) => {
                Advice::new("to begin with certain encounters, give a cohort of them as the prefix")
            }
            Self::Empty => Advice::new("write codes with commas between, `SEX//F, not SMOKER`"),
            Self::OpenQuote => Advice::new("close the quote"),
        })
    }
}

impl Condition {
    /// Reads codes with commas between them, each with `not` before it where it must be absent. A
    /// name with a comma or a space in it stands in double quotes.
    pub fn parse_list(text: &str, vocabulary: &Vocabulary) -> Result<Vec<Self>, ConditionError> {
        parts(text)?.into_iter().map(|part| Self::parse(part, vocabulary)).collect()
    }

    fn parse(text: &str, vocabulary: &Vocabulary) -> Result<Self, ConditionError> {
        let after = text.strip_prefix("not").filter(|rest| rest.starts_with([' ', '\t', '"']));
        let (name, present) = match after {
            Some(rest) => (rest.trim(), false),
            None => (text, true),
        };
        let name = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(name);
        if name.is_empty() {
            return Err(ConditionError::Empty);
        }
        match vocabulary.code(name) {
            Some(code) if vocabulary.kind(code) == Kind::Static => Ok(Self { code, present }),
            Some(_) => Err(ConditionError::NotStatic(name.into())),
            None => Err(ConditionError::Unknown {
                name: name.into(),
                similar: similar(name, vocabulary),
            }),
        }
    }

    /// The condition as a hard rule.
    pub(crate) fn rule(self, vocabulary: &Vocabulary) -> Rule {
        let text = self.text(vocabulary);
        Rule {
            name: format!("given {text}").into(),
            says: Says::Hard(Formula::literal(self.code, self.present)),
            visits: None,
            origin: Origin { file: "the conditions given".into(), line: 1, text: text.into() },
        }
    }

    /// The condition as it is written.
    pub(crate) fn text(self, vocabulary: &Vocabulary) -> String {
        let not = if self.present { "" } else { "not " };
        format!("{not}{}", vocabulary.name(self.code))
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

/// A few static codes whose first part is that of the name, or the first of all.
fn similar(name: &str, vocabulary: &Vocabulary) -> Vec<String> {
    let first = |name: &str| name.split("//").next().unwrap_or_default().to_ascii_lowercase();
    let statics = || {
        let codes = vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static);
        codes.map(|code| vocabulary.name(code).to_owned())
    };
    let alike: Vec<String> = statics().filter(|other| first(other) == first(name)).collect();
    let all = if alike.is_empty() { statics().collect() } else { alike };
    all.into_iter().take(8).collect()
}
