//! What the language says when something is wrong, word for word.

use std::sync::Arc;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::{
    LanguageLimits, ResolveOptions, RuleFile, Severity, UnknownCodes, parse, resolve,
};

fn vocabulary() -> Option<Arc<Vocabulary>> {
    let codes = [
        ("SEX//F", Kind::Static),
        ("SEX//M", Kind::Static),
        ("AGE//0-20", Kind::Static),
        ("AGE//20-40", Kind::Static),
        ("ICD9CM//250", Kind::Encounter),
        ("ICD9CM//357", Kind::Encounter),
        ("SMOKER", Kind::Encounter),
    ];
    Some(Arc::new(Vocabulary::new(codes).unwrap()))
}

fn refused(text: &str) -> String {
    let limits = LanguageLimits::default();
    let files = match parse("a.rules", text, &limits) {
        Ok(file) => [file],
        Err(refused) => return refused.to_string(),
    };
    match resolve(&files, vocabulary(), &ResolveOptions::default()) {
        Ok(resolved) => panic!("{text} was accepted: {:?}", resolved.rules),
        Err(refused) => refused.to_string(),
    }
}

/// The first line of what is said, and the help.
fn brief(text: &str) -> (String, String) {
    let said = refused(text);
    let help = said.split(" = help: ").nth(1).unwrap_or("").lines().next().unwrap_or("");
    (said.lines().next().unwrap().trim_start_matches("error: ").to_owned(), help.to_owned())
}

fn warnings(text: &str, unknown_codes: UnknownCodes) -> Vec<String> {
    let file = parse("a.rules", text, &LanguageLimits::default()).unwrap();
    let options = ResolveOptions { unknown_codes, ..Default::default() };
    let resolved = resolve(&[file], vocabulary(), &options).unwrap();
    assert!(resolved.warnings.iter().all(|warning| warning.severity == Severity::Warning));
    resolved.warnings.iter().map(|warning| warning.render()).collect()
}

fn warned(text: &str) -> Vec<String> {
    let all = warnings(text, UnknownCodes::Refuse);
    all.iter()
        .map(|warning| warning.lines().next().unwrap()["warning: ".len()..].to_owned())
        .collect()
}

#[test]
fn an_unknown_code_comes_with_a_suggestion() {
    assert_eq!(
        refused("\n\nrule neuropathy: ICD9CM//251 in past => ICD9CM//357\n"),
        "error: unknown code `ICD9CM//251`
 --> a.rules:3:18
  |
3 | rule neuropathy: ICD9CM//251 in past => ICD9CM//357
  |                  ^^^^^^^^^^^
  = help: did you mean `ICD9CM//250`?
"
    );
    assert_eq!(brief("let women = SEX//F\nrule r: womem in static").1, "did you mean `women`?");
    assert_eq!(brief("rule r: something-else").1, "");
    let twice = refused("rule a: NOWHERE\nrule b: NOWHERE");
    assert_eq!(twice.matches("error").count(), 1, "each unknown code is reported once");
}

