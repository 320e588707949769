//! Whatever the bytes, the language answers: no panic, bounded time, and diagnostics that lie in
//! the text. `CONSEQUENCE_FUZZ_CASES` asks for more cases than the default.

use std::time::{Duration, Instant};

use consequence_rules::{
    Diagnostic, Diagnostics, LanguageLimits, ResolveOptions, RuleFile, TupleFile, UnknownCodes,
    parse, resolve,
};

const VALID: &str = "\
# A comment
static SEX//F, SEX//M, AGE//*
let pregnancy = any of ICD9CM//63*, ICD9CM//640, ICD9CM//65?
let ages = AGE//0-20, AGE//20-40
let both = ages, \"A1C//>7\"
rule no-prostate-cancer-in-women: SEX//F in static => not ICD9CM//185
rule no-pregnancy-in-men: SEX//M in static => not pregnancy
rule lifelong: ICD9CM//741 in previous => ICD9CM//741
rule windows: (X in {-1, 0, 4} or X in last 3 visits) and X in 2 visits ago <=> X in visit 7
rule copd: not SMOKER in past => ICD9CM//496 with probability 1%
rule one: at most one of ages
rule group: (any of both, (A and B)) in past => exactly one of C, not D, (E or true)
rule death: DISCHARGE//EXPIRED => END
";

const TOKENS: [&str; 52] = [
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

/// A small generator, so that cases depend on their number alone.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn cases() -> usize {
    let asked = std::env::var("CONSEQUENCE_FUZZ_CASES");
    asked.ok().and_then(|cases| cases.parse().ok()).unwrap_or(20_000)
}

fn check<'a>(text: &[u8], diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty());
        let places = diagnostic
            .place
            .as_deref()
            .into_iter()
            .chain(diagnostic.notes.iter().map(|note| &note.place));
        for place in places {
            let span = place.span;
            assert!(span.start <= span.end, "{diagnostic}");
            if !place.file.ends_with("(as rules)") {
                assert!(span.end as usize <= text.len(), "{diagnostic}");
            }
            assert!(place.line >= 1 && place.column >= 1);
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

fn try_rules(text: &[u8]) {
    let limits = LanguageLimits::default();
    let file = match parse("fuzz.rules", text, &limits) {
        Ok(file) => file,
        Err(refused) => return check_refused(text, &refused),
    };
    check(text, file.warnings());
    let printed = file.to_string();
    let again = parse("again.rules", &printed, &limits).expect("what was printed reads back");
    assert_eq!(again, file);
    for unknown_codes in [UnknownCodes::Refuse, UnknownCodes::Absent] {
        let options = ResolveOptions { unknown_codes, limits: limits.clone() };
        match resolve(std::slice::from_ref(&file), None, &options) {
            Ok(resolved) => {
                check(text, &resolved.warnings);
                for rule in &resolved.rules.rules {
                    assert!(rule.origin.text.chars().count() <= 303);
                }
            }
            Err(refused) => check_refused(text, &refused),
        }
    }
}

fn try_json(text: &[u8]) {
    let limits = LanguageLimits::default();
    match RuleFile::from_json("fuzz.json", text, &limits) {
        Ok(file) => check(text, file.warnings()),
        Err(refused) => check_refused(text, &refused),
    }
    match TupleFile::read("fuzz.json", text, None, &limits) {
        Ok(file) => check(text, file.rules.warnings()),
        Err(refused) => check_refused(text, &refused),
    }
}

fn mutate(draws: &mut Draws, text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..1 + draws.below(8) {
        let at = draws.below(text.len());
        match draws.below(6) {
            0 if !text.is_empty() => text[at] = draws.next() as u8,
            1 if !text.is_empty() => {
                text.remove(at);
            }
            2 => text.insert(at, draws.next() as u8),
            3 => {
                let end = (at + draws.below(40)).min(text.len());
                text.drain(at..end);
            }
            4 => {
                let token = TOKENS[draws.below(TOKENS.len())];
                text.splice(at..at, token.bytes());
            }
            _ => {
                let end = (at + draws.below(60)).min(text.len());
                let copy = text[at..end].to_vec();
                let to = draws.below(text.len());
                text.splice(to..to, copy);
            }
        }
    }
    text
}

#[test]
fn random_bytes_mutations_and_token_soup() {
    let json = parse("valid", VALID, &LanguageLimits::default()).unwrap().to_json();
    let tuples =
        br#"{"codes": 9, "labels": 2, "special": 3, "rules": [[[1], [9], [], [], [], 2, 0],
        [-1, [3], [4], [5], [6], 12, 0.25], [[-1, 2], [], [], [], [], 1, 1]]}"#;
    for case in 0..cases() {
        let mut draws = Draws(case as u64);
        match case % 5 {
            0 => {
                let length = draws.below(200);
                let bytes: Vec<u8> = (0..length).map(|_| draws.next() as u8).collect();
                try_rules(&bytes);
                try_json(&bytes);
            }
            1 | 2 => try_rules(&mutate(&mut draws, VALID.as_bytes())),
            3 => {
                let mut text = String::from("rule a: ");
                for _ in 0..draws.below(40) {
                    text.push_str(TOKENS[draws.below(TOKENS.len())]);
                    text.push_str(["", " "][draws.below(2)]);
                }
                try_rules(text.as_bytes());
            }
            _ => {
                let valid = if draws.below(2) == 0 { json.as_bytes() } else { &tuples[..] };
                try_json(&mutate(&mut draws, valid));
            }
        }
    }
}

