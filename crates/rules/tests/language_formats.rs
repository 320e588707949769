//! Files of every format that rules were ever written in as JSON are read, and newer ones refused
//! by name. The files under `formats` are kept as they were written.

use consequence_rules::{LanguageLimits, RuleFile, TupleFile, parse, resolve, write_tuples};

const STATEMENTS: &str = include_str!("formats/statements-1.json");
const TUPLES: &str = include_str!("formats/tuples-1.json");

const TEXT: &str = "\
static SEX//F
let sugar = DIABETES, \"A1C//>8\"
rule lifelong: DIABETES in previous => DIABETES
rule women: SEX//F in static => not PROSTATE
rule one: at most one of sugar, (A and B in {-2, 3})
rule likely: not SMOKER in past => COPD with probability 0.01
";

const TUPLE_TEXT: &str = "\
static SEX//F
rule r1: DIABETES in previous => DIABETES
rule r2: SEX//F in static => not PROSTATE
rule r3: not DIABETES in past => END with probability 0.01
";

fn refused(statements: &str) -> String {
    let refused = RuleFile::from_json("a.json", statements, &LanguageLimits::default());
    refused.unwrap_err().to_string()
}

#[test]
fn the_first_format_of_statements() {
    let limits = LanguageLimits::default();
    let file = RuleFile::from_json("statements-1.json", STATEMENTS, &limits).unwrap();
    assert_eq!(file.to_string(), TEXT);
    assert_eq!(file.to_json(), STATEMENTS);
    let without = STATEMENTS.replace("\"format\": 1, ", "");
    assert_ne!(without, STATEMENTS);
    assert_eq!(RuleFile::from_json("old.json", without, &limits).unwrap(), file);
    assert_eq!(
        parse("a.rules", "", &limits).unwrap().to_json(),
        "{\"format\": 1, \"statements\": []}\n"
    );
}

#[test]
fn the_first_format_of_tuples() {
    let limits = LanguageLimits::default();
    let read = |text: &str| TupleFile::read("tuples-1.json", text, None, &limits);
    let file = read(TUPLES).unwrap();
    assert_eq!(file.rules.to_string(), TUPLE_TEXT);
    let resolved =
        resolve(std::slice::from_ref(&file.rules), Some(file.vocabulary), &Default::default());
    assert_eq!(write_tuples(&resolved.unwrap().rules).unwrap(), TUPLES);
    let without = TUPLES.replace("\"format\": 1,\n", "");
    assert_ne!(without, TUPLES);
    assert_eq!(read(&without).unwrap().rules, file.rules);
    // A tool that means something else by the word.
    assert!(read(&TUPLES.replace("\"format\": 1", "\"format\": \"wide\"")).is_ok());
    let newer = read(&TUPLES.replace("\"format\": 1", "\"format\": 2")).unwrap_err().to_string();
    assert!(newer.contains("format 2 of rules as JSON is newer"), "{newer}");
}

#[test]
fn a_newer_format_is_refused_by_name() {
    assert_eq!(
        refused("{\"format\": 2, \"something new\": 0}"),
        "error: at format: format 2 of rules as JSON is newer than 1, the newest known
 --> a.json:1:12
  |
1 | {\"format\": 2, \"something new\": 0}
  |            ^
  = help: read it with the version of consequence that wrote it
"
    );
    for format in ["0", "1.5", "-1", "\"1\"", "null"] {
        let said = refused(&format!("{{\"statements\": [], \"format\": {format}}}"));
        assert!(said.starts_with("error: at format: expected the number of a format"), "{said}");
    }
    assert!(refused("{\"format\": 1}").starts_with("error: expected the key `statements`\n"));
}
