//! Files of trees to one set of rules over a vocabulary. Warnings of rules that can be used but
//! hardly say what was meant.

use std::sync::Arc;

use consequence_record::{Code, Kind, Vocabulary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LanguageLimits;
use super::diagnostic::{Diagnostic, Diagnostics, Topic, Warnings};
use super::expand::Expander;
use super::knows::Knows;
use super::names::{is_between, matches, show};
use super::parser::{Failed, parse};
use super::source::{Form, Source, Span};
use super::titles::TitledCodes;
use super::tree::{
    Expression, ExpressionKind, ForItem, Item, LookBack, RuleFile, RuleItem, StaticItem,
};
use super::vocabulary::{Absent, gather};
use crate::formula::PAST;
use crate::{Fact, Formula, Origin, Rule, RuleSet, Says, Scope, Window};

/// What a code means that the vocabulary does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum UnknownCodes {
    /// A mistake: an error.
    #[default]
    Refuse,
    /// A code that no record has: a warning, and it counts as never present. For rules written for
    /// a larger vocabulary.
    Absent,
}

/// How to resolve.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct ResolveOptions {
    /// What to do about codes that are not in the vocabulary.
    pub unknown_codes: UnknownCodes,
    /// What codes of the vocabulary mean: a name in quotes that is no code may be a title.
    pub titles: TitledCodes,
    /// What the cohort knows of days, ages and values; without a cohort anything may be said of them.
    pub knows: Option<Knows>,
    /// Bounds on what the rules may expand to.
    pub limits: LanguageLimits,
}

/// Rules over a vocabulary, and what looked odd about them.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The rules.
    pub rules: RuleSet,
    /// Warnings, in order of discovery.
    pub warnings: Vec<Diagnostic>,
}

/// Makes one rule set of files that were read.
///
/// Names of rules are unique over all files; a `let` is known in its own file only. Without a
/// vocabulary, one is made of the codes that the files name: static ones first, then those of
/// encounters, each in alphabetical order. A code is then static if a `static` statement lists it
/// or if it is somewhere looked at `in static`; globs stand for codes that are named in full.
///
/// ```
/// use consequence_rules::{LanguageLimits, ResolveOptions, parse, resolve};
///
/// let text = "rule lifelong: ICD9CM//741 in previous => ICD9CM//741";
/// let file = parse("lifelong.rules", text, &LanguageLimits::default())?;
/// let resolved = resolve(&[file], None, &ResolveOptions::default())?;
/// assert_eq!(resolved.rules[0].origin.line, 1);
/// assert!(resolved.warnings.is_empty());
/// # Ok::<(), consequence_rules::Diagnostics>(())
/// ```
pub fn resolve(
    files: &[RuleFile],
    vocabulary: Option<Arc<Vocabulary>>,
    options: &ResolveOptions,
) -> Result<Resolved, Diagnostics> {
    let given = vocabulary.is_some();
    let vocabulary = match vocabulary {
        Some(vocabulary) => vocabulary,
        None => Arc::new(gathered(files, &options.limits)?),
    };
    let empty = Source::new("", "", Form::Rules);
    let unknown_codes = options.unknown_codes;
    let named = match unknown_codes {
        UnknownCodes::Refuse => None,
        UnknownCodes::Absent => gathered(files, &options.limits).ok(),
    };
    let absent = Absent::new(&vocabulary, named);
    let mut resolver = Resolver {
        vocabulary: &vocabulary,
        unknown_codes,
        given,
        versions: FxHashMap::default(),
        expander: Expander::new(&vocabulary, absent, options, &empty),
        first_uses: FxHashMap::default(),
        rules: Vec::new(),
    };
    for file in files {
        resolver.file(file);
    }
    let Resolver { expander, rules, .. } = resolver;
    if !expander.errors.is_empty() {
        return Err(expander.errors);
    }
    let parsed = files.iter().flat_map(|file| file.warnings().iter().cloned());
    let warnings = parsed.chain(expander.warnings.finish()).collect();
    Ok(Resolved { rules: RuleSet::resolved(vocabulary, rules), warnings })
}

impl RuleSet {
    /// Reads and resolves one text, for examples and tests: warnings are dropped.
    ///
    /// ```
    /// use consequence_rules::RuleSet;
    ///
    /// let rules = RuleSet::parse("rule one: SEX//F in static => not ICD9CM//185", None)?;
    /// assert_eq!(rules.vocabulary().len(), 3, "two codes and END");
    /// # Ok::<(), consequence_rules::Diagnostics>(())
    /// ```
    pub fn parse(text: &str, vocabulary: Option<Arc<Vocabulary>>) -> Result<Self, Diagnostics> {
        let file = parse("rules", text, &LanguageLimits::default())?;
        Ok(resolve(&[file], vocabulary, &ResolveOptions::default())?.rules)
    }
}

