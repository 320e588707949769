//! Rules: as text, as JSON, as tuples.

use std::sync::Arc;

use consequence_rules::{
    Diagnostic, Diagnostics, LanguageLimits, ResolveOptions, Resolved, Rule, RuleFile, TupleFile,
    UnknownCodes, parse, resolve, write_tuples,
};

use crate::{Target, seeds};

/// Rules in the rule language.
pub const RULE_TEXT: Target =
    Target { name: "rule-text", read: rule_text, seeds: texts, words: WORDS };

/// Rules as JSON.
pub const RULE_JSON: Target =
    Target { name: "rule-json", read: rule_json, seeds: documents, words: JSON_WORDS };

/// Rules as the reference's tuples.
pub const RULE_TUPLES: Target =
    Target { name: "rule-tuples", read: rule_tuples, seeds: tuples, words: &TUPLE_WORDS };

const WORDS: &[&str] = &[
    "rule",
    "let",
    "static",
    "and",
    "or",
    "not",
    "in",
    "any",
    "of",
    "all",
    "none",
    "at",
    "most",
    "least",
    "one",
    "exactly",
    "with",
    "probability",
    "true",
    "false",
    "past",
    "previous",
    "visit",
    "visits",
    "ago",
    "last",
    "to",
    "days",
    "weeks",
    "times",
    "once",
    "only",
    "since",
    "first",
    "between",
    "for",
    "version",
    "AGE",
    " >= ",
    " < ",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "=>",
    "<=>",
    "<",
    ">",
    "\"",
    "\\",
    "#",
    "\n",
    "a",
    "B",
    "a:",
    "x*",
    "?",
    "-1",
    "0",
    "3",
    "99999",
    "0.5",
    "\"q\\\"\"",
];

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "false",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"format\"",
    "\"statements\"",
    "\"rule\"",
    "\"formula\"",
    "\"let\"",
    "\"is\"",
    "\"static\"",
    "\"codes\"",
    "\"probability\"",
    "\"and\"",
    "\"or\"",
    "\"not\"",
    "\"in\"",
    "\"code\"",
    "\"range\"",
    "\"implies\"",
    "\"iff\"",
    "\"exactly one of\"",
    "\"last 3 visits\"",
    "\"last 30 days\"",
    "\"at least\"",
    "\"at most\"",
    "\"since\"",
    "\"compare\"",
    "\"first visit\"",
    "\"for\"",
    "\"version\"",
    "\"> 6.5\"",
    "2",
    "\"END\"",
    "1e-7",
];

const TUPLE_WORDS: [&str; 20] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "[[1], [9], [], [], [], 2, 0]",
    "[-1, [], [], [3], [], 4, 0.5]",
    "[-1, -2]",
    "\"codes\"",
    "\"labels\"",
    "\"special\"",
    "\"names\"",
    "\"rules\"",
    "\"END\"",
    "\"A\"",
    "[\"A\"]",
    "null",
    "\"x*\"",
    "\"\"",
];

fn texts() -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = seeds::corpus().into_iter().map(String::into_bytes).collect();
    texts.push(seeds::file("crates/consequence/src/clinic.rules"));
    texts
}

/// The corpus as JSON, a few rules to a file.
fn documents() -> Vec<Vec<u8>> {
    let limits = LanguageLimits::default();
    let read = seeds::corpus().into_iter().filter_map(|text| parse("seed", text, &limits).ok());
    let mut documents: Vec<Vec<u8>> = read.map(|file| file.to_json().into_bytes()).collect();
    documents.push(seeds::file("crates/rules/tests/formats/statements-1.json"));
    documents
}

/// What of the corpus is tuples, and tuples that number and name their codes.
fn tuples() -> Vec<Vec<u8>> {
    let limits = LanguageLimits::default();
    let written = |text: String| -> Option<Vec<u8>> {
        let file = parse("seed", text, &limits).ok()?;
        let resolved = resolve(&[file], None, &ResolveOptions::default()).ok()?;
        Some(write_tuples(&resolved.rules).ok()?.into_bytes())
    };
    let mut tuples: Vec<Vec<u8>> = seeds::corpus().into_iter().filter_map(written).collect();
    tuples.push(seeds::file("crates/rules/tests/formats/tuples-1.json"));
    tuples.push(
        br#"{"codes": 9, "labels": 2, "special": 3, "rules": [[[1], [9], [], [], [], 2, 0],
        [-1, [3], [4], [5], [6], 12, 0.25], [[-1, 2], [], [], [], [], 1, 1]]}"#
            .to_vec(),
    );
    tuples.push(br#"[[[1, -2], ["A"], ["B"], [], ["C"], "END", 0.5]]"#.to_vec());
    tuples
}

