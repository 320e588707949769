//! What days, counts, `since`, ages and values mean as formulas, and what is said of those that mean
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use consequence_record::{Code, CohortDetails, Details, EventDetail, Kind, Scale, Vocabulary};
use consequence_rules::language::{Ages, Knows};
use consequence_rules::{
    Days, Fact, Formula, LanguageLimits, ResolveOptions, Resolved, UnknownCodes, ValueRange, parse,
    resolve,
};

const NAMES: [(&str, Kind); 8] = [
    ("SEX//F", Kind::Static),
    ("AGE//0-18", Kind::Static),
    ("AGE//18-40", Kind::Static),
    ("A", Kind::Encounter),
    ("B", Kind::Encounter),
    ("LAB//a1c//low", Kind::Encounter),
    ("LAB//a1c//mid", Kind::Encounter),
    ("LAB//a1c//high", Kind::Encounter),
];

const A: Code = Code(3);
const B: Code = Code(4);
const LOW: Code = Code(5);
const MID: Code = Code(6);
const HIGH: Code = Code(7);

fn vocabulary() -> Vocabulary {
    Vocabulary::new(NAMES).unwrap()
}

fn scales() -> BTreeMap<Code, Scale> {
    let part = |code, above, up_to| {
        let (test, unit) = ("LAB//a1c".to_owned(), Some("%".to_owned()));
        (code, Scale { test, unit, above, up_to, count: 10 })
    };
    BTreeMap::from([
        part(LOW, None, Some(5.7)),
        part(MID, Some(5.7), Some(6.5)),
        part(HIGH, Some(6.5), None),
    ])
}

fn resolved(
    text: &str,
    knows: Option<Knows>,
    unknown_codes: UnknownCodes,
) -> Result<Resolved, String> {
    let file =
        parse("a.rules", text, &LanguageLimits::default()).map_err(|said| said.to_string())?;
    let options = ResolveOptions { knows, unknown_codes, ..ResolveOptions::default() };
    resolve(&[file], Some(Arc::new(vocabulary())), &options).map_err(|said| said.to_string())
}

fn formula_of(text: &str, knows: Option<Knows>) -> Formula {
    let resolved = resolved(&format!("rule r: {text}"), knows, UnknownCodes::Refuse);
    resolved.unwrap_or_else(|said| panic!("{said}")).rules[0].formula().into_owned()
}

fn formula(text: &str) -> Formula {
    formula_of(text, None)
}

/// What is said of a formula: the message, where it points, the help.
fn refused(text: &str, knows: Option<Knows>) -> (String, String, String) {
    let text = format!("rule r: {text}");
    let said = match resolved(&text, knows, UnknownCodes::Refuse) {
        Ok(_) => panic!("{text} was accepted"),
        Err(said) => said,
    };
    let mut lines = said.lines();
    let message = lines.next().unwrap().trim_start_matches("error: ").to_owned();
    let marked = said.lines().find(|line| line.contains('^')).unwrap_or_default();
    let at = marked.find('^').unwrap_or(0) - 4;
    let length = marked.matches('^').count();
    let help = said.split(" = help: ").nth(1).unwrap_or("").lines().next().unwrap_or("");
    (message, text[at..(at + length).min(text.len())].to_owned(), help.to_owned())
}

fn warned(text: &str, knows: Option<Knows>) -> Vec<String> {
    let resolved = resolved(&format!("rule r: {text}"), knows, UnknownCodes::Refuse).unwrap();
    let first = |warning: String| warning.lines().next().unwrap()["warning: ".len()..].to_owned();
    resolved.warnings.iter().map(|warning| first(warning.render())).collect()
}

fn seen(codes: &[Code], days: Option<Days>, count: u16) -> Formula {
    Formula::Fact(Fact::Seen { codes: codes.into(), days, count })
}

fn now(code: Code) -> Formula {
    Formula::Now(code)
}

fn age(least: u16) -> Formula {
    Formula::Fact(Fact::Age { least })
}

fn value(code: Code, range: ValueRange) -> Formula {
    Formula::And(vec![now(code), Formula::Fact(Fact::Value { code, range })])
}

