//! Invented names and figures, the same at every run.

use consequence_report::{Act, Chip, ExampleRecord, ExampleVisit, Reach, Rule, Strength};

/// Names that would be markup if a page did not take care.
pub const HOSTILE: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "größe//糖尿病 \u{202e}reversed",
    "' onfocus='alert(1)' x='",
];

/// The codes of an invented vocabulary: hostile ones first, then ordinary ones, then a very long
/// one.
pub fn codes(count: usize) -> Vec<String> {
    let long = format!("LONG//{}", "a-name-without-end-".repeat(12));
    let ordinary = (0..).map(|number| match number % 3 {
        0 => format!("ICD9CM//{:03}", number / 3 + 1),
        1 => format!("RX//drug-{}", number / 3),
        _ => format!("LAB//{}//high", number / 3),
    });
    let hostile = HOSTILE.iter().map(|&name| name.to_owned());
    hostile.chain([long]).chain(ordinary).take(count).collect()
}

/// A figure between 0 and 1 that looks random and is always the same for the same two numbers.
pub fn noise(stream: u64, number: u64) -> f64 {
    let mut bits = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number);
    for _ in 0..2 {
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
    }
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Probabilities as codes have them: a few frequent, most rare.
pub fn probabilities(count: usize) -> Vec<f64> {
    (0..count)
        .map(|number| {
            let rank = (number * 7919) % count.max(1) + 1;
            if number % 97 == 9 { 0.0 } else { 0.35 / (rank as f64).powf(1.08) }
        })
        .collect()
}

/// The same probabilities as a method trained them, more or less well.
pub fn trained(real: &[f64], stream: u64, error: f64) -> Vec<f64> {
    real.iter()
        .enumerate()
        .map(|(number, real)| {
            let number = number as u64;
            if noise(stream, number) < error / 25.0 {
                return 0.0;
            }
            let bell: f64 = (1..7).map(|part| noise(stream + part * 100, number) - 0.5).sum();
            (real.max(2e-5) * (bell * error * 2.0).exp()).min(0.95)
        })
        .collect()
}

/// Invented rules; the methods break them as often as told.
pub fn rules(count: usize, breaks: &[f64]) -> Vec<Rule> {
    let rule = |number: usize| {
        let (a, b) = (number * 13 % 600 + 1, number * 29 % 600 + 1);
        let (name, text, reach) = match number % 4 {
            0 => (
                format!("no-{b:03}-in-women"),
                format!("SEX//F in static => not ICD9CM//{b:03}"),
                Reach::Temporal,
            ),
            1 => (
                format!("{a:03}-is-lifelong"),
                format!("ICD9CM//{a:03} in previous => ICD9CM//{a:03}"),
                Reach::Temporal,
            ),
            2 => (
                format!("{a:03}-comes-with-{b:03}"),
                format!("ICD9CM//{a:03} => ICD9CM//{b:03}"),
                Reach::Static,
            ),
            _ => (
                format!("{b:03}-after-{a:03}"),
                format!("not ICD9CM//{a:03} in past and RX//drug-{b} => not ICD9CM//{b:03}"),
                Reach::Temporal,
            ),
        };
        let soft = number % 17 == 5;
        Rule {
            name: if number == 3 { HOSTILE[0].to_owned() } else { name },
            text: match number {
                3 => format!("{} => not {}", HOSTILE[1], HOSTILE[2]),
                _ if soft => format!("{text} with probability 0.02"),
                _ => text,
            },
            strength: if soft { Strength::Soft } else { Strength::Hard },
            reach,
            real: (!soft).then_some(0.0),
            synthetic: breaks
                .iter()
                .enumerate()
                .map(|(method, often)| {
                    let probability = noise(method as u64 + 50, number as u64);
                    let count = (often * 40.0 * probability * probability * 25.0).floor() / 25.0;
                    (!soft).then_some(count)
                })
                .collect(),
        }
    };
    (0..count).map(rule).collect()
}

/// A record that rules shaped.
pub fn shaped_record() -> ExampleRecord {
    let visit = |title: &str, chips| ExampleVisit { title: title.to_owned(), chips };
    let lifelong = "ICD9CM//741 in previous => ICD9CM//741";
    let women = "SEX//F in static => not ICD9CM//185";
    ExampleRecord {
        title: "Record 17".to_owned(),
        source: "Consequence (ours)".to_owned(),
        visits: vec![
            visit("Static", ["SEX//F", "AGE//40-60"].map(Chip::free).into()),
            visit(
                "Visit 1",
                vec![
                    Chip { meaning: "Diabetes mellitus".to_owned(), ..Chip::free("ICD9CM//250") },
                    Chip::free("ICD9CM//741"),
                    Chip::free("RX//insulin"),
                    Chip::acted("ICD9CM//185", Act::KeptOut, women),
                ],
            ),
            visit(
                "Visit 2",
                vec![
                    Chip::acted("ICD9CM//741", Act::Forced, lifelong),
                    Chip::free("ICD9CM//401"),
                    Chip::acted("ICD9CM//185", Act::KeptOut, women),
                    Chip::free(HOSTILE[0]),
                ],
            ),
            visit(
                "Visit 3",
                vec![
                    Chip::acted("ICD9CM//741", Act::Forced, lifelong),
                    Chip::free("DISCHARGE//EXPIRED"),
                    Chip::acted("END", Act::Forced, "DISCHARGE//EXPIRED => END"),
                ],
            ),
        ],
    }
}

/// A record that breaks rules, as other tools write them.
pub fn broken_record() -> ExampleRecord {
    let visit = |title: &str, chips| ExampleVisit { title: title.to_owned(), chips };
    let long = codes(7).pop().unwrap_or_default();
    ExampleRecord {
        title: "Record 4".to_owned(),
        source: "Vanilla HALO".to_owned(),
        visits: vec![
            visit(
                "Static",
                vec![
                    Chip::free("SEX//F"),
                    Chip::acted("SEX//M", Act::Breaks, "at most one of SEX//*"),
                ],
            ),
            visit(
                "Visit 1",
                vec![
                    Chip::acted("ICD9CM//185", Act::Breaks, "SEX//F in static => not ICD9CM//185"),
                    Chip::free("ICD9CM//741"),
                    Chip::acted(HOSTILE[1], Act::Breaks, HOSTILE[2]),
                    Chip::free(long),
                ],
            ),
            visit(
                "Visit 2",
                vec![
                    Chip::free("ICD9CM//428"),
                    Chip::acted(
                        "ICD9CM//741",
                        Act::Lacking,
                        "ICD9CM//741 in previous => ICD9CM//741",
                    ),
                ],
            ),
            visit("Visit 3", vec![]),
        ],
    }
}
