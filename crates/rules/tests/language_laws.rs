//! Trees of every form survive printing, JSON and resolving.

use consequence_record::Code;
use consequence_rules::language::{
    Bound, Expression, ExpressionKind, ForItem, Item, LetItem, LookBack, Name, Quantifier,
    RuleItem, Span, StaticItem, Times,
};
use consequence_rules::{
    Days, Fact, Formula, LanguageLimits, RuleFile, RuleSet, ValueRange, Window, parse,
};
use proptest::prelude::*;

/// Names that read back only if they are quoted where they must be.
fn name() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "rule",
        "let",
        "static",
        "and",
        "or",
        "not",
        "in",
        "any",
        "all",
        "none",
        "at",
        "exactly",
        "with",
        "true",
        "false",
        "past",
        "previous",
        "visit",
        "of",
        "to",
        "first",
        "since",
        "only",
        "once",
        "between",
        "for",
        "version",
        "days",
        "AGE",
        "END",
        "ICD9CM//250",
        "A1C//>7",
        "LOINC:1234",
        "a:",
        ":",
        "::",
        "x y",
        "\"",
        "\\",
        "a\\\"b",
        "#",
        "a#b",
        "(",
        ")",
        "{-1}",
        "*",
        "a*?",
        "糖尿病",
        "é\u{301}",
        "\t",
        "a\nb",
        "\r",
        "\u{feff}",
        "\u{a0}",
        "-1",
        "1%",
        "0.5",
        "=>",
        "<=>",
        "=",
        "`",
        "'",
        "\0",
    ]);
    prop_oneof![odd.prop_map(str::to_owned), "[A-Za-z0-9/:._*?-]{1,8}", "\\PC{1,6}"]
}

fn window() -> impl Strategy<Value = Window> {
    let visit = || prop_oneof![0..4_u16, 0..=Window::MAX];
    let distance = || prop_oneof![1..4_u16, 1..=Window::MAX];
    prop_oneof![
        Just(Window::past()),
        Just(Window::static_visit()),
        Just(Window::previous()),
        visit().prop_map(|visit| Window::at([visit])),
        distance().prop_map(|distance| Window::ago([distance])),
        (1..50_u16).prop_map(Window::last),
        (prop::collection::vec(visit(), 1..4), prop::collection::vec(distance(), 0..4))
            .prop_map(|(visits, distances)| Window::set(visits, distances)),
    ]
}

fn days() -> impl Strategy<Value = Days> {
    let day = || prop_oneof![0..40_u32, 0..=Days::MAX];
    (day(), day()).prop_map(|(one, other)| Days { from: one.min(other), to: one.max(other) })
}

fn look_back() -> impl Strategy<Value = LookBack> {
    prop_oneof![window().prop_map(LookBack::Visits), days().prop_map(LookBack::Days)]
}

fn times() -> impl Strategy<Value = Times> {
    let within = prop_oneof![
        Just(None),
        Just(Some(Window::past().into())),
        days().prop_map(|days| Some(days.into()))
    ];
    let bound = prop::sample::select(vec![Bound::AtLeast, Bound::AtMost]);
    let count = prop_oneof![1..4_u16, 1..Fact::MAX_COUNT];
    (bound, count, within).prop_map(|(bound, count, within)| Times { bound, count, within })
}