/// The vocabulary of the codes that the files name.
pub(super) fn gathered(
    files: &[RuleFile],
    limits: &LanguageLimits,
) -> Result<Vocabulary, Diagnostics> {
    match gather(files, limits.glob_comparisons) {
        Ok(Some(vocabulary)) => Ok(vocabulary),
        Ok(None) => Err(Diagnostic::error("too many names to try against patterns").into()),
        Err(fault) => Err(Diagnostic::error(fault.to_string()).into()),
    }
}

struct Resolver<'a> {
    vocabulary: &'a Vocabulary,
    unknown_codes: UnknownCodes,
    /// Whether the codes are those of a cohort, rather than those that the rules name.
    given: bool,
    /// The version of each vocabulary that a file was made for first, and where it says so.
    versions: FxHashMap<&'a str, (&'a str, &'a Source, Span)>,
    expander: Expander<'a>,
    /// Where each rule name was first used.
    first_uses: FxHashMap<&'a str, (&'a Source, &'a RuleItem)>,
    rules: Vec<Rule>,
}

impl<'a> Resolver<'a> {
    fn file(&mut self, file: &'a RuleFile) {
        let lets = file.items().iter().filter_map(|item| match item {
            Item::Let(definition) => Some(definition),
            _ => None,
        });
        self.expander.begin_file(&file.source, lets);
        for item in file.items() {
            match item {
                Item::Let(definition) => self.expander.define(definition),
                Item::Static(declaration) => self.declare(declaration),
                Item::Rule(rule) => self.rule(&file.source, rule),
                Item::For(made) => self.made_for(&file.source, made),
            }
        }
        self.expander.end_file();
    }

    /// Checks that codes declared static are so in the vocabulary.
    fn declare(&mut self, declaration: &'a StaticItem) {
        for code in &declaration.codes {
            let Ok(codes) = self.expander.declared(code) else { continue };
            let wrong = |code: &&Code| self.vocabulary.kind(**code) != Kind::Static;
            if let Some(&wrong) = codes.iter().find(wrong) {
                let name = show(self.vocabulary.name(wrong));
                let message = format!("{name} is declared static, but it is a code of encounters");
                self.expander.error(Diagnostic::error(message), code.span);
            }
        }
    }

    /// Warns of a file that was made for other codes than there are.
    fn made_for(&mut self, source: &'a Source, made: &'a ForItem) {
        let wanted = made.vocabulary.text.trim_end_matches('/');
        let is_of = |code| {
            let parts = self.vocabulary.name(code).split_at_checked(wanted.len());
            parts.is_some_and(|(family, rest)| {
                family.eq_ignore_ascii_case(wanted) && rest.starts_with("//")
            })
        };
        if self.given && !self.vocabulary.codes().any(is_of) {
            self.expander.warnings.push(Topic::MadeForAnother, || {
                let message = format!("made for {}, of which there is no code", show(wanted));
                Diagnostic::warning(message)
                    .at(source.location(made.vocabulary.span))
                    .help("codes of a vocabulary begin with its name and `//`")
            });
        }
        let Some(version) = &made.version else { return };
        let (first, first_source, first_span) =
            *self.versions.entry(wanted).or_insert((&version.text, source, version.span));
        if first != version.text {
            self.expander.warnings.push(Topic::MadeForAnother, || {
                let (one, other) = (show(&version.text), show(first));
                let message = format!("made for {wanted} {one}, other rules for {other}");
                Diagnostic::warning(message)
                    .at(source.location(version.span))
                    .note("the other version is here", first_source.location(first_span))
            });
        }
    }

    /// Refuses facts of encounters in a rule about the static visit alone.
    fn check_facts(&mut self, rule: &Rule, item: &RuleItem) -> Result<(), Failed> {
        let scope = rule.scope(self.vocabulary);
        if scope.encounters {
            return Ok(());
        }
        let mut of_encounters = false;
        rule.formula().for_each_fact(&mut |fact| {
            of_encounters |= !matches!(fact, Fact::Seen { days: None, .. });
        });
        if !of_encounters {
            return Ok(());
        }
        let name = rule.formula().codes_now().first().map(|&code| self.vocabulary.name(code));
        let code = name
            .filter(|name| name.len() < 100)
            .map_or_else(|| Expression::literal("A"), Expression::literal);
        let message = "days, ages, values, `since` and `first visit` are of encounters, and the rule is \
                       about the static visit";
        let help = format!("look at static codes from encounters: `{code} in static => ...`");
        let span = item.formula.first_fact().unwrap_or(item.formula.span);
        Err(self.expander.error(Diagnostic::error(message).help(help), span))
    }

