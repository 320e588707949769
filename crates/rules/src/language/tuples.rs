//! The reference's seven-field tuples over code numbers.
//!
//! A tuple is `[past_visits, past_present, past_absent, current_present, current_absent, output,
//! value]`: if every code of `past_present` is in the window, none of `past_absent` is, every code
//! of `current_present` is in the visit and none of `current_absent` is, then `output` is present
//! with probability `value`. 0 and 1 make a hard rule.
//!
//! `past_visits` is `[]` for none, `-1` for every earlier visit, or a list: positive numbers count
//! visits from 1 with the static visit first, negative ones count back.
//!
//! Codes of encounters are numbered first, then static ones; after these come three special
//! numbers for start, end and padding, of which a rule can only name the end. A code may also stand
//! there by its name, as a string; `"END"` is the end.

use std::sync::Arc;

use consequence_record::{Code, END_NAME, Kind, Vocabulary};

use super::LanguageLimits;
use super::diagnostic::{Diagnostic, Diagnostics, Topic, Warnings};
use super::json_values::{Member, Node, Path, Value, check_format, fault, read};
use super::resolve::gathered;
use super::source::{Form, Source, Span, read_source};
use super::tree::{Expression, Item, LookBack, Name, RuleFile, RuleItem, StaticItem};
use super::window::weight;
use crate::Window;

/// A file of tuples, as rules of the language.
#[derive(Clone, Debug)]
pub struct TupleFile {
    /// The rules, called `r1`, `r2` and so on, after a `static` statement for the static codes.
    pub rules: RuleFile,
    /// The codes in the order of the file's numbers; those it names, where it numbers none.
    pub vocabulary: Arc<Vocabulary>,
}

impl TupleFile {
    /// Reads tuples: a JSON array of them, or an object with such an array under `rules`.
    ///
    /// Code numbers count the given vocabulary. Without one, the object says how many `codes` and
    /// `labels` (static codes) there are, and may list their `names`; where it does not they are
    /// called `code-0089` and `label-1610`. Tuples that name all their codes need none of it.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, TupleFile};
    ///
    /// let text = r#"{"codes": 3, "labels": 1, "rules": [[[1], [3], [], [], [], 2, 0]]}"#;
    /// let file = TupleFile::read("rules.json", text, None, &LanguageLimits::default())?;
    /// assert_eq!(
    ///     file.rules.to_string(),
    ///     "static label-3\nrule r1: label-3 in static => not code-2\n"
    /// );
    ///
    /// let text = r#"[[-1, ["DIABETES"], [], [], [], "DIABETES", 1]]"#;
    /// let file = TupleFile::read("named.json", text, None, &LanguageLimits::default())?;
    /// assert_eq!(file.rules.to_string(), "rule r1: DIABETES in past => DIABETES\n");
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn read(
        name: &str,
        text: impl AsRef<[u8]>,
        vocabulary: Option<Arc<Vocabulary>>,
        limits: &LanguageLimits,
    ) -> Result<Self, Diagnostics> {
        let source = Arc::new(read_source(name, text.as_ref(), Form::Json, limits)?);
        let top = read(&source, limits)?;
        let (tuples, members, path) = layout(&source, &top)?;
        let warnings = Warnings::new(limits.diagnostics);
        let weight_left = limits.total_nodes;
        let mut reader = Reader { source: &source, limits, warnings, weight_left };
        if tuples.len() > limits.rules {
            let message = format!("more than {} rules in one file", limits.rules);
            return Err(reader.fault(&path, top.span, message).into());
        }
        let listed = members.iter().any(|member| member.key == "names");
        let numbering = match vocabulary {
            Some(vocabulary) => Some(vocabulary),
            None if !listed && !tuples.iter().any(has_number) => None,
            None => Some(Arc::new(reader.vocabulary(members, top.span)?)),
        };
        let mut items: Vec<Item> = numbering.as_deref().and_then(static_item).into_iter().collect();
        for (index, tuple) in tuples.iter().enumerate() {
            let name = format!("r{}", index + 1);
            let rule = reader.rule(&path.index(index), tuple, name, numbering.as_deref())?;
            items.push(Item::Rule(rule));
        }
        let warnings = reader.warnings.finish();
        let rules = RuleFile { source, items, warnings };
        let vocabulary = match numbering {
            Some(numbering) => numbering,
            None => Arc::new(gathered(std::slice::from_ref(&rules), limits)?),
        };
        Ok(Self { rules, vocabulary })
    }

