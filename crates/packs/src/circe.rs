//! Cohort definitions of OHDSI, in the JSON of Circe.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use consequence_record::Vocabulary;
use consequence_rules::Window;
use consequence_rules::language::Expression;
use serde_json::Value;

use crate::ancestors::Ancestors;
use crate::concepts::Concepts;
use crate::criteria::{Criteria, Failed, is_empty};
use crate::error::{PackError, shown};
use crate::names::{NamedGroups, PlainNames, named};
use crate::part::Part;
use crate::table::{PackLimits, read_text};

const NOTES: [&str; 4] = [
    "The names are true of visits: a cohort's of the visit at which a record enters it.",
    "An event is of its visit, and counts as of the day on which that begins. Of the index day, earlier encounters are seen \
     and later ones are not.",
    "Visits are counted, not rows. Observation periods are not known: all of a record counts.",
    "Values are compared in the cohort's own units, as they are stored, in 32 bits.",
];

/// A cohort definition that was read.
///
/// ```
/// use consequence_packs::{CohortDefinition, Concepts, PackLimits};
///
/// let text = r#"{"ConceptSets": [{"id": 0, "name": "Gout", "expression": {"items": [
///         {"concept": {"CONCEPT_ID": 440674}}]}}],
///     "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}]}}"#;
/// let limits = PackLimits::default();
/// let definition = CohortDefinition::read("seen-gout.json", text.as_bytes(), &limits)?;
/// let table = "concept_id\tvocabulary_id\tconcept_code\n440674\tSNOMED\t90560007\n";
/// let wanted = definition.concepts(None);
/// let concepts = Concepts::read("CONCEPT.csv", table.as_bytes(), &wanted, &limits)?;
/// let named = definition.named(&concepts, None, None)?;
/// let statements: Vec<&str> = named.groups.iter().map(|group| &*group.statement).collect();
/// assert_eq!(statements, ["let gout = SNOMED//90560007", "let seen-gout-entry = gout", "let seen-gout = seen-gout-entry"]);
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CohortDefinition {
    file: String,
    name: String,
    root: Value,
    sets: Vec<ConceptSet>,
}

#[derive(Clone, Debug)]
struct ConceptSet {
    id: i64,
    name: String,
    items: Vec<ConceptItem>,
}

#[derive(Clone, Copy, Debug)]
struct ConceptItem {
    concept: u64,
    excluded: bool,
    below: bool,
    mapped: bool,
}

impl CohortDefinition {
    /// Reads a definition, plain or gzip: the JSON of a cohort expression, or of a cohort that has one.
    ///
    /// # Errors
    /// If the file is damaged or is no such definition.
    pub fn read(file: &str, input: impl Read, limits: &PackLimits) -> Result<Self, PackError> {
        let text = read_text(file, input, limits)?;
        let parse = |text: &str| {
            serde_json::from_str::<Value>(text).map_err(|cause| PackError::Definition {
                file: file.to_owned(),
                line: cause.line(),
                what: format!("the JSON is damaged: {cause}"),
            })
        };
        let mut root = parse(&text)?;
        let stem = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default().to_owned();
        let name = root.get("name").and_then(Value::as_str).map_or(stem, str::to_owned);
        // A web service wraps the expression, at times as a text.
        root = match root.get("expression").cloned() {
            Some(Value::String(inner)) => parse(&inner)?,
            Some(inner) => inner,
            None => root,
        };
        let whole = Part { file, place: String::new(), value: &root };
        if root.get("PrimaryCriteria").is_none() {
            let what = "no `PrimaryCriteria`; expected a cohort definition of OHDSI".to_owned();
            return Err(PackError::Definition { file: file.to_owned(), line: 1, what });
        }
        let mut sets: Vec<ConceptSet> = Vec::new();
        for part in whole.list("ConceptSets")? {
            let set = ConceptSet::read(&part)?;
            if sets.iter().any(|before| before.id == set.id) {
                return Err(part.wrong("a second concept set with this number"));
            }
            sets.push(set);
        }
        Ok(Self { file: file.to_owned(), name, root, sets })
    }

    /// The concepts whose concepts below them are meant too.
    pub fn ancestors(&self) -> BTreeSet<u64> {
        let items = self.sets.iter().flat_map(|set| &set.items);
        items.filter(|item| item.below).map(|item| item.concept).collect()
    }

    /// The concepts that are meant.
    pub fn concepts(&self, ancestors: Option<&Ancestors>) -> BTreeSet<u64> {
        self.sets.iter().flat_map(|set| set.members(ancestors)).collect()
    }