fn range() -> impl Strategy<Value = ValueRange> {
    let number = || {
        prop_oneof![
            Just(0.0_f32),
            Just(6.5),
            Just(18.0),
            Just(0.1),
            Just(f32::MAX),
            Just(f32::MIN_POSITIVE),
            any::<f32>().prop_filter("values are finite", |number| number.is_finite()),
        ]
    };
    prop_oneof![
        number().prop_map(ValueRange::above),
        number().prop_map(ValueRange::at_least),
        number().prop_map(ValueRange::below),
        number().prop_map(ValueRange::at_most),
        (number(), number())
            .prop_map(|(one, other)| ValueRange::between(one.min(other), one.max(other))),
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(|value| ExpressionKind::Constant(value).into()),
        name().prop_map(|name| Expression::word(&name)),
        name().prop_map(|name| Expression::literal(&name)),
        name().prop_map(|name| ExpressionKind::Code(name).into()),
        (name(), "[A-Za-z0-9]{0,3}").prop_map(|(from, more)| {
            let to = format!("{from}{more}");
            ExpressionKind::Range(from, to).into()
        }),
        Just(ExpressionKind::FirstVisit.into()),
        range().prop_map(|range| Expression::word("AGE").compared(range)),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let several = || prop::collection::vec(inner.clone(), 2..5);
        let quantifier = prop::sample::select(Quantifier::ALL.to_vec());
        prop_oneof![
            (inner.clone(), look_back()).prop_map(|(inner, window)| inner.within(window)),
            (inner.clone(), times()).prop_map(|(inner, times)| inner.times(times)),
            (inner.clone(), inner.clone()).prop_map(|(inner, mark)| inner.since(mark)),
            (inner.clone(), range()).prop_map(|(inner, range)| inner.compared(range)),
            inner.clone().prop_map(Expression::not),
            several().prop_map(|parts| ExpressionKind::And(parts).into()),
            several().prop_map(|parts| ExpressionKind::Or(parts).into()),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.implies(right)),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| ExpressionKind::Iff(
                left.into(),
                right.into()
            )
            .into()),
            (quantifier, prop::collection::vec(inner, 1..5))
                .prop_map(|(quantifier, items)| ExpressionKind::Group(quantifier, items).into()),
        ]
    })
}

fn item() -> impl Strategy<Value = Item> {
    let probability = prop::option::of(prop_oneof![
        Just(0.0),
        Just(1.0),
        Just(0.01),
        Just(1e-300),
        0.0..=1.0_f64
    ]);
    let rule = (name(), expression(), probability).prop_map(|(name, formula, probability)| {
        Item::Rule(RuleItem { probability, ..RuleItem::new(name, formula) })
    });
    let values = prop::collection::vec(expression(), 1..4);
    let definition = ("xx[a-z]{0,5}", values).prop_map(|(name, values)| {
        Item::Let(LetItem { name: Name::new(name), values, span: Span::default() })
    });
    let codes = prop::collection::vec(name(), 1..4).prop_map(|names| {
        let codes = names.iter().map(|name| Expression::word(name)).collect();
        Item::Static(StaticItem { codes, span: Span::default() })
    });
    prop_oneof![rule, definition, codes]
}

