//! A folder of packs: made-up ones for every case, and the published ones on published cohorts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence::import::{CsvColumns, ImportOptions, ImportTask, Source};
use consequence::packs::{FileOutcome, FolderOptions, FolderPacks, from_folder};
use consequence::{CompileOptions, Dataset, RuleSet, Task, Unwatched, compile};
use consequence_testing::shared;
use flate2::read::MultiGzDecoder;

const EDITS: &str = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n";

const MAP: &str = "ICD9,ICD9 String,PheCode,Phenotype,sex\n\
                   185,Prostate,185,Cancer of prostate,Male\n2501,Diabetes,250,Diabetes,\n";

/// A folder of packs beside a cohort of two patients.
struct World {
    folder: tempfile::TempDir,
    dataset: Dataset,
}

impl World {
    fn new(codes: [&str; 2]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("packs")).unwrap();
        let [one, other] = codes;
        let lines = format!(
            r#"{{"id": 1, "static": ["SEX//F"], "visits": [["{one}"], ["{one}", "{other}"]]}}
{{"id": 2, "static": ["SEX//M"], "visits": [["{other}"], []]}}
"#
        );
        let path = folder.path().join("cohort.jsonl");
        fs::write(&path, lines).unwrap();
        let dataset = Dataset::open(&path).unwrap();
        Self { folder, dataset }
    }

    fn packs(&self) -> PathBuf {
        self.folder.path().join("packs")
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.packs().join(name), text).unwrap();
    }

    fn find(&self) -> Result<FolderPacks, String> {
        let options = FolderOptions::default();
        from_folder(&self.packs(), &self.dataset, &options, &Unwatched)
            .map_err(|error| error.to_string())
    }
}

/// What became of a file, in words.
fn outcome(found: &FolderPacks, file: &str) -> String {
    let entry = found.files.iter().find(|entry| entry.file == file).unwrap();
    match &entry.outcome {
        FileOutcome::Rules(rules) => format!("{rules} rules"),
        FileOutcome::Used(what) => format!("used: {what}"),
        FileOutcome::Nothing(why) => format!("nothing: {why}"),
        FileOutcome::NotUnderstood(why) => format!("not understood: {why}"),
    }
}

#[test]
fn every_file_is_known_for_what_it_is() {
    let world = World::new(["ICD9CM//185", "ICD9CM//250"]);
    world.put("v26.txt", format!("{EDITS}26\t9\tMale_Only\tD\t185\tOld\n"));
    world.put("v32.txt", format!("{EDITS}32\t9\tMale_Only\tD\t185\tNew\n"));
    world.put("v37.txt", format!("{EDITS}37\t10\tMale_Only\tD\tC61\tOther\n"));
    world.put("map.csv", MAP);
    world.put("list.csv", "dgns_cd,longdesc\n185,Prostate\n25000,Diabetes\n");
    world.put("own.rules", "rule mine: ICD9CM//185 => ICD9CM//250\n");
    world.put("README.md", "# Where these are from\n");
    world.put("damaged.gz", [0x1f, 0x8b, 8]);
    world.put(".hidden", "x");
    fs::create_dir(world.packs().join("inner")).unwrap();
    let found = world.find().unwrap();
    assert_eq!(outcome(&found, "v26.txt"), "nothing: `v32.txt` is the newest of its kind");
    assert_eq!(outcome(&found, "v32.txt"), "nothing: other packs have all its rules");
    assert!(
        outcome(&found, "v37.txt")
            .contains("the versions do not match: the table is about ICD-10-CM")
    );
    assert_eq!(outcome(&found, "map.csv"), "1 rules");
    assert_eq!(outcome(&found, "list.csv"), "used: for the categories of codes");
    assert_eq!(outcome(&found, "own.rules"), "1 rules");
    assert!(outcome(&found, "README.md").starts_with("not understood: no table"));
    assert!(outcome(&found, "damaged.gz").starts_with("not understood: it cannot be unpacked"));
    assert!(outcome(&found, "inner").contains("a folder"));
    assert_eq!(found.files.len(), 9);
    assert_eq!((found.packs.len(), found.rules()), (2, 2));
    assert_eq!(found.packs[0].text, "rule mine: ICD9CM//185 => ICD9CM//250\n");
    let shown = found.to_string();
    assert!(shown.contains("2 rules from 2 files of 9"), "{shown}");
}

