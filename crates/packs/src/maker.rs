//! Statements of the rule language: on whom, on which codes, and with which probability.

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::{Code, Concept, Kind, Vocabulary};
use consequence_rules::Window;
use consequence_rules::language::{Expression, ExpressionKind, Quantifier, RuleItem};

use crate::codes::{Band, System, band};
use crate::dialect::{Dialect, Prefixes};
use crate::error::PackError;
use crate::expert::{Entry, ExpertTable, Limit};
use crate::observed::{self, Share};
use crate::pack::{Level, PackOptions, PackRule};

/// What codes are called, in the vocabulary or in their system.
pub(crate) struct Names<'a> {
    options: &'a PackOptions<'a>,
    dialects: Vec<Dialect>,
    /// Whether all codes of the system are known, so that categories can be judged.
    listed: bool,
    /// The names of each plain code of the vocabulary.
    spelt: BTreeMap<(System, String), Vec<&'a str>>,
    /// The concept of each name, where one is known.
    concepts: Vec<(&'a str, u64, Option<&'a Concept>)>,
}

impl<'a> Names<'a> {
    pub fn new(table: &ExpertTable, options: &'a PackOptions<'a>) -> Self {
        let of = |list: &&crate::CodeList, system| list.system() == system;
        let list = |system| {
            let given = options.codes.filter(|list| of(list, system));
            given.or(table.codes().filter(|list| of(list, system)))
        };
        let systems = table.systems();
        let listed = systems.iter().any(|&system| list(system).is_some());
        let mut names = Self {
            options,
            dialects: Vec::new(),
            listed,
            spelt: BTreeMap::new(),
            concepts: Vec::new(),
        };
        let Some(vocabulary) = options.vocabulary else { return names };
        let prefixes = Prefixes::of(vocabulary);
        for system in systems {
            let dialect = match (given_prefix(system, options), list(system)) {
                (Some(prefix), _) => prefixes.spelt(system, prefix),
                (None, Some(list)) => prefixes.dialect(system, &|code| list.lists(code), true),
                (None, None) => {
                    let mut limited = BTreeSet::new();
                    for entry in table.entries().iter().filter(|entry| entry.system == system) {
                        limited.extend(system.category(&entry.code));
                        limited.insert(entry.code.as_str());
                    }
                    prefixes.dialect(system, &|code| limited.contains(code), false)
                }
            };
            let Some(dialect) = dialect else { continue };
            for code in vocabulary.codes().filter(|&code| is_encounter(vocabulary, code)) {
                let name = vocabulary.name(code);
                if let Some(bare) = name.strip_prefix(dialect.prefix.as_str()) {
                    let plain = system.plain(bare);
                    if let (System::Omop, Ok(id)) = (system, plain.parse()) {
                        names.concepts.push((name, id, None));
                    }
                    names.spelt.entry((system, plain)).or_default().push(name);
                }
            }
            names.dialects.push(dialect);
        }
        if !table.systems().contains(&System::Omop) {
            return names;
        }
        for (&code, concept) in options.concepts.into_iter().flatten() {
            if code.index() < vocabulary.len() && is_encounter(vocabulary, code) {
                names.concepts.push((vocabulary.name(code), concept.id, Some(concept)));
            }
        }
        names
    }

    pub fn dialects(&self) -> &[Dialect] {
        &self.dialects
    }

    /// The codes whose concepts are known, under whatever names.
    pub fn concepts(&self) -> usize {
        self.concepts.iter().filter(|(.., concept)| concept.is_some()).count()
    }

    /// As the vocabulary has most codes; single codes where categories could not be judged.
    pub fn level(&self) -> Level {
        let cut = self.dialects.iter().any(|dialect| dialect.level == Level::Categories);
        if cut && self.listed { Level::Categories } else { Level::Codes }
    }