fn made_for() -> impl Strategy<Value = Item> {
    (name(), prop::option::of(name())).prop_map(|(vocabulary, version)| {
        let (vocabulary, version) = (Name::new(vocabulary), version.map(Name::new));
        Item::For(ForItem { vocabulary, version, span: Span::default() })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn printing_and_json_lose_nothing(
        made_for in prop::collection::vec(made_for(), 0..3),
        items in prop::collection::vec(item(), 0..6),
    ) {
        let limits = LanguageLimits::default();
        let items: Vec<Item> = made_for.into_iter().chain(items).collect();
        let file = RuleFile::new("made", items.clone(), &limits);
        let file = file.map_err(|refused| TestCaseError::fail(refused.to_string()))?;
        prop_assert_eq!(file.items(), items.as_slice());
        prop_assert!(file.warnings().is_empty(), "what we print needs no warning");

        let text = file.to_string();
        let again = parse("again", &text, &limits).unwrap();
        prop_assert_eq!(&again, &file);
        prop_assert_eq!(again.to_string(), text);

        let json = file.to_json();
        let read = RuleFile::from_json("made.json", &json, &limits);
        let read = read.map_err(|refused| TestCaseError::fail(refused.to_string()))?;
        prop_assert_eq!(&read, &file);
        prop_assert_eq!(read.to_json(), json);
    }
}

/// Parts that are counted, each of them once, as the resolver has them.
fn counted(
    part: impl Strategy<Value = Formula> + 'static,
) -> impl Strategy<Value = Vec<Formula>> + 'static {
    prop::collection::vec(part, 1..5).prop_map(|mut parts| {
        let mut seen = std::collections::HashSet::new();
        parts.retain(|part| matches!(part, Formula::Constant(_)) || seen.insert(part.clone()));
        parts
    })
}

/// Facts as the resolver makes them, a value with its code.
fn fact(codes: u32) -> impl Strategy<Value = Formula> {
    let set = move || {
        prop::collection::btree_set(0..codes, 1..4)
            .prop_map(|set| set.into_iter().map(Code).collect::<Vec<_>>())
    };
    let seen = (set(), prop::option::of(days()), 1..=Fact::MAX_COUNT)
        .prop_map(|(codes, days, count)| Fact::Seen { codes: codes.into(), days, count });
    let since = (set(), set())
        .prop_map(|(codes, mark)| Fact::Since { codes: codes.into(), mark: mark.into() });
    let age = || prop_oneof![Just(0), Just(18), 0..=151_u16].prop_map(|least| Fact::Age { least });
    // `END`, the last, has no value.
    let value = (0..codes - 1, range()).prop_map(|(code, range)| {
        let value = Formula::Fact(Fact::Value { code: Code(code), range });
        Formula::And(vec![Formula::Now(Code(code)), value])
    });
    let ages = (age(), age()).prop_map(|(least, above)| {
        Formula::And(vec![Formula::Fact(least), Formula::Fact(above).not()])
    });
    prop_oneof![
        seen.prop_map(Formula::Fact),
        since.prop_map(Formula::Fact),
        Just(Formula::Fact(Fact::FirstVisit)),
        age().prop_map(Formula::Fact),
        value,
        ages,
    ]
}

/// Formulas as the resolver makes them: `and` and `or` of two parts or more, nothing counted twice.
fn formula(codes: u32) -> impl Strategy<Value = Formula> {
    let code = move || (0..codes).prop_map(Code);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Formula::Constant),
        code().prop_map(Formula::Now),
        (code(), window()).prop_map(|(code, window)| Formula::In(code, window)),
        fact(codes),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let several = || prop::collection::vec(inner.clone(), 2..6);
        prop_oneof![
            inner.clone().prop_map(Formula::not),
            several().prop_map(Formula::And),
            several().prop_map(Formula::Or),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| left.implies(right)),
            (inner.clone(), inner.clone())
                .prop_map(|(left, right)| Formula::Iff(left.into(), right.into())),
            counted(inner.clone()).prop_map(Formula::AtMostOne),
            counted(inner).prop_map(Formula::ExactlyOne),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn formulas_read_back_from_their_text(formula in formula(7)) {
        use consequence_record::{Kind, Vocabulary};
        let names = ["A", "AGE", "and", "x > 7", "C*", "a:"];
        // A rule about the static visit alone may not speak of what is known of encounters.
        let codes = names.map(|name| (name, Kind::Encounter));
        let vocabulary = std::sync::Arc::new(Vocabulary::new(codes).unwrap());
        let text = format!("rule r: {}", formula.text(&vocabulary));
        let rules = RuleSet::parse(&text, Some(vocabulary));
        let rules = rules.map_err(|refused| TestCaseError::fail(refused.to_string()))?;
        prop_assert_eq!(&*rules[0].formula(), &formula);
    }
}

/// The language counts what comes twice once, so a formula that counts it twice is written in
/// other words, and means the same.
#[test]
fn a_part_that_is_counted_twice_is_written_so() {
    let rules = RuleSet::parse("rule r: A and B", None).unwrap();
    let [a, b] = [0, 1].map(|code| Formula::Now(consequence_record::Code(code)));
    let again = Formula::And(vec![a.clone(), a.clone()]);
    let formula = Formula::AtMostOne(vec![a.clone(), b, a.clone(), again, a]);
    let text = formula.text(rules.vocabulary());
    assert_eq!(text, "at most one of A, B, (A and A), ((A and A) and (A and A)), (A and A and A)");
    let read =
        RuleSet::parse(&format!("rule r: {text}"), Some(rules.vocabulary().clone())).unwrap();
    assert_eq!(read[0].formula().codes_now().len(), 11);
    let Formula::AtMostOne(parts) = &*read[0].formula() else { panic!("{text}") };
    assert_eq!(parts.len(), 5);
}
