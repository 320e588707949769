//! What texts mean: precedence, windows, lets, globs and the codes they name.

use std::sync::Arc;

use consequence_record::{Kind, Vocabulary};
use consequence_rules::language::TitledCodes;
use consequence_rules::{
    Formula, LanguageLimits, ResolveOptions, Rule, RuleSet, Says, Scope, UnknownCodes, parse,
    resolve,
};

fn rules(text: &str) -> RuleSet {
    RuleSet::parse(text, None).unwrap_or_else(|refused| panic!("{refused}"))
}

/// Whether the two formulas mean the same tree, over codes A to F.
fn same(left: &str, right: &str) {
    let vocabulary = ["A", "B", "C", "D", "E", "F"].map(|name| (name, Kind::Encounter));
    let vocabulary = Some(Arc::new(Vocabulary::new(vocabulary).unwrap()));
    let formula = |text: &str| {
        let rules = RuleSet::parse(&format!("rule r: {text}"), vocabulary.clone());
        rules.unwrap_or_else(|refused| panic!("{refused}"))[0].formula().into_owned()
    };
    assert_eq!(formula(left), formula(right), "{left} / {right}");
}

#[test]
fn precedence() {
    same("A or B and not C", "A or (B and (not C))");
    same("A or B => C and D", "(A or B) => (C and D)");
    same("A or B <=> C and D", "(A or B) <=> (C and D)");
    same("(A => B) <=> (C => D)", "((A => B) <=> (C => D))");
    same("not A in past", "not (A in past)");
    same("not not A", "not (not A)");
    same("any of A, B or C", "(any of A, B) or C");
    same("any of A, not B, (C and D)", "A or not B or (C and D)");
    same("at least one of A, B", "any of A, B");
    same("A and B # or C\nand D", "A and B and D");
}

#[test]
fn windows() {
    same("(any of A, B) in past", "A in past or B in past");
    same("((A and B) or C) in previous", "((A in previous and B in previous) or C in previous)");
    same("any of A, B in past", "A or B in past");
    same("A in last visit", "A in previous");
    same("A in 1 visit ago", "A in {-1}");
    same("A in last 3 visits", "A in {-3, -2, -1, -2}");
    same("A in visit 0", "A in static");
    same("A in { 4 , -1 }", "A in {-1, 4}");
    same("[A-C] in past".replace("[A-C]", "?").as_str(), "(any of A, B, C, D, E, F) in past");
}

#[test]
fn lists() {
    same("none of A, B", "not (A or B)");
    same("all of A, B", "A and B");
    same("any of A", "A");
    same("at most one of ?", "at most one of A, B, C, D, E, F");
    same(
        "at most one of ? in past",
        "at most one of (A in past), (B in past), (C in past), (D in past), (E in past), (F in past)",
    );
    same("?", "any of A, B, C, D, E, F");
    same("\"A\"", "A");
}

#[test]
fn what_comes_twice_counts_once() {
    same("at most one of ?, B", "at most one of A, B, C, D, E, F");
    same("exactly one of A, \"A\", B, A", "exactly one of A, B");
    same("at most one of A in past, A in past, A", "at most one of A in past, A");
    same(
        "at most one of A in previous, A in {-1}, A in past",
        "at most one of A in {-1}, A in past",
    );
    same("at most one of (A and B), A, (A and B)", "at most one of (A and B), A");
    same(
        "at most one of A, (at most one of B, B, C), A",
        "at most one of A, (at most one of B, C)",
    );
    // Constants are no codes, and one formula may hold a code that another holds too.
    for text in ["at most one of true, true", "at most one of A, (A or B), not A"] {
        let formula = rules(&format!("rule r: {text}"))[0].formula().into_owned();
        let Formula::AtMostOne(parts) = formula else { panic!("{text}") };
        assert_eq!(parts.len(), text.matches(',').count() + 1, "{text}");
    }
    let formula = |text: &str| rules(text)[0].formula().into_owned();
    assert_eq!(
        formula("let s = A, B, A  let t = s, C  rule r: exactly one of t, s, B, D"),
        formula("rule r: exactly one of A, B, C, D")
    );
}