#[test]
fn days_go_to_every_code() {
    let month = Some(Days::last(30));
    assert_eq!(formula("A in last 30 days"), seen(&[A], month, 1));
    assert_eq!(formula("A in last 1 day"), seen(&[A], Some(Days::last(1)), 1));
    assert_eq!(formula("A in last week"), seen(&[A], Some(Days::last(7)), 1));
    assert_eq!(formula("A in 1 to 2 weeks ago"), seen(&[A], Some(Days { from: 7, to: 14 }), 1));
    assert_eq!(formula("A in 0 to 30 days ago"), seen(&[A], month, 1));
    assert_eq!(formula("A in 10 days ago"), seen(&[A], Some(Days { from: 10, to: 10 }), 1));
    let each = |make: fn(Vec<Formula>) -> Formula| {
        make([A, B].map(|code| seen(&[code], month, 1)).to_vec())
    };
    assert_eq!(formula("(A and B) in last 30 days"), each(Formula::And));
    assert_eq!(formula("(any of A, B) in last 30 days"), each(Formula::Or));
    assert_eq!(formula("? in last 30 days"), each(Formula::Or));
    assert_eq!(formula("B to B in last 30 days"), seen(&[B], month, 1));
    let named = "A\nlet both = A, B\nrule s: both in last 30 days";
    let rules = resolved(&format!("rule r: {named}"), None, UnknownCodes::Refuse).unwrap().rules;
    assert_eq!(*rules[1].formula(), each(Formula::Or));
}

#[test]
fn counts_are_of_sets_and_of_this_visit_where_no_window_is() {
    let both = [A, B];
    assert_eq!(formula("A at least 2 times in past"), seen(&[A], None, 2));
    assert_eq!(formula("A at least twice in past"), seen(&[A], None, 2));
    let year = Some(Days::last(365));
    assert_eq!(formula("A at least 2 times in last 365 days"), seen(&[A], year, 2));
    assert_eq!(formula("A at most 3 times in last 365 days"), seen(&[A], year, 4).not());
    assert_eq!(formula("(any of B, A, B) at least 1 time in past"), seen(&both, None, 1));
    let any = Formula::Or(both.map(now).to_vec());
    let third = Formula::And(vec![any.clone(), seen(&both, None, 2)]);
    let third = Formula::Or(vec![seen(&both, None, 3), third]);
    assert_eq!(formula("? at least 3 times"), third);
    assert_eq!(formula("? at most 2 times"), third.not());
    assert_eq!(formula("? at least once"), Formula::Or(vec![seen(&both, None, 1), any]));
    let second = Formula::And(vec![now(A), seen(&[A], None, 1)]);
    let second = Formula::Or(vec![seen(&[A], None, 2), second]);
    assert_eq!(formula("A only once"), second.not());
    assert_eq!(formula("A only once"), formula("A at most once"));
}

#[test]
fn since_and_the_first_visit() {
    let since = Fact::Since { codes: [A, B].into(), mark: [LOW].into() };
    assert_eq!(formula("(any of A, B) since LAB//a1c//low"), Formula::Fact(since));
    assert_eq!(formula("first visit => A"), Formula::Fact(Fact::FirstVisit).implies(now(A)));
}

#[test]
fn ages_are_thresholds_and_known() {
    assert_eq!(formula("AGE >= 18 => A"), age(18).implies(now(A)));
    assert_eq!(formula("AGE > 17"), age(18));
    assert_eq!(formula("AGE > 150"), age(151));
    let under = Formula::And(vec![age(0), age(12).not()]);
    assert_eq!(formula("AGE < 12"), under);
    assert_eq!(formula("AGE <= 11"), under);
    assert_eq!(formula("AGE between 12 and 17"), Formula::And(vec![age(12), age(18).not()]));
}

#[test]
fn values_are_those_of_parts_of_a_test() {
    let above = ValueRange::above(6.0);
    assert_eq!(formula("A > 6"), value(A, above));
    assert_eq!(formula("(any of A, B) > 6"), Formula::Or(vec![value(A, above), value(B, above)]));
    let knows = || Some(Knows { scales: scales(), ..Knows::default() });
    let test = |text: &str| formula_of(text, knows());
    assert_eq!(test("LAB//a1c > 6.5"), now(HIGH));
    assert_eq!(test("LAB//a1c <= 6.5"), Formula::Or(vec![now(LOW), now(MID)]));
    assert_eq!(test("LAB//a1c > 6"), Formula::Or(vec![value(MID, above), now(HIGH)]));
    let at_least = ValueRange::at_least(6.5);
    assert_eq!(test("\"LAB//a1c\" >= 6.5"), Formula::Or(vec![value(MID, at_least), now(HIGH)]));
    let between = ValueRange::between(4.0, 6.0);
    let expected = Formula::Or(vec![value(LOW, between), value(MID, between)]);
    assert_eq!(test("LAB//a1c between 4 and 6"), expected);
    assert_eq!(test("LAB//a1c//mid > 7"), Formula::Constant(false));
    assert_eq!(test("LAB//a1c//* > 6.5"), now(HIGH));
    // What was resolved is written with codes, and means the same where no scales are known.
    let written = test("LAB//a1c > 6").text(&vocabulary());
    assert_eq!(written, "LAB//a1c//mid > 6 or LAB//a1c//high");
    assert_eq!(formula(&written), test("LAB//a1c > 6"));
}