    fn rule(&mut self, source: &'a Source, item: &'a RuleItem) {
        let name = item.name.text.as_str();
        if let Some((first_source, first)) = self.first_uses.get(name) {
            self.expander.errors.push_with(|| {
                Diagnostic::error(format!("two rules are called {}", show(name)))
                    .at(source.location(item.name.span))
                    .note("the first is here", first_source.location(first.name.span))
            });
            return;
        }
        self.first_uses.insert(name, (source, item));
        let errors = self.expander.errors.len();
        let Ok((formula, visits)) = self.expander.rule(&item.formula) else { return };
        if self.expander.errors.len() > errors {
            return;
        }
        let weighed = match item.probability {
            None => Some(Says::Hard(formula)),
            Some(probability) => match self.weigh(item, formula, probability) {
                Ok(weighed) => weighed,
                Err(Failed) => return,
            },
        };
        let Some(says) = weighed else { return };
        let origin = Origin {
            file: Arc::clone(source.name()),
            line: source.line(item.span.start),
            text: own_text(source, item).into(),
        };
        let rule = Rule { name: name.into(), says, visits, origin };
        if self.check_facts(&rule, item).is_err() {
            return;
        }
        lint(&rule, item, self.vocabulary, source, &mut self.expander.warnings);
        self.rules.push(rule);
    }

    /// The rule with its probability; `None` if its output is a code that no record has.
    fn weigh(
        &mut self,
        item: &RuleItem,
        formula: Formula,
        probability: f64,
    ) -> Result<Option<Says>, Failed> {
        let (when, consequent) = match formula {
            Formula::Implies(when, consequent) => (Some(*when), *consequent),
            literal => (None, literal),
        };
        let hard = |when: Option<Formula>, consequent: Formula| {
            Says::Hard(match when {
                Some(when) => when.implies(consequent),
                None => consequent,
            })
        };
        let certain = probability == 0.0 || probability == 1.0;
        let Some((code, present)) = consequent.as_literal() else {
            if certain && is_constant(&consequent) {
                let consequent = if probability == 0.0 { consequent.not() } else { consequent };
                return Ok(Some(hard(when, consequent)));
            }
            if self.unknown_codes == UnknownCodes::Absent && is_constant(&consequent) {
                let source = self.expander.source;
                self.expander.warnings.push(Topic::DroppedRule, || {
                    let name = show(&item.name.text);
                    let message = format!("rule {name} is left out: its output is never present");
                    Diagnostic::warning(message).at(source.location(item.name.span))
                });
                return Ok(None);
            }
            let message = "a rule with a probability must conclude one code, present or absent";
            let help = "write `A => B with probability 0.1` or `A => not B with probability 0.1`";
            let span = match &item.formula.kind {
                ExpressionKind::Implies(_, consequent) => consequent.span,
                _ => item.formula.span,
            };
            return Err(self.expander.error(Diagnostic::error(message).help(help), span));
        };
        if !certain {
            return Ok(Some(Says::Soft { when, code, present, probability }));
        }
        let source = self.expander.source;
        self.expander.warnings.push(Topic::Certainty, || {
            let which = if probability == 0.0 { "never" } else { "always" };
            let message = format!(
                "probability {probability} makes rule {} hard: its conclusion {which} holds",
                show(&item.name.text)
            );
            Diagnostic::warning(message).at(source.location(item.name.span))
        });
        Ok(Some(hard(when, Formula::literal(code, present == (probability == 1.0)))))
    }
}

fn is_constant(formula: &Formula) -> bool {
    match formula {
        Formula::Constant(_) => true,
        Formula::Not(inner) => is_constant(inner),
        _ => false,
    }
}

/// The rule's own text on one line, comments left out, at most some 300 characters.
fn own_text(source: &Source, item: &RuleItem) -> String {
    const LONGEST: usize = 300;
    let printed;
    let text = match source.form() {
        Form::Rules => source.slice(item.span),
        Form::Json => {
            printed = item.to_string();
            printed.as_str()
        }
    };
    let mut line = String::new();
    let mut length = 0;
    let (mut quoted, mut escaped, mut comment, mut blank) = (false, false, false, false);
    for character in text.chars() {
        if comment {
            comment = character != '\n';
        } else if !quoted && character == '#' {
            comment = true;
        } else if !quoted && character.is_whitespace() {
            blank = true;
        } else {
            if std::mem::take(&mut blank) {
                line.push(' ');
                length += 1;
            }
            quoted ^= character == '"' && !escaped;
            escaped = quoted && character == '\\' && !escaped;
            line.push(if character.is_control() { ' ' } else { character });
            length += 1;
        }
        if length >= LONGEST {
            line.push_str("...");
            break;
        }
    }
    line
}