fn rule_text(text: &[u8]) {
    let limits = LanguageLimits::default();
    match parse("fuzz.rules", text, &limits) {
        Ok(file) => accepted(text, &file),
        Err(refused) => check_refused(text, &refused),
    }
}

fn rule_json(text: &[u8]) {
    let limits = LanguageLimits::default();
    match RuleFile::from_json("fuzz.json", text, &limits) {
        Ok(file) => accepted(text, &file),
        Err(refused) => check_refused(text, &refused),
    }
}

fn rule_tuples(text: &[u8]) {
    let limits = LanguageLimits::default();
    let file = match TupleFile::read("fuzz.json", text, None, &limits) {
        Ok(file) => file,
        Err(refused) => return check_refused(text, &refused),
    };
    accepted(text, &file.rules);
    let Some(resolved) = tuple_rules(&file) else { return };
    let written = write_tuples(&resolved.rules).expect("what came from tuples is tuples");
    let again = TupleFile::read("again.json", &written, None, &limits)
        .unwrap_or_else(|refused| panic!("{refused}{written}"));
    let again = tuple_rules(&again).expect("rules that resolved before");
    same_rules(&resolved, &again, &written);
}

fn tuple_rules(file: &TupleFile) -> Option<Resolved> {
    let vocabulary = Some(Arc::clone(&file.vocabulary));
    resolve(std::slice::from_ref(&file.rules), vocabulary, &ResolveOptions::default()).ok()
}

/// Both say the same of codes of the same names; tuples may number them otherwise.
fn same_rules(one: &Resolved, other: &Resolved, text: &str) {
    let said = |resolved: &Resolved| -> Vec<(String, Option<f64>)> {
        let vocabulary = resolved.rules.vocabulary();
        let says = |rule: &Rule| (rule.formula().text(vocabulary), rule.probability());
        resolved.rules.iter().map(says).collect()
    };
    assert_eq!(said(one), said(other), "{text}");
}

/// What was read is the same once it was printed and once it was put into JSON, and whether its codes
/// are known or not, its diagnostics lie in the text.
fn accepted(text: &[u8], file: &RuleFile) {
    let limits = LanguageLimits::default();
    check(text, file.warnings());
    let printed = file.to_string();
    let again = parse("again.rules", &printed, &limits)
        .unwrap_or_else(|refused| panic!("{refused}{printed}"));
    assert_eq!(&again, file, "{printed}");
    let json = file.to_json();
    let again = RuleFile::from_json("again.json", &json, &limits)
        .unwrap_or_else(|refused| panic!("{refused}{json}"));
    assert_eq!(&again, file, "{json}");
    for unknown_codes in [UnknownCodes::Refuse, UnknownCodes::Absent] {
        let options =
            ResolveOptions { unknown_codes, limits: limits.clone(), ..Default::default() };
        match resolve(std::slice::from_ref(file), None, &options) {
            Ok(resolved) => {
                check(text, &resolved.warnings);
                for rule in resolved.rules.iter() {
                    assert!(rule.origin.text.chars().count() <= 303);
                }
                let again = resolve(std::slice::from_ref(&again), None, &options);
                same_rules(&resolved, &again.expect("the same rules"), &json);
            }
            Err(refused) => check_refused(text, &refused),
        }
    }
}

fn check<'a>(text: &[u8], diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty());
        let location = diagnostic.location.as_deref().into_iter();
        for location in location.chain(diagnostic.notes.iter().map(|note| &note.location)) {
            let span = location.span;
            assert!(span.start <= span.end, "{diagnostic}");
            if !location.file.ends_with("(as rules)") {
                assert!(span.end as usize <= text.len(), "{diagnostic}");
            }
            assert!(location.line >= 1 && location.column >= 1);
        }
        let rendered = diagnostic.render();
        assert!(rendered.ends_with('\n'));
        assert!(rendered.lines().all(|line| line.chars().count() < 400), "{rendered}");
    }
}

fn check_refused(text: &[u8], refused: &Diagnostics) {
    assert!(!refused.is_empty());
    assert!(!refused.to_string().is_empty());
    check(text, refused.iter());
}
