//! The tables in `../shared/data/rules`, with the figures that are known of them.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::Arc;

use consequence_packs::{
    CodeList, ExpertTable, Level, Limit, Over, Pack, PackError, PackLimits, PackOptions, System,
};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::{CompileOptions, RuleSet, compile};
use consequence_testing::shared;

fn open(name: &str) -> Option<File> {
    Some(File::open(shared(&format!("data/rules/{name}"))?).unwrap())
}

fn limits() -> PackLimits {
    PackLimits::default()
}

fn count(table: &ExpertTable, system: System, limit: Limit) -> usize {
    let of = |entry: &&consequence_packs::Entry| entry.system == system && entry.limit == limit;
    table.entries().iter().filter(of).count()
}

const NEWBORN: Limit = Limit::Ages { from: 0, to: 0 };
const CHILD: Limit = Limit::Ages { from: 0, to: 17 };
const MATERNITY: Limit = Limit::Ages { from: 12, to: 55 };
const ADULT: Limit = Limit::Ages { from: 15, to: 124 };

#[test]
fn every_version_of_the_code_editor() {
    // Female, male, newborn, child, maternity, adult diagnoses; female, male procedures.
    let known = [
        ("mce/MCE_Simple_Code_Edits_v26.txt", [1515, 154, 287, 34, 1144, 128, 291, 114]),
        ("mce/MCE_Simple_Code_Edits_v27.txt", [1547, 154, 287, 35, 1161, 133, 291, 114]),
        ("mce/MCE_Simple_Code_Edits_v32.txt", [1556, 154, 287, 32, 1166, 135, 293, 114]),
        ("mce/MCE_Simple_Code_Edits_v37.txt.gz", [3135, 529, 41, 114, 2372, 771, 2294, 1916]),
    ];
    for (name, expected) in known {
        let Some(file) = open(name) else { return };
        let table = ExpertTable::read_mce(name, file, &limits()).unwrap();
        let (diagnosis, procedure) = if name.contains("v37") {
            (System::Icd10, System::Icd10Procedure)
        } else {
            (System::Icd9, System::Icd9Procedure)
        };
        let of = |limit| count(&table, diagnosis, limit);
        let found = [
            of(Limit::Female),
            of(Limit::Male),
            of(NEWBORN),
            of(CHILD),
            of(MATERNITY),
            of(ADULT),
            count(&table, procedure, Limit::Female),
            count(&table, procedure, Limit::Male),
        ];
        assert_eq!(found, expected, "{name}");
        let pack = table.pack(&PackOptions::default()).unwrap();
        assert_eq!(
            pack.rules.len(),
            expected[0] + expected[1] + expected[6] + expected[7],
            "{name}"
        );
        assert_eq!(pack.without_ages, expected[2..6].iter().sum::<usize>(), "{name}");
        let version = name.split("_v").nth(1).and_then(|rest| rest.split('.').next()).unwrap();
        assert!(
            pack.text().starts_with(&format!("# CMS Medicare Code Editor, version {version}\n"))
        );
        reread(&pack, None);
    }
}

/// Reads a pack's text back as any rule file, and compiles it.
fn reread(pack: &Pack, vocabulary: Option<Arc<Vocabulary>>) -> RuleSet {
    let rules = RuleSet::parse(&pack.text(), vocabulary).unwrap();
    assert_eq!(rules.len(), pack.rules.len());
    compile(Arc::new(rules.clone()), &CompileOptions::default()).unwrap();
    rules
}

/// All diagnosis categories of the diabetes cohort, before rare ones are dropped.
fn uci_categories() -> Option<BTreeSet<String>> {
    let path = shared("data/inpatient/uci_diabetes130/dataset_diabetes.zip")?;
    let archive = std::fs::read(path).unwrap();
    // The table is the archive's first member, after a header of 30 bytes, a name and an extra.
    let length = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
    let packed = &archive[30 + length(26) + length(28)..];
    let mut reader = csv::Reader::from_reader(flate2::read::DeflateDecoder::new(packed));
    let headers = reader.headers().unwrap().clone();
    let columns = ["diag_1", "diag_2", "diag_3"]
        .map(|name| headers.iter().position(|header| header == name).unwrap());
    let mut categories = BTreeSet::new();
    for row in reader.records() {
        let row = row.unwrap();
        for code in columns.iter().map(|&column| &row[column]).filter(|code| *code != "?") {
            // The table has lost the zeros in front of codes.
            let whole = code.split('.').next().unwrap_or(code);
            categories.insert(format!("ICD9CM//{whole:0>3}"));
        }
    }
    Some(categories)
}