    /// The names of the definition: its concept sets, its entry events, its inclusion rules, and the cohort
    /// itself. With a vocabulary, concept sets have the codes that it knows.
    ///
    /// # Errors
    /// If a part of the definition makes no sense.
    pub fn named(
        &self,
        concepts: &Concepts,
        ancestors: Option<&Ancestors>,
        known: Option<&Vocabulary>,
    ) -> Result<NamedGroups, PackError> {
        let named = NamedGroups::new("OHDSI cohort definition", &self.file, &NOTES);
        let mut writer =
            Writer { definition: self, named, names: PlainNames::default(), sets: BTreeMap::new() };
        let cohort = writer.take(&self.name, "cohort");
        let set_names: Vec<String> =
            self.sets.iter().map(|set| writer.take(&set.name, "concepts")).collect();
        for (set, name) in self.sets.iter().zip(set_names) {
            writer.set(set, &name, concepts, ancestors, known)?;
        }
        writer.cohort(&cohort)?;
        writer.named.checked()
    }
}

impl ConceptSet {
    fn read(part: &Part<'_>) -> Result<Self, PackError> {
        let mut items = Vec::new();
        for item in part.need("expression")?.list("items")? {
            let id = item.need("concept")?.need("CONCEPT_ID")?;
            items.push(ConceptItem {
                concept: u64::try_from(id.whole()?).map_err(|_| id.wrong("expected a concept"))?,
                excluded: item.truth("isExcluded")?,
                below: item.truth("includeDescendants")?,
                mapped: item.truth("includeMapped")?,
            });
        }
        let name = part.get("name").map(|name| name.text()).transpose()?.unwrap_or_default();
        Ok(Self { id: part.need("id")?.whole()?, name: name.to_owned(), items })
    }

    /// The concepts of the set: those of its items, less those of items that are excluded.
    fn members(&self, ancestors: Option<&Ancestors>) -> BTreeSet<u64> {
        let of = |excluded: bool| -> BTreeSet<u64> {
            let items = self.items.iter().filter(|item| item.excluded == excluded);
            let with_below = |item: &ConceptItem| {
                let below = ancestors.filter(|_| item.below).map(|table| table.below(item.concept));
                std::iter::once(item.concept).chain(below.into_iter().flatten()).collect::<Vec<_>>()
            };
            items.flat_map(with_below).collect()
        };
        &of(false) - &of(true)
    }
}

struct Writer<'a> {
    definition: &'a CohortDefinition,
    named: NamedGroups,
    names: PlainNames,
    sets: BTreeMap<i64, String>,
}

/// What entry events are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// Codes, and no more.
    Codes,
    /// The first of some codes: there is one in a record.
    Single,
    Other,
}

/// What became of an inclusion rule.
enum Rule {
    /// A name for a formula about the index event.
    AtIndex(String),
    /// A name for a formula about the later event, the index event in it.
    Later(String),
    Unsaid(String),
}