/// Warns of codes that are looked for in visits where they never are.
pub(super) fn lint(
    rule: &Rule,
    item: &RuleItem,
    vocabulary: &Vocabulary,
    source: &Source,
    warnings: &mut Warnings,
) {
    let scope = rule.scope(vocabulary);
    if scope.static_visit && scope.encounters {
        warnings.push(Topic::MixedOutputs, || {
            let name = show(&rule.name);
            let message = format!("rule {name} concludes static codes and codes of encounters");
            Diagnostic::warning(message)
                .at(source.location(item.name.span))
                .help("it is required of every visit; write two rules if that is not meant")
        });
        return;
    }
    let mut warned = FxHashSet::default();
    rule.formula().for_each_fact(&mut |fact| {
        let Fact::Seen { codes, days: Some(_), .. } = fact else { return };
        for &code in codes.iter().filter(|&&code| vocabulary.kind(code) == Kind::Static) {
            if warned.insert((code, Topic::WrongVisit)) {
                warnings.push(Topic::WrongVisit, || {
                    let name = vocabulary.name(code);
                    let span = find(&item.formula, name, Some(&PAST), None);
                    let message =
                        format!("{} is a static code, and the static visit has no day", show(name));
                    let span = span.unwrap_or(item.name.span);
                    Diagnostic::warning(message)
                        .at(source.location(span))
                        .help("write `in static`, or `in past`")
                });
            }
        }
    });
    rule.formula().for_each_code(&mut |code, window| {
        let Some((topic, what, in_static)) = complaint(code, window, scope, vocabulary) else {
            return;
        };
        if warned.insert((code, topic)) {
            warnings.push(topic, || {
                let name = vocabulary.name(code);
                let span = find(&item.formula, name, window, None).unwrap_or(item.name.span);
                let message = format!("{} {what}", show(name));
                let warning = Diagnostic::warning(message).at(source.location(span));
                if in_static && name.len() < 100 {
                    warning.help(format!("write `{} in static`", Expression::literal(name)))
                } else {
                    warning
                }
            });
        }
    });
}

/// What is odd about looking for the code there, and whether `in static` would help.
fn complaint(
    code: Code,
    window: Option<&Window>,
    scope: Scope,
    vocabulary: &Vocabulary,
) -> Option<(Topic, &'static str, bool)> {
    let is_static = vocabulary.kind(code) == Kind::Static;
    let Some(window) = window else {
        return match (scope.static_visit, is_static) {
            (false, true) => {
                let what = "is a static code and never present in an encounter";
                Some((Topic::WrongVisit, what, true))
            }
            (true, false) => {
                let what = "is a code of encounters and never present in the static visit";
                Some((Topic::WrongVisit, what, false))
            }
            _ => None,
        };
    };
    if code == vocabulary.end() {
        let what = "marks the last encounter and is never in an earlier visit";
        return Some((Topic::EndInWindow, what, false));
    }
    if scope.static_visit {
        let what = "is looked for before the static visit, and no visit is earlier";
        return Some((Topic::WrongVisit, what, false));
    }
    let by_number = !window.is_past() && window.distances().is_empty();
    if is_static && by_number && !window.visits().contains(&0) {
        let what = "is a static code and never present in an encounter";
        return Some((Topic::WrongVisit, what, true));
    }
    if !is_static && by_number && window.visits() == [0] {
        let what = "is a code of encounters and never present in the static visit";
        return Some((Topic::WrongVisit, what, false));
    }
    None
}

/// Where an expression looks for a code in a window; `within` is the window around the expression.
fn find(
    expression: &Expression,
    code: &str,
    wanted: Option<&Window>,
    within: Option<&Window>,
) -> Option<Span> {
    use ExpressionKind::*;
    let found = |names: bool| (names && wanted == within).then_some(expression.span);
    let find = |inner: &Expression| find(inner, code, wanted, within);
    match &expression.kind {
        Name(name) | Code(name) => found(name == code),
        Glob(pattern) => found(matches(pattern, code)),
        Range(from, to) => found(is_between(code, from, to)),
        Constant(_) | FirstVisit => None,
        In(inner, LookBack::Visits(window)) => self::find(inner, code, wanted, Some(window)),
        In(inner, LookBack::Days(_)) => self::find(inner, code, wanted, Some(&PAST)),
        Times(inner, _) => {
            let before = self::find(inner, code, wanted, Some(&PAST));
            before.or_else(|| find(inner))
        }
        Since(inner, mark) => {
            let before = |inner| self::find(inner, code, wanted, Some(&PAST));
            before(inner).or_else(|| before(mark))
        }
        Not(inner) | Compare(inner, _) => find(inner),
        And(parts) | Or(parts) | Group(_, parts) => parts.iter().find_map(find),
        Implies(left, right) | Iff(left, right) => find(left).or_else(|| find(right)),
    }
}