#[test]
fn soft_rules_can_be_left_out() {
    let world = World::new(["ICD9CM//4010", "ICD9CM//2501"]);
    let header = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n";
    world.put("cci.csv", format!("{header}'4010','Hypertension','1'\n'2501','Diabetes','0'\n"));
    assert_eq!(world.find().unwrap().packs[0].soft, 1);
    let options = FolderOptions { hard_only: true, ..FolderOptions::default() };
    let found = from_folder(&world.packs(), &world.dataset, &options, &Unwatched).unwrap();
    assert_eq!(outcome(&found, "cci.csv"), "nothing: all its rules are soft");
}

#[test]
fn phecodes_where_the_cohort_was_mapped() {
    let world = World::new(["PHECODE//185", "PHECODE//250"]);
    world.put("map.csv", MAP);
    let found = world.find().unwrap();
    assert!(found.packs[0].text.contains("SEX//F in static => not PHECODE//185"));
    assert_eq!(found.packs[0].name, "map");
}

#[test]
fn a_cohort_without_sexes_has_no_rules_of_them() {
    let mut world = World::new(["ICD9CM//185", "ICD9CM//2501"]);
    let path = world.folder.path().join("other.jsonl");
    fs::write(&path, r#"{"id": 1, "static": [], "visits": [["ICD9CM//185", "ICD9CM//2501"]]}"#)
        .unwrap();
    world.dataset = Dataset::open(&path).unwrap();
    world.put("map.csv", MAP);
    let found = world.find().unwrap();
    assert!(outcome(&found, "map.csv").contains("no static code of the vocabulary"));
    assert!(found.packs.is_empty());
}

#[test]
fn what_is_below_a_concept() {
    let mut world = World::new(["SNOMED//1", "SNOMED//2"]);
    let code = world.dataset.vocabulary.code("SNOMED//1").unwrap();
    world
        .dataset
        .concepts
        .insert(code, consequence::Concept { id: 7, ..consequence::Concept::default() });
    let header = "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n";
    world.put("checks.csv", format!("{header}6,Prostate,,Male\n"));
    assert!(world.find().unwrap().packs.is_empty());
    world.put("above.csv", "ancestor_concept_id,descendant_concept_id\n6,7\n6,8\n");
    let found = world.find().unwrap();
    assert!(found.packs[0].text.contains("SEX//F in static => not SNOMED//1"));
    assert_eq!(outcome(&found, "above.csv"), "used: 1 concept for limits on what is above");
}

#[test]
fn what_is_known_and_damaged_is_an_error() {
    let world = World::new(["ICD9CM//185", "ICD9CM//250"]);
    for (name, text, why) in [
        ("a.txt", format!("{EDITS}32\t9\tMale_Only\n"), "a.txt:2: 3 cells"),
        ("a.csv", MAP.replace("Male", "Mann"), "`Mann` in column sex"),
        ("a.xml", "<ICD10CM.tabular><chapter>".to_owned(), "is it cut short?"),
        ("a.rules", "rule a A\n".to_owned(), "expected `:`"),
    ] {
        world.put(name, text);
        let refused = world.find().unwrap_err();
        assert!(refused.contains(why), "{name}: {refused}");
        fs::remove_file(world.packs().join(name)).unwrap();
    }
    let missing =
        from_folder(Path::new("no/such"), &world.dataset, &FolderOptions::default(), &Unwatched);
    assert!(missing.unwrap_err().to_string().contains("cannot read the folder of packs"));
}

/// All published tables in one folder.
fn published() -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    for inner in ["mce", "hcup", "icd", "phecode", "dqd"] {
        for entry in fs::read_dir(shared(&format!("data/rules/{inner}"))?).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    Some(folder)
}

/// Expects the rules of each pack of the published tables, and how many are soft; all of them together
/// can be compiled.
fn expect(dataset: &Dataset, expected: &[(&str, usize, usize)]) {
    let Some(folder) = published() else { return };
    let found = from_folder(folder.path(), dataset, &FolderOptions::default(), &Unwatched).unwrap();
    let texts: Vec<&str> = found.packs.iter().map(|pack| pack.text.as_str()).collect();
    let rules = RuleSet::parse(&texts.concat(), Some(Arc::clone(&dataset.vocabulary))).unwrap();
    assert_eq!(rules.len(), found.rules());
    compile(Arc::new(rules), &CompileOptions::default()).unwrap();
    let counts: Vec<(&str, usize, usize)> =
        found.packs.iter().map(|pack| (pack.name.as_str(), pack.rules, pack.soft)).collect();
    assert_eq!(counts, expected, "{found}");
}

fn imported(source: Source, path: &Path, options: ImportOptions) -> Dataset {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("cohort");
    ImportTask { options, ..ImportTask::new(source, path, &out) }.run(&Unwatched).unwrap();
    Dataset::open(&out).unwrap()
}

#[test]
fn the_diabetes_cohort() {
    let Some(path) = shared("data/inpatient/uci_diabetes130/dataset_diabetes.zip") else { return };
    let dataset = imported(Source::UciDiabetes, &path, ImportOptions::default());
    expect(
        &dataset,
        &[
            ("MCE_Simple_Code_Edits_v32", 103, 0),
            ("cci2015", 258, 258),
            ("phecode_map_v1_2_icd9", 5, 0),
        ],
    );
}

#[test]
fn mimic_speaks_two_versions() {
    let Some(path) = shared("data/inpatient/mimic4_demo/mimic_iv_demo_meds_events.parquet") else {
        return;
    };
    let dataset = imported(Source::Meds, &path, ImportOptions::default());
    expect(
        &dataset,
        &[
            ("CCIR_v2023-1", 281, 281),
            ("MCE_Simple_Code_Edits_v32", 22, 0),
            ("MCE_Simple_Code_Edits_v37", 7, 0),
            ("cci2015", 312, 312),
            ("icd10cm-tabular-2026-04-01", 143, 13),
            ("phecode_map_v1_2_icd9", 3, 0),
        ],
    );
}

#[test]
fn synthea_has_concepts() {
    let Some(path) = shared("data/outpatient/synthea1k_omop") else { return };
    let dataset = imported(Source::Omop, &path, ImportOptions::default());
    expect(&dataset, &[("OMOP_CDMv5.4_Concept_Level", 5, 0)]);
}

#[test]
fn claims_of_icd_9() {
    let Some(claims) = shared("data/outpatient/synpuf_claims500") else { return };
    let table = |name: &str| {
        let file = fs::File::open(claims.join(name)).unwrap();
        csv::Reader::from_reader(MultiGzDecoder::new(file))
    };
    let place = |header: &csv::StringRecord, name: &str| {
        header.iter().position(|column| column == name).unwrap()
    };
    let mut people = table("bene.csv.gz");
    let header = people.headers().unwrap().clone();
    let [id, sex] = ["DESYNPUF_ID", "BENE_SEX_IDENT_CD"].map(|name| place(&header, name));
    let sexes: std::collections::BTreeMap<String, &str> = people
        .records()
        .map(Result::unwrap)
        .map(|row| (row[id].to_owned(), if &row[sex] == "1" { "M" } else { "F" }))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.csv");
    let mut rows = std::io::BufWriter::new(fs::File::create(&path).unwrap());
    writeln!(rows, "subject_id,time,code,sex").unwrap();
    let mut carrier = table("carrier.csv.gz");
    let header = carrier.headers().unwrap().clone();
    let [id, day] = ["DESYNPUF_ID", "CLM_FROM_DT"].map(|name| place(&header, name));
    for row in carrier.records() {
        let row = row.unwrap();
        for (name, code) in header.iter().zip(&row) {
            if name.starts_with("ICD9_DGNS_CD") && !code.is_empty() {
                let sex = sexes.get(&row[id]).copied().unwrap_or_default();
                writeln!(rows, "{},{},{code},{sex}", &row[id], &row[day]).unwrap();
            }
        }
    }
    drop(rows);
    let columns = CsvColumns { statics: vec!["sex".into()], ..CsvColumns::default() };
    let dataset = imported(Source::Csv(columns), &path, ImportOptions::default());
    expect(
        &dataset,
        &[
            ("MCE_Simple_Code_Edits_v32", 229, 0),
            ("cci2015", 2396, 2396),
            ("phecode_map_v1_2_icd9", 28, 0),
        ],
    );
}
