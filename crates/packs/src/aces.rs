//! Predicates of ACES task configurations.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use consequence_record::DEATH;
use consequence_rules::language::{Expression, ExpressionKind, matches};
use consequence_rules::{ValueRange, Window};

use crate::error::{PackError, shown};
use crate::names::{NamedGroups, PlainNames, any_of, named};
use crate::regex::{self, Matched};
use crate::table::{PackLimits, read_text};
use crate::yaml::{self, Node, Value};

/// What deaths and births are called in MEDS; a cohort calls a death [`DEATH`].
const MEDS_DEATH: &str = "MEDS_DEATH";
const MEDS_BIRTH: &str = "MEDS_BIRTH";

const NOTES: [&str; 2] = [
    "A predicate is of one time there, and of one visit here.",
    "Values are compared as they are stored, in 32 bits.",
];

/// What stands where a task leaves something to each dataset.
const OPEN: &str = "???";
const LEFT_OPEN: &str = "it is left to each dataset; give the file that defines it";

/// How many predicates may be made one of the other.
const DEEPEST: usize = 50;

/// Why a predicate has no name, or what is wrong with it.
enum Failed {
    Unsaid(String),
    Wrong(PackError),
}

impl From<PackError> for Failed {
    fn from(error: PackError) -> Self {
        Self::Wrong(error)
    }
}

impl NamedGroups {
    /// Reads the predicates of an ACES task configuration, plain or gzip: YAML, with codes as in MEDS. Each
    /// becomes a name. A trigger and windows say when a task looks at a record, which is no group; they
    /// are listed as not said, and so is a regular expression that says more than patterns can.
    ///
    /// ```
    /// use consequence_packs::{NamedGroups, PackLimits};
    ///
    /// let text = "predicates:\n  low_potassium: {code: LAB//potassium, value_max: 3.5}\n  \
    ///             icu: {code: {regex: '^ICU//.*'}}\n  either: {expr: 'or(low_potassium, icu)'}\n";
    /// let named = NamedGroups::read_aces("task.yaml", text.as_bytes(), &PackLimits::default())?;
    /// let statements: Vec<&str> = named.groups.iter().map(|group| &*group.statement).collect();
    /// assert_eq!(statements, [
    ///     "let low_potassium = LAB//potassium < 3.5",
    ///     "let icu = ICU//*",
    ///     "let either = low_potassium or icu",
    /// ]);
    /// # Ok::<(), consequence_packs::PackError>(())
    /// ```
    ///
    /// # Errors
    /// If the file is damaged, is no such configuration, or defines a predicate in a way that ACES refuses.
    pub fn read_aces(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let fault = |(line, what)| PackError::Definition { file: file.to_owned(), line, what };
        let root = yaml::read(&text).map_err(fault)?;
        Reader::new(file, &root)?.read(&root)
    }
}