#[test]
fn lets() {
    let set = "let s = A, B  let t = s, C  ";
    let formula = |text: &str| rules(text)[0].formula().into_owned();
    assert_eq!(
        formula(&format!("{set} rule r: at most one of t, D")),
        formula("rule r: at most one of A, B, C, D")
    );
    assert_eq!(
        formula(&format!("{set} rule r: t in past")),
        formula("rule r: (any of A, B, C) in past")
    );
    assert_eq!(
        formula("let f = A or B rule r: at most one of f, C"),
        formula("rule r: at most one of (A or B), C")
    );
    assert_eq!(
        formula("let f = (A and B), C rule r: all of f, D"),
        formula("rule r: all of (A and B), C, D")
    );
    let spliced = formula("let a = AGE//* rule r: at most one of a rule s: AGE//1 or AGE//2");
    assert_eq!(spliced, formula("rule r: at most one of AGE//1, AGE//2"));
    // A name in quotes is the code, whatever the lets.
    let both = rules("let x = A rule r: x or \"x\"");
    assert_eq!(both[0].formula().text(both.vocabulary()), "A or x");
}

#[test]
fn the_vocabulary_of_files_without_a_cohort() {
    let rules = rules(
        "static AGE//*
         let men = SEX//M, \"SEX//X\"
         rule a: men in static => not PREGNANT
         rule b: at most one of AGE//1, AGE//2
         rule c: BIRTH in visit 0 or \"A b\" in {0} or Z in {0, 1}
         rule d: DEAD => END",
    );
    let vocabulary = rules.vocabulary();
    let shown: Vec<String> = vocabulary
        .codes()
        .map(|code| format!("{} {}", vocabulary.name(code), vocabulary.kind(code)))
        .collect();
    assert_eq!(
        shown,
        [
            "A b static",
            "AGE//1 static",
            "AGE//2 static",
            "BIRTH static",
            "SEX//M static",
            "SEX//X static",
            "DEAD encounter",
            "PREGNANT encounter",
            "Z encounter",
            "END encounter"
        ]
    );
}

#[test]
fn strength_and_origin() {
    let rules = rules(
        "\n# first\nrule soft:  A  in past # why\n  => not B\twith probability 2.5%\n\
         rule never: C => D with probability 0\nrule always: C => not D with probability 100%",
    );
    let [soft, never, always] = [0, 1, 2].map(|index| &rules[index]);
    assert_eq!(soft.probability(), Some(0.025));
    assert_eq!(&*soft.origin.text, "rule soft: A in past => not B with probability 2.5%");
    assert_eq!((soft.origin.line, &*soft.origin.file), (3, "rules"));
    let Says::Hard(Formula::Implies(_, consequent)) = &never.says else { panic!() };
    assert!(matches!(**consequent, Formula::Not(_)));
    assert_eq!(always.says, never.says);
}

#[test]
fn statements_may_span_lines_and_share_them() {
    let file = parse(
        "a",
        "rule a\n:\nA\nin\nstatic\nstatic B rule b: C let x = D,\nE",
        &LanguageLimits::default(),
    )
    .unwrap();
    assert_eq!(file.to_string(), "rule a: A in static\nstatic B\nrule b: C\nlet x = D, E\n");
}

#[test]
fn long_rules_have_short_origins() {
    let text = format!("rule long: {}A", "A or ".repeat(1000));
    let shown = rules(&text)[0].origin.text.chars().count();
    assert_eq!(shown, 303);
}

/// Rules over encounter codes A and B and a static code S, all other codes absent.
fn with_absent(text: &str) -> Rule {
    let codes = [("S", Kind::Static), ("A", Kind::Encounter), ("B", Kind::Encounter)];
    let vocabulary = Some(Arc::new(Vocabulary::new(codes).unwrap()));
    let file = parse("a.rules", text, &LanguageLimits::default()).unwrap();
    let options =
        ResolveOptions { unknown_codes: UnknownCodes::Absent, ..ResolveOptions::default() };
    resolve(&[file], vocabulary, &options).unwrap().rules[0].clone()
}

