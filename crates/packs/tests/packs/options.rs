//! What the options change.

use std::sync::Arc;

use consequence_packs::{ExpertTable, Over, PackError, PackLimits, PackOptions};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::RuleSet;

fn editor() -> ExpertTable {
    let rows = [
        "Female_Only\tD\t6201\tCorpus luteum cyst",
        "Male_Only\tD\t185\tProstate # \u{7} cancer",
        "Male_Only\tP\t6011\tProstate biopsy",
        "Newborn_Only\tD\t7620\tPlacenta previa",
        "Pediatric_Only\tD\t7731\tAbo isoimmunization",
        "Adult_Only\tD\t7970\tSenility",
        "Principal_Unacceptable\tD\t3310\tBilling only",
    ];
    let header = "MCE_Version\tICD_Version\tMCE_Edit_Type\tICD_Code_Type\tICD_Code\tICD_Desc\n";
    let rows: String = rows.iter().map(|row| format!("32\t9\t{row}\n")).collect();
    ExpertTable::read_mce("edits", format!("{header}{rows}").as_bytes(), &PackLimits::default())
        .unwrap()
}

fn vocabulary(statics: &[&str], codes: &[&str]) -> Arc<Vocabulary> {
    let statics = statics.iter().map(|name| (*name, Kind::Static));
    let codes = codes.iter().map(|name| (*name, Kind::Encounter));
    Arc::new(Vocabulary::new(statics.chain(codes)).unwrap())
}

fn formulas(options: &PackOptions<'_>) -> Vec<String> {
    let pack = editor().pack(options).unwrap();
    RuleSet::parse(&pack.text(), options.vocabulary.map(|known| Arc::new(known.clone()))).unwrap();
    let formula = |statement: &str| statement.split_once(": ").unwrap().1.to_owned();
    pack.rules.iter().map(|rule| formula(&rule.statement)).collect()
}

#[test]
fn without_a_vocabulary_all_codes_and_no_ages() {
    assert_eq!(
        formulas(&PackOptions::default()),
        [
            "SEX//M in static => not ICD9CM//6201",
            "SEX//F in static => not ICD9CM//185",
            "SEX//F in static => not ICD9PROC//6011",
        ]
    );
    assert_eq!(editor().pack(&PackOptions::default()).unwrap().without_ages, 3);
}

#[test]
fn a_vocabulary_spells_its_codes_and_gives_age_bands() {
    let known = vocabulary(
        &["SEX//F", "SEX//M", "AGE//0-0", "AGE//1-14", "AGE//15-40", "AGE//40+", "AGE//unknown"],
        &["ICD9CM//620.1", "ICD9CM//762.0", "ICD9CM//7731", "ICD9CM//797.0", "ICD9CM//999"],
    );
    let options = PackOptions { vocabulary: Some(&known), ..PackOptions::default() };
    assert_eq!(
        formulas(&options),
        [
            "SEX//M in static => not ICD9CM//620.1",
            "(any of AGE//1-14, AGE//15-40, AGE//40+) in static => not ICD9CM//762.0",
            "AGE//40+ in static => not ICD9CM//7731",
            "(any of AGE//0-0, AGE//1-14) in static => not ICD9CM//797.0",
        ]
    );
    // Over ten years a child may grow up, and nobody grows younger.
    let grown = formulas(&PackOptions { years: 10, ..options });
    assert_eq!(grown.last().unwrap(), "AGE//0-0 in static => not ICD9CM//797.0");
    assert_eq!(grown.len(), 4);
}

#[test]
fn other_names_for_sexes_and_systems() {
    let options = PackOptions {
        prefix: Some("DX:"),
        procedure_prefix: Some("PX:"),
        female: vec!["gender female".into(), "F".into()],
        male: vec!["gender male".into()],
        ..PackOptions::default()
    };
    assert_eq!(
        formulas(&options),
        [
            "\"gender male\" in static => not DX:6201",
            "(any of \"gender female\", F) in static => not DX:185",
            "(any of \"gender female\", F) in static => not PX:6011",
        ]
    );
}

#[test]
fn what_cannot_be_said_is_refused() {
    let known = vocabulary(&["WHO//HE"], &["ICD9CM//6201"]);
    let options = PackOptions { vocabulary: Some(&known), ..PackOptions::default() };
    assert_eq!(
        editor().pack(&options).unwrap_err().to_string(),
        "no static code of the vocabulary is among those for male (SEX//M): say which codes mean male"
    );
    for stays in [0.0, 1.0, f64::NAN, -3.0] {
        let options = PackOptions { stays: Some(stays), ..PackOptions::default() };
        assert!(matches!(editor().pack(&options), Err(PackError::Probability(_))), "{stays}");
    }
}

#[test]
fn a_phenotype_of_both_sexes_has_no_limit() {
    let map = "ICD9,ICD9 String,PheCode,Phenotype,sex\n1,a,10,p,Male\n2,b,10,p,Male\n\
               3,c,11,q,Female\n3,c,12,r,\n4,d,13,s,Both\n";
    let read = |over| {
        ExpertTable::read_phecodes("m", map.as_bytes(), over, &PackLimits::default()).unwrap()
    };
    let codes = |over| -> Vec<String> {
        read(over).entries().iter().map(|entry| entry.code.clone()).collect()
    };
    assert_eq!(codes(Over::Icd), ["1", "2"]);
    assert_eq!(codes(Over::Phecodes), ["10", "11"]);
}