#[test]
fn the_unmutated_texts_are_valid() {
    let file = parse("valid", VALID, &LanguageLimits::default()).unwrap();
    assert_eq!(file.items().len(), 12);
    let options = ResolveOptions { unknown_codes: UnknownCodes::Absent, ..Default::default() };
    resolve(&[file], None, &options).unwrap();
}

/// Texts made to go deep, wide or long.
#[test]
fn hostile_texts_end_quickly() {
    let million = 1_000_000;
    let mut texts = vec![
        format!("rule a: {}", "(".repeat(million)),
        format!("rule a: {}X", "not ".repeat(million)),
        format!("rule a: {}", "any of (".repeat(million)),
        format!("rule a: {}X", "X in past => ".repeat(million)),
        format!("rule a: X{}", " and X".repeat(million / 3)),
        format!("rule a: X{}", " or (X and X)".repeat(million)),
        format!("rule a: any of X{}", ", X".repeat(million)),
        format!("rule a: X in {{1{}}}", ", 1".repeat(million)),
        "rule ".repeat(million),
        "rule a: X ".repeat(million / 10),
        "\"".repeat(million),
        "\"\n".repeat(million),
        "x".repeat(million * 10),
        format!("rule a: {}", "x".repeat(million)),
        format!("rule a: \"{}\"", "\u{301}".repeat(million)),
        "\n".repeat(million),
        format!("rule a: X{}", " or X in last 10000 visits".repeat(million / 3)),
        "let x = X in last 10000 visits ".repeat(million / 3),
        format!("let a = X{} rule r: a in last 10000 visits", ", X".repeat(99_000)),
        format!(
            "{{\"statements\":[{{\"rule\":\"a\",\"formula\":{{\"or\":[{}true]}}}}]}}",
            "{\"in\":[\"X\",\"last 10000 visits\"]},".repeat(million / 3)
        ),
        format!(
            "{{\"codes\":1,\"labels\":0,\"rules\":[[[{}1],[{}0],[],[],[],0,0]]}}",
            (1..=10_000).map(|visit| format!("{visit},")).collect::<String>(),
            "0,".repeat(million / 3)
        ),
        "{\"not\":".repeat(million),
        "[".repeat(million),
        format!("{{\"statements\":[{}1]}}", "1,".repeat(million)),
    ];
    // Each let doubles the one before.
    let mut doubling = String::from("let x0 = A, B\n");
    let mut chain = String::from("let x0 = A\n");
    let mut globs = String::new();
    for step in 1..2_000 {
        doubling += &format!("let x{step} = x{0}, x{0}\n", step - 1);
        chain += &format!("let x{step} = not x{}\n", step - 1);
        globs += &format!("rule r{step}: any of *{step}*, N{step}, *a*a*a*a*a*a\n");
    }
    texts.push(doubling + "rule r: x1999\n");
    texts.push(chain + "rule r: x1999\n");
    texts.push(globs);
    for text in &texts {
        let start = Instant::now();
        try_rules(text.as_bytes());
        try_json(text.as_bytes());
        let shown: String = text.chars().take(30).collect();
        assert!(start.elapsed() < Duration::from_secs(60), "{shown} took {:?}", start.elapsed());
    }
}

#[test]
fn a_file_past_the_limit_is_refused_at_once() {
    let text = vec![b'x'; 100_000_000];
    let start = Instant::now();
    let refused = parse("huge.rules", &text, &LanguageLimits::default()).unwrap_err();
    assert!(start.elapsed() < Duration::from_millis(500));
    assert_eq!(
        refused.to_string(),
        "error: `huge.rules` has 100000000 bytes, more than the 67108864 that are read\n \
         = help: split the rules into several files\n"
    );
}
