//! Prints how long cohort definitions of OHDSI take to become names, and rules that use the names to become a proved
//! plan.
//!
//! `cargo run --release -p consequence-benches --bin definitions -- [--short]`. A hundred definitions over 5,000
//! concepts: three concept sets each, one with all below its concepts; drugs absent before the diagnosis, seen twice
//! in a year, a value between two numbers, adults. What of this each has is drawn in the shares that the OHDSI phenotype
//! library has. One rule for each definition keeps a code from its patients.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use consequence_packs::{Ancestors, CohortDefinition, Concepts, PackLimits};
use consequence_prng::{Draws, Purpose};
use consequence_record::{Kind, Scale, Vocabulary};
use consequence_rules::language::Knows;
use consequence_rules::{
    CompileOptions, LanguageLimits, ResolveOptions, RuleFile, compile, parse, resolve,
};
use serde_json::{Value, json};

const CONCEPTS: u64 = 5_000;
/// How many concepts are below each that has any.
const BELOW: u64 = 8;
/// Seconds that a hundred definitions may take.
const MOST: f64 = 10.0;

struct Chances {
    draws: consequence_prng::VisitDraws,
    at: u32,
}

impl Chances {
    fn below(&mut self, most: u64) -> u64 {
        self.at += 1;
        (self.draws.uniform(self.at) * most as f64) as u64
    }
}

/// A table of concepts, and one of what is below each tenth of them.
fn tables() -> (String, String) {
    let mut concepts = "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n".to_owned();
    let mut ancestors = "ancestor_concept_id\tdescendant_concept_id\n".to_owned();
    for concept in 1..=CONCEPTS {
        // Writing to a string cannot fail.
        let _ = writeln!(concepts, "{concept}\tconcept {concept}\tSNOMED\t{concept}");
        let below = if concept.is_multiple_of(10) { BELOW } else { 0 };
        for step in 0..=below {
            let _ = writeln!(ancestors, "{concept}\t{}", (concept + 97 * step - 1) % CONCEPTS + 1);
        }
    }
    (concepts, ancestors)
}

/// A definition of a disease: who has it, and of them who is in.
fn definition(number: u64) -> Value {
    let mut chances =
        Chances { draws: Draws::new(3).visit(number, 0, 0, Purpose::Simulation), at: 0 };
    let mut set = |id: u64, name: &str, below: bool| {
        let items: Vec<Value> = (0..20)
            .map(|_| {
                let concept = 1 + chances.below(CONCEPTS);
                let concept = if below { concept.div_ceil(10) * 10 } else { concept };
                json!({"concept": {"CONCEPT_ID": concept}, "includeDescendants": below})
            })
            .collect();
        json!({"id": id, "name": name, "expression": {"items": items}})
    };
    let sets = [set(0, "disease", true), set(1, "drug", false), set(2, "test", false)];
    let side = |days: u64, sign: i64| json!({"Days": days, "Coeff": sign});
    let drug = |from: u64, to: u64, kind: u64, count: u64| {
        json!({"Criteria": {"DrugExposure": {"CodesetId": 1}},
            "StartWindow": {"Start": side(from, -1), "End": side(to, -1)},
            "Occurrence": {"Type": kind, "Count": count}})
    };
    let value = json!({"Criteria": {"Measurement": {"CodesetId": 2,
            "ValueAsNumber": {"Op": "bt", "Value": 4.0, "Extent": 6.5}}},
        "StartWindow": {"Start": side(0, -1), "End": side(0, 1)}, "Occurrence": {"Type": 2, "Count": 1}});
    let mut rules = Vec::new();
    let mut rule = |name: &str, criteria: Value, ages: Value| {
        rules.push(json!({"name": name, "expression": {"Type": "ALL", "CriteriaList": criteria,
            "DemographicCriteriaList": ages, "Groups": []}}));
    };
    // Nearly all clauses are presence or absence; 3 in 100 are counts, a third of definitions has windows of days.
    let days = 30 * (1 + chances.below(12));
    rule("no drug before", json!([drug(days, 1, 0, 0)]), json!([]));
    if chances.below(100) < 30 {
        rule("drug in the weeks before", json!([drug(days / 2, 0, 2, 1)]), json!([]));
    }
    if chances.below(100) < 5 {
        rule("drug twice in a year", json!([drug(365, 1, 2, 2)]), json!([]));
    }
    if chances.below(100) < 13 {
        rule("value", json!([value]), json!([]));
    }
    if chances.below(100) < 20 {
        rule("adult", json!([]), json!([{"Age": {"Op": "gte", "Value": 18}}]));
    }
    json!({"ConceptSets": sets,
        "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}],
            "PrimaryCriteriaLimit": {"Type": "All"}},
        "InclusionRules": rules})
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let definitions = if short { 5 } else { 100 };
    let (concepts, ancestors) = tables();
    let codes = (1..=CONCEPTS).map(|concept| (format!("SNOMED//{concept}"), Kind::Encounter));
    let statics = [("AGE//0-18".to_owned(), Kind::Static), ("AGE//18-40".to_owned(), Kind::Static)];
    let targets = (0..definitions).map(|number| (format!("RX//{number}"), Kind::Encounter));
    let all = statics.into_iter().chain(codes).chain(targets);
    let vocabulary = Arc::new(Vocabulary::new(all).expect("names differ"));
    let scale = |code| (code, Scale { test: vocabulary.name(code).to_owned(), ..Scale::default() });
    let scales = vocabulary.codes().filter(|&code| code != vocabulary.end()).map(scale).collect();
    let texts: Vec<String> =
        (0..definitions).map(|number| definition(number as u64).to_string()).collect();

    let limits = PackLimits::default();
    let began = Instant::now();
    let (mut files, mut unsaid): (Vec<RuleFile>, usize) = (Vec::new(), 0);
    for (number, text) in texts.iter().enumerate() {
        let name = format!("definition-{number}.json");
        let read = CohortDefinition::read(&name, text.as_bytes(), &limits).expect("a definition");
        let below = Ancestors::read(
            "CONCEPT_ANCESTOR",
            ancestors.as_bytes(),
            &read.ancestors(),
            None,
            &limits,
        )
        .expect("ancestors");
        let wanted = read.concepts(Some(&below));
        let table =
            Concepts::read("CONCEPT", concepts.as_bytes(), &wanted, &limits).expect("concepts");
        let named = read.named(&table, Some(&below), Some(&vocabulary)).expect("names");
        unsaid += named.unsaid.len();
        let cohort = &named.groups.last().expect("a cohort").name;
        let text = format!("{}\nrule of-{number}: {cohort} => not RX//{number}\n", named.text());
        files.push(parse(&name, text, &LanguageLimits::default()).expect("names are rules"));
    }
    let named = began.elapsed().as_secs_f64();
    let options = ResolveOptions {
        knows: Some(Knows { scales, ..Knows::default() }),
        ..ResolveOptions::default()
    };
    let rules =
        resolve(&files, Some(Arc::clone(&vocabulary)), &options).expect("known codes").rules;
    let resolved = began.elapsed().as_secs_f64();
    let plan = compile(Arc::new(rules), &CompileOptions::default()).expect("they can be kept");
    let compiled = began.elapsed().as_secs_f64();
    println!(
        "{definitions} definitions, {unsaid} parts not said: read and named in {named:.2} s, {} rules resolved in \
         {:.2} s, compiled and proved in {:.2} s ({} clauses); {compiled:.2} s in all",
        plan.rules().len(),
        resolved - named,
        compiled - resolved,
        plan.clauses().count(),
    );
    if !short && compiled > MOST {
        std::process::exit(1);
    }
}