impl Writer<'_> {
    fn take(&mut self, title: &str, otherwise: &str) -> String {
        let plain = title.to_lowercase();
        self.names.take(if plain.contains(char::is_alphanumeric) { &plain } else { otherwise })
    }

    fn set(
        &mut self,
        set: &ConceptSet,
        name: &str,
        concepts: &Concepts,
        ancestors: Option<&Ancestors>,
        known: Option<&Vocabulary>,
    ) -> Result<(), PackError> {
        let what = format!("concept set {} \"{}\"", set.id, set.name);
        let mut remarks = Vec::new();
        let below = set.items.iter().filter(|item| item.below).count();
        if below > 0 && ancestors.is_none() {
            let why =
                format!("what is below {below} of its concepts: CONCEPT_ANCESTOR was not given");
            self.named.not_said(&what, &why);
            remarks.push(format!("without {why}"));
        }
        let mapped = set.items.iter().filter(|item| item.mapped).count();
        if mapped > 0 {
            let why = format!("what is mapped to {mapped} of its concepts");
            self.named.not_said(&what, &why);
            remarks.push(format!("without {why}"));
        }
        let members = set.members(ancestors);
        let mut undescribed = 0;
        let mut codes: BTreeSet<String> = BTreeSet::new();
        for &id in &members {
            // An importer that knows no more of a concept than its number names it so.
            let number = || format!("OMOP//{id}");
            undescribed += usize::from(concepts.code(id).is_none());
            codes.insert(concepts.code(id).map_or_else(number, str::to_owned));
        }
        if undescribed > 0 {
            remarks.push(format!(
                "{undescribed} concepts are not in the table of concepts: they go by number"
            ));
        }
        if let Some(known) = known {
            let all = codes.len();
            codes.retain(|code| known.code(code).is_some());
            remarks.push(format!("{} of {all} codes are known", codes.len()));
        }
        let items: Vec<Expression> = codes.iter().map(|code| self.names.code(code)).collect();
        let values = if items.is_empty() { vec![Expression::any(items)] } else { items };
        self.named.define(name, what, remarks, values)?;
        self.sets.insert(set.id, name.to_owned());
        Ok(())
    }

    /// Entry events, inclusion rules, and the cohort.
    fn cohort(&mut self, cohort: &str) -> Result<(), PackError> {
        let definition = self.definition;
        let whole = Part { file: &definition.file, place: String::new(), value: &definition.root };
        let primary = whole.need("PrimaryCriteria")?;
        let entry = self.entry(cohort, &primary)?;
        let kind = entry.as_ref().map_or(Entry::Other, |(_, kind)| *kind);
        let plain = entry.as_ref().filter(|_| kind == Entry::Codes).map(|(name, _)| named(name));
        let mut rules: Vec<(String, Part<'_>)> = Vec::new();
        if let Some(part) = whole.get("AdditionalCriteria") {
            rules.push(("additional criteria".to_owned(), part));
        }
        for (index, rule) in whole.list("InclusionRules")?.into_iter().enumerate() {
            let name = rule.get("name").map(|name| name.text()).transpose()?.unwrap_or_default();
            let name = if name.is_empty() {
                format!("inclusion rule {}", index + 1)
            } else {
                name.to_owned()
            };
            rules.push((name, rule.need("expression")?));
        }
        let mut made = Vec::new();
        for (name, part) in &rules {
            if !is_empty(part)? {
                made.push(self.rule(name, part, plain.as_ref())?);
            }
        }
        let once = self.limits(&whole, &primary, kind, made.is_empty())?;
        self.rest(&whole)?;
        let Some((entry, _)) = entry else {
            let why = "its entry events are not said";
            self.named.not_said(format!("cohort \"{}\"", definition.name), why);
            return Ok(());
        };
        self.whole(cohort, &entry, once, &made)
    }

    /// The name of the entry events and what they are; none where they are not said.
    fn entry(
        &mut self,
        cohort: &str,
        primary: &Part<'_>,
    ) -> Result<Option<(String, Entry)>, PackError> {
        let list = primary.list("CriteriaList")?;
        if list.is_empty() {
            return Err(primary.wrong("no entry event"));
        }
        let mut criteria = Criteria { sets: &self.sets, remarks: Vec::new() };
        let (mut events, mut failed) = (Vec::new(), Vec::new());
        let (mut plain, mut first) = (true, false);
        for part in &list {
            let made = criteria.criterion(part).and_then(|criterion| {
                plain &= criterion.is_plain();
                first = criterion.first;
                criteria.now(&criterion)
            });
            match made {
                Ok(event) => events.push(event),
                Err(Failed::Unsaid(why)) => {
                    failed.push((format!("entry event `{}`", part.place), why))
                }
                Err(Failed::Wrong(error)) => return Err(error),
            }
        }
        let remarks = criteria.remarks;
        let all = failed.is_empty();
        for (what, why) in failed {
            self.named.not_said(what, why);
        }
        if let Some(days) = primary.get("ObservationWindow") {
            for key in ["PriorDays", "PostDays"] {
                let count = days.get(key).map(|count| count.whole()).transpose()?.unwrap_or(0);
                if count > 0 {
                    let what = format!("`{}.{key}` {count}", days.place);
                    self.named.not_said(what, "observation periods are not known");
                }
            }
        }
        if !all {
            return Ok(None);
        }
        let name = self.take(&format!("{cohort} entry"), "entry");
        let values = if plain { events } else { vec![Expression::any(events)] };
        self.named.define(
            &name,
            format!("entry events of {}", self.definition.name),
            remarks,
            values,
        )?;
        let kind = match (plain, first && list.len() == 1) {
            (true, _) => Entry::Codes,
            (false, true) => Entry::Single,
            (false, false) => Entry::Other,
        };
        Ok(Some((name, kind)))
    }

    fn rule(
        &mut self,
        title: &str,
        part: &Part<'_>,
        index: Option<&Expression>,
    ) -> Result<Rule, PackError> {
        let mut criteria = Criteria { sets: &self.sets, remarks: Vec::new() };
        let made = match (only(part)?, index) {
            (Some(one), Some(index)) => match criteria.ahead(&one, index) {
                Ok(Some(formula)) => Ok((formula, true)),
                Ok(None) => criteria.group(part).map(|formula| (formula, false)),
                Err(failed) => Err(failed),
            },
            _ => criteria.group(part).map(|formula| (formula, false)),
        };
        let mut remarks = criteria.remarks;
        remarks.dedup();
        match made {
            Ok((formula, later)) => {
                let name = self.take(title, "rule");
                if later {
                    remarks.push(
                        "true of the later of the two events, the entry event in it".to_owned(),
                    );
                }
                self.named.define(
                    &name,
                    format!("inclusion rule \"{title}\""),
                    remarks,
                    vec![formula],
                )?;
                Ok(if later { Rule::Later(name) } else { Rule::AtIndex(name) })
            }
            Err(Failed::Unsaid(why)) => {
                self.named.not_said(format!("inclusion rule \"{title}\""), why);
                Ok(Rule::Unsaid(title.to_owned()))
            }
            Err(Failed::Wrong(error)) => Err(error),
        }
    }

    /// Whether only the first entry event counts, where more than one can be.
    fn limits(
        &mut self,
        whole: &Part<'_>,
        primary: &Part<'_>,
        entry: Entry,
        no_rules: bool,
    ) -> Result<bool, PackError> {
        if entry == Entry::Single {
            return Ok(false);
        }
        let observed = primary.get("ObservationWindow");
        let observed =
            observed.map(|days| days.get("PriorDays").map_or(Ok(0), |count| count.whole()));
        let observed = observed.transpose()?.unwrap_or(0) > 0;
        let mut once = false;
        let limits = [
            (primary, "PrimaryCriteriaLimit", true),
            (whole, "QualifiedLimit", no_rules),
            (whole, "ExpressionLimit", no_rules),
        ];
        for (part, key, of_all) in limits {
            let Some(limit) = part.get(key) else { continue };
            // This one is of events that meet additional criteria, and is left alone without those.
            if key == "QualifiedLimit" && whole.get("AdditionalCriteria").is_none() {
                continue;
            }
            let kind = limit.get("Type").map(|kind| kind.text()).transpose()?.unwrap_or("All");
            match kind {
                "All" => {}
                // After the first alone is left there is nothing to choose from.
                _ if once => {}
                "First" if of_all && entry == Entry::Codes && !observed => once = true,
                _ => {
                    let what = format!("`{}` {}", limit.place, shown(kind));
                    self.named.not_said(what, "the name is true of every such visit of a record");
                }
            }
        }
        Ok(once)
    }

    /// Lists what the definition says of anything but who enters, and when.
    fn rest(&mut self, whole: &Part<'_>) -> Result<(), PackError> {
        for (key, part) in whole.keys()? {
            match key {
                "ConceptSets" | "PrimaryCriteria" | "AdditionalCriteria" | "InclusionRules"
                | "QualifiedLimit" | "ExpressionLimit" | "cdmVersionRange" | "Title" => {}
                "EndStrategy" | "CollapseSettings" | "CensoringCriteria" => {
                    let why = "the name is true of visits, and does not tell how long a record stays in the cohort";
                    self.named.not_said(format!("`{}`", part.place), why);
                }
                "CensorWindow" => {
                    self.named.not_said(format!("`{}`", part.place), "dates of the calendar");
                }
                _ => {
                    self.named.not_said(format!("`{}`", shown(&part.place)), "it is not known here")
                }
            }
        }
        Ok(())
    }

    /// The name of the cohort.
    fn whole(
        &mut self,
        cohort: &str,
        entry: &str,
        once: bool,
        rules: &[Rule],
    ) -> Result<(), PackError> {
        let title = format!("cohort \"{}\"", self.definition.name);
        if let [Rule::Later(name)] = rules {
            let remarks = vec!["true of the later of the two events".to_owned()];
            if once {
                let why = "only a first entry event counts, and the name is true after every one";
                self.named.not_said(&title, why);
            }
            return self.named.define(cohort, title, remarks, vec![named(name)]);
        }
        let (mut parts, mut remarks) = (vec![named(entry)], Vec::new());
        if once {
            parts.push(named(entry).within(Window::past()).not());
        }
        for rule in rules {
            match rule {
                Rule::AtIndex(name) => parts.push(named(name)),
                Rule::Later(name) => {
                    remarks.push(format!("wider: without `{name}`, which is true of a later visit"))
                }
                Rule::Unsaid(title) => {
                    remarks.push(format!("wider: without the inclusion rule \"{title}\""))
                }
            }
        }
        for remark in &remarks {
            self.named.not_said(&title, remark);
        }
        self.named.define(cohort, title, remarks, vec![Expression::all(parts)])
    }
}

/// The one criterion of a group that is one criterion.
fn only<'p>(part: &Part<'p>) -> Result<Option<Part<'p>>, PackError> {
    let others = part.list("DemographicCriteriaList")?.len() + part.list("Groups")?.len();
    let kind = part.need("Type")?;
    let count = part.get("Count").map(|count| count.whole()).transpose()?;
    let one_is_all = matches!((kind.text()?, count), ("ALL" | "ANY", _) | ("AT_LEAST", Some(1)));
    let mut list = part.list("CriteriaList")?;
    Ok(if others == 0 && one_is_all && list.len() == 1 { list.pop() } else { None })
}
