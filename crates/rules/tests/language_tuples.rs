//! The reference's tuples, there and back.

use std::path::PathBuf;
use std::sync::Arc;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::{
    LanguageLimits, ResolveOptions, Resolved, TupleFile, resolve, write_tuples,
};
use serde_json::Value;

/// A file of the reference material, which lies beside the repository where there is one.
fn reference(name: &str) -> Option<String> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "..", "shared", "reference", name]
        .iter()
        .collect();
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        println!("SKIPPED: no reference material at {}", path.display());
    }
    text
}

fn read(text: &str, vocabulary: Option<Arc<Vocabulary>>) -> (TupleFile, Resolved) {
    let limits = LanguageLimits::default();
    let file = TupleFile::read("tuples.json", text, vocabulary, &limits)
        .unwrap_or_else(|refused| panic!("{refused}"));
    let resolved = resolve(
        std::slice::from_ref(&file.rules),
        Some(Arc::clone(&file.vocabulary)),
        &ResolveOptions::default(),
    )
    .unwrap_or_else(|refused| panic!("{refused}"));
    (file, resolved)
}

fn tuples(text: &str) -> Vec<Value> {
    let value: Value = serde_json::from_str(text).unwrap();
    value["rules"].as_array().unwrap().clone()
}

/// The tuple without a window that nothing looks at, its numbers as floats.
fn plain(tuple: &Value) -> String {
    let mut tuple = tuple.clone();
    if tuple[1] == tuple[2] {
        tuple[0] = Value::Array(Vec::new());
    }
    tuple[6] = tuple[6].as_f64().unwrap().into();
    tuple.to_string()
}

fn round_trip(text: &str, vocabulary: Option<Arc<Vocabulary>>) -> Resolved {
    let (file, resolved) = read(text, vocabulary);
    let written = write_tuples(&resolved.rules).unwrap();
    let plainly = |text: &str| tuples(text).iter().map(plain).collect::<Vec<String>>();
    assert_eq!(plainly(&written), plainly(text));
    // The text form says the same, and the written file carries all it needs.
    let limits = LanguageLimits::default();
    let reparsed = consequence_rules::parse("text", file.rules.to_string(), &limits).unwrap();
    assert_eq!(reparsed, file.rules);
    let (again, resolved_again) = read(&written, None);
    assert_eq!(again.rules, file.rules);
    for (left, right) in resolved.rules.iter().zip(&resolved_again.rules) {
        assert_eq!(left.says, right.says);
    }
    resolved
}

#[test]
fn the_published_rules() {
    let Some(text) = reference("published_rules.json") else { return };
    let resolved = round_trip(&text, None);
    let rules = &resolved.rules;
    assert_eq!(rules.len(), 95);
    assert_eq!(rules.vocabulary().len(), 1617, "1,610 codes, 6 labels and END");
    assert_eq!(&*rules[1].origin.text, "rule r2: label-1610 in static => not code-0089");
    let warnings: Vec<&str> =
        resolved.warnings.iter().map(|warning| warning.message.as_str()).collect();
    assert_eq!(warnings, ["rule `r84` has a window and no past code: it is unused"]);
}

#[test]
fn the_uci_rules() {
    let (Some(text), Some(names)) =
        (reference("uci/uci_rules.json"), reference("uci/uci_vocab.json"))
    else {
        return;
    };
    let names: Value = serde_json::from_str(&names).unwrap();
    let mut codes: Vec<(u64, &String)> = names
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, number)| (number.as_u64().unwrap(), name))
        .collect();
    codes.sort_unstable();
    let kind = |name: &str| {
        if name.starts_with("AGE//") || name.starts_with("SEX//") {
            Kind::Static
        } else {
            Kind::Encounter
        }
    };
    let vocabulary = Vocabulary::new(codes.iter().map(|(_, name)| (name, kind(name)))).unwrap();
    let resolved = round_trip(&text, Some(Arc::new(vocabulary)));
    assert_eq!(resolved.rules.len(), 29);
    assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
    // The file also says each rule in words: ours say the same.
    let told: Value = serde_json::from_str(&text).unwrap();
    for (rule, told) in resolved.rules.iter().zip(told["text"].as_array().unwrap()) {
        let told = told.as_str().unwrap().replace("@[1]", " in static").replace('!', "not ");
        assert_eq!(rule.formula().text(resolved.rules.vocabulary()), told);
    }
}

#[test]
fn the_tiny_rules() {
    let Some(text) = reference("tiny_config.json") else { return };
    let resolved = round_trip(&text, None);
    let rules = &resolved.rules;
    let texts: Vec<&str> = rules.iter().map(|rule| &*rule.origin.text).collect();
    assert_eq!(texts[3], "rule r4: not code-11 in past => not code-12");
    assert_eq!(
        texts[4],
        "rule r5: label-46 in static and not code-02 in static and code-04 and not code-06 => code-20"
    );
    assert_eq!(rules[9].probability(), Some(0.25));
}