    /// Whether a file of tuples numbers codes, so that their order has to be known. It does not
    /// where every code stands there by its name.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, TupleFile};
    ///
    /// let numbers = |text| TupleFile::numbers_codes("a.json", text, &LanguageLimits::default());
    /// assert!(numbers("[[[], [], [], [2], [], 3, 1]]")?);
    /// assert!(!numbers(r#"[[[1, -2], ["A"], [], [], [], "B", 0.5]]"#)?);
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn numbers_codes(
        name: &str,
        text: impl AsRef<[u8]>,
        limits: &LanguageLimits,
    ) -> Result<bool, Diagnostics> {
        let source = read_source(name, text.as_ref(), Form::Json, limits)?;
        let top = read(&source, limits)?;
        Ok(layout(&source, &top)?.0.iter().any(has_number))
    }
}

/// The tuples of a file, what stands beside them, and where they are.
fn layout<'n>(source: &Source, top: &'n Node) -> Read<(&'n [Node], &'n [Member], Path<'n>)> {
    let message = match &top.value {
        Value::Array(tuples) => return Ok((tuples, &[], Path::Top)),
        Value::Object(members) => {
            let find = |key: &str| members.iter().find(|member| member.key == key);
            // Files of other tools may use the word for something else.
            if let Some(format) = find("format")
                && matches!(format.node.value, Value::Number(_))
            {
                check_format(source, format)?;
            }
            if let Some(Member { node: Node { value: Value::Array(tuples), .. }, .. }) =
                find("rules")
            {
                return Ok((tuples, members, Path::Key(&Path::Top, "rules")));
            }
            "no array `rules` here"
        }
        _ => "expected an array of tuples, or an object with one under `rules`",
    };
    Err(fault(source, &Path::Top, top.span, message))
}

/// Whether a tuple has a number where a code stands.
fn has_number(tuple: &Node) -> bool {
    let Value::Array(fields) = &tuple.value else { return false };
    fields.iter().skip(1).take(5).any(|field| match &field.value {
        Value::Number(_) => true,
        Value::Array(codes) => codes.iter().any(|code| matches!(code.value, Value::Number(_))),
        _ => false,
    })
}

fn static_item(vocabulary: &Vocabulary) -> Option<Item> {
    let labels = vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static);
    let codes: Vec<Expression> =
        labels.map(|code| Expression::literal(vocabulary.name(code))).collect();
    (!codes.is_empty()).then(|| Item::Static(StaticItem { codes, span: Span::default() }))
}

struct Reader<'a> {
    source: &'a Source,
    limits: &'a LanguageLimits,
    warnings: Warnings,
    /// What the windows of past codes may still weigh.
    weight_left: usize,
}

type Read<T> = Result<T, Diagnostic>;

