//! Whole pages of rules to choose from: names that try to be markup, what the script is given, and
//! pages with nothing in them.

use consequence_report::{Review, ReviewClass, ReviewCode, ReviewRule};
use serde_json::Value;

/// A review in which every text is the same.
fn everywhere(text: &str) -> Review {
    let text = || text.to_owned();
    let rule = ReviewRule {
        heading: text(),
        name: text(),
        statement: text(),
        sentence: text(),
        evidence: text(),
        codes: vec![ReviewCode { code: text(), title: text(), seen: text() }],
        ticked: true,
    };
    Review {
        title: text(),
        about: text(),
        lead: text(),
        facts: vec![(text(), text())],
        opening: text(),
        classes: vec![ReviewClass { name: text(), explanation: text(), rules: vec![rule] }],
    }
}

/// What the page holds for its script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"review-data\">").expect("data");
    let (inside, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(inside).expect("JSON")
}

#[test]
fn no_name_is_ever_markup() {
    let plain = everywhere("plain").html();
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "'><img src=x onerror=alert(1)>",
        "</script><script>alert(1)",
        "<!--<script>",
        "</title></style></noscript>",
    ] {
        let page = everywhere(hostile).html();
        assert!(!page.contains(hostile), "{hostile} stands in the page");
        // Not a tag more than with an ordinary name.
        assert_eq!(page.matches('<').count(), plain.matches('<').count(), "{hostile}");
        assert_eq!(page.matches('>').count(), plain.matches('>').count(), "{hostile}");
    }
}

#[test]
fn statements_reach_the_script_letter_by_letter() {
    for text in
        ["größe//糖", "a\u{202e}b\u{85}c\u{2028}\n\t\u{0}", "\"</script>\\u003c", "𝕏\u{fffd}"]
    {
        let page = everywhere(text).html();
        assert!(!page.contains(['\u{202e}', '\u{85}', '\u{0}']));
        let data = data(&page);
        assert_eq!(data["rules"][0][2], text);
        assert_eq!(data["opening"], text);
    }
}

#[test]
fn every_rule_is_there_once_and_ticked_as_suggested() {
    let rule = |number: usize| ReviewRule {
        heading: format!("heading {}", number % 3),
        name: format!("rule-{number}"),
        statement: format!("rule rule-{number}: A{number} => B"),
        ticked: number.is_multiple_of(2),
        ..ReviewRule::default()
    };
    let class = |name: &str, from: usize| ReviewClass {
        name: name.to_owned(),
        rules: (from..from + 1_000).map(rule).collect(),
        ..ReviewClass::default()
    };
    let classes = vec![class("certain", 0), class("frequent", 1_000)];
    let page = Review { classes, ..Review::default() }.html();
    let data = data(&page);
    let rules = data["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 2_000);
    for number in 0..2_000 {
        assert_eq!(page.matches(&format!("rule rule-{number}:")).count(), 1, "rule-{number}");
    }
    for rule in rules {
        let number: usize =
            rule[1].as_str().and_then(|name| name[5..].parse().ok()).expect("a number");
        assert_eq!(rule[6], number.is_multiple_of(2), "rule-{number}");
        let group = &data["groups"][rule[0].as_u64().expect("a group") as usize];
        assert_eq!(group[0], if number < 1_000 { "certain" } else { "frequent" });
        assert_eq!(group[1], format!("heading {}", number % 3));
    }
}

#[test]
fn the_page_asks_for_nothing_from_elsewhere() {
    let page = everywhere("plain").html();
    for word in ["http://", "https://", "src=", "url(", "@import", "unsafe-inline"] {
        assert!(!page.contains(word), "{word} stands in the page");
    }
    assert!(page.contains("default-src &#39;none&#39;"));
    assert!(page.len() < 60_000, "{} letters", page.len());
}

#[test]
fn nothing_makes_a_page_too() {
    let page = Review::default().html();
    assert!(page.contains("<h1>Review</h1>") && page.contains("There are no rules."));
    assert!(page.ends_with("</html>\n"));
}

#[test]
fn a_review_reads_back_from_the_file_for_programs() {
    let review = everywhere("größe \" </script>");
    let json = serde_json::to_string(&review).unwrap();
    assert_eq!(serde_json::from_str::<Review>(&json).unwrap(), review);
    assert_eq!(serde_json::from_str::<Review>("{}").unwrap(), Review::default());
}