    /// What the code of an entry is called, and those below it where the entry is for them too.
    pub fn of(&self, entry: &Entry) -> Vec<String> {
        let Entry { system, code, below, .. } = entry;
        let id = code.parse::<u64>().ok().filter(|_| *system == System::Omop);
        if self.options.vocabulary.is_none() {
            let prefix = given_prefix(*system, self.options).unwrap_or(system.prefix());
            let own = format!("{prefix}{code}");
            let ancestors = self.options.ancestors.filter(|_| *below).zip(id);
            let under = ancestors.into_iter().flat_map(|(ancestors, id)| ancestors.below(id));
            return std::iter::once(own).chain(under.map(|id| format!("{prefix}{id}"))).collect();
        }
        let spelt = self.spelt.get(&(*system, code.clone())).into_iter().flatten().copied();
        let mut names: BTreeSet<&str> = spelt.collect();
        for &(name, own, concept) in self.concepts.iter().filter(|_| id.is_some()) {
            let is_below = |id: u64| {
                concept.is_some_and(|concept| concept.is_below(id))
                    || self.options.ancestors.is_some_and(|known| known.contains(id, own))
            };
            if id.is_some_and(|id| own == id || *below && is_below(id)) {
                names.insert(name);
            }
        }
        names.into_iter().map(str::to_owned).collect()
    }

    /// All codes of a system that the vocabulary has: plain, and as it spells them.
    pub fn all(&self, system: System) -> impl Iterator<Item = (&str, &'a str)> {
        let of_system = self.spelt.iter().filter(move |((of, _), _)| *of == system);
        of_system
            .flat_map(|((_, plain), names)| names.iter().map(move |&name| (plain.as_str(), name)))
    }
}

fn is_encounter(vocabulary: &Vocabulary, code: Code) -> bool {
    vocabulary.kind(code) == Kind::Encounter && code != vocabulary.end()
}

fn given_prefix<'a>(system: System, options: &PackOptions<'a>) -> Option<&'a str> {
    match system {
        System::Icd9Procedure | System::Icd10Procedure => options.procedure_prefix,
        _ => options.prefix,
    }
}

/// How likely a chronic condition is coded again where nothing tells: an assumption.
const STAYS: f64 = 0.9;

/// Where probabilities come from.
enum Source {
    Given(f64),
    Records,
    Assumed,
}

/// Writes rules, and remembers what they need.
pub(crate) struct Maker<'a> {
    sexes: [Vec<String>; 2],
    bands: Vec<(String, Band)>,
    options: &'a PackOptions<'a>,
    stays: Source,
    names: BTreeSet<String>,
}

impl<'a> Maker<'a> {
    pub fn new(options: &'a PackOptions<'a>) -> Self {
        let statics = options.vocabulary.into_iter().flat_map(|vocabulary| {
            let statics = vocabulary.codes().filter(|&code| vocabulary.kind(code) == Kind::Static);
            statics.map(|code| vocabulary.name(code))
        });
        let bands = statics
            .filter_map(|name| Some((name.to_owned(), band(name.strip_prefix(options.ages)?)?)));
        Self {
            sexes: [
                sex(options, &options.female, ["f", "female", "8532"], "SEX//F"),
                sex(options, &options.male, ["m", "male", "8507"], "SEX//M"),
            ],
            bands: bands.collect(),
            options,
            stays: Source::Assumed,
            names: BTreeSet::new(),
        }
    }

    /// Whether there are age bands.
    pub fn knows_ages(&self) -> bool {
        !self.bands.is_empty()
    }

