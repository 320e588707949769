//! Files of rules as JSON.
//!
//! The shape, by example:
//!
//! ```json
//! {"format": 1, "statements": [
//!   {"static": ["SEX//F", "SEX//M"]},
//!   {"let": "kidney", "is": ["ICD9CM//585", "ICD9CM//586"]},
//!   {"rule": "no-prostate-cancer-in-women",
//!    "formula": {"implies": [{"in": ["SEX//F", "static"]}, {"not": "ICD9CM//185"}]}},
//!   {"rule": "copd-without-smoking",
//!    "formula": {"implies": [{"not": {"in": ["SMOKER", "past"]}}, "ICD9CM//496"]},
//!    "probability": 0.01}
//! ]}
//! ```
//!
//! `format` counts the changes of this shape; a file without it is of the first.
//!
//! A formula is `true`, `false`, a string (a code, a glob or the name of a `let`, as if written
//! bare), `{"code": "A*"}` (a code, as if in quotes), `{"range": ["ICD9CM//630", "679"]}`, or an object with
//! one of the keys `in`, `not`, `and`, `or`, `implies`, `iff`, `any of`, `none of`, `all of`, `at most one of`, `exactly
//! one of`, `at least`, `at most`, `since`, `compare`, `first visit`. Windows and comparisons are strings as the
//! language writes them: `{"in": ["A", "last 30 days"]}`, `{"at least": ["A", 2, "last 365 days"]}`, `{"at most": ["A", 3]}`,
//! `{"since": ["B", "A"]}`, `{"compare": ["AGE", ">= 18"]}`, `{"first visit": true}`.
//!
//! The first statements may say what the file was made for: `{"for": "ICD10CM", "version": "2026"}`.

use std::cell::Cell;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::LanguageLimits;
use super::diagnostic::{Diagnostic, Diagnostics};
use super::json_values::{FORMAT, Member, Node, Path, Value, check_format, fault, read};
use super::names::show;
use super::parser::parse;
use super::printer::print_items;
use super::source::{Form, Source, Span, read_source};
use super::terms::read_comparison;
use super::tree::{
    Bound, Expression, ExpressionKind, ForItem, Item, LetItem, LookBack, Name, Quantifier,
    RuleFile, RuleItem, StaticItem, Times,
};
use super::window::{read_window, weight};

impl RuleFile {
    /// The file as JSON, one statement a line.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, RuleFile, parse};
    ///
    /// let limits = LanguageLimits::default();
    /// let file = parse("a.rules", "rule a: X in past => not Y with probability 1%", &limits)?;
    /// let json = file.to_json();
    /// assert_eq!(
    ///     json,
    ///     r#"{"format": 1, "statements": [
    ///   {"rule":"a","formula":{"implies":[{"in":["X","past"]},{"not":"Y"}]},"probability":0.01}
    /// ]}
    /// "#
    /// );
    /// assert_eq!(RuleFile::from_json("a.json", &json, &limits)?, file);
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn to_json(&self) -> String {
        let lines: Vec<String> = self.items().iter().map(write_item).collect();
        let statements = if lines.is_empty() {
            "[]".to_owned()
        } else {
            format!("[\n  {}\n]", lines.join(",\n  "))
        };
        format!("{{\"format\": {FORMAT}, \"statements\": {statements}}}\n")
    }

