//! Packs that fit the cohort at hand: how it spells codes, which concepts they are, what it shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use consequence_packs::{
    Ancestors, CodeList, ExpertTable, Level, Pack, PackLimits, PackOptions, TableKind,
};
use consequence_record::{Cohort, Concept, Kind, Record, Selection, Vocabulary};
use consequence_rules::RuleSet;

const HEADER: &str = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n";

fn limits() -> PackLimits {
    PackLimits::default()
}

fn editor(rows: &[&str]) -> ExpertTable {
    let text = format!("{HEADER}{}\n", rows.join("\n"));
    ExpertTable::read_mce("edits", text.as_bytes(), &limits()).unwrap()
}

fn nine() -> ExpertTable {
    editor(&[
        "32\t9\tMale_Only\tD\t185\tProstate",
        "32\t9\tFemale_Only\tD\t6201\tCorpus luteum cyst",
        "32\t9\tFemale_Only\tD\t6202\tOvarian cyst",
        "32\t9\tMale_Only\tP\t6011\tProstate biopsy",
    ])
}

fn vocabulary(statics: &[&str], codes: &[&str]) -> Arc<Vocabulary> {
    let statics = statics.iter().map(|name| (*name, Kind::Static));
    let codes = codes.iter().map(|name| (*name, Kind::Encounter));
    Arc::new(Vocabulary::new(statics.chain(codes)).unwrap())
}

fn formulas(pack: &Pack) -> Vec<&str> {
    pack.rules.iter().map(|rule| rule.statement.split_once(": ").unwrap().1).collect()
}

#[test]
fn prefixes_dots_and_sexes_as_the_vocabulary_has_them() {
    let known = vocabulary(
        &["GENDER//F", "GENDER//M"],
        &[
            "DIAGNOSIS//ICD//9//620.1",
            "DIAGNOSIS//ICD//9//185",
            "DIAGNOSIS//ICD//10//N83.2",
            "PROCEDURE//ICD//9//60.11",
            "LAB//185",
        ],
    );
    let pack =
        nine().pack(&PackOptions { vocabulary: Some(&known), ..PackOptions::default() }).unwrap();
    assert_eq!(
        formulas(&pack),
        [
            "GENDER//M in static => not DIAGNOSIS//ICD//9//620.1",
            "GENDER//F in static => not DIAGNOSIS//ICD//9//185",
            "GENDER//F in static => not PROCEDURE//ICD//9//60.11",
        ]
    );
    assert_eq!((pack.unknown, pack.level), (1, Level::Codes));
    RuleSet::parse(&pack.text(), Some(known)).unwrap();
}

#[test]
fn options_win_over_what_the_vocabulary_has() {
    let known = vocabulary(&["SEX//F", "SEX//M"], &["A//185", "A//620.1", "A//620.2", "B//185"]);
    let options = PackOptions { vocabulary: Some(&known), ..PackOptions::default() };
    assert_eq!(nine().pack(&options).unwrap().rules.len(), 3);
    let pack = nine().pack(&PackOptions { prefix: Some("B//"), ..options }).unwrap();
    assert_eq!(formulas(&pack), ["SEX//F in static => not B//185"]);
}

#[test]
fn categories_where_codes_are_cut_and_all_are_listed() {
    let known = vocabulary(&["SEX//F", "SEX//M"], &["ICD9CM//185", "ICD9CM//620", "ICD9CM//250"]);
    let text = "dgns_cd,longdesc\n185,Prostate\n6201,Cyst\n6202,Cyst\n25000,Diabetes\n";
    let list = CodeList::read("list", text.as_bytes(), &limits()).unwrap();
    let options = PackOptions { vocabulary: Some(&known), ..PackOptions::default() };
    let pack = nine().pack(&PackOptions { codes: Some(&list), ..options.clone() }).unwrap();
    assert_eq!(pack.level, Level::Categories);
    assert_eq!(formulas(&pack), {
        ["SEX//M in static => not ICD9CM//620", "SEX//F in static => not ICD9CM//185"]
    });
    // Without the list only whole codes of three characters are sure.
    let pack = nine().pack(&options).unwrap();
    assert_eq!((pack.level, pack.dialects[0].level), (Level::Codes, Level::Categories));
    assert_eq!(formulas(&pack), ["SEX//F in static => not ICD9CM//185"]);
}

