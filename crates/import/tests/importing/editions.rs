//! The edition of a classification that an encounter is coded in.

use crate::common::{long, plain, shown};
use consequence_feedback::Unwatched;
use consequence_import::{CsvColumns, ImportOptions, Source, open};

const HEAD: &str = "subject_id,time,code\n";

fn own_rules(rows: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.csv");
    std::fs::write(&path, format!("{HEAD}{rows}")).unwrap();
    let source = Source::Csv(CsvColumns::default());
    open(&source, &path, &plain(), &Unwatched).unwrap().own_rules().unwrap_or_default()
}

#[test]
fn an_encounter_has_a_code_of_its_edition() {
    let rows = "1,2014-01-01,ICD9CM//25000\n1,2014-01-01,ICD9PROC//3893\n1,2014-01-01,RX//a\n\
                1,2016-01-01,ICD10CM//E119\n1,2016-02-01,RX//a\n2,2016-01-01,ICD10PCS//0DB\n";
    let options = ImportOptions { gaps: false, ..plain() };
    let (dataset, summary) = long(&format!("{HEAD}{rows}"), CsvColumns::default(), &options);
    assert_eq!(
        shown(&dataset),
        [
            "1:  | EDITION//ICD9 ICD9CM//25000 ICD9PROC//3893 RX//a | EDITION//ICD10 ICD10CM//E119 | RX//a",
            "2:  | EDITION//ICD10 ICD10PCS//0DB"
        ]
    );
    assert_eq!(summary.empty_visits, 0);
    let rules = own_rules(rows);
    for rule in [
        "rule own-edition-ICD9: not EDITION//ICD9 => none of ICD9CM//*, ICD9PROC//*\n",
        "rule own-edition-ICD10: not EDITION//ICD10 => none of ICD10CM//*, ICD10PCS//*\n",
        "rule own-one-edition: at most one of EDITION//ICD9, EDITION//ICD10\n",
        "rule own-none-before-ICD10: EDITION//ICD10 in past => none of EDITION//ICD9\n",
    ] {
        assert!(rules.contains(rule), "{rule}{rules}");
    }
}

#[test]
fn editions_that_another_tool_tells_in_a_part_of_their_own() {
    let rules = own_rules(
        "1,2014-01-01,DIAGNOSIS//ICD//9//25000\n1,2016-01-01,DIAGNOSIS//ICD//10//E119\n1,2016-01-01,PROCEDURE//ICD//10//0DB\n",
    );
    assert!(rules.contains("not EDITION//ICD9 => none of DIAGNOSIS//ICD//9//*\n"), "{rules}");
    let newer = "not EDITION//ICD10 => none of DIAGNOSIS//ICD//10//*, PROCEDURE//ICD//10//*\n";
    assert!(rules.contains(newer), "{rules}");
}

#[test]
fn what_records_do_not_show_is_no_rule() {
    let both = own_rules("1,2016-01-01,ICD9CM//250\n1,2016-01-01,ICD10CM//E11\n");
    assert!(both.contains("own-edition-ICD9") && !both.contains("own-one-edition"), "{both}");
    let back = own_rules("1,2016-01-01,ICD10CM//E11\n1,2017-01-01,ICD9CM//250\n");
    assert!(back.contains("own-one-edition") && !back.contains("own-none-before"), "{back}");
}

#[test]
fn one_edition_goes_without_saying() {
    let rules = own_rules("1,2016-01-01,ICD9CM//250\n1,2017-01-01,RX//a\n");
    assert!(!rules.contains("EDITION"), "{rules}");
    // A code of the source's own by that name is left as it is.
    let named = own_rules(
        "1,2016-01-01,ICD9CM//250\n1,2017-01-01,ICD10CM//E11\n1,2017-01-01,EDITION//of mine\n",
    );
    assert!(!named.contains("own-edition"), "{named}");
    let (alone, summary) = long(
        &format!(
            "{HEAD}1,2016-01-01,ICD9CM//250\n2,2016-01-01,ICD10CM//E11\n3,2016-01-01,ICD10CM//E11\n"
        ),
        CsvColumns::default(),
        &ImportOptions { min_patients: 2, drop_empty: true, ..plain() },
    );
    // Nobody is left whose encounter is coded in ICD-9.
    assert_eq!(
        shown(&alone),
        ["2:  | EDITION//ICD10 ICD10CM//E11", "3:  | EDITION//ICD10 ICD10CM//E11"]
    );
    assert_eq!(summary.vocabulary, 2);
}