impl Reader<'_> {
    fn fault(&self, path: &Path<'_>, span: Span, message: impl AsRef<str>) -> Diagnostic {
        fault(self.source, path, span, message.as_ref())
    }

    /// The vocabulary a file describes.
    fn vocabulary(&self, members: &[Member], top: Span) -> Read<Vocabulary> {
        let find = |key: &str| members.iter().find(|member| member.key == key);
        let count = |key: &str| -> Read<usize> {
            let Some(member) = find(key) else {
                let message = format!("the file does not say how many `{key}` there are");
                let help = "add the numbers of `codes` and `labels`, or give a vocabulary";
                return Err(self.fault(&Path::Top, top, message).help(help));
            };
            let most = Vocabulary::MAX_CODES as f64;
            match member.node.value {
                Value::Number(number)
                    if (0.0..=most).contains(&number) && number.fract() == 0.0 =>
                {
                    Ok(number as usize)
                }
                _ => {
                    let message = "expected a number of codes";
                    Err(self.fault(&Path::Top.key(key), member.node.span, message))
                }
            }
        };
        let (codes, labels) = (count("codes")?, count("labels")?);
        let total = codes + labels;
        let kind = |number| if number < codes { Kind::Encounter } else { Kind::Static };
        let (made, span) = match find("names") {
            None => {
                let digits = total.saturating_sub(1).to_string().len();
                let word = |number| if number < codes { "code" } else { "label" };
                let named = (0..total)
                    .map(|number| (format!("{}-{number:0digits$}", word(number)), kind(number)));
                (Vocabulary::new(named), top)
            }
            Some(Member { node, .. }) => {
                let path = Path::Top.key("names");
                let message = format!("expected the names of {total} codes");
                let wrong = || self.fault(&path, node.span, &message);
                let Value::Array(nodes) = &node.value else { return Err(wrong()) };
                if nodes.len() != total {
                    return Err(wrong());
                }
                let names: Option<Vec<&str>> = nodes
                    .iter()
                    .map(|node| match &node.value {
                        Value::Text(name) => Some(name.as_str()),
                        _ => None,
                    })
                    .collect();
                let names = names.ok_or_else(wrong)?.into_iter().enumerate();
                (Vocabulary::new(names.map(|(number, name)| (name, kind(number)))), node.span)
            }
        };
        made.map_err(|refused| self.fault(&Path::Top, span, refused.to_string()))
    }

    fn rule(
        &mut self,
        path: &Path<'_>,
        tuple: &Node,
        name: String,
        vocabulary: Option<&Vocabulary>,
    ) -> Read<RuleItem> {
        let Value::Array(fields) = &tuple.value else {
            return Err(self.fault(path, tuple.span, "expected a tuple of seven fields"));
        };
        let [visits, past_present, past_absent, present, absent, output, value] = fields.as_slice()
        else {
            let message = format!("expected seven fields, found {}", fields.len());
            return Err(self.fault(path, tuple.span, message));
        };
        let window = self.window(&path.index(0), visits)?;
        let past_present = self.codes(&path.index(1), past_present, vocabulary)?;
        let past_absent = self.codes(&path.index(2), past_absent, vocabulary)?;
        let no_past = past_present.is_empty() && past_absent.is_empty();
        let mut parts = Vec::new();
        match window {
            Some(window) => {
                let window = LookBack::from(window);
                let codes = past_present.len() + past_absent.len();
                let weight = codes.saturating_mul(weight(&window));
                let Some(left) = self.weight_left.checked_sub(weight) else {
                    let message = "more visits in windows than are read";
                    return Err(self.fault(path, tuple.span, message));
                };
                self.weight_left = left;
                let within = |code: Expression| {
                    let span = code.span;
                    code.within(window.clone()).at(span)
                };
                parts.extend(past_present.into_iter().map(within));
                parts.extend(past_absent.into_iter().map(within).map(negated));
                if no_past {
                    let source = self.source;
                    self.warnings.push(Topic::UnusedWindow, || {
                        let message =
                            format!("rule `{name}` has a window and no past code: it is unused");
                        Diagnostic::warning(message).at(source.location(tuple.span))
                    });
                }
            }
            None if !no_past => {
                return Err(self.fault(path, tuple.span, "past codes, but no past visits"));
            }
            None => {}
        }
        parts.extend(self.codes(&path.index(3), present, vocabulary)?);
        let absent = self.codes(&path.index(4), absent, vocabulary)?;
        parts.extend(absent.into_iter().map(negated));
        let output = self.code(&path.index(5), output, vocabulary)?;
        let (consequent, probability) = match value.value {
            Value::Number(1.0) => (output, None),
            Value::Number(0.0) => (negated(output), None),
            Value::Number(number) if (0.0..1.0).contains(&number) => (output, Some(number)),
            _ => {
                let message = "expected a value from 0 to 1";
                return Err(self.fault(&path.index(6), value.span, message));
            }
        };
        let span = tuple.span;
        let formula = if parts.is_empty() {
            consequent
        } else {
            Expression::all(parts).at(span).implies(consequent).at(span)
        };
        Ok(RuleItem { name: Name { text: name, span }, formula, probability, span })
    }

    fn integer(&self, path: &Path<'_>, node: &Node, least: f64, most: f64) -> Read<i64> {
        match node.value {
            Value::Number(number) if number.fract() == 0.0 && (least..=most).contains(&number) => {
                Ok(number as i64)
            }
            _ => Err(self.fault(path, node.span, format!("expected a number {least} to {most}"))),
        }
    }

    fn window(&self, path: &Path<'_>, node: &Node) -> Read<Option<Window>> {
        let most = f64::from(Window::MAX);
        let nodes = match &node.value {
            Value::Number(-1.0) => return Ok(Some(Window::past())),
            Value::Array(nodes) if nodes.is_empty() => return Ok(None),
            Value::Array(nodes) => nodes,
            _ => {
                let message = "expected a list of visits, or -1 for every earlier visit";
                return Err(self.fault(path, node.span, message));
            }
        };
        let (mut visits, mut distances) = (Vec::new(), Vec::new());
        for (index, node) in nodes.iter().enumerate() {
            let path = path.index(index);
            match self.integer(&path, node, -most, most + 1.0)? {
                0 => return Err(self.fault(&path, node.span, "visits are counted from 1")),
                visit if visit > 0 => visits.push((visit - 1) as u16),
                distance => distances.push(-distance as u16),
            }
        }
        Ok(Some(Window::set(visits, distances)))
    }

    fn codes(
        &self,
        path: &Path<'_>,
        node: &Node,
        vocabulary: Option<&Vocabulary>,
    ) -> Read<Vec<Expression>> {
        let Value::Array(nodes) = &node.value else {
            return Err(self.fault(path, node.span, "expected a list of codes"));
        };
        let nodes = nodes.iter().enumerate();
        nodes.map(|(index, node)| self.code(&path.index(index), node, vocabulary)).collect()
    }

    fn code(
        &self,
        path: &Path<'_>,
        node: &Node,
        vocabulary: Option<&Vocabulary>,
    ) -> Read<Expression> {
        let name = match (&node.value, vocabulary) {
            (Value::Text(name), _) => self.name(path, node, name)?,
            (_, Some(vocabulary)) => self.numbered(path, node, vocabulary)?,
            (_, None) => {
                return Err(self.fault(path, node.span, "expected the name of a code"));
            }
        };
        Ok(Expression::literal(name).at(node.span))
    }

    fn name<'n>(&self, path: &Path<'_>, node: &Node, name: &'n str) -> Read<&'n str> {
        let most = self.limits.name_bytes;
        match name.len() {
            0 => Err(self.fault(path, node.span, "empty name")),
            length if length > most => {
                let message = format!("a name of {length} bytes, more than {most}");
                Err(self.fault(path, node.span, message))
            }
            _ => Ok(name),
        }
    }

    fn numbered<'v>(
        &self,
        path: &Path<'_>,
        node: &Node,
        vocabulary: &'v Vocabulary,
    ) -> Read<&'v str> {
        let codes = vocabulary.len() - 1;
        let number = self.integer(path, node, 0.0, (codes + 2) as f64)? as usize;
        if number < codes {
            Ok(vocabulary.name(Code(number as u32)))
        } else if number == codes + 1 {
            Ok(END_NAME)
        } else {
            let message = format!("{number} marks the start or padding, which no rule can name");
            Err(self.fault(path, node.span, message))
        }
    }
}

fn negated(expression: Expression) -> Expression {
    let span = expression.span;
    expression.not().at(span)
}
