//! Titles in the place of codes: which codes each is of, and a file with the codes written in their place.

use std::collections::BTreeMap;

use consequence_record::{Code, Vocabulary};

use super::names::closest;
use super::tree::{Expression, ExpressionKind, Item, LetItem, Quantifier, RuleFile, RuleItem};

/// The codes of each title, whether it is written in capital or small letters.
///
/// ```
/// use std::sync::Arc;
/// use consequence_record::{Kind, Vocabulary};
/// use consequence_rules::language::TitledCodes;
/// use consequence_rules::{LanguageLimits, ResolveOptions, parse, resolve};
///
/// let vocabulary = Vocabulary::new([("ICD9CM//250", Kind::Encounter), ("A1C", Kind::Encounter)])?;
/// let diabetes = vocabulary.code("ICD9CM//250").unwrap();
/// let titles = TitledCodes::new([(diabetes, "Type 2 diabetes")]);
/// let file = parse("a.rules", r#"rule monitored: "type 2 diabetes" => A1C"#, &LanguageLimits::default())?;
/// let written = file.with_codes(&vocabulary, &titles);
/// assert_eq!(written.to_string(), "rule monitored: ICD9CM//250 => A1C\n");
///
/// let options = ResolveOptions { titles, ..ResolveOptions::default() };
/// assert_eq!(resolve(&[file], Some(Arc::new(vocabulary)), &options)?.rules.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TitledCodes(BTreeMap<String, Vec<Code>>);

impl TitledCodes {
    /// The titles of codes.
    pub fn new<'t>(titles: impl IntoIterator<Item = (Code, &'t str)>) -> Self {
        let mut of: BTreeMap<String, Vec<Code>> = BTreeMap::new();
        for (code, title) in titles {
            of.entry(folded(title)).or_default().push(code);
        }
        of.values_mut().for_each(|codes| codes.sort_unstable());
        Self(of)
    }

    /// The codes of a title, ascending; none if it is none.
    pub fn of(&self, title: &str) -> &[Code] {
        // Most vocabularies have no titles, and most names are codes.
        if self.0.is_empty() {
            return &[];
        }
        self.0.get(&folded(title)).map_or(&[], Vec::as_slice)
    }

    /// The title that is most like a name, if one is, in small letters.
    pub(super) fn closest(&self, name: &str) -> Option<&str> {
        closest(&folded(name), self.0.keys().map(String::as_str))
    }
}

fn folded(title: &str) -> String {
    title.trim().to_lowercase()
}

impl RuleFile {
    /// The same file with codes in the place of titles.
    pub fn with_codes(&self, vocabulary: &Vocabulary, titles: &TitledCodes) -> Self {
        let writer = Writer { vocabulary, titles };
        let items = self.items.iter().map(|item| match item {
            Item::Rule(rule) => {
                Item::Rule(RuleItem { formula: writer.one(&rule.formula), ..rule.clone() })
            }
            Item::Let(definition) => {
                Item::Let(LetItem { values: writer.list(&definition.values), ..definition.clone() })
            }
            Item::Static(_) | Item::For(_) => item.clone(),
        });
        Self { items: items.collect(), ..self.clone() }
    }
}

struct Writer<'a> {
    vocabulary: &'a Vocabulary,
    titles: &'a TitledCodes,
}

impl Writer<'_> {
    /// The codes that an expression stands for by their title.
    fn codes(&self, expression: &Expression) -> Option<Vec<Expression>> {
        let ExpressionKind::Code(title) = &expression.kind else { return None };
        let codes = self.titles.of(title);
        let known = self.vocabulary.code(title).is_some() || codes.is_empty();
        let name =
            |code: &Code| Expression::literal(self.vocabulary.name(*code)).at(expression.span);
        (!known).then(|| codes.iter().map(name).collect())
    }

    fn one(&self, expression: &Expression) -> Expression {
        use ExpressionKind::*;
        if let Some(mut codes) = self.codes(expression) {
            return match codes.len() {
                1 => codes.remove(0),
                _ => Expression::from(Group(Quantifier::Any, codes)).at(expression.span),
            };
        }
        let boxed = |inner: &Expression| Box::new(self.one(inner));
        let each = |parts: &[Expression]| parts.iter().map(|part| self.one(part)).collect();
        let kind = match &expression.kind {
            Constant(_) | Name(_) | Code(_) | Glob(_) | Range(..) | FirstVisit => {
                expression.kind.clone()
            }
            In(inner, window) => In(boxed(inner), window.clone()),
            Times(inner, times) => Times(boxed(inner), times.clone()),
            Since(inner, mark) => Since(boxed(inner), boxed(mark)),
            Compare(inner, range) => Compare(boxed(inner), *range),
            Not(inner) => Not(boxed(inner)),
            And(parts) => And(each(parts)),
            Or(parts) => Or(each(parts)),
            Implies(left, right) => Implies(boxed(left), boxed(right)),
            Iff(left, right) => Iff(boxed(left), boxed(right)),
            Group(quantifier, items) => Group(*quantifier, self.list(items)),
        };
        Expression::from(kind).at(expression.span)
    }

    /// A list, in which a title is its codes; in a window, each of them is.
    fn list(&self, items: &[Expression]) -> Vec<Expression> {
        let spread = |item: &Expression| match (&item.kind, self.codes(item)) {
            (_, Some(codes)) => codes,
            (ExpressionKind::In(inner, window), None) => match self.codes(inner) {
                Some(codes) => codes.into_iter().map(|code| code.within(window.clone())).collect(),
                None => vec![self.one(item)],
            },
            _ => vec![self.one(item)],
        };
        items.iter().flat_map(spread).collect()
    }
}