#[test]
fn several_errors_at_once() {
    assert_eq!(
        refused("rule a: SMOKER and\nrule b SMOKER\nlet x = in past\nrule c: (SMOKER\n"),
        "error: expected a code or a formula, found `rule`
 --> a.rules:2:1
  |
2 | rule b SMOKER
  | ^^^^

error: expected `:` after the rule's name, found `SMOKER`
 --> a.rules:2:8
  |
2 | rule b SMOKER
  |        ^^^^^^

error: expected a code or a formula, found `in`
 --> a.rules:3:9
  |
3 | let x = in past
  |         ^^
  = help: a code of that name is written `\"in\"`

error: expected an operator or `)`, found the end of the file
 --> a.rules:4:16
  |
4 | rule c: (SMOKER
  |                ^
note: the parenthesis opened here
 --> a.rules:4:9
  |
4 | rule c: (SMOKER
  |         ^
"
    );
}

#[test]
fn more_errors_than_are_shown_are_counted() {
    let said = refused(&"rule a b\n".repeat(25));
    assert_eq!(said.matches("error: ").count(), 20);
    assert!(said.ends_with("\n5 more errors not shown\n"));
}

#[test]
fn an_item_that_comes_twice_is_pointed_at() {
    assert_eq!(
        warnings("rule r: at most one of ICD9CM//*, SMOKER, ICD9CM//250", UnknownCodes::Refuse),
        ["warning: `ICD9CM//250` is in the list twice and counts once
 --> a.rules:1:43
  |
1 | rule r: at most one of ICD9CM//*, SMOKER, ICD9CM//250
  |                                           ^^^^^^^^^^^
note: first here
 --> a.rules:1:24
  |
1 | rule r: at most one of ICD9CM//*, SMOKER, ICD9CM//250
  |                        ^^^^^^^^^
"]
    );
    assert_eq!(
        warned("let s = SMOKER, SMOKER rule r: exactly one of s, ICD9CM//*, ICD*"),
        [
            "`SMOKER` is in the list twice and counts once",
            "`ICD9CM//250` and 1 more are in the list twice and count once",
        ]
    );
    assert_eq!(
        warned("rule r: at most one of SMOKER in past, SMOKER, (SMOKER in previous)").len(),
        0
    );
    assert_eq!(warned("rule r: any of SMOKER, SMOKER"), Vec::<String>::new());
    let json = r#"{"statements": [{"rule": "r", "formula":
        {"exactly one of": ["SMOKER", "ICD9CM//250", {"code": "SMOKER"}]}}]}"#;
    let file = RuleFile::from_json("a.json", json, &LanguageLimits::default()).unwrap();
    let resolved = resolve(&[file], vocabulary(), &ResolveOptions::default()).unwrap();
    let [warning] = resolved.warnings.as_slice() else { panic!("{:?}", resolved.warnings) };
    let said = warning.render();
    assert!(said.starts_with("warning: `SMOKER` is in the list twice"), "{said}");
    assert!(said.contains(" --> a.json:2:54\n"), "{said}");
}

#[test]
fn bytes_that_are_no_text() {
    let text = b"rule a: X\nrule \xc3\xa9: \xff Y\nrule c: Z".as_slice();
    let refused = parse("a.rules", text, &LanguageLimits::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "error: the file is not UTF-8 text
 --> a.rules:2:9
  |
2 | rule é: \u{fffd} Y
  |         ^
  = help: save the file with UTF-8 encoding
"
    );
}