struct Reader<'a> {
    file: &'a str,
    named: NamedGroups,
    names: PlainNames,
    /// Every predicate, by its own name: the node, whether it is of the static visit.
    predicates: BTreeMap<&'a str, (&'a Node, bool)>,
    /// The predicates in the order of the file, with their names here.
    order: Vec<(&'a str, String)>,
    /// What became of predicates: whether they have a name.
    done: BTreeMap<&'a str, bool>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, root: &'a Node) -> Result<Self, PackError> {
        let mut reader = Self {
            file,
            named: NamedGroups::new("ACES task configuration", file, &NOTES),
            names: PlainNames::default(),
            predicates: BTreeMap::new(),
            order: Vec::new(),
            done: BTreeMap::new(),
        };
        let Some(predicates) = root.get("predicates") else {
            return Err(
                reader.wrong(root, "no `predicates:`; expected a task configuration of ACES")
            );
        };
        let demographics = root.get("patient_demographics").map(|node| (node, true));
        for (section, fixed) in [(predicates, false)].into_iter().chain(demographics) {
            let entries = match &section.value {
                Value::Map(entries) => entries.as_slice(),
                _ if section.is_null() => &[],
                _ => return Err(reader.wrong(section, "predicates that are no mapping")),
            };
            for (name, node) in entries {
                if reader.predicates.insert(name, (node, fixed)).is_some() {
                    let what = format!("predicate `{}` a second time", shown(name));
                    return Err(reader.wrong(node, what));
                }
                let plain = reader.names.take(name);
                reader.order.push((name, plain));
            }
        }
        if reader.order.is_empty() {
            return Err(reader.wrong(predicates, "no predicate in `predicates:`"));
        }
        Ok(reader)
    }

    fn wrong(&self, node: &Node, what: impl Into<String>) -> PackError {
        PackError::Definition { file: self.file.to_owned(), line: node.line, what: what.into() }
    }

    fn read(mut self, root: &'a Node) -> Result<NamedGroups, PackError> {
        for (name, _) in self.order.clone() {
            self.define(name, &mut BTreeSet::new())?;
        }
        if let Value::Map(entries) = &root.value {
            for (key, node) in entries {
                self.rest(key, node);
            }
        }
        self.named.checked()
    }

    /// Lists what stands beside the predicates.
    fn rest(&mut self, key: &str, node: &Node) {
        match (key, &node.value) {
            ("predicates" | "patient_demographics" | "description" | "metadata", _) => {}
            ("windows", Value::Map(windows)) => {
                for (window, node) in windows {
                    let what = format!("window `{window}` (line {})", node.line);
                    let why = "windows go from one event to another, forwards and backwards; write `in last 30 days` \
                               and the like in rules";
                    self.named.not_said(what, why);
                }
            }
            ("trigger", _) => {
                let trigger = node.text().unwrap_or_default();
                let what = format!("trigger `{trigger}` (line {})", node.line);
                self.named.not_said(what, "a rule holds at every visit; put the name before `=>`");
            }
            _ if node.is_null() => {}
            _ => self.named.not_said(format!("`{key}` (line {})", node.line), "no predicate"),
        }
    }

    /// Gives a predicate its name, after those that it is made of; false where it is not said.
    fn define(&mut self, name: &'a str, within: &mut BTreeSet<&'a str>) -> Result<bool, PackError> {
        if let Some(&done) = self.done.get(name) {
            return Ok(done);
        }
        let (node, fixed) = self.predicates[name];
        if !within.insert(name) {
            let what = format!("predicate `{}` is made of itself", shown(name));
            return Err(self.wrong(node, what));
        }
        if within.len() > DEEPEST {
            return Err(
                self.wrong(node, format!("more than {DEEPEST} predicates made of each other"))
            );
        }
        let made = self.formula(name, node, fixed, within);
        within.remove(name);
        let said = match made {
            Ok(values) => {
                let plain = self.plain(name).to_owned();
                let title = format!("predicate {name}: {}", told(node));
                self.named.define(&plain, title, Vec::new(), values)?;
                true
            }
            Err(Failed::Unsaid(why)) => {
                let what = format!("predicate `{name}` (line {}): {}", node.line, told(node));
                self.named.not_said(what, why);
                false
            }
            Err(Failed::Wrong(error)) => return Err(error),
        };
        self.done.insert(name, said);
        Ok(said)
    }

    fn plain<'b>(&'b self, name: &'b str) -> &'b str {
        self.order.iter().find(|(own, _)| *own == name).map_or(name, |(_, plain)| plain)
    }

    fn formula(
        &mut self,
        name: &str,
        node: &'a Node,
        fixed: bool,
        within: &mut BTreeSet<&'a str>,
    ) -> Result<Vec<Expression>, Failed> {
        if node.text() == Some(OPEN) {
            return Err(Failed::Unsaid(LEFT_OPEN.into()));
        }
        let Value::Map(entries) = &node.value else {
            let what = format!("predicate `{}` has neither `code` nor `expr`", shown(name));
            return Err(self.wrong(node, what).into());
        };
        let mut unsaid = None;
        for (key, inner) in entries {
            match key.as_str() {
                "code"
                | "expr"
                | "value_min"
                | "value_max"
                | "value_min_inclusive"
                | "value_max_inclusive"
                | "static" => {}
                "other_cols" if matches!(&inner.value, Value::Map(none) if none.is_empty()) => {}
                _ if inner.is_null() => {}
                "other_cols" => unsaid = Some("other columns of a table are not kept".to_owned()),
                other => unsaid = Some(format!("`{}` is not known here", shown(other))),
            }
        }
        let present = |key: &str| node.get(key).filter(|inner| !inner.is_null());
        let made = match (present("code"), present("expr")) {
            (Some(code), None) => self.plain_predicate(name, node, code, fixed),
            (None, Some(expr)) => self.derived(name, expr, within),
            (None, None) => {
                let what = format!("predicate `{}` has neither `code` nor `expr`", shown(name));
                return Err(self.wrong(node, what).into());
            }
            (Some(_), Some(_)) => {
                let what = format!("predicate `{}` has both `code` and `expr`", shown(name));
                return Err(self.wrong(node, what).into());
            }
        };
        match unsaid {
            Some(why) if !matches!(made, Err(Failed::Wrong(_))) => Err(Failed::Unsaid(why)),
            _ => made,
        }
    }

    fn plain_predicate(
        &self,
        name: &str,
        node: &Node,
        code: &Node,
        fixed: bool,
    ) -> Result<Vec<Expression>, Failed> {
        let fixed = fixed || self.truth(node, "static")?.unwrap_or(false);
        let range = self.range(name, node)?;
        let codes = self.codes(code)?;
        match (range, fixed) {
            (None, false) => Ok(codes),
            (None, true) => Ok(vec![any_of(codes).within(Window::static_visit())]),
            (Some(range), false) => Ok(vec![any_of(codes).compared(range)]),
            (Some(_), true) => {
                Err(Failed::Unsaid("values are those of visits, and this is static".into()))
            }
        }
    }

    /// The codes and patterns of a predicate.
    fn codes(&self, code: &Node) -> Result<Vec<Expression>, Failed> {
        let expected = "a code, `{regex: ...}` or `{any: [...]}`";
        let wrong = |what: String| Failed::Wrong(self.wrong(code, what));
        match &code.value {
            Value::Scalar(text, _) if !text.is_empty() => Ok(vec![self.code(text)?]),
            Value::Map(entries) => match entries.as_slice() {
                [(key, inner)] if key == "regex" => match inner.text() {
                    Some(expression) if !expression.is_empty() => self.matching(expression),
                    _ => Err(wrong("expected a regular expression after `regex`".into())),
                },
                [(key, inner)] if key == "any" => match &inner.value {
                    Value::List(codes) if !codes.is_empty() => {
                        let each = codes.iter().map(|code| match code.text() {
                            Some(text) if !text.is_empty() => self.code(text),
                            _ => Err(Failed::Wrong(self.wrong(code, "expected a code"))),
                        });
                        let mut distinct: Vec<Expression> = Vec::new();
                        for code in each {
                            let code = code?;
                            if !distinct.contains(&code) {
                                distinct.push(code);
                            }
                        }
                        Ok(distinct)
                    }
                    _ => Err(wrong("expected a list of codes after `any`".into())),
                },
                _ => Err(wrong(format!("expected {expected}"))),
            },
            _ => Err(wrong(format!("expected {expected}"))),
        }
    }

    fn code(&self, code: &str) -> Result<Expression, Failed> {
        match code {
            OPEN => Err(Failed::Unsaid(LEFT_OPEN.into())),
            MEDS_BIRTH => {
                let why = "a birth is no code of a visit; write `AGE` in rules";
                Err(Failed::Unsaid(why.into()))
            }
            MEDS_DEATH => Ok(self.names.code(DEATH)),
            code => Ok(self.names.code(code)),
        }
    }

    /// What a regular expression is found in.
    fn matching(&self, expression: &str) -> Result<Vec<Expression>, Failed> {
        let Some(found) = regex::patterns(expression) else {
            let why = "its regular expression says more than patterns with `*` and `?` can";
            return Err(Failed::Unsaid(why.into()));
        };
        let (mut items, mut death) = (Vec::new(), false);
        for matched in found {
            match matched {
                Matched::Name(code) => items.push(self.code(&code)?),
                Matched::Pattern(pattern) => {
                    death |= matches(&pattern, MEDS_DEATH) && !matches(&pattern, DEATH);
                    let item = Expression::word(&pattern);
                    if !matches!(item.kind, ExpressionKind::Glob(_)) {
                        let why = "a pattern with blanks or one of `( ) , { } # \" = < >` cannot be written";
                        return Err(Failed::Unsaid(why.into()));
                    }
                    items.push(item);
                }
            }
        }
        if death {
            items.push(self.names.code(DEATH));
        }
        Ok(items)
    }

    /// The values of a predicate, if it limits them.
    fn range(&self, name: &str, node: &Node) -> Result<Option<ValueRange>, Failed> {
        let limit = |key: &str| -> Result<Option<(f32, bool)>, Failed> {
            let Some(inner) = node.get(key).filter(|inner| !inner.is_null()) else {
                return Ok(None);
            };
            let included = self.truth(node, &format!("{key}_inclusive"))?.unwrap_or(false);
            let number =
                inner.text().and_then(|text| text.parse::<f64>().ok()).map(|number| number as f32);
            match number.filter(|number| number.is_finite()) {
                Some(number) => Ok(Some((number, included))),
                None => Err(self.wrong(inner, format!("expected a number after `{key}`")).into()),
            }
        };
        // Both ends of `between` are in: an end that is out is the next number that is stored.
        Ok(Some(match (limit("value_min")?, limit("value_max")?) {
            (None, None) => return Ok(None),
            (Some((least, true)), None) => ValueRange::at_least(least),
            (Some((least, false)), None) => ValueRange::above(least),
            (None, Some((most, true))) => ValueRange::at_most(most),
            (None, Some((most, false))) => ValueRange::below(most),
            (Some((least, least_in)), Some((most, most_in))) => {
                let least = if least_in { least } else { least.next_up() };
                let most = if most_in { most } else { most.next_down() };
                if least > most {
                    let what = format!("no value is in the range of predicate `{}`", shown(name));
                    return Err(self.wrong(node, what).into());
                }
                ValueRange::between(least, most)
            }
        }))
    }

    /// What a key with a truth value says.
    fn truth(&self, node: &Node, key: &str) -> Result<Option<bool>, PackError> {
        let Some(inner) = node.get(key).filter(|inner| !inner.is_null()) else { return Ok(None) };
        match inner.text() {
            Some("true" | "True" | "TRUE") => Ok(Some(true)),
            Some("false" | "False" | "FALSE") => Ok(Some(false)),
            _ => Err(self.wrong(inner, format!("expected `true` or `false` after `{key}`"))),
        }
    }

    /// `and(a, b)` or `or(a, b)`.
    fn derived(
        &mut self,
        name: &str,
        expr: &'a Node,
        within: &mut BTreeSet<&'a str>,
    ) -> Result<Vec<Expression>, Failed> {
        let text = expr.text().unwrap_or_default().trim();
        let inner = |start: &str| text.strip_prefix(start)?.strip_suffix(')');
        let (parts, conjunction) = match (inner("and("), inner("or(")) {
            (Some(parts), _) => (parts, true),
            (_, Some(parts)) => (parts, false),
            _ => {
                let what =
                    format!("expected `and(...)` or `or(...)` in predicate `{}`", shown(name));
                return Err(self.wrong(expr, what).into());
            }
        };
        let parts: Vec<&'a str> = parts.split(',').map(str::trim).collect();
        if parts.len() < 2 {
            let what = format!("predicate `{}` needs two others or more", shown(name));
            return Err(self.wrong(expr, what).into());
        }
        let (mut said, mut missing) = (Vec::new(), Vec::new());
        for part in parts {
            if part.starts_with('_') && !self.predicates.contains_key(part) {
                missing.push(part);
            } else if !self.predicates.contains_key(part) {
                let what = format!("`{}` is no predicate of the file", shown(part));
                return Err(self.wrong(expr, what).into());
            } else if self.define(part, within)? {
                said.push(named(self.plain(part)));
            } else {
                missing.push(part);
            }
        }
        match missing.as_slice() {
            [] if conjunction => Ok(vec![Expression::all(said)]),
            [] => Ok(vec![Expression::any(said)]),
            missing => {
                let missing: Vec<String> = missing.iter().map(|part| format!("`{part}`")).collect();
                Err(Failed::Unsaid(format!("it needs {}, which is not said", missing.join(", "))))
            }
        }
    }
}

/// A node as it was written, on one line.
fn told(node: &Node) -> String {
    match &node.value {
        Value::Null => "null".into(),
        Value::Scalar(text, _) => text.clone(),
        Value::List(nodes) => {
            format!("[{}]", nodes.iter().map(told).collect::<Vec<_>>().join(", "))
        }
        Value::Map(entries) => {
            let each = entries.iter().map(|(key, node)| match &node.value {
                Value::Map(_) => format!("{key} {{{}}}", told(node)),
                _ => format!("{key} {}", told(node)),
            });
            each.collect::<Vec<_>>().join(", ")
        }
    }
}
