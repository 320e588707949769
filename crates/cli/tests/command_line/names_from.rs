//! `consequence rules from aces` and `rules from circe`, as a user runs them.

use crate::common::Folder;

const TASK: &str = "\
predicates:
  low_potassium: {code: LAB//potassium, value_max: 3.5}
  heart: {code: {any: [DX//I50, DX//I25]}}
  icu: {code: {regex: '^ICU//.*'}}
  digits: {code: {regex: '[0-9]+'}}
  either: {expr: 'or(heart, icu)'}
trigger: icu
windows:
  gap: {start: trigger, end: start + 24h}
";

#[test]
fn predicates_become_names_that_rules_use() {
    let folder = Folder::new();
    folder.write("task.yaml", TASK);
    let aces = "rules from aces task.yaml --out task.rules";
    folder
        .run(aces)
        .exits(0)
        .prints("task.rules: 4 names from task.yaml (ACES task configuration)")
        .prints("3 not said")
        .prints("predicate `digits` (line 5)")
        .prints("window `gap` (line 9)")
        .prints("trigger `icu`");
    folder.run(aces).refuses(&["already there", "--force"]);
    let report = folder.run(&format!("{aces} --force --json")).exits(0).json();
    assert_eq!(report["names"][3]["name"], "either");
    assert_eq!(report["unsaid"].as_array().unwrap().len(), 3);

    let names = folder.read("task.rules");
    assert!(names.contains("# - predicate `digits` (line 5)"), "{names}");
    folder.write("task.rules", format!("{names}\nrule care: either and low_potassium => RX//k\n"));
    let codes = r#"{"static": [], "encounter": ["LAB//potassium", "DX//I50", "DX//I25", "ICU//1", "RX//k"]}"#;
    folder.write("codes.json", codes);
    folder.run("check task.rules --vocabulary codes.json").exits(0).prints("proved");
}

#[test]
fn definitions_that_make_no_sense() {
    let folder = Folder::new();
    folder.write("task.yaml", TASK.replace("or(heart", "or(lung"));
    let aces = "rules from aces task.yaml --out task.rules";
    folder
        .run(aces)
        .refuses(&["task.yaml:6: `lung` is no predicate", "help: correct the definition"]);
    folder.write("task.yaml", "predicates:\n  a: {code: {regex: '\\d'}}\n");
    folder.run(aces).refuses(&["nothing that the file defines can be said", "regular expression"]);
    folder.run("rules from aces none.yaml --out a.rules").refuses(&["none.yaml", "check the name"]);
    folder.write("gout.json", "{\"ConceptSets\": [");
    folder.write("CONCEPT.csv", "concept_id,vocabulary_id,concept_code\n1,SNOMED,90560007\n");
    let circe = "rules from circe gout.json --concepts CONCEPT.csv --out a.rules";
    folder.run(circe).refuses(&["gout.json:1: the JSON is damaged"]);
    folder.write("gout.json", GOUT.replace("\"CodesetId\": 1", "\"CodesetId\": 8"));
    folder.run(circe).refuses(&[
        "gout.json: no concept set has this number at `InclusionRules[0].expression.CriteriaList[0].Criteria",
    ]);
    folder.run("rules from circe gout.json --out a.rules").refuses(&["--concepts"]);
}

/// Gout without allopurinol in the 30 days before, in adults.
const GOUT: &str = r#"{
  "ConceptSets": [
    {"id": 0, "name": "Gout", "expression": {"items": [
      {"concept": {"CONCEPT_ID": 1}, "includeDescendants": true}]}},
    {"id": 1, "name": "Allopurinol", "expression": {"items": [{"concept": {"CONCEPT_ID": 3}}]}}],
  "PrimaryCriteria": {"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0}}],
    "ObservationWindow": {"PriorDays": 0, "PostDays": 0}, "PrimaryCriteriaLimit": {"Type": "All"}},
  "InclusionRules": [{"name": "Untreated adult", "expression": {"Type": "ALL",
    "CriteriaList": [{"Criteria": {"DrugExposure": {"CodesetId": 1}},
      "StartWindow": {"Start": {"Days": 30, "Coeff": -1}, "End": {"Days": 0, "Coeff": -1}},
      "Occurrence": {"Type": 0, "Count": 0}}],
    "DemographicCriteriaList": [{"Age": {"Op": "gte", "Value": 18}}], "Groups": []}}],
  "EndStrategy": {"DateOffset": {"Offset": 7}}
}"#;

#[test]
fn a_cohort_definition_names_the_visits_that_it_means() {
    let folder = Folder::new();
    // 1: untreated; 2: treated 20 days before; 3: treated 40 days before; 4: a child; 5: a code below.
    folder.write(
        "PERSON.csv",
        "person_id,gender_concept_id,year_of_birth\n1,8532,1950\n2,8532,1950\n3,8507,1950\n4,8507,2015\n5,8507,1950\n",
    );
    let (mut visits, mut conditions, mut drugs) = (
        "person_id,visit_occurrence_id,visit_start_date\n".to_owned(),
        "person_id,condition_concept_id,condition_start_date,visit_occurrence_id\n".to_owned(),
        "person_id,drug_concept_id,drug_exposure_start_date,visit_occurrence_id\n".to_owned(),
    );
    for (person, day, concept) in [
        (1, "2020-03-11", 1),
        (2, "2020-02-20", 3),
        (2, "2020-03-11", 1),
        (3, "2020-01-31", 3),
        (3, "2020-03-11", 1),
        (4, "2020-03-11", 1),
        (5, "2020-03-11", 2),
    ] {
        let visit = visits.lines().count();
        visits += &format!("{person},{visit},{day}\n");
        let table = if concept == 3 { &mut drugs } else { &mut conditions };
        *table += &format!("{person},{concept},{day},{visit}\n");
    }
    folder.write("VISIT_OCCURRENCE.csv", visits);
    folder.write("CONDITION_OCCURRENCE.csv", conditions);
    folder.write("DRUG_EXPOSURE.csv", drugs);
    folder.write(
        "CONCEPT.csv",
        "concept_id,concept_name,vocabulary_id,concept_code\n1,Gout,SNOMED,90560007\n\
         2,Gout of foot,SNOMED,190828008\n3,Allopurinol,RxNorm,519\n7,Tophus,SNOMED,5\n",
    );
    folder.write("BELOW.csv", "ancestor_concept_id,descendant_concept_id\n1,1\n1,2\n1,7\n");
    folder.run("import omop . --out cohort").exits(0);
    folder.write("untreated.json", GOUT);
    let circe = "rules from circe untreated.json --concepts CONCEPT.csv --out g.rules --force";
    let meant = |options: &str, records: &str| {
        let heading = "g.rules: 5 names from untreated.json (OHDSI cohort definition)";
        let ran = folder.run(&format!("{circe} {options}")).exits(0).prints(heading);
        let names = folder.read("g.rules");
        folder.write("g.rules", format!("{names}rule outside: not untreated\n"));
        folder.run("audit cohort --rules g.rules").exits(1).prints(records);
        ran
    };
    meant("", "  record 1, visit 1; record 3, visit 2\n")
        .prints("2 not said")
        .prints("concept set 0 \"Gout\": what is below 1 of its concepts: CONCEPT_ANCESTOR was not given")
        .prints("`EndStrategy`");
    meant(
        "--ancestors BELOW.csv --cohort cohort",
        "  record 1, visit 1; record 3, visit 2; record 5, visit 1\n",
    )
    .prints("1 not said")
    .prints("2 of 3 codes are known");
    folder.run(&format!("{circe} --ancestors BELOW.csv")).exits(0);
    folder.write("h.rules", folder.read("g.rules") + "rule outside: not untreated\n");
    folder
        .run("audit cohort --rules h.rules")
        .refuses(&["unknown code `SNOMED//5`", "--allow-unknown"]);
}