    /// The rule for a limit on a code; none if it is about ages and no age band is excluded.
    pub fn limited(&mut self, entry: &Entry, code: &str) -> Result<Option<PackRule>, PackError> {
        let [female, male] = &self.sexes;
        let wanted = |names: &[String], usual: &str| match names {
            [] => usual.to_owned(),
            names => names.join(", "),
        };
        let excluded: Vec<&str> = match entry.limit {
            Limit::Female if male.is_empty() => {
                let names = wanted(&self.options.male, "SEX//M");
                return Err(PackError::NoSex { sex: "male", names });
            }
            Limit::Male if female.is_empty() => {
                let names = wanted(&self.options.female, "SEX//F");
                return Err(PackError::NoSex { sex: "female", names });
            }
            Limit::Female => male.iter().map(String::as_str).collect(),
            Limit::Male => female.iter().map(String::as_str).collect(),
            Limit::Ages { from, to } => {
                let years = self.options.years;
                let excluded = self.bands.iter().filter(|(_, band)| band.excludes(from, to, years));
                excluded.map(|(name, _)| name.as_str()).collect()
            }
            Limit::Chronic | Limit::Excludes | Limit::CodeFirst => Vec::new(),
        };
        if excluded.is_empty() {
            return Ok(None);
        }
        let kind = entry.limit.to_string().replace(' ', "-");
        let who = group(Quantifier::Any, &excluded);
        let formula = who.within(Window::static_visit()).implies(Expression::literal(code).not());
        let item = RuleItem::new(self.fresh(name(&kind, code)), formula);
        Ok(Some(rule(item, code, &entry.title, entry.limit, None)))
    }

    /// Soft rules that chronic codes stay, each as likely as the records show.
    pub fn chronic(&mut self, codes: BTreeMap<String, String>) -> Vec<PackRule> {
        let known = self.options.records.zip(self.options.vocabulary);
        let shares: Option<Vec<Share>> = known.map(|(records, vocabulary)| {
            let all = observed::returns(records, vocabulary.len());
            let of = |code: &String| {
                vocabulary.code(code).map_or(Share::default(), |code| all[code.index()])
            };
            codes.keys().map(of).collect()
        });
        let pooled = shares.as_ref().map(|shares| Share::pooled(shares.iter().copied()));
        let rate = pooled.and_then(Share::rate);
        self.stays = match (self.options.stays, rate) {
            (Some(given), _) => Source::Given(given),
            (None, Some(_)) => Source::Records,
            (None, None) => Source::Assumed,
        };
        let mut rules = Vec::new();
        for (index, (code, title)) in codes.iter().enumerate() {
            let share = shares.as_ref().map(|shares| shares[index]).unwrap_or_default();
            let (probability, evidence) = match (&self.stays, rate) {
                (Source::Given(given), _) => (*given, None),
                (Source::Records, Some(rate)) => {
                    let Share { so, of } = share;
                    let evidence = format!(
                        "there again in {so} of {of} visits after one that has it; {rate:.4} over \
                         all codes of the pack"
                    );
                    (observed::soft(share.shrunk(rate)), Some(evidence))
                }
                _ => (STAYS, None),
            };
            let now = Expression::literal(code);
            let formula = now.clone().within(Window::previous()).implies(now);
            let mut item = RuleItem::new(self.fresh(name("chronic", code)), formula);
            item.probability = Some(probability);
            rules.push(rule(item, code, title, Limit::Chronic, evidence));
        }
        rules
    }

    /// A rule that codes never stand in one visit with others.
    pub fn excludes(&mut self, at: &str, codes: [&[&str]; 2]) -> RuleItem {
        let [first, second] = codes;
        let none = match second {
            [only] => Expression::literal(only).not(),
            several => group(Quantifier::None, several),
        };
        let formula = group(Quantifier::Any, first).implies(none);
        RuleItem::new(self.fresh(name("excludes1", at)), formula)
    }

    /// A soft rule that a code is absent where all those are that should come before it.
    pub fn first(&mut self, code: &str, before: &[&str], probability: f64) -> RuleItem {
        let absent = match before {
            [only] => Expression::literal(only).not(),
            several => group(Quantifier::None, several),
        };
        let formula = absent.implies(Expression::literal(code).not());
        let mut item = RuleItem::new(self.fresh(name("code-first", code)), formula);
        item.probability = Some(probability);
        item
    }