#[test]
fn another_version_has_no_rules() {
    let known = vocabulary(&["SEX//F", "SEX//M"], &["ICD10CM//C61", "ICD10CM//E880"]);
    let table =
        editor(&["32\t9\tMale_Only\tD\tE880\tA fall", "32\t9\tMale_Only\tD\t185\tProstate"]);
    let pack =
        table.pack(&PackOptions { vocabulary: Some(&known), ..PackOptions::default() }).unwrap();
    assert_eq!((pack.rules.len(), pack.unknown, pack.dialects.len()), (0, 2, 0));
}

fn checks() -> ExpertTable {
    let text = "conceptId,conceptName,plausibleGender,plausibleGenderUseDescendants\n\
                26662,Testicular hypofunction,Male,\n\"10,20\",\"Pregnancy, Ovary\",,Female\n";
    ExpertTable::read_dqd("checks", text.as_bytes(), &limits()).unwrap()
}

#[test]
fn concepts_of_codes_that_have_other_names() {
    let known =
        vocabulary(&["SEX//F", "SEX//M"], &["SNOMED//a", "SNOMED//b", "SNOMED//c", "OMOP//26662"]);
    let concept =
        |id, ancestors: &[u64]| Concept { id, ancestors: ancestors.to_vec(), ..Concept::default() };
    let code = |name| known.code(name).unwrap();
    let concepts = BTreeMap::from([
        (code("SNOMED//a"), concept(10, &[1])),
        (code("SNOMED//b"), concept(11, &[10, 1])),
        (code("SNOMED//c"), concept(12, &[26_662])),
    ]);
    let options = PackOptions {
        vocabulary: Some(&known),
        concepts: Some(&concepts),
        ..PackOptions::default()
    };
    let pack = checks().pack(&options).unwrap();
    // What is below a concept has its limit only where the check says so.
    assert_eq!(
        formulas(&pack),
        [
            "SEX//M in static => not SNOMED//a",
            "SEX//M in static => not SNOMED//b",
            "SEX//F in static => not OMOP//26662",
        ]
    );
    assert_eq!(pack.unknown, 1);
    let table = "ancestor_concept_id,descendant_concept_id\n20,12\n26662,12\n20,20\n20,99\n";
    let wanted = checks().ancestors();
    assert_eq!(wanted, BTreeSet::from([10, 20]));
    let ids = BTreeSet::from([10, 11, 12]);
    let below = Ancestors::read("a", table.as_bytes(), &wanted, Some(&ids), &limits()).unwrap();
    assert_eq!(below.len(), 1);
    let pack = checks().pack(&PackOptions { ancestors: Some(&below), ..options }).unwrap();
    assert_eq!(formulas(&pack)[2], "SEX//M in static => not SNOMED//c");
    // Without a vocabulary, what is below is named by number.
    let below = Ancestors::read("a", table.as_bytes(), &wanted, None, &limits()).unwrap();
    let pack =
        checks().pack(&PackOptions { ancestors: Some(&below), ..PackOptions::default() }).unwrap();
    assert_eq!(pack.rules.len(), 5);
    assert!(formulas(&pack).contains(&"SEX//M in static => not OMOP//99"));
}

#[test]
fn damaged_tables_of_ancestors() {
    let read = |text: &str, most| {
        let limits = PackLimits { codes: most, ..limits() };
        Ancestors::read("a.csv", text.as_bytes(), &BTreeSet::from([1]), None, &limits)
            .unwrap_err()
            .to_string()
    };
    assert!(read("a,b\n1,2\n", 9).contains("no column `ancestor_concept_id`; found `a`, `b`"));
    assert!(read("", 9).contains("found nothing"));
    let header = "ancestor_concept_id\tdescendant_concept_id\n";
    assert_eq!(
        read(&format!("{header}1\tx\n"), 9),
        "a.csv:2: `x` in column descendant_concept_id; expected the number of a concept"
    );
    assert!(read(&format!("{header}1\n"), 9).contains("`` in column descendant_concept_id"));
    assert!(
        read(&format!("{header}1\t2\n1\t3\n"), 1).contains("more than 1 concepts below others")
    );
    let damaged = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xf3];
    let fault =
        Ancestors::read("a.gz", &damaged[..], &BTreeSet::new(), None, &limits()).unwrap_err();
    assert!(fault.to_string().contains("gzip data end too early"), "{fault}");
}