fn uci_vocabulary() -> Option<Arc<Vocabulary>> {
    let file = File::open(shared("reference/uci/uci_vocab.json")?).unwrap();
    let numbered: std::collections::BTreeMap<String, u32> = serde_json::from_reader(file).unwrap();
    let kind = |name: &str| {
        if name.starts_with("AGE//") || name.starts_with("SEX//") {
            Kind::Static
        } else {
            Kind::Encounter
        }
    };
    Some(Arc::new(Vocabulary::new(numbered.keys().map(|name| (name, kind(name)))).unwrap()))
}

fn icd9() -> Option<CodeList> {
    let name = "icd/icd9dx2015.csv.gz";
    Some(CodeList::read(name, open(name)?, &limits()).unwrap())
}

fn with_limit(pack: &Pack, limit: Limit) -> usize {
    pack.rules.iter().filter(|rule| rule.limit == limit).count()
}

#[test]
fn categories_of_the_diabetes_cohort() {
    let (Some(categories), Some(codes)) = (uci_categories(), icd9()) else { return };
    assert_eq!((categories.len(), codes.len()), (881, 14_567));
    let statics = ["SEX//F", "SEX//M", "AGE//0-20", "AGE//40-60", "AGE//60-80", "AGE//80+"];
    let statics = statics.iter().map(|name| (name.to_string(), Kind::Static));
    let encounters = categories.into_iter().map(|name| (name, Kind::Encounter));
    let vocabulary = Arc::new(Vocabulary::new(statics.chain(encounters)).unwrap());
    let options = PackOptions {
        level: Some(Level::Categories),
        vocabulary: Some(&vocabulary),
        codes: Some(&codes),
        ..PackOptions::default()
    };
    let name = "mce/MCE_Simple_Code_Edits_v32.txt";
    let editor = ExpertTable::read_mce(name, open(name).unwrap(), &limits()).unwrap();
    let pack = editor.pack(&options).unwrap();
    assert_eq!(with_limit(&pack, Limit::Female), 58);
    assert_eq!(with_limit(&pack, Limit::Male), 12);
    assert_eq!(with_limit(&pack, MATERNITY), 33);
    assert_eq!(with_limit(&pack, ADULT), 0, "no band is too young as a whole");
    let prostate = pack.rules.iter().find(|rule| rule.code == "ICD9CM//185").unwrap();
    assert_eq!(
        prostate.statement,
        "rule male-only-ICD9CM//185: SEX//F in static => not ICD9CM//185"
    );
    let maternity = pack.rules.iter().find(|rule| rule.limit == MATERNITY).unwrap();
    assert!(
        maternity.statement.contains("(any of AGE//60-80, AGE//80+) in static => not ICD9CM//6")
    );
    reread(&pack, Some(Arc::clone(&vocabulary)));

    // The indicator lists codes of all years; with or without the list of one year it is the same.
    let name = "hcup/cci2015.csv.gz";
    let chronic = ExpertTable::read_cci(name, open(name).unwrap(), &limits()).unwrap();
    for codes in [Some(&codes), None] {
        let pack = chronic.pack(&PackOptions { codes, ..options.clone() }).unwrap();
        assert_eq!(with_limit(&pack, Limit::Chronic), 258);
        assert!(pack.text().contains("0.9 is an assumption"));
        reread(&pack, Some(Arc::clone(&vocabulary)));
    }
}