#[test]
fn codes_that_no_record_has_leave_facts() {
    let absent = |text: &str| {
        let resolved = resolved(&format!("rule r: {text} => A"), None, UnknownCodes::Absent);
        match resolved.unwrap().rules[0].formula().into_owned() {
            Formula::Implies(left, _) => *left,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(absent("(any of A, GONE) at least 2 times in past"), seen(&[A], None, 2));
    assert_eq!(absent("GONE at least 2 times in past"), Formula::Constant(false));
    assert_eq!(absent("GONE in last 3 days"), Formula::Constant(false));
    assert_eq!(absent("GONE since A"), Formula::Constant(false));
    assert_eq!(absent("A since GONE"), Formula::Constant(false));
    let since = Fact::Since { codes: [B].into(), mark: [A].into() };
    assert_eq!(absent("(any of B, GONE) since (any of A, GONE)"), Formula::Fact(since));
    let never = Formula::And(vec![Formula::Constant(false), Formula::Constant(false)]);
    assert_eq!(absent("GONE > 3"), never);
}

#[test]
fn what_is_written_wrong_is_pointed_at() {
    for (text, message, at, help) in [
        (
            "A in 14 to 3 days ago",
            "a window that ends before it begins",
            "14 to 3 days",
            "the nearer day comes first: `3 to 14 days ago`",
        ),
        (
            "A in last 3 months",
            "`months` is no unit of a window",
            "months",
            "windows count visits, days or weeks: a month is `30 days`, a year `365 days`",
        ),
        (
            "A in 2 years ago",
            "`years` is no unit of a window",
            "years",
            "windows count visits, days or weeks: a month is `30 days`, a year `365 days`",
        ),
        (
            "A in last 3 fortnights",
            "`fortnights` is no unit of a window",
            "fortnights",
            "windows count visits, days or weeks: a month is `30 days`, a year `365 days`",
        ),
        (
            "A in last 3d",
            "expected a number of visits or days, found `3d`",
            "3d",
            "it is a whole number, with a blank after it: `last 3 visits`, `last 30 days`",
        ),
        (
            "A in 3 to 14 days => B",
            "expected `ago`, found `=>`",
            "3 to 14 days =>",
            "windows look back: `in 3 visits ago`, `in 3 to 14 days ago`, `in last 14 days`",
        ),
        (
            "A within 3 days => B",
            "expected an operator or the next statement, found `within`",
            "within",
            "windows begin with `in` and look back: `in last 30 days`, `in 3 to 14 days ago`",
        ),
        (
            "A more than 2 times => B",
            "expected an operator or the next statement, found `more`",
            "more",
            "counts are `A at least 2 times in last 365 days`, `A at least 2 times in past`, `A at most 3 times`, \
             `A only once`",
        ),
        (
            "A exactly 2 times => B",
            "expected an operator or the next statement, found `exactly`",
            "exactly",
            "counts are `A at least 2 times in last 365 days`, `A at least 2 times in past`, `A at most 3 times`, \
             `A only once`",
        ),
        (
            "last visit => B",
            "expected an operator or the next statement, found `visit`",
            "visit",
            "the last encounter is `END`",
        ),
        (
            "A > 200 mg/dL => B",
            "expected an operator or the next statement, found `mg/dL`",
            "mg/dL",
            "a comparison ends with its number: ages are in years, values in the unit that the cohort keeps them in",
        ),
        ("AGE => B", "unknown code `AGE`", "AGE", "ages are compared: `AGE >= 18`"),
        ("age >= 18 => B", "unknown code `age`", "age", "ages are compared: `AGE >= 18`"),
        (
            "A in last 50001 days",
            "a window of more than 50000 days",
            "50001",
            "for all that was before write `in past`",
        ),
        (
            "A in last 9999999999 weeks",
            "a window of more than 50000 days",
            "9999999999",
            "for all that was before write `in past`",
        ),
        (
            "A in 3 to 14 visits ago",
            "a window from one visit to another",
            "3 to 14 visits",
            "list visits in a set: `{-3, -2}` is two and three visits ago",
        ),
        (
            "(not A) in last 3 days",
            "a window over a negation",
            "(not A) in last 3 days",
            "put `not` before it: `not X in last 3 days`",
        ),
        (
            "(A in last 3 days) in past",
            "a window over a formula that already has one",
            "(A in last 3 days) in past",
            "write one window next to each code",
        ),
        (
            "(first visit) in past",
            "a window over what is known of the current visit alone",
            "(first visit) in past",
            "ages, values and `first visit` are those of the visit that the rule looks at",
        ),
        (
            "A in past at least 2 times",
            "a count after a window",
            "at",
            "the count comes before the window: `A at least 2 times in past`",
        ),
        (
            "A at least 2 times in last 3 visits",
            "a count over `last 3 visits`",
            "last 3 visits",
            "visits are counted `in past`, `in last 365 days`, `in 3 to 14 days ago`, or without a window, up to this one",
        ),
        ("A at least 101 times", "a count of more than 100", "101", "rules count few visits"),
        ("A at most 100 times", "a count of more than 99", "100", "rules count few visits"),
        (
            "A at most 0 times",
            "at most 0 times is never",
            "0",
            "write `not A in past` for a code that never was",
        ),
        (
            "not A at least 2 times since B",
            "`since` after a count, `since` or a comparison",
            "since",
            "join what is said with `and`",
        ),
        (
            "(A => B) at least 2 times",
            "expected a code or a set of codes",
            "(A => B)",
            "a count is of visits with a code, or with any of a set",
        ),
        (
            "A since (A in past)",
            "expected a code or a set of codes",
            "(A in past)",
            "`B since A` looks for a code, or any of a set, after the last visit with another",
        ),
        (
            "A only once in past",
            "`only once` in a window",
            "in",
            "it counts this visit too; write `at most once in ...` for earlier ones",
        ),
        (
            "AGE > 17.5",
            "an age that is no whole number from 0 to 150",
            "AGE > 17.5",
            "ages are completed years: `AGE >= 18`, `AGE between 12 and 17`",
        ),
        (
            "AGE < 151",
            "an age that is no whole number from 0 to 150",
            "AGE < 151",
            "ages are completed years: `AGE >= 18`, `AGE between 12 and 17`",
        ),
        (
            "A > B",
            "expected a number, found `B`",
            "B",
            "comparisons are `> 6.5`, `>= 6.5`, `< 6.5`, `<= 6.5` and `between 4 and 6`; implication is written `=>`",
        ),
        ("A > 1e99", "`1e99` is larger than any value", "1e99", ""),
        (
            "A between 6 and 4",
            "a range that ends before it begins",
            "between 6 and 4",
            "the smaller comes first: `between 4 and 6`",
        ),
        (
            "A > 6 in past",
            "a comparison in a window",
            "in",
            "ages and values are those of the current visit",
        ),
        ("END > 6", "`END` has no value", "END > 6", ""),
        (
            "AGE>=18",
            "expected an operator or the next statement, found `>`",
            ">",
            "a comparison has blanks around it: `AGE > 18`; a name with `<` or `>` needs quotes; implication is written `=>`",
        ),
        (
            "A1C//>7",
            "expected an operator or the next statement, found `>`",
            ">",
            "a name with `<` or `>` needs quotes; implication is written `=>`",
        ),
        (
            "AGE >= 18 => SEX//F",
            "days, ages, values, `since` and `first visit` are of encounters, and the rule is about the static visit",
            "AGE >= 18",
            "look at static codes from encounters: `SEX//F in static => ...`",
        ),
    ] {
        let said = refused(text, None);
        assert_eq!((&*said.0, &*said.1, &*said.2), (message, at, help), "{text}");
    }
}

#[test]
fn what_a_cohort_cannot_tell_is_pointed_at() {
    let vocabulary = vocabulary();
    let known = |details: &CohortDetails| Knows::new(&vocabulary, scales(), Some(details));
    let undated = known(&CohortDetails::default());
    for (text, message, at) in [
        ("A in last 30 days", "`last 30 days` in a cohort without dates", "A in last 30 days"),
        (
            "A at least 2 times in 3 to 14 days ago => B",
            "`3 to 14 days ago` in a cohort without dates",
            "A at least 2 times in 3 to 14 days ago",
        ),
        ("AGE >= 12", "age 12 lies inside the band `0-18`", "AGE >= 12"),
        ("AGE between 18 and 20", "age 21 lies inside the band `18-40`", "AGE between 18 and 20"),
    ] {
        let said = refused(text, Some(undated.clone()));
        assert_eq!((&*said.0, &*said.1), (message, at), "{text}");
    }
    let said = refused("AGE < 12", Some(undated.clone()));
    assert_eq!(
        said.2,
        "only age bands are known; compare with where they begin and end: 0, 18, 40"
    );
    // A border of one band may lie inside another.
    let bands = |names: &[&str]| {
        let bands = names.iter().map(|name| name.parse().unwrap()).collect();
        Some(Knows { ages: Some(Ages::Bands(bands)), ..Knows::default() })
    };
    let overlapping = bands(&["0-40", "30-60", "60+"]);
    for (text, said) in [
        ("AGE < 30", "age 30 lies inside the band `0-40`"),
        ("AGE >= 40", "age 40 lies inside the band `30-60`"),
    ] {
        let refused = refused(text, overlapping.clone());
        assert_eq!(
            (&*refused.0, &*refused.2),
            (said, "only age bands are known; compare with where they begin and end: 0, 60")
        );
    }
    assert_eq!(formula_of("AGE >= 60", overlapping), age(60));
    let all = refused("AGE < 30", bands(&["0-40", "30+"]));
    assert_eq!(all.2, "only age bands are known; compare with where they begin and end: 0");
    assert_eq!(formula_of("AGE >= 18", Some(undated.clone())), age(18));
    assert_eq!(formula_of("AGE < 40", Some(undated.clone())), formula("AGE < 40"));
    assert_eq!(
        formula_of("A at least 2 times in past", Some(undated.clone())),
        seen(&[A], None, 2)
    );

    let nothing = Knows { ages: Some(Ages::Unknown), ..Knows::default() };
    let said = refused("AGE >= 18", Some(nothing));
    assert_eq!(said.0, "an age in a cohort without ages");

    let event = |visit, value| EventDetail { visit, code: HIGH, time: None, value: Some(value) };
    let mut details = CohortDetails::default();
    let events = vec![event(1, 7.0), event(2, 11.0)];
    details
        .push(Details { birth: Some(0), times: vec![0, 1], events, ..Details::default() }.view());
    let dated = known(&details);
    assert_eq!((dated.dated, &dated.ages), (Some(true), &Some(Ages::Years)));
    assert_eq!(formula_of("AGE >= 12", Some(dated.clone())), age(12));
    assert_eq!(formula_of("A in last 30 days", Some(dated.clone())), formula("A in last 30 days"));
    assert!(warned("LAB//a1c > 10.5", Some(dated.clone())).is_empty());
    assert_eq!(warned("LAB//a1c > 60", Some(dated.clone())), ["no value of `LAB//a1c` is `> 60`"]);
    assert_eq!(warned("A < 3", Some(dated.clone())), ["no value of `A` is `< 3`"]);
    let refuse = |text| resolved(text, Some(dated.clone()), UnknownCodes::Refuse).unwrap_err();
    let said = refuse("rule r: LAB//a1 > 6");
    assert!(said.contains("did you mean `LAB//a1c`?"), "{said}");
    let said = refuse("rule r: LAB//a1c => A");
    let help = "`LAB//a1c` is a test, whose values are kept in codes: compare it, as in `LAB//a1c` `> 6.5`, or name \
                a code, such as `LAB//a1c//low`";
    assert!(said.contains(help) && !said.contains("did you mean"), "{said}");
}

#[test]
fn what_a_file_is_made_for() {
    let one = "for LAB version 1\nfor loinc\nrule r: A";
    let warnings = resolved(one, None, UnknownCodes::Refuse).unwrap().warnings;
    let said: Vec<String> = warnings.iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(said, ["made for `loinc`, of which there is no code"]);
    let part = resolved("for LAB//a1c rule r: A", None, UnknownCodes::Refuse).unwrap();
    assert!(part.warnings.is_empty(), "codes begin with it");
    let limits = LanguageLimits::default();
    let texts = ["for LAB version 1 rule a: A", "for LAB version 2 rule b: A"];
    let files = texts.map(|text| parse("a.rules", text, &limits).unwrap());
    let warnings = resolve(&files, None, &ResolveOptions::default()).unwrap().warnings;
    assert_eq!(warnings.len(), 1, "without a cohort there is nothing to meet");
    assert_eq!(warnings[0].message, "made for LAB `2`, other rules for `1`");
    let late = parse("a.rules", "rule a: A\nfor LAB", &limits).unwrap_err().to_string();
    assert!(late.contains("what a file is for stands before all its statements"), "{late}");
    assert!(parse("a.rules", "rule a: for => version", &limits).is_ok(), "both are names");
}