    /// Reads a file in the shape that [`RuleFile::to_json`] writes. Diagnostics point into the JSON
    /// text and name the field.
    pub fn from_json(
        name: &str,
        text: impl AsRef<[u8]>,
        limits: &LanguageLimits,
    ) -> Result<Self, Diagnostics> {
        let source = Arc::new(read_source(name, text.as_ref(), Form::Json, limits)?);
        let top = read(&source, limits)?;
        let items =
            Reader { source: &source, weight_left: Cell::new(limits.total_nodes) }.file(&top)?;
        // The parser knows every bound and every shape: whatever it refuses is refused here too.
        let warnings = parse(&format!("{name} (as rules)"), print_items(&items), limits)?.warnings;
        Ok(Self { source, items, warnings })
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Statement<'a> {
    Rule {
        rule: &'a str,
        formula: Json,
        #[serde(skip_serializing_if = "Option::is_none")]
        probability: Option<f64>,
    },
    Let {
        r#let: &'a str,
        is: Json,
    },
    Static {
        r#static: Vec<Json>,
    },
    For {
        r#for: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<&'a str>,
    },
}

fn write_item(item: &Item) -> String {
    let statement = match item {
        Item::Rule(rule) => Statement::Rule {
            rule: &rule.name.text,
            formula: write(&rule.formula),
            probability: rule.probability,
        },
        Item::Let(definition) => {
            let is = match definition.values.as_slice() {
                [formula] => write(formula),
                values => Json::Array(values.iter().map(write).collect()),
            };
            Statement::Let { r#let: &definition.name.text, is }
        }
        Item::Static(declaration) => {
            Statement::Static { r#static: declaration.codes.iter().map(write).collect() }
        }
        Item::For(made) => Statement::For {
            r#for: &made.vocabulary.text,
            version: made.version.as_ref().map(|version| &*version.text),
        },
    };
    // Strings, numbers and arrays of them always have a JSON form.
    serde_json::to_string(&statement).unwrap_or_default()
}

fn write(expression: &Expression) -> Json {
    use ExpressionKind::*;
    let each = |parts: &[Expression]| parts.iter().map(write).collect::<Vec<Json>>();
    match &expression.kind {
        Constant(value) => json!(value),
        Name(name) | Glob(name) => json!(name),
        Code(name) => json!({ "code": name }),
        Range(from, to) => json!({ "range": [from, to] }),
        In(inner, window) => json!({ "in": [write(inner), window.to_string()] }),
        FirstVisit => json!({ "first visit": true }),
        Times(inner, times) => match &times.within {
            None => json!({ times.bound.words(): [write(inner), times.count] }),
            Some(within) => {
                json!({ times.bound.words(): [write(inner), times.count, within.to_string()] })
            }
        },
        Since(inner, mark) => json!({ "since": [write(inner), write(mark)] }),
        Compare(inner, range) => json!({ "compare": [write(inner), range.to_string()] }),
        Not(inner) => json!({ "not": write(inner) }),
        And(parts) => json!({ "and": each(parts) }),
        Or(parts) => json!({ "or": each(parts) }),
        Implies(left, right) => json!({ "implies": [write(left), write(right)] }),
        Iff(left, right) => json!({ "iff": [write(left), write(right)] }),
        Group(quantifier, items) => json!({ quantifier.words(): each(items) }),
    }
}

struct Reader<'a> {
    source: &'a Source,
    /// What windows may still weigh; the parser counts the rest.
    weight_left: Cell<usize>,
}

type Read<T> = Result<T, Diagnostic>;

impl Reader<'_> {
    fn fault(&self, path: &Path<'_>, span: Span, message: impl AsRef<str>) -> Diagnostic {
        fault(self.source, path, span, message.as_ref())
    }

    fn wrong(&self, path: &Path<'_>, node: &Node, expected: &str) -> Diagnostic {
        let message = format!("expected {expected}, found {}", node.value.what());
        self.fault(path, node.span, message)
    }

    fn array<'n>(&self, path: &Path<'_>, node: &'n Node, what: &str) -> Read<&'n [Node]> {
        match &node.value {
            Value::Array(nodes) => Ok(nodes),
            _ => Err(self.wrong(path, node, what)),
        }
    }

    fn text<'n>(&self, path: &Path<'_>, node: &'n Node, what: &str) -> Read<&'n str> {
        match &node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(path, node, what)),
        }
    }

    fn file(&self, top: &Node) -> Read<Vec<Item>> {
        let path = Path::Top;
        let Value::Object(members) = &top.value else {
            return Err(self.wrong(&path, top, "an object with the key `statements`"));
        };
        // A newer format may have other keys: its number is looked at before they are.
        if let Some(format) = members.iter().find(|member| member.key == "format") {
            check_format(self.source, format)?;
        }
        let known = |member: &&Member| ["format", "statements"].contains(&member.key.as_str());
        if let Some(other) = members.iter().find(|member| !known(member)) {
            let message = format!("expected the key `statements`, found {}", show(&other.key));
            return Err(self.fault(&path, other.key_span, message));
        }
        let Some(statements) = members.iter().find(|member| member.key == "statements") else {
            return Err(self.fault(&path, top.span, "expected the key `statements`"));
        };
        let path = path.key("statements");
        let nodes = self.array(&path, &statements.node, "an array of statements")?;
        let items = nodes.iter().enumerate();
        items.map(|(index, node)| self.item(&path.index(index), node)).collect()
    }

    fn item(&self, path: &Path<'_>, node: &Node) -> Read<Item> {
        let Value::Object(members) = &node.value else {
            return Err(self.wrong(path, node, "an object"));
        };
        let find = |key: &str| members.iter().find(|member| member.key == key);
        let only = |keys: &[&str]| match members.iter().find(|member| !keys.contains(&&*member.key))
        {
            Some(other) => {
                let message = format!("unknown key {}", show(&other.key));
                Err(self.fault(path, other.key_span, message))
            }
            None => Ok(()),
        };
        let needed = |key: &str| {
            find(key).ok_or_else(|| self.fault(path, node.span, format!("no `{key}` here")))
        };
        if let Some(name) = find("rule") {
            only(&["rule", "formula", "probability"])?;
            let formula = &needed("formula")?.node;
            let probability = match find("probability") {
                Some(member) => Some(self.probability(&path.key("probability"), &member.node)?),
                None => None,
            };
            return Ok(Item::Rule(RuleItem {
                name: self.name(&path.key("rule"), &name.node)?,
                formula: self.expression(&path.key("formula"), formula)?,
                probability,
                span: node.span,
            }));
        }
        if let Some(name) = find("let") {
            only(&["let", "is"])?;
            let value = &needed("is")?.node;
            let path_of_value = path.key("is");
            let values = match &value.value {
                Value::Array(_) => self.list(&path_of_value, value)?,
                _ => vec![self.expression(&path_of_value, value)?],
            };
            let name = self.name(&path.key("let"), &name.node)?;
            return Ok(Item::Let(LetItem { name, values, span: node.span }));
        }
        if let Some(codes) = find("static") {
            only(&["static"])?;
            let codes = self.list(&path.key("static"), &codes.node)?;
            return Ok(Item::Static(StaticItem { codes, span: node.span }));
        }
        if let Some(name) = find("for") {
            only(&["for", "version"])?;
            let version = match find("version") {
                Some(member) => Some(self.name(&path.key("version"), &member.node)?),
                None => None,
            };
            let vocabulary = self.name(&path.key("for"), &name.node)?;
            return Ok(Item::For(ForItem { vocabulary, version, span: node.span }));
        }
        let message = "expected one of the keys `rule`, `let`, `static` and `for`";
        Err(self.fault(path, node.span, message))
    }

    fn name(&self, path: &Path<'_>, node: &Node) -> Read<Name> {
        let text = self.text(path, node, "a name")?.to_owned();
        Ok(Name { text, span: node.span })
    }

    fn probability(&self, path: &Path<'_>, node: &Node) -> Read<f64> {
        match node.value {
            Value::Number(number) if (0.0..=1.0).contains(&number) => Ok(number),
            Value::Number(_) => {
                Err(self.fault(path, node.span, "the probability is not between 0 and 1"))
            }
            _ => Err(self.wrong(path, node, "a number between 0 and 1")),
        }
    }

    fn list(&self, path: &Path<'_>, node: &Node) -> Read<Vec<Expression>> {
        let nodes = self.array(path, node, "an array of formulas")?;
        if nodes.is_empty() {
            return Err(self.fault(path, node.span, "an empty list"));
        }
        let parts = nodes.iter().enumerate();
        parts.map(|(index, node)| self.expression(&path.index(index), node)).collect()
    }

    fn expression(&self, path: &Path<'_>, node: &Node) -> Read<Expression> {
        let expression = match &node.value {
            Value::Bool(value) => ExpressionKind::Constant(*value).into(),
            Value::Text(text) => Expression::word(text),
            Value::Object(members) => match members.as_slice() {
                [member] => self.form(&path.key(&member.key), member)?.into(),
                _ => return Err(self.fault(path, node.span, "expected an object with one key")),
            },
            _ => return Err(self.wrong(path, node, "a formula")),
        };
        Ok(expression.at(node.span))
    }

    fn form(&self, path: &Path<'_>, member: &Member) -> Read<ExpressionKind> {
        let node = &member.node;
        Ok(match member.key.as_str() {
            "code" => ExpressionKind::Code(self.text(path, node, "the name of a code")?.to_owned()),
            "range" => {
                let [from, to] = self.array(path, node, "the two codes of a range")? else {
                    return Err(self.fault(path, node.span, "expected the two codes of a range"));
                };
                let text = |index: usize, node| {
                    self.text(&path.index(index), node, "the name of a code").map(str::to_owned)
                };
                ExpressionKind::Range(text(0, from)?, text(1, to)?)
            }
            "not" => ExpressionKind::Not(self.expression(path, node)?.into()),
            "in" => {
                let [term, window] = self.array(path, node, "a formula and a window")? else {
                    return Err(self.fault(path, node.span, "expected a formula and a window"));
                };
                let window = self.window(&path.index(1), window)?;
                let term = self.expression(&path.index(0), term)?;
                ExpressionKind::In(term.into(), window)
            }
            "first visit" => match node.value {
                Value::Bool(true) => ExpressionKind::FirstVisit,
                _ => return Err(self.wrong(path, node, "true")),
            },
            "at least" => self.times(path, node, Bound::AtLeast)?,
            "at most" => self.times(path, node, Bound::AtMost)?,
            "since" => {
                let (what, mark) = self.pair(path, node)?;
                ExpressionKind::Since(what, mark)
            }
            "compare" => {
                let [what, range] = self.array(path, node, "a code and a comparison")? else {
                    return Err(self.fault(path, node.span, "expected a code and a comparison"));
                };
                let second = path.index(1);
                let text = self.text(&second, range, "a comparison such as \"> 6.5\"")?;
                let range =
                    read_comparison(text).map_err(|wrong| self.inner(&second, range, wrong))?;
                ExpressionKind::Compare(self.expression(&path.index(0), what)?.into(), range)
            }
            "and" => ExpressionKind::And(self.several(path, node)?),
            "or" => ExpressionKind::Or(self.several(path, node)?),
            "implies" => {
                let (left, right) = self.pair(path, node)?;
                ExpressionKind::Implies(left, right)
            }
            "iff" => {
                let (left, right) = self.pair(path, node)?;
                ExpressionKind::Iff(left, right)
            }
            key => match Quantifier::ALL.into_iter().find(|quantifier| quantifier.words() == key) {
                Some(quantifier) => ExpressionKind::Group(quantifier, self.list(path, node)?),
                None => return Err(self.fault(path, member.key_span, "unknown kind of formula")),
            },
        })
    }

    /// What is wrong with a text that a string holds.
    fn inner(&self, path: &Path<'_>, node: &Node, wrong: Diagnostic) -> Diagnostic {
        let fault = self.fault(path, node.span, wrong.message);
        Diagnostic { help: wrong.help, ..fault }
    }

    fn window(&self, path: &Path<'_>, node: &Node) -> Read<LookBack> {
        let text = self.text(path, node, "a window such as \"past\"")?;
        let window = read_window(text).map_err(|wrong| self.inner(path, node, wrong))?;
        let Some(left) = self.weight_left.get().checked_sub(weight(&window)) else {
            return Err(self.fault(path, node.span, "more visits in windows than are read"));
        };
        self.weight_left.set(left);
        Ok(window)
    }

    fn times(&self, path: &Path<'_>, node: &Node, bound: Bound) -> Read<ExpressionKind> {
        let parts = self.array(path, node, "a formula, a count and a window")?;
        let (what, count, within) = match parts {
            [what, count] => (what, count, None),
            [what, count, within] => (what, count, Some(self.window(&path.index(2), within)?)),
            _ => {
                return Err(self.fault(
                    path,
                    node.span,
                    "expected a formula, a count and a window",
                ));
            }
        };
        let what = self.expression(&path.index(0), what)?;
        let count = match count.value {
            // The parser knows how much can be counted.
            Value::Number(number) if number.fract() == 0.0 && (0.0..1e4).contains(&number) => {
                number as u16
            }
            _ => return Err(self.wrong(&path.index(1), count, "how many times, a whole number")),
        };
        Ok(ExpressionKind::Times(what.into(), Times { bound, count, within }))
    }

    fn several(&self, path: &Path<'_>, node: &Node) -> Read<Vec<Expression>> {
        let parts = self.list(path, node)?;
        if parts.len() < 2 {
            return Err(self.fault(path, node.span, "expected two formulas or more"));
        }
        Ok(parts)
    }

    fn pair(&self, path: &Path<'_>, node: &Node) -> Read<(Box<Expression>, Box<Expression>)> {
        let mut parts = self.list(path, node)?;
        match (parts.pop(), parts.pop(), parts.pop()) {
            (Some(right), Some(left), None) => Ok((left.into(), right.into())),
            _ => Err(self.fault(path, node.span, "expected two formulas")),
        }
    }
}