#[test]
fn probabilities() {
    assert_eq!(
        refused("rule a: SMOKER with probability 1.5"),
        "error: probability `1.5` is not between 0 and 1
 --> a.rules:1:33
  |
1 | rule a: SMOKER with probability 1.5
  |                                 ^^^
  = help: write it as `0.01`, `1%` or `1e-2`, between 0 and 1
"
    );
    assert_eq!(brief("rule a: SMOKER with probability nan").0, "`nan` is not a probability");
    assert_eq!(brief("rule a: SMOKER with 0.1").0, "expected `probability`, found `0.1`");
    let conclude = "a rule with a probability must conclude one code, present or absent";
    for formula in [
        "SMOKER or ICD9CM//250",
        "ICD9CM//250 => SMOKER in past",
        "ICD9CM//250 => ICD9CM//*",
        "SMOKER <=> ICD9CM//250",
        "SMOKER => true",
    ] {
        assert_eq!(brief(&format!("rule a: {formula} with probability 0.1")).0, conclude);
    }
    assert!(warned("let s = SMOKER rule a: ICD9CM//250 => not s with probability 0.1").is_empty());
    assert!(
        warned("rule a: SMOK* with probability 0.1 rule b: END with probability 1%").is_empty()
    );
    assert_eq!(
        warnings("rule a: SMOKER with probability 0", UnknownCodes::Refuse),
        ["warning: probability 0 makes rule `a` hard: its conclusion never holds
 --> a.rules:1:6
  |
1 | rule a: SMOKER with probability 0
  |      ^
"]
    );
}

#[test]
fn names_used_twice_or_too_early() {
    assert_eq!(
        refused("rule a: SMOKER\nrule a: SMOKER"),
        "error: two rules are called `a`
 --> a.rules:2:6
  |
2 | rule a: SMOKER
  |      ^
note: the first is here
 --> a.rules:1:6
  |
1 | rule a: SMOKER
  |      ^
"
    );
    let limits = LanguageLimits::default();
    let files = ["a.rules", "b.rules"].map(|name| parse(name, "rule a: SMOKER", &limits).unwrap());
    let across = resolve(&files, None, &ResolveOptions::default()).unwrap_err().to_string();
    assert!(across.contains("--> b.rules:1:6") && across.contains("--> a.rules:1:6"), "{across}");
    assert_eq!(brief("let x = SMOKER let x = SMOKER rule r: x").0, "`x` is defined twice");
    assert_eq!(brief("rule r: x let x = SMOKER").0, "`x` is used before it is defined");
    assert_eq!(brief("let x = x rule r: x").0, "`x` is used before it is defined");
    assert_eq!(brief("let \"x\" = SMOKER").0, "`x` cannot be the name of a `let`");
    assert_eq!(brief("let END = SMOKER").0, "`END` cannot be the name of a `let`");
}

#[test]
fn operators_that_do_not_fit() {
    let (message, help) = brief("rule a: SMOKER => SMOKER => SMOKER");
    assert_eq!(message, "`=>` twice in a row does not say which goes first");
    assert_eq!(help, "write `(A => B) => C` or `A => (B => C)`, whichever is meant");
    let (message, help) = brief("rule r: SMOKER => ICD9CM//250 <=> ICD9CM//357");
    assert_eq!(message, "`=>` and then `<=>` does not say which goes first");
    assert_eq!(help, "write `(A => B) <=> C` or `A => (B <=> C)`, whichever is meant");
    let (message, help) = brief("rule r: SMOKER <=> ICD9CM//250 => ICD9CM//357");
    assert_eq!(message, "`<=>` and then `=>` does not say which goes first");
    assert_eq!(help, "write `(A <=> B) => C` or `A <=> (B => C)`, whichever is meant");
    let (message, _) = brief("rule r: SMOKER <=> ICD9CM//250 <=> ICD9CM//357");
    assert_eq!(message, "`<=>` twice in a row does not say which goes first");
    assert_eq!(
        brief("rule a: SMOKER AND SMOKER"),
        (
            "expected an operator or the next statement, found `AND`".into(),
            "the language is lowercase: `and`".into()
        )
    );
    assert_eq!(
        brief("rule a: A1C//>7").1,
        "a name with `<` or `>` needs quotes; implication is written `=>`"
    );
    assert_eq!(brief("rule a: SMOKER && SMOKER").1, "write `and`");
    assert_eq!(
        brief("rule a: any of SMOKER, all of SMOKER").0,
        "`all of` inside a list needs parentheses"
    );
    assert_eq!(brief("rule a: at most two of SMOKER").0, "expected `one`, found `two`");
    assert_eq!(brief("rule a: \"SMOKER").0, "a quote is not closed on its line");
    assert_eq!(brief("rule a: \"SMO\\KER\"").0, "unknown escape in a quoted name");
    assert_eq!(brief("rule a: \"\"").0, "empty name");
    assert_eq!(brief("rule a:SMOKER").1, "leave a space after the `:` of the name");
    assert_eq!(
        brief("SMOKER => SMOKER").0,
        "expected a statement: `rule`, `let` or `static`, found `SMOKER`"
    );
    assert_eq!(brief("static not SMOKER").0, "only codes can be declared static");
    assert_eq!(
        brief("static SMOKER").0,
        "`SMOKER` is declared static, but it is a code of encounters"
    );
}

#[test]
fn windows_that_do_not_fit() {
    let (message, help) = brief("rule a: (not SMOKER) in past");
    assert_eq!(message, "a window over a negation");
    assert_eq!(help, "put `not` before it: `not X in past`");
    assert_eq!(brief("rule a: (none of SMOKER) in past").0, "a window over a negation");
    assert_eq!(
        brief("let x = SMOKER in past rule a: x in past").0,
        "a window over a formula that already has one"
    );
    assert_eq!(brief("rule a: SMOKER in past in past").0, "a second window for the same term");
    assert_eq!(
        brief("rule a: (exactly one of SMOKER, END) in past").0,
        "a window over a formula that is more than codes, `and` and `or`"
    );
    assert_eq!(brief("rule a: SMOKER in {}").0, "a window with no visits");
    let now = "a window never reaches the current visit";
    for window in ["0 visits ago", "last 0 visits", "{-0}"] {
        assert_eq!(brief(&format!("rule a: SMOKER in {window}")).0, now);
    }
    assert_eq!(brief("rule a: SMOKER in visit 10001").0, "visit number `10001` is over 10000");
    assert_eq!(
        brief("rule a: SMOKER in {-99999999999}").0,
        "visit number `99999999999` is over 10000"
    );
    assert_eq!(brief("rule a: SMOKER in future").0, "expected a window after `in`, found `future`");
    assert_eq!(brief("rule a: SMOKER in 3 visits").0, "expected `ago`, found the end of the file");
}

#[test]
fn limits_are_errors() {
    let deep = format!("rule a: {}SMOKER", "not ".repeat(101));
    assert_eq!(brief(&deep).0, "nested more than 100 levels deep");
    let limits = LanguageLimits {
        list_items: 2,
        formula_nodes: 6,
        name_bytes: 8,
        ..LanguageLimits::default()
    };
    let message = |text: &str| {
        let refused = match parse("a.rules", text, &limits) {
            Err(refused) => refused,
            Ok(file) => {
                let options = ResolveOptions { limits: limits.clone(), ..Default::default() };
                resolve(&[file], None, &options).unwrap_err()
            }
        };
        refused.iter().next().unwrap().message.clone()
    };
    assert_eq!(message("rule a: any of A, B, C"), "more than 2 items in one list");
    assert_eq!(message("rule a: A or B or C or D or E or F"), "a statement of more than 6 parts");
    assert_eq!(message("rule a: \"ABCDEFGHI\""), "a name of 9 bytes, more than 8");
    assert_eq!(
        message("let x = A, B let y = x, x let z = y, y rule r: z"),
        "the statement expands to more than 6 parts"
    );
}

#[test]
fn warnings_of_what_was_hardly_meant() {
    assert_eq!(
        warnings("rule a: SEX//F => not ICD9CM//357", UnknownCodes::Refuse),
        ["warning: `SEX//F` is a static code and never present in an encounter
 --> a.rules:1:9
  |
1 | rule a: SEX//F => not ICD9CM//357
  |         ^^^^^^
  = help: write `SEX//F in static`
"]
    );
    assert_eq!(warned("let x = SMOKER"), ["`x` is never used"]);
    assert_eq!(warned("let SMOKER = END rule a: SMOKER"), ["`SMOKER` is also the name of a code"]);
    assert_eq!(warned("rule a: at most one of SMOKE*"), ["`at most one of` has a single item"]);
    assert_eq!(
        warned("rule a: END in past => SMOKER"),
        ["`END` marks the last encounter and is never in an earlier visit"]
    );
    assert_eq!(
        warned("rule a: SEX//F or SMOKER"),
        ["rule `a` concludes static codes and codes of encounters"]
    );
    assert_eq!(
        warned("rule a: SMOKER => SEX//F"),
        ["`SMOKER` is a code of encounters and never present in the static visit"]
    );
    assert_eq!(
        warned("rule a: SMOKER in static => SMOKER"),
        ["`SMOKER` is a code of encounters and never present in the static visit"]
    );
    assert_eq!(
        warned("rule a: any of SMOKER, ICD9CM//250 in past"),
        ["the window belongs to the last item of the list alone"]
    );
    assert!(warned("rule a: any of SMOKER, (ICD9CM//250 in past)").is_empty());
    assert!(warned("rule a: exactly one of SEX//*  rule b: at most one of AGE//*").is_empty());
}

#[test]
fn unknown_codes_can_count_as_absent() {
    let text = "rule a: X or SMOKER\nrule b: any of Y*\nrule c: SMOKER => X with probability 0.1";
    assert_eq!(brief("rule a: any of Y*").0, "`Y*` matches no code");
    let warned = warnings(text, UnknownCodes::Absent);
    assert_eq!(warned.len(), 3, "{warned:?}");
    assert!(warned[0].starts_with("warning: unknown code `X`: it counts as never present"));
    assert!(warned[1].starts_with("warning: `Y*` matches no code\n"));
    assert!(warned[2].starts_with("warning: rule `c` is left out: its output is never present\n"));
    let many: String = (0..30).map(|number| format!("rule r{number}: X{number}\n")).collect();
    let warned = warnings(&many, UnknownCodes::Absent);
    assert_eq!(warned.len(), 21);
    assert_eq!(warned[20], "warning: 10 more codes that are not in the vocabulary\n");
}

#[test]
fn json_errors_name_the_field() {
    let said = |text: &str| {
        let limits = LanguageLimits::default();
        RuleFile::from_json("a.json", text, &limits).unwrap_err().to_string()
    };
    assert_eq!(
        said("{\"statements\": [\n  {\"rule\": \"a\", \"formula\": {\"and\": [\"X\", 3]}}\n]}"),
        "error: at statements[0].formula.and[1]: expected a formula, found a number
 --> a.json:2:42
  |
2 |   {\"rule\": \"a\", \"formula\": {\"and\": [\"X\", 3]}}
  |                                          ^
"
    );
    assert!(
        said("{\"statements\": [}").starts_with("error: not JSON: expected a value, found `}`")
    );
    let rule = |formula: &str| {
        let text = format!("{{\"statements\": [{{\"rule\": \"a\", \"formula\": {formula}}}]}}");
        said(&text).lines().next().unwrap().to_owned()
    };
    assert_eq!(
        rule("{\"in\": [\"X\", \"yesterday\"]}"),
        "error: at statements[0].formula.in[1]: expected a window after `in`, found `yesterday`"
    );
    assert_eq!(
        rule("{\"xor\": [\"X\", \"Y\"]}"),
        "error: at statements[0].formula.xor: unknown kind of formula"
    );
    assert_eq!(
        rule("\"X\", \"probability\": 2"),
        "error: at statements[0].probability: the probability is not between 0 and 1"
    );
    assert_eq!(rule(&format!("{}1", "{\"not\":".repeat(1000))), "error: nested too deeply");
    let deep = format!("{}true{}", "{\"not\":".repeat(150), "}".repeat(150));
    assert_eq!(rule(&deep), "error: nested more than 100 levels deep");
}

#[test]
fn errors_of_json_rules_point_into_the_json() {
    let text = "{\"statements\": [\n{\"rule\": \"a\", \"formula\": \"SMOKR\"}\n]}";
    let file = RuleFile::from_json("a.json", text, &LanguageLimits::default()).unwrap();
    let refused = resolve(&[file], vocabulary(), &ResolveOptions::default()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "error: unknown code `SMOKR`
 --> a.json:2:26
  |
2 | {\"rule\": \"a\", \"formula\": \"SMOKR\"}
  |                          ^^^^^^^
  = help: did you mean `SMOKER`?
"
    );
}
