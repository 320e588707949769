//! Every refusal says what is wrong, where, and what to do, and tells nothing of a patient.

use std::fs;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use consequence_feedback::Advise;
use consequence_record::{Kind, Vocabulary};
use consequence_tables::jsonl::{self, Loaded, ReadOptions};
use consequence_tables::{Limits, Problem, TableError, vocabulary};

const GOOD: &str = r#"{"id": "p1", "static": ["S"], "visits": [["A"], []]}"#;

fn read(text: &str) -> Result<Loaded, TableError> {
    jsonl::read_from(text.as_bytes(), "c.jsonl", &ReadOptions::default())
}

fn read_within(text: &str, limits: Limits) -> Result<Loaded, TableError> {
    let options = ReadOptions { limits, ..ReadOptions::default() };
    jsonl::read_from(text.as_bytes(), "c.jsonl", &options)
}

/// What to do about it.
fn advice(error: &TableError) -> String {
    error.advice().expect("advice").worded(|setting| setting.name.into())
}

/// The message, which says what and where.
fn refusal(outcome: Result<Loaded, TableError>) -> String {
    let error = outcome.expect_err("this should be refused");
    let message = error.to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert_eq!(lines.len(), 2, "{message}");
    assert!(!advice(&error).is_empty() && !advice(&error).ends_with('.'), "{message}");
    assert!(!lines[0].starts_with(char::is_uppercase), "{message}");
    assert!(!message.contains("secret"), "{message}");
    format!("{}{}", lines[0], lines[1].replace("  --> c.jsonl", " @"))
}

/// What is said of one line.
fn refused(line: &str) -> String {
    refusal(read(line))
}

#[test]
fn the_message_says_what_and_where() {
    let error = read(&format!("{GOOD}\n\n{{\"id\": \"p3\"}}\n")).unwrap_err();
    assert_eq!(error.to_string(), "missing field `static`\n  --> c.jsonl:3:12");
    let shape = "each line is {\"id\": ..., \"static\": [...], \"visits\": [[...], ...]}";
    assert_eq!(advice(&error), shape);
    assert_eq!((error.line, error.column), (Some(3), Some(12)));
}