#[test]
fn chronic_codes_stay_as_often_as_records_show() {
    let text = "'ICD-9-CM CODE','ICD-9-CM CODE DESCRIPTION','CATEGORY DESCRIPTION'\n\
                '4010',\"A\",'1'\n'4019',\"B\",'1'\n'4800',\"C\",'0'\n";
    let table = ExpertTable::read_cci("cci", text.as_bytes(), &limits()).unwrap();
    let known = vocabulary(&[], &["ICD9CM//4010", "ICD9CM//4019", "ICD9CM//4800"]);
    let [a, b, c] =
        ["ICD9CM//4010", "ICD9CM//4019", "ICD9CM//4800"].map(|name| known.code(name).unwrap());
    let mut cohort = Cohort::default();
    for number in 0..45 {
        let next = if number < 30 { vec![a] } else { vec![c] };
        cohort.push(&number.to_string(), &Record::new(vec![vec![], vec![a, c], next]));
    }
    for number in 45..50 {
        cohort.push(&number.to_string(), &Record::new(vec![vec![], vec![b], vec![]]));
    }
    let options = PackOptions {
        vocabulary: Some(&known),
        records: Some(Selection::all(&cohort)),
        ..PackOptions::default()
    };
    let pack = table.pack(&options).unwrap();
    // 30 of 45, 0 of 5, and 30 of 50 together, which counts for ten more occasions.
    let probabilities: Vec<_> = pack.rules.iter().map(|rule| rule.probability.unwrap()).collect();
    assert_eq!(probabilities, [0.6545, 0.4]);
    let text = pack.text();
    assert!(
        text.contains("\n# there again in 0 of 5 visits after one that has it; 0.6000 over all"),
        "{text}"
    );
    let given = table.pack(&PackOptions { stays: Some(0.8), ..options.clone() }).unwrap();
    assert!(given.rules.iter().all(|rule| rule.probability == Some(0.8)));
    assert!(given.text().contains("0.8 was given"));
    // No visit follows another: nothing to count.
    let mut single = Cohort::default();
    single.push("1", &Record::new(vec![vec![], vec![a]]));
    let pack =
        table.pack(&PackOptions { records: Some(Selection::all(&single)), ..options }).unwrap();
    assert_eq!(pack.rules[0].probability, Some(0.9));
    assert!(pack.text().contains("0.9 is an assumption"));
}

#[test]
fn tables_are_known_by_their_columns() {
    let kinds = [
        (HEADER, Some(TableKind::Mce)),
        ("conceptId,x,plausibleGender\n", Some(TableKind::Dqd)),
        ("ICD10,ICD10 String,PheCode,sex\n", Some(TableKind::Phecode)),
        ("\"a title\"\n'ICD-9-CM CODE','CATEGORY DESCRIPTION'\n", Some(TableKind::Cci)),
        ("<?xml version='1.0'?>\n<ICD10CM.tabular>", Some(TableKind::Icd10)),
        ("<html><body/></html>", None),
        ("descendant_concept_id\tancestor_concept_id\n", Some(TableKind::Ancestors)),
        ("# Notes, of no table\n", None),
        ("", None),
    ];
    for (text, kind) in kinds {
        assert_eq!(TableKind::of(text), kind, "{text}");
        assert_eq!(TableKind::of_file(text.as_bytes()).unwrap(), kind, "{text}");
    }
    assert!(TableKind::of_file(&[0x1f, 0x8b, 8][..]).is_err());
}