#[test]
fn a_rule_about_codes_that_no_record_has_keeps_its_visits() {
    let scope = |text: &str| {
        let codes = [("S", Kind::Static), ("A", Kind::Encounter), ("B", Kind::Encounter)];
        let Scope { static_visit, encounters } =
            with_absent(text).scope(&Vocabulary::new(codes).unwrap());
        (static_visit, encounters)
    };
    let (of_static, of_encounters, both) = ((true, false), (false, true), (true, true));
    let sex = "static SEX//F, SEX//M ";
    assert_eq!(scope(&format!("{sex} rule r: exactly one of SEX//F, SEX//M")), of_static);
    assert_eq!(
        scope("rule r: exactly one of SEX//F, SEX//M"),
        of_encounters,
        "nothing says static"
    );
    assert_eq!(scope("rule r: SEX//F  rule s: SEX//F in static => A"), of_static);
    assert_eq!(scope("rule r: X"), of_encounters);
    assert_eq!(scope("rule r: X in past => Y"), of_encounters);
    assert_eq!(scope(&format!("{sex} rule r: S => SEX//F")), of_static);
    assert_eq!(scope(&format!("{sex} rule r: SEX//F or A")), both);
    // Required of visits in which its antecedent never holds, it says nothing.
    let says = |text: &str| with_absent(text).formula().into_owned();
    let never = || Formula::Constant(false);
    assert_eq!(says(&format!("{sex} rule r: A => SEX//F")), never().implies(never()));
    assert_eq!(says("rule r: S => X"), never().implies(never()));
    assert_eq!(says("rule r: A => X").codes_now().len(), 1);
    assert_eq!(with_absent("rule r: A => X").visits, None);
}

#[test]
fn a_name_in_quotes_is_a_code_and_else_a_title() {
    let codes = ["D//250", "D//357", "D//358", "type 2 diabetes", "X"];
    let vocabulary = Vocabulary::new(codes.map(|name| (name, Kind::Encounter))).unwrap();
    let code = |name: &str| vocabulary.code(name).unwrap();
    let titles = TitledCodes::new([
        (code("D//250"), "Diabetes mellitus "),
        (code("D//357"), "Neuropathy"),
        (code("D//358"), "neuropathy"),
        (code("X"), "Type 2 diabetes"),
    ]);
    let vocabulary = Arc::new(vocabulary.clone());
    let read = |text: &str| {
        let file = parse("a.rules", text, &LanguageLimits::default()).unwrap();
        let options = ResolveOptions { titles: titles.clone(), ..ResolveOptions::default() };
        let resolved = resolve(std::slice::from_ref(&file), Some(vocabulary.clone()), &options);
        (file.with_codes(&vocabulary, &titles).to_string(), resolved)
    };
    for (text, written, warnings) in [
        (r#"rule r: "DIABETES mellitus" => X"#, "rule r: D//250 => X\n", 0),
        (r#"rule r: "type 2 diabetes" => X"#, "rule r: \"type 2 diabetes\" => X\n", 0),
        (r#"rule r: not "Neuropathy""#, "rule r: not any of D//357, D//358\n", 1),
        (r#"rule r: none of "Neuropathy", X"#, "rule r: none of D//357, D//358, X\n", 1),
        (
            r#"rule r: at most one of X, ("Neuropathy" in past)"#,
            "rule r: at most one of X, (D//357 in past), (D//358 in past)\n",
            1,
        ),
        (r#"let n = "Neuropathy" rule r: n => X"#, "let n = D//357, D//358\nrule r: n => X\n", 1),
    ] {
        let (with_codes, resolved) = read(text);
        let resolved = resolved.unwrap_or_else(|refused| panic!("{text}: {refused}"));
        assert_eq!(with_codes, written, "{text}");
        let told: Vec<String> = resolved.warnings.iter().map(|one| one.render()).collect();
        assert_eq!(told.len(), warnings, "{text}: {told:?}");
        assert!(told.iter().all(|one| one.contains("is the title of 2 codes")), "{told:?}");
        let again = RuleSet::parse(&with_codes, Some(vocabulary.clone())).unwrap();
        assert_eq!(again[0].says, resolved.rules[0].says, "{text}");
    }
    let unknown = read(r#"rule r: "no such title" => X"#).1.unwrap_err();
    assert!(unknown.to_string().contains("unknown code `no such title`"), "{unknown}");
    let misspelt = read(r#"rule r: "Neuropathi" => X"#).1.unwrap_err();
    assert!(misspelt.to_string().contains("did you mean the title \"neuropathy\"?"), "{misspelt}");
    let bare = read("rule r: Neuropathy => X").1.unwrap_err();
    assert!(bare.to_string().contains("unknown code `Neuropathy`"), "a title needs quotes: {bare}");
}
