//! The tabular list of ICD-10-CM, made up and real.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;

use consequence_packs::{
    CodeList, ExpertTable, Level, Limit, Pack, PackError, PackLimits, PackOptions, System,
};
use consequence_record::{Cohort, Kind, Record, Selection, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_testing::shared;

const LIST: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular>
  <version>2026</version>
  <introduction><introSection><title>Excludes1</title><instruction><note>No code (A00)</note></instruction></introSection></introduction>
  <chapter>
    <name>4</name>
    <desc>Endocrine diseases (E00-E89)</desc>
    <excludes1>
      <note>transitory disorders specific to newborn (P70-P74)</note>
      <note>certain disorders - see elsewhere</note>
    </excludes1>
    <section id="E08-E13">
      <desc>Diabetes mellitus (E08-E13)</desc>
      <diag>
        <name>E10</name>
        <desc>Type 1 diabetes mellitus</desc>
        <excludes1><note>type 2 diabetes mellitus (E11.-)</note></excludes1>
        <diag><name>E10.9</name><desc>Type 1 diabetes &amp; no more</desc></diag>
        <diag><name>E10.1</name><desc>Type 1 diabetes with ketoacidosis</desc></diag>
      </diag>
      <diag>
        <name>E11</name>
        <desc>Type 2 diabetes mellitus</desc>
        <excludes1><note>type 1 diabetes mellitus (E10.-)</note></excludes1>
        <diag><name>E11.9</name><desc>Type 2 diabetes without complications</desc></diag>
      </diag>
    </section>
  </chapter>
  <chapter>
    <name>9</name>
    <desc>Circulatory diseases (I00-I99)</desc>
    <section id="I30-I5A">
      <diag>
        <name>I43</name>
        <desc>Cardiomyopathy in diseases classified elsewhere</desc>
        <codeFirst><note>underlying disease (E10-E11)</note><note>gout (M10.0-)</note></codeFirst>
      </diag>
      <diag>
        <name>I39</name>
        <desc>Endocarditis in diseases classified elsewhere</desc>
        <codeFirst><note>underlying disease, such as:</note><note>Q fever (A78)</note></codeFirst>
      </diag>
    </section>
  </chapter>
  <chapter>
    <name>15</name>
    <desc>Pregnancy (O00-O9A)</desc>
    <notes><note>CODES FROM THIS CHAPTER ARE FOR USE ONLY ON MATERNAL RECORDS, NEVER ON NEWBORN RECORDS</note></notes>
    <section id="O30-O48">
      <diag>
        <name>O31</name>
        <desc>Complications of multiple gestation</desc>
        <sevenChrDef><extension char="0">one</extension><extension char="1">two</extension></sevenChrDef>
        <diag><name>O31.1</name><desc>Continuing pregnancy</desc></diag>
      </diag>
    </section>
  </chapter>
  <chapter>
    <name>16</name>
    <desc>Perinatal period (P00-P96)</desc>
    <notes><note>Codes from this chapter are for use on newborn records only, never on maternal records</note></notes>
    <section id="P70-P74"><diag><name>P70</name><desc>Transitory</desc></diag></section>
  </chapter>
</ICD10CM.tabular>
"#;

fn list() -> ExpertTable {
    ExpertTable::read_icd10("list.xml", LIST.as_bytes(), &PackLimits::default()).unwrap()
}

fn vocabulary(codes: &[&str]) -> Arc<Vocabulary> {
    let statics = ["SEX//F", "SEX//M", "AGE//0-0", "AGE//18+"].map(|name| (name, Kind::Static));
    let codes = codes.iter().map(|name| (*name, Kind::Encounter));
    Arc::new(Vocabulary::new(statics.into_iter().chain(codes)).unwrap())
}

const CODES: [&str; 7] =
    ["DX//E10.9", "DX//E10.1", "DX//E11.9", "DX//I43", "DX//O31.1X0", "DX//P70", "RX//1"];

fn statements(pack: &Pack) -> Vec<&str> {
    pack.rules.iter().map(|rule| rule.statement.as_str()).collect()
}

#[test]
fn notes_hold_for_all_codes_below_them() {
    let known = vocabulary(&CODES);
    let options =
        PackOptions { vocabulary: Some(&known), code_first: Some(0.99), ..PackOptions::default() };
    let pack = list().pack(&options).unwrap();
    assert_eq!(
        statements(&pack),
        [
            "rule female-only-DX//O31.1X0: SEX//M in static => not DX//O31.1X0",
            "rule newborn-only-DX//P70: AGE//18+ in static => not DX//P70",
            "rule excludes1-E10: any of DX//E10.1, DX//E10.9 => not DX//E11.9",
            "rule excludes1-chapter-4: any of DX//E10.1, DX//E10.9, DX//E11.9 => not DX//P70",
            "rule code-first-DX//I43: none of DX//E10.1, DX//E10.9, DX//E11.9 => not DX//I43 with \
             probability 0.99",
        ]
    );
    // The other direction is the same rule; one note names no codes, and one examples.
    assert_eq!((pack.repeated, list().passed_over(), pack.limits), (1, 2, 6));
    assert_eq!((pack.dialects.len(), pack.dialects[0].dotted), (1, true));
    let rules = RuleSet::parse(&pack.text(), Some(known)).unwrap();
    compile(Arc::new(rules), &CompileOptions::default()).unwrap();
}

#[test]
fn categories_are_what_whole_notes_are_about() {
    let known = vocabulary(&["ICD10CM//E10", "ICD10CM//E11", "ICD10CM//O31"]);
    let pack =
        list().pack(&PackOptions { vocabulary: Some(&known), ..PackOptions::default() }).unwrap();
    assert_eq!(pack.dialects[0].level, Level::Categories);
    assert_eq!(
        statements(&pack),
        [
            "rule female-only-ICD10CM//O31: SEX//M in static => not ICD10CM//O31",
            "rule excludes1-E10: ICD10CM//E10 => not ICD10CM//E11",
        ]
    );
}

#[test]
fn seventh_characters_are_listed() {
    let codes = CodeList::read("list.xml", LIST.as_bytes(), &PackLimits::default()).unwrap();
    assert_eq!((codes.system(), codes.len()), (System::Icd10, 8));
    assert_eq!(codes.title("ICD10CM//O31.1XX1"), Some("Continuing pregnancy"));
    assert_eq!(codes.title("ICD10CM//E10.9"), Some("Type 1 diabetes & no more"));
    assert_eq!(codes.title("ICD10CM//E10"), None, "a category is no code");
}

/// Records of some visits, by the names of their codes.
fn cohort(known: &Vocabulary, records: &[&[&[&str]]]) -> Cohort {
    let mut cohort = Cohort::default();
    for (number, visits) in records.iter().enumerate() {
        let visit = |names: &&[&str]| names.iter().map(|name| known.code(name).unwrap()).collect();
        let visits = std::iter::once(Vec::new()).chain(visits.iter().map(visit)).collect();
        cohort.push(&number.to_string(), &Record::new(visits));
    }
    cohort
}

#[test]
fn records_give_probabilities_and_break_notes() {
    let known = vocabulary(&CODES);
    let records: Vec<&[&[&str]]> = vec![
        &[&["DX//E10.9", "DX//I43"], &["DX//I43"]],
        &[&["DX//E10.9", "DX//P70"], &[]],
        &[&["DX//E11.9"], &["DX//E11.9", "DX//I43"]],
    ];
    let cohort = cohort(&known, &records);
    let options = PackOptions {
        vocabulary: Some(&known),
        records: Some(Selection::all(&cohort)),
        ..PackOptions::default()
    };
    let pack = list().pack(&options).unwrap();
    let first = pack.rules.iter().find(|rule| rule.limit == Limit::CodeFirst).unwrap();
    // With a diabetes in 2 of 3 visits, and alone in 1 of the 2 visits without one.
    assert_eq!(first.probability, Some(0.5));
    assert!(pack.text().contains("2 of 3 visits with it have one of them"), "{}", pack.text());
    let broken: Vec<&str> = pack.broken.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!(broken, ["excludes1-chapter-4"]);
    assert!(pack.text().contains("\n# rule excludes1-chapter-4: "), "{}", pack.text());
    assert!(pack.rules.iter().any(|rule| rule.name == "excludes1-E10"));
    // Without records or a probability there is none to give.
    let pack = list().pack(&PackOptions { records: None, ..options }).unwrap();
    assert_eq!((pack.without_probability, pack.broken.len()), (1, 0));
}

#[test]
fn a_soft_rule_never_depends_on_itself() {
    let text = LIST.replace(
        "<name>E11</name>",
        "<name>E11</name><codeFirst><note>cardiomyopathy (I43)</note></codeFirst>",
    );
    let table = ExpertTable::read_icd10("l", text.as_bytes(), &PackLimits::default());
    // What a note is about stands before it.
    assert!(table.is_ok());
    let known = vocabulary(&CODES);
    let options =
        PackOptions { vocabulary: Some(&known), code_first: Some(0.9), ..PackOptions::default() };
    let pack = table.unwrap().pack(&options).unwrap();
    assert_eq!(pack.cyclic, 1);
    let rules = RuleSet::parse(&pack.text(), Some(known)).unwrap();
    compile(Arc::new(rules), &CompileOptions::default()).unwrap();
}

#[test]
fn what_is_no_list_is_refused() {
    let refused = |text: &str| {
        ExpertTable::read_icd10("l.xml", text.as_bytes(), &PackLimits::default())
            .unwrap_err()
            .to_string()
    };
    assert!(refused("code,title\n1,2\n").contains("l.xml:1: text outside any element"));
    assert!(refused("<html><body/></html>").contains("`html` is no tabular list of ICD-10-CM"));
    assert!(refused(&LIST[..LIST.len() / 2]).contains("is it cut short?"));
    assert!(refused("<ICD10CM.tabular></ICD10CM.tabular>").contains("no rows"));
    assert!(refused(&LIST.replace("E08-E13\"", "?\"")).contains("a section without its codes"));
    assert!(refused(&LIST.replace(">E10<", ">diabetes<")).contains("`diabetes` is no code"));
    assert!(refused(&LIST.replace(" (E00-E89)", "")).contains("before the codes that it is about"));
    assert!(
        refused("<!DOCTYPE a [<!ENTITY b \"&b;&b;\">]><ICD10CM.tabular/>")
            .contains("document type")
    );
    let few = PackLimits { codes: 3, ..PackLimits::default() };
    let fault = ExpertTable::read_icd10("l.xml", LIST.as_bytes(), &few).unwrap_err();
    assert_eq!(fault.to_string(), "l.xml: more than 3 codes; is this the right file?");
    let fault = list().pack(&PackOptions::default()).unwrap_err();
    assert!(matches!(fault, PackError::NoVocabulary { .. }), "{fault}");
}

#[test]
fn the_published_list() {
    let name = "data/rules/icd/icd10cm-tabular-2026-04-01.xml.gz";
    let Some(path) = shared(name) else { return };
    let open = || File::open(&path).unwrap();
    let table = ExpertTable::read_icd10(name, open(), &PackLimits::default()).unwrap();
    assert_eq!((table.version(), table.about()), (Some(2026), "ICD-10-CM tabular list, 2026"));
    assert_eq!((table.statements(), table.passed_over()), (5_256, 517));
    // Those of a newer year are nearly those of an older one.
    let codes = table.codes().unwrap();
    assert_eq!(codes.len(), 74_795);
    let ccir = shared("data/rules/hcup/CCIR_v2023-1.csv.gz").unwrap();
    let older = CodeList::read("ccir", File::open(ccir).unwrap(), &PackLimits::default()).unwrap();
    assert_eq!(older.len(), 74_549);

    let diagnoses = shared("data/inpatient/mimic4_demo/diagnoses_icd.csv").unwrap();
    let mut visits: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(diagnoses).unwrap();
    for row in reader.records() {
        let row = row.unwrap();
        if &row[4] == "10" {
            visits
                .entry(row[1].to_owned())
                .or_default()
                .push(format!("DIAGNOSIS//ICD//10//{}", row[3].trim()));
        }
    }
    let mut names: Vec<&str> = visits.values().flatten().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let known = vocabulary(&names);
    assert_eq!(names.len(), 734);
    let mut cohort = Cohort::default();
    for (id, names) in &visits {
        let codes = names.iter().map(|name| known.code(name).unwrap()).collect();
        cohort.push(id, &Record::new(vec![vec![], codes]));
    }
    let options = PackOptions {
        vocabulary: Some(&known),
        records: Some(Selection::all(&cohort)),
        ..PackOptions::default()
    };
    let pack = table.pack(&options).unwrap();
    assert_eq!(pack.dialects[0].prefix, "DIAGNOSIS//ICD//10//");
    let count = |limit| pack.rules.iter().filter(|rule| rule.limit == limit).count();
    let counts = [Limit::Excludes, Limit::CodeFirst, Limit::Female].map(count);
    assert_eq!((counts, pack.broken.len(), pack.cyclic), ([129, 13, 0], 9, 0));
    let rules = RuleSet::parse(&pack.text(), Some(known)).unwrap();
    compile(Arc::new(rules), &CompileOptions::default()).unwrap();
}
