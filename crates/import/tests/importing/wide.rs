//! Claims with several codes a row, and titles that the user gives.

use std::fs;

use crate::common::{long, plain, shown};
use consequence_feedback::{Advise, Unwatched};
use consequence_import::{
    CodeColumns, CsvColumns, ImportLimits, ImportOptions, Source, Titles, open,
};

const CLAIMS: &str = "DESYNPUF_ID,CLM_ID,CLM_FROM_DT,ICD9_DGNS_CD_1,ICD9_DGNS_CD_2,ICD9_DGNS_CD_10,HCPCS_CD_1,PAID\n\
    A,9,20081129,250.00,,4019,99285,90\nA,11,2009-01-02,,,,,0\nB,12,2009-01-02,V453,V453,,,5\n";

fn columns(patterns: &[&str]) -> CsvColumns {
    CsvColumns {
        subject: "DESYNPUF_ID".into(),
        time: Some("CLM_FROM_DT".into()),
        visit: Some("CLM_ID".into()),
        code_columns: patterns.iter().map(|text| text.parse().unwrap()).collect(),
        ..CsvColumns::default()
    }
}

fn bare() -> ImportOptions {
    ImportOptions { gaps: false, ..plain() }
}

#[test]
fn each_column_that_fits_holds_codes_of_its_system() {
    let wide = columns(&["ICD9_DGNS_CD_*=ICD9CM", "hcpcs_cd_*"]);
    let (dataset, summary) = long(CLAIMS, wide, &bare());
    let expected = ["A:  | 99285 ICD9CM//25000 ICD9CM//4019 | ", "B:  | ICD9CM//V453"];
    assert_eq!(shown(&dataset), expected);
    assert_eq!(summary.unread_columns, [("table".to_owned(), vec!["PAID".to_owned()])]);
    assert_eq!(summary.empty_visits, 1);
}

#[test]
fn patterns_fit_from_beginning_to_end() {
    let fits = |pattern: &str, name: &str| pattern.parse::<CodeColumns>().unwrap().fits(name);
    for (pattern, name) in
        [("DX*", "dx1"), ("*", "x"), ("a*b*c", "a1b2bc"), ("DX", "DX"), ("a**c", "ac")]
    {
        assert!(fits(pattern, name), "{pattern} {name}");
    }
    for (pattern, name) in [("DX*", "PDX1"), ("DX", "DX1"), ("a*b*c", "acb"), ("ab*ba", "aba")] {
        assert!(!fits(pattern, name), "{pattern} {name}");
    }
    assert!("=ICD9CM".parse::<CodeColumns>().is_err() && "DX*=".parse::<CodeColumns>().is_err());
}

#[test]
fn a_column_that_is_missing_names_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.csv");
    fs::write(&path, CLAIMS).unwrap();
    let refused = |columns: CsvColumns| {
        let error = open(&Source::Csv(columns), &path, &bare(), &Unwatched).unwrap_err();
        let advice = error.advice().unwrap().worded(|setting| format!("<{}>", setting.name));
        (error.to_string(), advice)
    };
    let (error, advice) = refused(columns(&["DX*=ICD9CM"]));
    assert!(error.starts_with("missing column `DX*`: found DESYNPUF_ID, CLM_ID,"), "{error}");
    assert!(advice.contains("<code_columns>"), "{advice}");
    let (error, advice) = refused(CsvColumns::default());
    assert!(error.starts_with("missing column `subject_id`"), "{error}");
    assert_eq!(advice, "say which column tells who with <subject>");
    let named = CsvColumns { subject: "DESYNPUF_ID".into(), ..CsvColumns::default() };
    assert_eq!(
        refused(named.clone()).1,
        "say which column has the codes with <code>, or which columns with <code_columns>"
    );
    let coded = CsvColumns { code: "HCPCS_CD_1".into(), ..named };
    assert_eq!(refused(coded).1, "say which column tells when with <time>");
}

#[test]
fn titles_that_are_given_go_before_others_and_belong_to_parts_of_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("titles.csv");
    fs::write(&path, "code,title\nICD9CM//250.00,Diabetes\nLAB//x,Creatinine\nZ,never met\n")
        .unwrap();
    let titles = Some(Titles::read(&path, &ImportLimits::default()).unwrap());
    let table = "subject_id,time,code,value\n1,2020-01-01,ICD9CM//25000,\n1,2020-01-01,LAB//x,2\n1,2020-01-01,Q,\n";
    let columns = CsvColumns { value: Some("value".into()), ..CsvColumns::default() };
    let (dataset, _) = long(table, columns, &ImportOptions { titles, ..bare() });
    let told: Vec<(&str, &str)> = dataset
        .titles
        .iter()
        .map(|(&code, title)| (dataset.vocabulary.name(code), title.as_str()))
        .collect();
    assert_eq!(told, [("ICD9CM//25000", "Diabetes"), ("LAB//x//q1", "Creatinine")]);
    fs::write(&path, "code,words\nA,B\n").unwrap();
    let error = Titles::read(&path, &ImportLimits::default()).unwrap_err().to_string();
    assert!(error.starts_with("missing column `title` or `description`"), "{error}");
    assert!(error.contains("found code, words") && error.ends_with("titles.csv:1"), "{error}");
    fs::write(&path, "code,title\nA,B\n,C\n").unwrap();
    let error = Titles::read(&path, &ImportLimits::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("column `code` is empty") && error.ends_with("titles.csv:3"),
        "{error}"
    );
}

#[test]
fn titles_come_from_any_table_of_codes_and_titles() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("titles.tsv");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        Titles::read(&path, &ImportLimits::default())
    };
    for table in [
        "code,title\nICD9CM//250.00,Diabetes\n",
        "Title;CODE\nDiabetes;ICD9CM//25000\nsecond;ICD9CM//25000\n",
        "n\tcode\tdescription\n1\tICD9CM//25000\tDiabetes\n2\tICD9CM//3\t\n",
        "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n7\tDiabetes\tICD9CM\t250.00\n",
    ] {
        let titles = read(table).unwrap();
        for name in ["ICD9CM//25000", "ICD9CM//250.00"] {
            assert_eq!(titles.of(name), Some("Diabetes"), "{table}");
        }
        // A code of another system is another code.
        assert_eq!(titles.of("ICD10CM//25000").or(titles.of("25000")), None);
    }
    for (table, expected, line) in [
        ("code,title\nA,B\nA\n", "1 fields in a row of a table with 2 columns", 3),
        ("code,code,title\n", "column `code` is there twice", 1),
        ("code\ttitle\nA\t\"open\n", "a quote in this row is never closed", 2),
    ] {
        let error = read(table).unwrap_err().to_string();
        let place = format!("titles.tsv:{line}");
        assert!(error.starts_with(expected) && error.ends_with(&place), "{error}");
    }
    let error = read("names,words\nA,B\n").unwrap_err().to_string();
    assert!(
        error.starts_with("missing column `code` or `concept_code`: found names, words"),
        "{error}"
    );
    assert!(error.ends_with("titles.tsv:1"), "{error}");
}
