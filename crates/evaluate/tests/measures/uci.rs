//! The real diabetes cohort, as others measured it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_enforce::Enforcer;
use consequence_evaluate::{
    Independent, ReplayOptions, likelihood, likelihood_with_rules, static_table,
};
use consequence_model::{CodeOrder, Markov};
use consequence_record::{Cohort, Kind, Record, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use flate2::read::GzDecoder;
use serde_json::Value;

struct Uci {
    cohort: Cohort,
    codes: CodeOrder,
    train: Vec<usize>,
    test: Vec<usize>,
    /// The rules found by others, in our language.
    published: Vec<String>,
}

fn json(folder: &Path, name: &str) -> Value {
    serde_json::from_reader(BufReader::new(File::open(folder.join(name)).unwrap())).unwrap()
}

fn read() -> Option<Uci> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/uci");
    if !folder.exists() {
        eprintln!("SKIPPED: ../shared/reference/uci is missing");
        return None;
    }
    let kind = |name: &str| match name.starts_with("AGE//") || name.starts_with("SEX//") {
        true => Kind::Static,
        false => Kind::Encounter,
    };
    let numbered = json(&folder, "uci_vocab.json");
    let mut names: Vec<(&String, u64)> = numbered
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, number)| (name, number.as_u64().unwrap()))
        .collect();
    names.sort_by_key(|(_, number)| *number);
    let vocabulary = Vocabulary::new(names.iter().map(|(name, _)| (name, kind(name)))).unwrap();
    let of_subject = json(&folder, "uci_split.json");
    let rules = json(&folder, "uci_rules.json");
    let published = rules["text"].as_array().unwrap().iter();
    let published = published
        .map(|text| text.as_str().unwrap().replace("@[1]", " in static").replace('!', "not "))
        .collect();
    let mut uci = Uci {
        cohort: Cohort::default(),
        codes: CodeOrder::natural(Arc::new(vocabulary)),
        train: Vec::new(),
        test: Vec::new(),
        published,
    };
    let records = File::open(folder.join("uci_records.jsonl.gz")).unwrap();
    for line in BufReader::new(GzDecoder::new(records)).lines() {
        let record: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let visit = |codes: &Value| {
            let codes = codes.as_array().unwrap().iter();
            let code = |name: &Value| uci.codes.vocabulary().code(name.as_str().unwrap()).unwrap();
            codes.map(code).collect()
        };
        let encounters = record["visits"].as_array().unwrap().iter().map(visit);
        let visits = std::iter::once(visit(&record["static"])).chain(encounters).collect();
        let id = record["id"].as_str().unwrap();
        match of_subject[id].as_str().unwrap() {
            "train" => uci.train.push(uci.cohort.len()),
            "test" => uci.test.push(uci.cohort.len()),
            _ => {}
        }
        uci.cohort.push(id, &Record::new(visits));
    }
    Some(uci)
}

#[test]
fn baselines_cost_what_others_measured_and_markov_less() {
    let Some(Uci { cohort, codes, train, test, .. }) = read() else { return };
    let options = ReplayOptions::default();
    let model = Independent::learn(codes.clone(), &cohort, &train, 100).unwrap();
    let independent = likelihood(&model, &cohort, &test, &options).unwrap();
    eprintln!("independent codes: {independent}");
    assert_eq!((independent.measured, independent.positives.total()), (7_193, 65_100));
    assert_eq!(independent.nats.static_codes.round(), 24_613.0);
    assert_eq!(independent.nats.encounter_codes.round(), 167_132.0);
    assert!((independent.perplexity.unwrap() - 20.870).abs() < 5e-4);

    // The anchors' 13,863 is age times sex, each by itself; one table of both is better.
    let table = static_table(&cohort, codes.vocabulary(), &train, &test).unwrap();
    assert_eq!((table.nats.round(), table.unseen), (13_823.0, 0));

    let markov = Markov::learn(codes, &cohort, &train, 100);
    let markov = likelihood(&markov, &cohort, &test, &options).unwrap();
    eprintln!("Markov: {markov}");
    assert_eq!((markov.measured, markov.positives), (7_193, independent.positives));
    assert!(markov.nats.static_codes < 1.001 * table.nats);
    assert!(markov.nats.encounter_codes < 147_000.0);
    assert!(markov.nats.end < 5_750.0);
}

#[test]
fn the_mined_rules_forbid_one_real_patient() {
    let Some(uci) = read() else { return };
    let rules: String = (0..)
        .zip(&uci.published)
        .map(|(number, formula)| format!("rule r{number}: {formula}\n"))
        .collect();
    let vocabulary = Arc::clone(uci.codes.vocabulary());
    let rules = RuleSet::parse(&rules, Some(Arc::clone(&vocabulary))).unwrap();
    let plan = compile(Arc::new(rules), &CompileOptions::default()).unwrap();
    let codes = CodeOrder::new(vocabulary, plan.order().clone());
    let markov = Markov::learn(codes, &uci.cohort, &uci.train, 100);
    let (enforcer, options) = (Enforcer::new(&plan), ReplayOptions::default());
    let ruled = likelihood_with_rules(&markov, &enforcer, &uci.cohort, &uci.test, &options);
    let ruled = ruled.unwrap();
    eprintln!("Markov with the 29 rules: {ruled}");
    assert_eq!((ruled.forbidden, ruled.infinite, ruled.dead_ends), (1, 0, 0));
    assert_eq!(ruled.broken.iter().map(|broken| broken.records).sum::<u64>(), 1);
    // What rules force is no longer paid for.
    let free = likelihood(&markov, &uci.cohort, &uci.test, &options).unwrap();
    assert!(ruled.nats.total() < free.nats.total());
}
