//! Rules as the reference's tuples, where they have that shape.

use consequence_record::{Code, Kind, Vocabulary};
use serde_json::{Value as Json, json};
use thiserror::Error;

use super::json_values::FORMAT;
use crate::{Formula, Rule, RuleSet, Window};

/// Why a rule cannot be written as a tuple.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("rule `{rule}` ({file}:{line}) cannot be written as a tuple: {reason}")]
pub struct TupleError {
    /// The rule's name.
    pub rule: String,
    /// The file it was written in.
    pub file: String,
    /// The line it starts at.
    pub line: u32,
    /// What the tuple has no field for.
    pub reason: &'static str,
}

/// Writes the rules as tuples, with the names of the codes.
///
/// A rule has to be a single code present or absent, or an implication whose antecedent joins
/// present and absent codes by `and`, the past ones over one window, and whose consequent is a
/// single code. [`TupleFile::read`](crate::TupleFile::read) reads the result back.
///
/// ```
/// use consequence_rules::{RuleSet, write_tuples};
///
/// let rules = RuleSet::parse("rule a: A in previous and not B => not C", None)?;
/// let text = write_tuples(&rules)?;
/// assert!(text.contains("[[-1],[0],[],[],[1],2,0]"));
///
/// let rules = RuleSet::parse("rule b: at most one of A, B, C", None)?;
/// let refused = write_tuples(&rules).unwrap_err();
/// assert_eq!(refused.rule, "b");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_tuples(rules: &RuleSet) -> Result<String, TupleError> {
    let vocabulary = rules.vocabulary();
    let numbering = Numbering::new(vocabulary);
    let mut tuples = Vec::with_capacity(rules.len());
    for rule in rules {
        let tuple = numbering.tuple(rule).map_err(|reason| TupleError {
            rule: rule.name.to_string(),
            file: rule.origin.file.to_string(),
            line: rule.origin.line,
            reason,
        })?;
        tuples.push(tuple.to_string());
    }
    let names: Vec<&str> = numbering.order.iter().map(|&code| vocabulary.name(code)).collect();
    let fields = json!([
        "past_visits",
        "past_present",
        "past_absent",
        "current_present",
        "current_absent",
        "output",
        "value"
    ]);
    let (codes, labels) = (numbering.codes, numbering.order.len() - numbering.codes);
    Ok(format!(
        "{{\n\"format\": {FORMAT},\n\"fields\": {fields},\n\"codes\": {codes},\n\"labels\": {labels},\n\"special\": 3,\n\
         \"names\": {},\n\"rules\": [\n{}\n]\n}}\n",
        json!(names),
        tuples.join(",\n")
    ))
}

type Shaped<T> = Result<T, &'static str>;

/// The tuple's number of every code: codes of encounters, static codes, and after the number for
/// the start the end.
struct Numbering {
    order: Vec<Code>,
    numbers: Vec<usize>,
    codes: usize,
}

/// The lists of a tuple being filled.
#[derive(Default)]
struct Lists {
    window: Option<Window>,
    past_present: Vec<usize>,
    past_absent: Vec<usize>,
    present: Vec<usize>,
    absent: Vec<usize>,
}

impl Numbering {
    fn new(vocabulary: &Vocabulary) -> Self {
        let end = vocabulary.end();
        let of = |kind| {
            vocabulary.codes().filter(move |&code| code != end && vocabulary.kind(code) == kind)
        };
        let mut order: Vec<Code> = of(Kind::Encounter).collect();
        let codes = order.len();
        order.extend(of(Kind::Static));
        let mut numbers = vec![order.len() + 1; vocabulary.len()];
        for (number, code) in order.iter().enumerate() {
            numbers[code.index()] = number;
        }
        Self { order, numbers, codes }
    }

    fn number(&self, code: Code) -> usize {
        self.numbers[code.index()]
    }

    fn tuple(&self, rule: &Rule) -> Shaped<Json> {
        let formula = rule.formula();
        let (antecedent, consequent) = match &*formula {
            Formula::Implies(antecedent, consequent) => (Some(antecedent), &**consequent),
            literal => (None, literal),
        };
        let mut lists = Lists::default();
        if let Some(antecedent) = antecedent {
            self.fill(&mut lists, antecedent, true)?;
        }
        let (output, present) =
            consequent.as_literal().ok_or("its consequent is not a single code now")?;
        let value = match (rule.probability(), present) {
            (None, present) => json!(u8::from(present)),
            (Some(probability), true) => json!(probability),
            (Some(probability), false) => json!(1.0 - probability),
        };
        Ok(json!([
            visits(lists.window.as_ref()),
            lists.past_present,
            lists.past_absent,
            lists.present,
            lists.absent,
            self.number(output),
            value
        ]))
    }

    /// Sorts the literals of an antecedent into the lists. `positive` is false under a negation.
    fn fill(&self, lists: &mut Lists, formula: &Formula, positive: bool) -> Shaped<()> {
        match (formula, positive) {
            (Formula::Constant(value), _) if *value == positive => Ok(()),
            (Formula::Now(code), _) => {
                let list = if positive { &mut lists.present } else { &mut lists.absent };
                list.push(self.number(*code));
                Ok(())
            }
            (Formula::In(code, window), _) => {
                if lists.window.get_or_insert_with(|| window.clone()) != window {
                    return Err("it looks at more than one window");
                }
                let list = if positive { &mut lists.past_present } else { &mut lists.past_absent };
                list.push(self.number(*code));
                Ok(())
            }
            (Formula::Not(inner), _) => self.fill(lists, inner, !positive),
            (Formula::And(parts), true) | (Formula::Or(parts), false) => {
                parts.iter().try_for_each(|part| self.fill(lists, part, positive))
            }
            _ => Err("its antecedent is more than codes present or absent, joined by `and`"),
        }
    }
}

fn visits(window: Option<&Window>) -> Json {
    match window {
        None => json!([]),
        Some(window) if window.is_past() => json!(-1),
        Some(window) => {
            let back = window.distances().iter().rev().map(|&distance| -i32::from(distance));
            let numbered = window.visits().iter().map(|&visit| i32::from(visit) + 1);
            json!(back.chain(numbered).collect::<Vec<i32>>())
        }
    }
}