#[test]
fn windows_and_end() {
    let text = r#"{"codes": 3, "labels": 0, "rules": [
        [[2, -3, 1], [0], [], [], [], 4, 1],
        [-1, [0], [1], [], [], 2, 0.5],
        [[], [], [], [], [], 2, 0]
    ]}"#;
    let (file, resolved) = read(text, None);
    assert_eq!(
        file.rules.to_string(),
        "rule r1: code-0 in {-3, 0, 1} => END
rule r2: code-0 in past and not code-1 in past => code-2 with probability 0.5
rule r3: not code-2
"
    );
    let written = write_tuples(&resolved.rules).unwrap();
    assert!(written.contains("[[-3,1,2],[0],[],[],[],4,1]"), "{written}");
}

#[test]
fn codes_by_name() {
    let text = r#"[
        [[1], ["SEX//F"], [], [], ["A"], "x y", 1],
        [-1, [], ["A"], [], [], "END", 0.5],
        [[], [], [], ["*"], [], "A", 0]
    ]"#;
    let (file, resolved) = read(text, None);
    assert_eq!(
        file.rules.to_string(),
        "rule r1: SEX//F in static and not A => \"x y\"
rule r2: not A in past => END with probability 0.5
rule r3: \"*\" => not A
"
    );
    let vocabulary = resolved.rules.vocabulary();
    let named: Vec<_> =
        vocabulary.codes().map(|code| (vocabulary.name(code), vocabulary.kind(code))).collect();
    assert_eq!(named[0], ("SEX//F", Kind::Static));
    let of_encounters = ["*", "A", "x y", "END"].map(|name| (name, Kind::Encounter));
    assert_eq!(named[1..], of_encounters);
    // What is written numbers the codes and lists their names, and says the same.
    let (again, _) = read(&write_tuples(&resolved.rules).unwrap(), None);
    let rules = |file: &TupleFile| file.rules.to_string().replace("static SEX//F\n", "");
    assert_eq!(rules(&again), rules(&file));

    // Names beside numbers, and names that the file does not have.
    let mixed = r#"{"codes": 2, "labels": 0, "names": ["A", "B"], "rules": [
        [[], [], [], ["A", 1], [], 0, 0]]}"#;
    assert_eq!(read(mixed, None).0.rules.to_string(), "rule r1: A and B => not A\n");
    let limits = LanguageLimits::default();
    let unknown = mixed.replace("[\"A\", 1]", "[\"C\"]");
    let file = TupleFile::read("t.json", unknown, None, &limits).unwrap();
    let refused = resolve(&[file.rules], Some(file.vocabulary), &ResolveOptions::default());
    let said = refused.unwrap_err().to_string();
    assert!(said.starts_with("error: unknown code `C`\n --> t.json:2:"), "{said}");
    let said = |text: &str| TupleFile::read("t.json", text, None, &limits).unwrap_err().to_string();
    assert!(said(r#"[[[], [], [], [""], [], "A", 0]]"#).contains("at [0][3][0]: empty name"));
    assert!(said(r#"[[[], [], [], [null], [], "A", 0]]"#).contains("expected the name of a code"));
    assert!(said(r#"[[[], [], [], ["B"], [], 1, 0]]"#).contains("how many `codes` there are"));
    let long = format!(r#"[[[], [], [], [], [], "{}", 0]]"#, "x".repeat(1_025));
    assert!(said(&long).contains("a name of 1025 bytes, more than 1024"));
}

#[test]
fn refusals_name_the_field_or_the_rule() {
    let said = |tuple: &str| {
        let text = format!("{{\"codes\": 3, \"labels\": 1, \"rules\": [\n{tuple}\n]}}");
        let refused = TupleFile::read("t.json", &text, None, &LanguageLimits::default());
        refused.unwrap_err().to_string().lines().next().unwrap().to_owned()
    };
    assert_eq!(
        said("[[1], [9], [], [], [], 2, 0]"),
        "error: at rules[0][1][0]: expected a number 0 to 6"
    );
    assert_eq!(
        said("[[1], [4], [], [], [], 2, 0]"),
        "error: at rules[0][1][0]: 4 marks the start or padding, which no rule can name"
    );
    assert_eq!(
        said("[[0], [], [], [], [], 2, 0]"),
        "error: at rules[0][0][0]: visits are counted from 1"
    );
    assert_eq!(
        said("[[], [1], [], [], [], 2, 0]"),
        "error: at rules[0]: past codes, but no past visits"
    );
    assert_eq!(
        said("[[], [], [], [], 2, 0]"),
        "error: at rules[0]: expected seven fields, found 6"
    );
    assert_eq!(
        said("[[], [], [], [], [], 2, 2]"),
        "error: at rules[0][6]: expected a value from 0 to 1"
    );
    let bare =
        TupleFile::read("t.json", "[[[], [], [], [], [], 2, 0]]", None, &LanguageLimits::default())
            .unwrap_err();
    assert!(bare.to_string().contains("does not say how many `codes`"));

    let written = |text: &str| {
        let rules = consequence_rules::RuleSet::parse(text, None).unwrap();
        write_tuples(&rules).map_err(|refused| refused.to_string())
    };
    assert_eq!(
        written("rule two-windows: A in past and B in previous => C").unwrap_err(),
        "rule `two-windows` (rules:1) cannot be written as a tuple: it looks at more than one window"
    );
    assert!(written("rule a: A or B => C").is_err());
    assert!(written("rule a: A => B or C").is_err());
    assert!(written("rule a: not (A or B in past) => not not C").is_ok());
}
