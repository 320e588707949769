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

const FACTS: &str = include_str!("formats/facts-1.json");

const FACTS_TEXT: &str = "\
for ICD10CM version 2026
for LOINC
rule days: A in last 30 days => not B in 3 to 14 days ago
rule counts: A at least 2 times in last 365 days or (any of A, B) at least once in past or A at most 3 times
rule since: B since A => first visit
rule ages: AGE >= 18 => LAB//a1c between 4 and 6.5
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
fn days_counts_ages_and_values_in_the_first_format() {
    let limits = LanguageLimits::default();
    let file = RuleFile::from_json("facts-1.json", FACTS, &limits).unwrap();
    assert_eq!(file.to_string(), FACTS_TEXT);
    assert_eq!(file.to_json(), FACTS);
    for (wrong, said) in [
        (r#"{"in": ["A", "last 3 months"]}"#, "`months` is no unit of a window"),
        (r#"{"in": ["A", "14 to 3 days ago"]}"#, "a window that ends before it begins"),
        (r#"{"at least": ["A", 0]}"#, "at least 0 times is always so"),
        (r#"{"at least": ["A", 1.5]}"#, "expected how many times, a whole number"),
        (r#"{"at least": ["A"]}"#, "expected a formula, a count and a window"),
        (r#"{"at most": ["A", 2, "previous"]}"#, "a count over `previous`"),
        (r#"{"compare": ["A", "= 6"]}"#, "expected a comparison"),
        (r#"{"compare": ["A", "> 6 7"]}"#, "`> 6 7` is not a comparison"),
        (r#"{"compare": ["A", "between 6 and 4"]}"#, "a range that ends before it begins"),
        (r#"{"first visit": false}"#, "expected true"),
    ] {
        let text = format!(r#"{{"statements": [{{"rule": "r", "formula": {wrong}}}]}}"#);
        assert!(refused(&text).contains(said), "{wrong}: {}", refused(&text));
    }
    let late = r#"{"statements": [{"rule": "r", "formula": "A"}, {"for": "LOINC"}]}"#;
    assert!(refused(late).contains("stands before all its statements"), "{}", refused(late));
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
