//! The names of a file as groups of records.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::tree::{Expression, ExpressionKind, Item, LetItem, RuleFile, RuleItem};

impl RuleFile {
    /// The names of the file, each as a rule of that name that is true in the visits in which the name is: a record
    /// with such a visit is of the group. The rules of the file are left out.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, ResolveOptions, parse, resolve};
    ///
    /// let text = "let insulin = RX//glargine, RX//lispro  rule a: insulin => A1C  let twice = insulin at least 2 times";
    /// let groups = parse("groups.rules", text, &LanguageLimits::default())?.groups();
    /// let rules = resolve(&[groups], None, &ResolveOptions::default())?.rules;
    /// let names: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
    /// assert_eq!(names, ["insulin", "twice"]);
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn groups(&self) -> Self {
        let rule = |definition: &LetItem| {
            let name = definition.name.clone();
            let kind = ExpressionKind::Name(name.text.clone());
            let formula = Expression { kind, span: name.span };
            Item::Rule(RuleItem { name, formula, probability: None, span: definition.span })
        };
        let kept = self.items.iter().filter(|item| !matches!(item, Item::Rule(_)));
        let groups = lets(&self.items).map(rule);
        let items = kept.cloned().chain(groups).collect();
        Self { source: Arc::clone(&self.source), items, warnings: self.warnings.clone() }
    }

    /// The names that no other name of the file is made of.
    ///
    /// ```
    /// use consequence_rules::{LanguageLimits, parse};
    ///
    /// let text = "let insulin = RX//glargine, RX//lispro  let treated = insulin in past";
    /// let file = parse("groups.rules", text, &LanguageLimits::default())?;
    /// assert_eq!(file.outer_names(), ["treated"]);
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn outer_names(&self) -> Vec<&str> {
        let mut used = FxHashSet::default();
        let values = lets(&self.items).flat_map(|definition| &definition.values);
        values.for_each(|value| names(value, &mut used));
        let names = lets(&self.items).map(|definition| definition.name.text.as_str());
        names.filter(|&name| !used.contains(name)).collect()
    }
}

fn lets(items: &[Item]) -> impl Iterator<Item = &LetItem> {
    items.iter().filter_map(|item| match item {
        Item::Let(definition) => Some(definition),
        _ => None,
    })
}

/// Adds the bare names of an expression.
fn names<'a>(expression: &'a Expression, found: &mut FxHashSet<&'a str>) {
    use ExpressionKind::*;
    match &expression.kind {
        Name(name) => {
            found.insert(name);
        }
        Constant(_) | Code(_) | Glob(_) | Range(..) | FirstVisit => {}
        In(inner, _) | Not(inner) | Times(inner, _) | Compare(inner, _) => names(inner, found),
        And(parts) | Or(parts) | Group(_, parts) => {
            parts.iter().for_each(|part| names(part, found));
        }
        Implies(left, right) | Iff(left, right) | Since(left, right) => {
            names(left, found);
            names(right, found);
        }
    }
}
