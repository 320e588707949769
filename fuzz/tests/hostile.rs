//! Rules made to be hard to read: deep, wide, long, and past every limit.

use std::time::{Duration, Instant};

use consequence_fuzz::{RULE_JSON, RULE_TEXT, RULE_TUPLES};
use consequence_rules::{LanguageLimits, parse};

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
        [RULE_TEXT, RULE_JSON, RULE_TUPLES]
            .iter()
            .for_each(|target| (target.read)(text.as_bytes()));
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
