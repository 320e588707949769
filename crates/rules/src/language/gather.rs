//! A vocabulary made of the codes that rules name, for when no cohort gives one.

use rustc_hash::{FxHashMap, FxHashSet};

use consequence_record::{END_NAME, Kind, Vocabulary, VocabularyError};

use super::glob::Names;
use super::tree::{Expression, ExpressionKind, Item, LetItem, RuleFile};
use crate::Window;

/// The codes named in the files, static ones first, each kind in alphabetical order.
///
/// A code is static if a `static` statement says so or if it is somewhere looked at `in static`.
/// `None` if too many names would have to be tried against patterns.
pub(super) fn gather(
    files: &[RuleFile],
    most_comparisons: usize,
) -> Result<Option<Vocabulary>, VocabularyError> {
    let mut gatherer = Gatherer::default();
    for file in files {
        gatherer.file(file);
    }
    let Gatherer { mut kinds, static_globs, .. } = gatherer;
    if !static_globs.is_empty() {
        let all = Vocabulary::new(kinds.iter().map(|(name, kind)| (*name, *kind)))?;
        let mut names = Names::new(&all, most_comparisons);
        for pattern in static_globs {
            let Some(codes) = names.matching(pattern) else { return Ok(None) };
            for &code in codes {
                if let Some(kind) = kinds.get_mut(all.name(code)) {
                    *kind = Kind::Static;
                }
            }
        }
    }
    let mut codes: Vec<(&str, Kind)> = kinds.into_iter().collect();
    codes.sort_unstable_by_key(|&(name, kind)| (kind != Kind::Static, name));
    Vocabulary::new(codes).map(Some)
}

#[derive(Default)]
struct Gatherer<'a> {
    kinds: FxHashMap<&'a str, Kind>,
    static_globs: FxHashSet<&'a str>,
    /// The `let`s of the file at hand.
    lets: FxHashMap<&'a str, &'a LetItem>,
    /// Those of them looked at `in static`, and of these the ones still to be walked.
    static_lets: FxHashSet<&'a str>,
    waiting: Vec<&'a LetItem>,
}

impl<'a> Gatherer<'a> {
    fn file(&mut self, file: &'a RuleFile) {
        let lets = file.items().iter().filter_map(|item| match item {
            Item::Let(definition) => Some((definition.name.text.as_str(), definition)),
            _ => None,
        });
        self.lets = lets.collect();
        self.static_lets.clear();
        for item in file.items() {
            match item {
                Item::Rule(rule) => self.expression(&rule.formula, false),
                Item::Let(definition) => {
                    for value in &definition.values {
                        self.expression(value, false);
                    }
                }
                Item::Static(declaration) => {
                    for code in &declaration.codes {
                        match &code.kind {
                            ExpressionKind::Name(name) => self.code(name, true),
                            _ => self.expression(code, true),
                        }
                    }
                }
            }
        }
        while let Some(definition) = self.waiting.pop() {
            for value in &definition.values {
                self.expression(value, true);
            }
        }
    }

    fn code(&mut self, name: &'a str, is_static: bool) {
        if name == END_NAME {
            return;
        }
        let kind = self.kinds.entry(name).or_insert(Kind::Encounter);
        if is_static {
            *kind = Kind::Static;
        }
    }

    fn expression(&mut self, expression: &'a Expression, is_static: bool) {
        use ExpressionKind::*;
        match &expression.kind {
            Constant(_) => {}
            Name(name) => match self.lets.get(name.as_str()) {
                Some(definition) => {
                    if is_static && self.static_lets.insert(name) {
                        self.waiting.push(definition);
                    }
                }
                None => self.code(name, is_static),
            },
            Code(name) => self.code(name, is_static),
            Glob(pattern) => {
                if is_static {
                    self.static_globs.insert(pattern);
                }
            }
            In(inner, window) => {
                self.expression(inner, is_static || *window == Window::static_visit());
            }
            Not(inner) => self.expression(inner, is_static),
            And(parts) | Or(parts) | Group(_, parts) => {
                for part in parts {
                    self.expression(part, is_static);
                }
            }
            Implies(left, right) | Iff(left, right) => {
                self.expression(left, is_static);
                self.expression(right, is_static);
            }
        }
    }
}