    /// A name that no rule has.
    fn fresh(&mut self, name: String) -> String {
        let mut fresh = name.clone();
        for number in 2_u32.. {
            if self.names.insert(fresh.clone()) {
                break;
            }
            fresh = format!("{name}-{number}");
        }
        fresh
    }

    pub fn notes(&self, rules: &[PackRule], level: Level) -> Vec<String> {
        let has = |wanted: fn(Limit) -> bool| rules.iter().any(|rule| wanted(rule.limit));
        let mut notes = Vec::new();
        if level == Level::Categories && has(|limit| limit < Limit::Excludes) {
            notes.push("A category has a rule where all codes below it are listed.".to_owned());
        }
        if has(|limit| matches!(limit, Limit::Ages { .. })) {
            notes.push(match self.options.years {
                0 => "The age band is taken to hold for all of a record.".to_owned(),
                years => {
                    format!("Records may go on for {years} years after the age band was taken.")
                }
            });
        }
        if has(|limit| limit == Limit::Chronic) {
            notes.push(match self.stays {
                Source::Given(stays) => format!(
                    "The table says that these conditions stay, not how often they are coded \
                     again: {stays} was given."
                ),
                Source::Records => "The table says that these conditions stay; how often they are \
                                    coded again is counted in the records. Where there are few \
                                    occasions, all codes count for ten more."
                    .to_owned(),
                Source::Assumed => format!(
                    "The table says that these conditions stay, not how often they are coded \
                     again: {STAYS} is an assumption."
                ),
            });
        }
        if has(|limit| limit == Limit::CodeFirst) {
            notes.push(match self.options.code_first {
                Some(given) => format!(
                    "A code is absent with probability {given}, which was given, where all codes \
                     are that should come before it."
                ),
                None => "How often a code is absent, where all codes are that should come before \
                         it, is counted in the records."
                    .to_owned(),
            });
        }
        notes
    }
}

/// The static codes that mean a sex: those given, or what the vocabulary calls it.
fn sex(options: &PackOptions<'_>, given: &[String], words: [&str; 3], usual: &str) -> Vec<String> {
    let Some(vocabulary) = options.vocabulary else {
        return if given.is_empty() { vec![usual.to_owned()] } else { given.to_vec() };
    };
    let names = vocabulary.statics().map(|code| vocabulary.name(code));
    if !given.is_empty() {
        let given = |name: &&str| given.iter().any(|given| given == name);
        return names.filter(given).map(str::to_owned).collect();
    }
    let means = |name: &&str| {
        let lower = name.to_ascii_lowercase();
        let mut parts =
            lower.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
        let about = parts.clone().any(|part| matches!(part, "sex" | "gender"));
        about && parts.next_back().is_some_and(|last| words.contains(&last))
    };
    names.filter(means).map(str::to_owned).collect()
}

/// A code, or a list of them.
fn group(quantifier: Quantifier, codes: &[&str]) -> Expression {
    match codes {
        [only] => Expression::literal(only),
        several => {
            let several = several.iter().map(|code| Expression::literal(code)).collect();
            ExpressionKind::Group(quantifier, several).into()
        }
    }
}

/// A rule as a pack has it.
pub(crate) fn rule(
    item: RuleItem,
    code: &str,
    title: &str,
    limit: Limit,
    evidence: Option<String>,
) -> PackRule {
    PackRule {
        name: item.name.text.clone(),
        code: code.to_owned(),
        title: title.to_owned(),
        limit,
        probability: item.probability,
        evidence,
        statement: item.to_string(),
    }
}

/// A name for a rule that needs no quotes.
fn name(kind: &str, code: &str) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '.' | '_' | '-' => character,
        _ => '-',
    };
    format!("{kind}-{}", code.chars().map(plain).collect::<String>())
}