#[test]
fn fields() {
    let cases = [
        (r#"{"static": [], "visits": [[]]}"#, "missing field `id` @:1:30"),
        (r#"{"id": 1, "visits": [[]]}"#, "missing field `static` @:1:25"),
        (r#"{"id": 1, "static": []}"#, "missing field `visits` @:1:23"),
        (r#"{"id": 1, "visit": []}"#, "unknown field `visit` @:1:17"),
        (r#"{"secret 1234": []}"#, "unknown field @:1:14"),
        (r#"{"id": 1, "id": 1}"#, "field `id` is given twice @:1:14"),
    ];
    for (line, expected) in cases {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn types() {
    let cases = [
        (r#"["secret"]"#, "expected an object, as each line is one record, found a list @:1:1"),
        (r#""secret""#, "expected an object, as each line is one record, found a string @:1:8"),
        (r#"{"id": 1.5}"#, "expected a string or an integer for `id`, found a number @:1:10"),
        (r#"{"id": null}"#, "expected a string or an integer for `id`, found null @:1:11"),
        (r#"{"id": ["secret"]}"#, "expected a string or an integer for `id`, found a list @:1:8"),
        (r#"{"static": "secret"}"#, "expected a list of codes for `static`, found a string @:1:19"),
        (
            r#"{"static": {"secret": 1}}"#,
            "expected a list of codes for `static`, found an object @:1:11",
        ),
        (r#"{"static": [57]}"#, "expected a code, as a string, found an integer @:1:14"),
        (r#"{"static": [["secret"]]}"#, "expected a code, as a string, found a list @:1:12"),
        (r#"{"visits": 7}"#, "expected a list of visits for `visits`, found an integer @:1:12"),
        (
            r#"{"visits": ["secret"]}"#,
            "expected a visit, as a list of codes, found a string @:1:20",
        ),
        (
            r#"{"visits": [["A"], true]}"#,
            "expected a visit, as a list of codes, found true or false @:1:23",
        ),
        (r#"{"visits": [["A", null]]}"#, "expected a code, as a string, found null @:1:22"),
        (r#"{"ended": "secret"}"#, "expected true or false for `ended`, found a string @:1:18"),
        (r#"{"ended": 0}"#, "expected true or false for `ended`, found an integer @:1:11"),
    ];
    for (line, expected) in cases {
        assert_eq!(refused(line), expected, "{line}");
    }
}

#[test]
fn every_way_to_cut_a_line_is_refused() {
    for end in 1..GOOD.len() {
        let cut = refused(&GOOD[..end]);
        assert!(cut.starts_with("the text ends in the middle of a value @:1"), "{end}: {cut}");
    }
    let help = advice(&read("{").unwrap_err());
    assert!(help.contains("each record is one line"), "{help}");
}

#[test]
fn what_is_not_json() {
    assert_eq!(refused("{id: 1}"), "invalid JSON: key must be a string @:1:2");
    assert_eq!(refused("secret"), "invalid JSON: expected value @:1:1");
    assert_eq!(refused(&format!("{GOOD} {GOOD}")), "invalid JSON: trailing characters @:1:54");
    let lone = refused(r#"{"id": "\ud800", "static": [], "visits": [[]]}"#);
    assert!(lone.starts_with("invalid JSON: "), "{lone}");
}

#[test]
fn codes() {
    let with = |codes: &str| format!(r#"{{"id": 1, "static": [], "visits": [[], [{codes}]]}}"#);
    assert_eq!(refused(&with(r#""""#)), "a code has an empty name @:1:42");
    assert_eq!(refused(&with(r#""A", "END""#)), "`END` cannot be written as a code @:1:50");
    let error = read(&with(r#""END""#)).unwrap_err();
    assert!(advice(&error).contains("derived from being the last encounter"), "{error}");
    assert!(refused(r#"{"static": ["END"]}"#).starts_with("`END` cannot"));

    let long = with(&format!("\"{}\"", "x".repeat(1025)));
    let said = refused(&long);
    assert!(
        said.starts_with("code `xxxxxxxxxxxxxxxxxxxxxxxx...` has a name longer than 1024 bytes")
    );
    assert!(read(&with(&format!("\"{}\"", "x".repeat(1024)))).is_ok());
}

#[test]
fn a_code_of_two_kinds_names_both_lines() {
    let other = r#"{"id": 2, "static": [], "visits": [["S"]]}"#;
    let said = refusal(read(&format!("{GOOD}\n{other}")));
    assert_eq!(said, "code `S` is in a visit here and in `static` on line 1 @:2:39");
    let other = r#"{"id": 2, "static": ["A"], "visits": [[]]}"#;
    let said = refusal(read(&format!("{GOOD}\n\n{other}")));
    assert_eq!(said, "code `A` is in `static` here and in a visit on line 1 @:3:24");
}

#[test]
fn codes_against_a_vocabulary() {
    let given = Vocabulary::new([("S", Kind::Static), ("A", Kind::Encounter)]).unwrap();
    let options = ReadOptions { vocabulary: Some(Arc::new(given)), ..ReadOptions::default() };
    let refused = |line: &str| refusal(jsonl::read_from(line.as_bytes(), "c.jsonl", &options));
    assert!(jsonl::read_from(GOOD.as_bytes(), "c.jsonl", &options).is_ok());
    assert_eq!(refused(r#"{"static": ["T\n"]}"#), r"unknown code `T\n` @:1:17");
    assert_eq!(refused(r#"{"static": ["A"]}"#), "encounter code `A` in `static` @:1:15");
    assert_eq!(refused(r#"{"visits": [["S"]]}"#), "static code `S` in a visit @:1:16");
    assert!(refused(r#"{"visits": [["END"]]}"#).starts_with("`END` cannot"));
}

#[test]
fn records() {
    assert_eq!(
        refused(r#"{"id": 1, "static": [], "visits": []}"#),
        "no encounters: a record has at least one encounter @:1:36"
    );
    let twice = r#"{"id": "secret", "static": [], "visits": [[]]}"#;
    assert_eq!(
        refusal(read(&format!("{twice}\n{GOOD}\n{twice}"))),
        "the id of this record was already used on line 1 @:3"
    );
    let (text, number) = (GOOD.replace("p1", "7"), GOOD.replace("\"p1\"", "7"));
    let said = refusal(read(&format!("{text}\n{number}")));
    assert!(said.starts_with("the id of this record was already used"), "7 and \"7\": {said}");
}

#[test]
fn files() {
    assert_eq!(refused(""), "no records in the file @");
    assert_eq!(refused("\n  \r\n\n"), "no records in the file @");
    let bytes = b"{\"id\": \"\xff\"}";
    let said = refusal(jsonl::read_from(&bytes[..], "c.jsonl", &ReadOptions::default()));
    assert_eq!(said, "invalid UTF-8 @:1:9");

    let folder = tempfile::tempdir().unwrap();
    let error = jsonl::read(folder.path().join("none.jsonl"), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Open(_)), "{error}");
    let error = jsonl::read(folder.path(), &ReadOptions::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Open(_) | Problem::Read(_)), "{error}");
}

#[test]
fn limits() {
    let limits = Limits { line_bytes: GOOD.len(), ..Limits::default() };
    assert!(read_within(GOOD, limits).is_ok());
    let said = refusal(read_within(&format!("{GOOD}\n{GOOD} "), limits));
    assert_eq!(said, format!("the line is longer than {} bytes @:2", GOOD.len()));

    let limits = Limits { visits: 1, ..Limits::default() };
    let said = refusal(read_within(GOOD, limits));
    assert_eq!(said, "the record has more than 1 encounters @:1:51");
    let limits = Limits { visits: 2, ..Limits::default() };
    assert!(read_within(GOOD, limits).is_ok());

    // What to do about it is something that every user can do: a limit is raised by no option.
    let help = |limits| advice(&read_within(GOOD, limits).unwrap_err());
    let told = [
        help(Limits { visits: 1, ..Limits::default() }),
        help(Limits { line_bytes: 9, ..Limits::default() }),
        help(Limits { code_bytes: 0, ..Limits::default() }),
        advice(
            &vocabulary::read_from("{}".as_bytes(), "v", &Limits { vocabulary_bytes: 1, ..limits })
                .unwrap_err(),
        ),
    ];
    assert_eq!(told[0], "leave out its earliest encounters, or make one of several");
    assert_eq!(told[3], "a vocabulary lists each code once; check that this is one");
    assert!(told.iter().all(|help| !help.contains("limit")), "{told:?}");
}

#[test]
fn a_line_without_end_is_given_up_early() {
    let endless = BufReader::new(io::repeat(b'[').take(10 << 30));
    let limits = Limits { line_bytes: 1 << 20, ..Limits::default() };
    let options = ReadOptions { limits, ..ReadOptions::default() };
    let error = jsonl::read_from(endless, "c.jsonl", &options).unwrap_err();
    assert!(matches!(error.problem, Problem::LongLine { .. }), "{error}");
}

#[test]
fn vocabulary_files() {
    let read = |text: &str| vocabulary::read_from(text.as_bytes(), "v.json", &Limits::default());
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let good = "{\n  \"encounter\": [\"B\", \"A\"],\n  \"static\": [\"S\"]\n}\n";
    let names: Vec<String> = {
        let vocabulary = read(good).unwrap();
        vocabulary.codes().map(|code| vocabulary.name(code).to_owned()).collect()
    };
    assert_eq!(names, ["S", "B", "A", "END"], "static first, else as written");
    let error = read("{\"static\": []\n}").unwrap_err();
    assert_eq!(error.to_string(), "missing field `encounter`\n  --> v.json:2:1");
    assert_eq!(advice(&error), "the file is {\"static\": [...], \"encounter\": [...]}");
    let cases = [
        (r#"{"static": ["S"], "encounter": ["S"]}"#, "code `S` is listed twice\n  --> v.json:1:35"),
        (r#"{"static": [""]}"#, "a code has an empty name\n"),
        (r#"{"static": ["END"]}"#, "`END` cannot be written as a code\n"),
        (r#"{"static": [1]}"#, "expected a code, as a string, found an integer\n"),
        (r#"{"static": {}}"#, "expected a list of codes for `static`, found an object\n"),
        (r#"{"codes": []}"#, "unknown field `codes`\n"),
        (r#"{"static": ["#, "the text ends in the middle of a value\n"),
        ("[]", "expected an object with the fields `static` and `encounter`, found a list\n"),
        ("", "the text ends in the middle of a value\n"),
    ];
    for (text, expected) in cases {
        assert!(refused(text).starts_with(expected), "{text}: {}", refused(text));
    }
    let error = vocabulary::read_from(&b"\n{\"\xff"[..], "v.json", &Limits::default()).unwrap_err();
    assert_eq!((error.line, error.column), (Some(2), Some(3)), "{error}");
    let limits = Limits { vocabulary_bytes: 10, ..Limits::default() };
    let error = vocabulary::read_from(good.as_bytes(), "v.json", &limits).unwrap_err();
    assert!(matches!(error.problem, Problem::LongFile { limit: 10 }), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v.json");
    assert!(vocabulary::read(&path, &Limits::default()).is_err());
    fs::write(&path, good).unwrap();
    assert_eq!(vocabulary::read(&path, &Limits::default()).unwrap().len(), 4);
}

#[test]
fn dates_and_values() {
    let line = |rest: &str| {
        format!(r#"{{"id": "secret", "static": [], "visits": [["A", "B"], ["A"]], {rest}}}"#)
    };
    let cases = [
        (r#""birth": "2001-02-29""#, "`birth` has a text that is no date"),
        (r#""birth": "secret""#, "`birth` has a text that is no date"),
        (r#""birth": 2001"#, "expected a date, as a string, for `birth`, found an integer"),
        (r#""times": "2001-05-31""#, "expected a list of dates for `times`, found a string"),
        (
            r#""times": ["2001-05-31", null]"#,
            "expected a date, as a string, in `times`, found null",
        ),
        (r#""times": ["2001-05-31", "31.5.2001"]"#, "`times` has a text that is no date"),
        (r#""times": ["2001-05-31 25:00", "2002-01-01"]"#, "`times` has a text that is no date"),
        (r#""times": ["2001-05-31"]"#, "`times` has 1 entries, and the record 2 encounters"),
        (r#""times": []"#, "`times` has 0 entries, and the record 2 encounters"),
        (
            r#""times": ["2001-05-31", "2001-05-30"]"#,
            "encounter 2 begins before the one that it follows",
        ),
        (r#""ends": [null, null]"#, "`ends` without `times`"),
        (
            r#""ends": ["2001-05-31"], "times": ["2001-05-31", "2001-05-31"]"#,
            "`ends` has 1 entries, and the record 2 encounters",
        ),
        (
            r#""times": ["2001-05-31", "2001-05-31"], "ends": [null, "2001-05-30"]"#,
            "encounter 2 ends before it begins",
        ),
        (
            r#""times": ["2001-05-31", "2001-05-31"], "ends": [7, null]"#,
            "expected a date, as a string, or null in `ends`, found an integer",
        ),
        (r#""values": {"A": 1}"#, "expected a list of objects for `values`, found an object"),
        (r#""values": [{}]"#, "`values` has 1 entries, and the record 2 encounters"),
        (
            r#""values": [{}, 7]"#,
            "expected the values of an encounter, as an object of numbers by code, found an integer",
        ),
        (r#""values": [{"A": "secret"}, {}]"#, "expected a number in `values`, found a string"),
        (r#""values": [{"A": null}, {}]"#, "expected a number in `values`, found null"),
        (r#""values": [{"A": NaN}, {}]"#, "invalid JSON: expected value"),
        (r#""values": [{"A": 1e39}, {}]"#, "a number is too large"),
        (r#""values": [{"A": -1e999}, {}]"#, "a number is too large"),
        (
            r#""values": [{"A": 1, "A": 2}, {}]"#,
            "`values` has two values for code `A` in encounter 1",
        ),
        (
            r#""values": [{}, {"B": 1}]"#,
            "`values` has a value for code `B`, which encounter 2 does not have",
        ),
        (r#""values": [{"END": 1}, {}]"#, "`END` cannot be written as a code"),
    ];
    for (rest, expected) in cases {
        let said = refused(&line(rest));
        let (what, at) = said.rsplit_once(" @:1:").expect("a place");
        assert_eq!(what, expected, "{rest}");
        assert!(at.parse::<usize>().is_ok_and(|column| column > 60), "{rest}: {said}");
        // Those who read codes alone do not mind, as long as it is JSON.
        let skip = ReadOptions { details: false, ..ReadOptions::default() };
        let skipped = jsonl::read_from(line(rest).as_bytes(), "c.jsonl", &skip);
        assert!(skipped.is_ok() != expected.starts_with("invalid JSON: expected"), "{rest}");
    }
    let times = line(r#""times": ["2001-05-31", "2001-05-31"]"#);
    let later = GOOD.replace("\"S\"", "");
    let said = refusal(read(&format!("{times}\n{later}")));
    assert!(said.starts_with("the record has no `times`, and those before it have @:2:"), "{said}");
    let said = refusal(read(&format!("{later}\n{times}")));
    assert!(
        said.starts_with("the record has `times`, and those before it have none @:2:"),
        "{said}"
    );
    // A birth after the first visit is as it is told.
    assert!(read(&line(r#""birth": "2040-01-01", "times": ["2001-05-31", "2001-05-31"]"#)).is_ok());
}