#[test]
fn a_category_needs_all_its_codes() {
    let Some(file) = open("mce/MCE_Simple_Code_Edits_v32.txt") else { return };
    let editor = ExpertTable::read_mce("editor", file, &limits()).unwrap();
    let options = PackOptions { level: Some(Level::Categories), ..PackOptions::default() };
    let refused = editor.pack(&options).unwrap_err();
    assert!(matches!(&refused, PackError::NoCodeList { .. }), "{refused}");
    let name = "hcup/CCIR_v2023-1.csv.gz";
    let ten = CodeList::read(name, open(name).unwrap(), &limits()).unwrap();
    let refused = editor.pack(&PackOptions { codes: Some(&ten), ..options.clone() }).unwrap_err();
    assert!(matches!(&refused, PackError::OtherSystem { .. }), "{refused}");
    // Congenital anomalies of genital organs: women, men and both, so that the category has none.
    let nine = icd9().unwrap();
    let pack = editor.pack(&PackOptions { codes: Some(&nine), ..options }).unwrap();
    assert!(pack.rules.iter().all(|rule| rule.code != "ICD9CM//752"));
    assert!(pack.rules.iter().any(|rule| rule.code == "ICD9CM//218"));
}

#[test]
fn chronic_conditions_of_both_systems() {
    for (name, codes, chronic) in
        [("hcup/cci2015.csv.gz", 13_769, 4_584), ("hcup/CCIR_v2023-1.csv.gz", 74_549, 12_504)]
    {
        let Some(file) = open(name) else { return };
        let table = ExpertTable::read_cci(name, file, &limits()).unwrap();
        assert_eq!(table.entries().len(), chronic, "{name}");
        let list = CodeList::read(name, open(name).unwrap(), &limits()).unwrap();
        assert_eq!(list.len(), codes, "{name}");
        assert_eq!(table.pack(&PackOptions::default()).unwrap().rules.len(), chronic, "{name}");
    }
}

#[test]
fn plausible_genders_of_concepts() {
    let name = "dqd/OMOP_CDMv5.4_Concept_Level.csv";
    let Some(file) = open(name) else { return };
    let table = ExpertTable::read_dqd(name, file, &limits()).unwrap();
    // 287 checks for one concept each, and 4 for 14 concepts and what is below them.
    assert_eq!(table.entries().len(), 287 + 14);
    let pack = table.pack(&PackOptions::default()).unwrap();
    assert!(pack.rules.iter().any(|rule| {
        rule.statement == "rule male-only-OMOP//26662: SEX//F in static => not OMOP//26662"
    }));
    reread(&pack, None);
    let other = "dqd/OMOP_CDMv5.4_Field_Level.csv";
    let refused =
        ExpertTable::read_dqd(other, open(other).unwrap(), &limits()).unwrap_err().to_string();
    assert!(
        refused.contains("no column `conceptId`") && refused.contains("`cdmTableName`"),
        "{refused}"
    );
}

#[test]
fn phecodes_by_icd_and_by_phenotype() {
    for name in
        ["phecode/phecode_map_v1_2_icd9.csv.gz", "phecode/phecode_map_v1_2_icd10_beta.csv.gz"]
    {
        let Some(file) = open(name) else { return };
        let over_icd = ExpertTable::read_phecodes(name, file, Over::Icd, &limits()).unwrap();
        let over_phecodes =
            ExpertTable::read_phecodes(name, open(name).unwrap(), Over::Phecodes, &limits())
                .unwrap();
        for table in [&over_icd, &over_phecodes] {
            let pack = table.pack(&PackOptions::default()).unwrap();
            assert!(pack.rules.len() > 100, "{name}");
            reread(&pack, None);
        }
        let prostate = |table: &ExpertTable, code: &str| {
            table.entries().iter().any(|entry| entry.code == code && entry.limit == Limit::Male)
        };
        assert!(prostate(&over_phecodes, "185"), "{name}");
        assert!(prostate(&over_icd, if name.contains("icd9") { "185" } else { "C61" }), "{name}");
    }
}

#[test]
fn rules_for_the_codes_of_a_cohort_only() {
    let (Some(vocabulary), Some(codes)) = (uci_vocabulary(), icd9()) else { return };
    let name = "mce/MCE_Simple_Code_Edits_v32.txt";
    let table = ExpertTable::read_mce(name, open(name).unwrap(), &limits()).unwrap();
    let options = PackOptions {
        level: Some(Level::Categories),
        vocabulary: Some(&vocabulary),
        codes: Some(&codes),
        ..PackOptions::default()
    };
    let pack = table.pack(&options).unwrap();
    assert_eq!((with_limit(&pack, Limit::Female), with_limit(&pack, Limit::Male)), (45, 10));
    reread(&pack, Some(Arc::clone(&vocabulary)));
}
