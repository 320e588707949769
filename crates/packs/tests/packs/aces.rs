//! Predicates of ACES task configurations as names.

use consequence_packs::{NamedGroups, PackLimits};
use consequence_rules::RuleSet;

/// A configuration with every form of a predicate.
const TASK: &str = r#"
description: >
  predicates: not really
  # not a comment either
predicates:
  # Derived ones may come first.
  ended:
    expr: or(discharge, death)
  discharge: {code: {regex: "^DISCHARGE//.*"}}
  death:
    code: MEDS_DEATH
  low_potassium:
    code: LAB//potassium//mEq/L
    value_max: 3.5
  normal_potassium:
    code: LAB//potassium//mEq/L
    value_min: 3.5
    value_min_inclusive: True
    value_max: 5
    value_max_inclusive: false
  opioids:
    code:
      any:
        - RX//morphine
        - "RX//fentanyl, patch"
        - RX//morphine
  cardiac: {code: {regex: '^ICD10CM//I(2[0-5]|50)'}}
  both: {expr: "and(cardiac, low_potassium)"}
  male: {code: GENDER//M, static: true}
  at: {code: AT}
  icu: {code: icu}
  odd: {code: {regex: '\d{3}$'}}
  odder: {expr: "and(odd, icu)"}
  blanks: {code: {regex: '^LAB test'}}
  born: {code: MEDS_BIRTH}
  elsewhere: {code: X, other_cols: {unit: icu}}
patient_demographics:
  brown: {code: {any: [EYES//brown, EYES//hazel]}}
trigger: discharge
windows:
  input:
    start: NULL
    end: trigger + 24h
    has:
      icu: (None, 0)
  target: {start: input.end, end: start + 30d}
"#;

fn read(text: &str) -> Result<NamedGroups, String> {
    let named = NamedGroups::read_aces("task.yaml", text.as_bytes(), &PackLimits::default());
    named.map_err(|error| error.to_string())
}

#[test]
fn every_form_of_a_predicate() {
    let named = read(TASK).unwrap();
    let statements: Vec<&str> = named.groups.iter().map(|group| &*group.statement).collect();
    assert_eq!(
        statements,
        [
            "let discharge = DISCHARGE//*",
            "let death = DEATH",
            "let ended = discharge or death",
            "let low_potassium = LAB//potassium//mEq/L < 3.5",
            "let normal_potassium = LAB//potassium//mEq/L between 3.5 and 4.9999995",
            "let opioids = RX//morphine, \"RX//fentanyl, patch\"",
            "let cardiac = ICD10CM//I20*, ICD10CM//I21*, ICD10CM//I22*, ICD10CM//I23*, \
             ICD10CM//I24*, ICD10CM//I25*, ICD10CM//I50*",
            "let both = cardiac and low_potassium",
            "let male = GENDER//M in static",
            "let named-at = AT",
            "let icu = \"icu\"",
            "let brown = (any of EYES//brown, EYES//hazel) in static",
        ]
    );
    let unsaid: Vec<&str> = named.unsaid.iter().map(|part| &*part.what).collect();
    let begins = [
        "predicate `odd` (line 32): code {regex \\d{3}$}",
        "predicate `odder`",
        "predicate `blanks`",
        "predicate `born`",
        "predicate `elsewhere`",
        "trigger `discharge`",
        "window `input`",
        "window `target`",
    ];
    assert_eq!(unsaid.len(), begins.len(), "{unsaid:?}");
    for (part, start) in unsaid.iter().zip(begins) {
        assert!(part.starts_with(start), "{part}");
    }
    assert!(named.unsaid[1].why.contains("`odd`"));
    let text = named.text();
    for part in &named.unsaid {
        assert!(text.contains(&format!("# - {}: {}\n", part.what, part.why)), "{text}");
    }
}

#[test]
fn rules_use_the_names() {
    let named = read(TASK).unwrap();
    let text = format!(
        "{}static GENDER//M, EYES//brown, EYES//hazel\n\
         rule a: low_potassium => opioids or brown\nrule b: male and icu => not opioids in past\n\
         rule c: both and named-at and opioids at least 2 times => not normal_potassium\n\
         rule d: ended and discharge => death\n\
         rule e: DISCHARGE//home => none of ICD10CM//I200, ICD10CM//I21, ICD10CM//I22, ICD10CM//I23, \
         ICD10CM//I24, ICD10CM//I251, ICD10CM//I509\n",
        named.text()
    );
    let rules = RuleSet::parse(&text, None).unwrap();
    assert_eq!(rules.len(), 5);
    let told = |rule: usize| rules[rule].formula().text(rules.vocabulary());
    assert_eq!(
        told(0),
        "LAB//potassium//mEq/L < 3.5 => (RX//morphine or \"RX//fentanyl, patch\") or \
         (EYES//brown in static or EYES//hazel in static)"
    );
}

#[test]
fn what_a_task_leaves_to_datasets() {
    let text = "predicates:\n  icu: ???\n  death: {code: MEDS_DEATH}\n  end: {expr: 'or(icu, death)'}\n  \
                stay: {code: ???}\ntrigger: icu\nwindows:\n  gap:\n    has: {icu: '(None, 0)'}\n";
    let named = read(text).unwrap();
    assert_eq!(named.groups.len(), 1);
    let unsaid: Vec<&str> = named.unsaid.iter().map(|part| &*part.what).collect();
    assert!(unsaid[0].starts_with("predicate `icu` (line 2): ???"), "{unsaid:?}");
    assert_eq!(unsaid.len(), 5, "{unsaid:?}");
}

#[test]
fn what_is_wrong_says_where() {
    for (text, expected) in [
        ("trigger: x", "task.yaml:1: no `predicates:`; expected a task configuration of ACES"),
        ("predicates:\n", "task.yaml:1: no predicate in `predicates:`"),
        ("predicates:\n  a: {code: X}\n  a: {code: Y}", "task.yaml:3: `a` a second time"),
        ("predicates:\n  a: X", "task.yaml:2: predicate `a` has neither `code` nor `expr`"),
        (
            "predicates:\n  a:\n    code: X\n    expr: or(b, c)",
            "task.yaml:3: predicate `a` has both `code` and `expr`",
        ),
        (
            "predicates:\n  a: {code: {any: []}}",
            "task.yaml:2: expected a list of codes after `any`",
        ),
        ("predicates:\n  a: {code: {like: X}}", "task.yaml:2: expected a code, `{regex: ...}`"),
        ("predicates:\n  a: {code: X, value_min: high}", "task.yaml:2: expected a number after"),
        ("predicates:\n  a: {code: X, static: si}", "task.yaml:2: expected `true` or `false`"),
        (
            "predicates:\n  a: {code: X, value_min: 5, value_max: 5}",
            "task.yaml:2: no value is in the range of predicate `a`",
        ),
        ("predicates:\n  a: {expr: not(b)}", "task.yaml:2: expected `and(...)` or `or(...)`"),
        ("predicates:\n  a: {expr: or(a)}", "task.yaml:2: predicate `a` needs two others"),
        ("predicates:\n  a: {expr: 'or(b, c)'}", "task.yaml:2: `b` is no predicate of the file"),
        (
            "predicates:\n  x: {code: X}\n  a: {expr: 'or(b, x)'}\n  b: {expr: 'or(x, a)'}",
            "task.yaml:3: predicate `a` is made of itself",
        ),
        ("predicates: [a]", "task.yaml:1: predicates that are no mapping"),
        ("{\"ConceptSets\": []}", "task.yaml:1: `{\"ConceptSets\": []}` where `key: value`"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
    let chain: String = (0..3_000)
        .map(|at| format!("  p{at}: {{expr: 'or(p{}, p{})'}}\n", at + 1, at + 2))
        .collect();
    let long = format!("predicates:\n{chain}  p3000: {{code: A}}\n  p3001: {{code: B}}\n");
    assert!(read(&long).unwrap_err().contains("predicates made of each other"));
    let name = "x".repeat(5_000);
    let refused = read(&format!("predicates:\n  a: {{code: {name}}}")).unwrap_err();
    assert!(refused.contains("cannot be written as rules"), "{refused}");
}
