//! Cohort definitions of OHDSI as names.

use consequence_packs::{Ancestors, CohortDefinition, Concepts, NamedGroups, PackLimits};
use consequence_record::{Kind, Vocabulary};
use consequence_rules::RuleSet;
use serde_json::{Value, json};

const CONCEPTS: &str = "concept_id\tconcept_name\tvocabulary_id\tconcept_code\n\
    1\tGout\tSNOMED\t90560007\n2\tGout \"of foot\tSNOMED\t190828008\n3\tAllopurinol\tRxNorm\t519\n\
    4\tUrate\tLOINC\t3084-1\n5\tTophus\tICD10CM\tM1A.9\n6\tother\tSNOMED\t7\n";
const BELOW: &str = "ancestor_concept_id,descendant_concept_id\n1,1\n1,2\n1,5\n6,2\n";

fn set(id: i64, name: &str, items: &[(u64, &str)]) -> Value {
    let item = |(concept, words): &(u64, &str)| {
        json!({"concept": {"CONCEPT_ID": concept, "CONCEPT_NAME": "x"},
            "isExcluded": words.contains("excluded"), "includeDescendants": words.contains("below"),
            "includeMapped": words.contains("mapped")})
    };
    json!({"id": id, "name": name, "expression": {"items": items.iter().map(item).collect::<Vec<_>>()}})
}

/// A definition with the entry events and inclusion rules given.
fn definition(primary: Value, rules: &[(&str, Value)]) -> Value {
    let rules: Vec<Value> =
        rules.iter().map(|(name, rule)| json!({"name": name, "expression": rule})).collect();
    json!({
        "cdmVersionRange": ">=5.0.0",
        "ConceptSets": [set(0, "Gout (any)", &[(1, "")]), set(1, "Allopurinol", &[(3, "")]),
            set(2, "Urate", &[(4, "")])],
        "PrimaryCriteria": primary,
        "InclusionRules": rules,
        "CensoringCriteria": [], "CensorWindow": {}, "EndStrategy": null
    })
}

fn gout() -> Value {
    json!({"CriteriaList": [{"ConditionOccurrence": {"CodesetId": 0, "ConditionTypeExclude": false}}],
        "PrimaryCriteriaLimit": {"Type": "All"}})
}

/// A criterion on a set in days around the index event; none: without end.
fn around(set: i64, [from, to]: [Option<i64>; 2], [kind, count]: [i64; 2]) -> Value {
    let side = |days: Option<i64>, end: i64| match days {
        Some(days) => json!({"Days": days.abs(), "Coeff": if days < 0 { -1 } else { 1 }}),
        None => json!({"Coeff": end}),
    };
    json!({"Criteria": {"DrugExposure": {"CodesetId": set}},
        "StartWindow": {"Start": side(from, -1), "End": side(to, 1), "UseEventEnd": false},
        "Occurrence": {"Type": kind, "Count": count}})
}

fn all(criteria: &[Value]) -> Value {
    json!({"Type": "ALL", "CriteriaList": criteria, "DemographicCriteriaList": [], "Groups": []})
}

fn read(definition: &Value) -> Result<CohortDefinition, String> {
    let text = definition.to_string();
    let limits = PackLimits::default();
    CohortDefinition::read("gout.json", text.as_bytes(), &limits).map_err(|error| error.to_string())
}

fn named(definition: &Value) -> Result<NamedGroups, String> {
    let definition = read(definition)?;
    let (wanted, limits) = (definition.concepts(None), PackLimits::default());
    let concepts = Concepts::read("CONCEPT.csv", CONCEPTS.as_bytes(), &wanted, &limits).unwrap();
    definition.named(&concepts, None, None).map_err(|error| error.to_string())
}

fn statement<'a>(named: &'a NamedGroups, name: &str) -> &'a str {
    let group = named.groups.iter().find(|group| group.name == name);
    let statement = &group.unwrap_or_else(|| panic!("no {name}: {named:#?}")).statement;
    statement.split_once(" = ").unwrap().1
}

/// What becomes of one criterion as an inclusion rule.
fn told(criterion: Value) -> String {
    let named = named(&definition(gout(), &[("Rule", all(&[criterion]))])).unwrap();
    let text = format!("{}rule r: gout => not X\n", named.text());
    RuleSet::parse(&text, None).unwrap();
    match named.groups.iter().any(|group| group.name == "rule-2" || group.name == "named-rule") {
        true => statement(&named, "named-rule").to_owned(),
        false => format!("not said: {}", named.unsaid[0].why),
    }
}

#[test]
fn windows_and_counts() {
    for (window, count, expected) in [
        ([Some(-30), Some(0)], [2, 1], "allopurinol or allopurinol in last 30 days"),
        ([Some(-14), Some(-3)], [2, 1], "allopurinol in 3 to 14 days ago"),
        ([None, Some(0)], [2, 1], "allopurinol or allopurinol in past"),
        ([None, Some(-1)], [0, 0], "not allopurinol in 1 to 50000 days ago"),
        ([Some(0), Some(0)], [2, 1], "allopurinol or allopurinol in last 0 days"),
        ([None, Some(-1)], [2, 3], "allopurinol at least 3 times in 1 to 50000 days ago"),
        (
            [Some(-365), Some(0)],
            [2, 2],
            "allopurinol at least 2 times in last 365 days or allopurinol and allopurinol in last 365 days",
        ),
        ([Some(-9), Some(-1)], [1, 2], "not allopurinol at least 3 times in 1 to 9 days ago"),
        (
            [Some(-9), Some(-1)],
            [0, 1],
            "allopurinol in 1 to 9 days ago and not allopurinol at least 2 times in 1 to 9 days ago",
        ),
        ([Some(1), Some(90)], [2, 1], "allopurinol and gout-entry in 1 to 90 days ago"),
        (
            [Some(0), Some(90)],
            [2, 1],
            "allopurinol and (gout-entry or gout-entry in last 90 days) or gout-entry and \
             allopurinol in last 0 days",
        ),
        ([Some(7), None], [2, 1], "allopurinol and gout-entry in 7 to 50000 days ago"),
        (
            [Some(-7), Some(30)],
            [2, 1],
            "allopurinol and (gout-entry or gout-entry in last 30 days) or gout-entry and allopurinol in last 7 days",
        ),
        ([Some(0), Some(90)], [0, 0], "not said: only that there is an event after"),
        ([Some(0), Some(90)], [2, 2], "not said: only that there is an event after"),
        ([Some(5), Some(2)], [2, 1], "not said: its window ends before it begins"),
        ([Some(-5), Some(0)], [2, 500], "not said: it counts more than 99 events"),
    ] {
        let told = told(around(1, window, count));
        assert!(
            told == expected || expected.starts_with("not said") && told.starts_with(expected),
            "{told}\n{expected}"
        );
    }
}

#[test]
fn what_events_are_like() {
    let back = |criterion: Value| {
        let mut one = around(1, [Some(-30), Some(0)], [2, 1]);
        one["Criteria"] = criterion;
        one
    };
    let same = |criterion: Value| {
        let mut one = back(criterion);
        one["RestrictVisit"] = true.into();
        one
    };
    let value = |op: &str| json!({"Measurement": {"CodesetId": 2, "ValueAsNumber": {"Op": op, "Value": 6.5, "Extent": 9}}});
    for (criterion, expected) in [
        (same(value("gt")), "urate > 6.5"),
        (same(value("bt")), "urate between 6.5 and 9"),
        (same(value("eq")), "urate between 6.5 and 6.5"),
        (same(value("!bt")), "not said: a number outside a range"),
        (back(value("gt")), "not said: values, ages and criteria around it"),
        (
            {
                let mut one = around(1, [Some(0), Some(9)], [2, 1]);
                one["Criteria"] = value("gt");
                one
            },
            "urate > 6.5 and (gout-entry or gout-entry in last 9 days)",
        ),
        (
            same(json!({"DrugExposure": {"CodesetId": 1, "Age": {"Op": "gte", "Value": 18}}})),
            "allopurinol and AGE >= 18",
        ),
        (
            back(json!({"DrugExposure": {"CodesetId": 1, "First": true}})),
            "(allopurinol or allopurinol in last 30 days) and not allopurinol in 31 to 50000 days ago",
        ),
        (
            back(json!({"DrugExposure": {"CodesetId": 1, "Gender": [{"CONCEPT_ID": 8532}]}})),
            "(allopurinol or allopurinol in last 30 days) and SEX//F in static",
        ),
        (back(json!({"Death": {}})), "DEATH or DEATH in last 30 days"),
        (back(json!({"DrugExposure": {}})), "not said: any `DrugExposure`"),
        (back(json!({"DrugEra": {"CodesetId": 1}})), "not said: `DrugEra` is no code"),
        (
            back(json!({"DrugExposure": {"CodesetId": 1, "Refills": {"Op": "gt", "Value": 1}}})),
            "not said: `Refills` is not kept",
        ),
    ] {
        let told = told(criterion);
        assert!(
            told == expected || expected.starts_with("not said") && told.starts_with(expected),
            "{told}\n{expected}"
        );
    }
}

#[test]
fn groups() {
    let rule = |kind: &str, count: Option<i64>| {
        let mut rule = all(&[
            around(1, [Some(-9), Some(-1)], [2, 1]),
            around(2, [Some(-9), Some(-1)], [2, 1]),
        ]);
        rule["Type"] = kind.into();
        rule["DemographicCriteriaList"] =
            json!([{"Age": {"Op": "lt", "Value": 70}, "Gender": [{"CONCEPT_ID": 8507}]}]);
        rule["Count"] = count.map_or(Value::Null, Value::from);
        let named = named(&definition(gout(), &[("Some rule", rule)])).unwrap();
        match named.groups.iter().any(|group| group.name == "some-rule") {
            true => statement(&named, "some-rule").to_owned(),
            false => named.unsaid[0].why.clone(),
        }
    };
    let [a, b, c] = [
        "allopurinol in 1 to 9 days ago",
        "urate in 1 to 9 days ago",
        "AGE < 70 and SEX//M in static",
    ];
    assert_eq!(rule("ALL", None), format!("{a} and {b} and ({c})"));
    assert_eq!(rule("ANY", None), format!("{a} or {b} or {c}"));
    assert_eq!(rule("AT_LEAST", Some(1)), format!("{a} or {b} or {c}"));
    assert_eq!(rule("AT_LEAST", Some(3)), format!("{a} and {b} and ({c})"));
    assert_eq!(rule("AT_LEAST", Some(2)), "at least 2 of 3 criteria");
    assert_eq!(rule("AT_MOST", Some(0)), format!("not ({a} or {b} or {c})"));
    assert_eq!(rule("AT_MOST", Some(1)), format!("at most one of ({a}), ({b}), ({c})"));
}

#[test]
fn the_cohort_is_what_can_be_said_of_it() {
    let before = all(&[around(1, [Some(-30), Some(-1)], [0, 0])]);
    let after = all(&[around(1, [Some(1), Some(30)], [2, 1])]);
    let never = all(&[around(1, [Some(1), Some(30)], [0, 0])]);

    let whole = named(&definition(gout(), &[("No drug", before.clone())])).unwrap();
    assert_eq!(statement(&whole, "gout"), "gout-entry and no-drug");
    assert_eq!(whole.unsaid, []);

    let later = named(&definition(gout(), &[("Treated", after.clone())])).unwrap();
    assert_eq!(statement(&later, "gout"), "treated");

    let wider = [("No drug", before), ("Treated", after), ("Untreated", never)];
    let wider = named(&definition(gout(), &wider)).unwrap();
    assert_eq!(statement(&wider, "gout"), "gout-entry and no-drug");
    let last = wider.groups.last().unwrap();
    assert_eq!(last.remarks.len(), 2, "{:?}", last.remarks);
    assert!(last.remarks.iter().all(|remark| remark.starts_with("wider: without")));
    assert_eq!(wider.unsaid.len(), 3, "{:?}", wider.unsaid);

    let mut first = definition(gout(), &[]);
    first["PrimaryCriteria"]["PrimaryCriteriaLimit"]["Type"] = "First".into();
    first["ExpressionLimit"] = json!({"Type": "First"});
    let once = named(&first).unwrap();
    assert_eq!(statement(&once, "gout"), "gout-entry and not gout-entry in past");
    assert_eq!(once.unsaid, []);
    let mut single = first.clone();
    single["PrimaryCriteria"]["CriteriaList"][0]["ConditionOccurrence"]["First"] = true.into();
    single["InclusionRules"] =
        json!([{"name": "Old", "expression": all(&[around(1, [None, Some(0)], [2, 1])])}]);
    let single = named(&single).unwrap();
    assert_eq!(statement(&single, "gout-entry"), "gout-any and not gout-any in past");
    assert_eq!(statement(&single, "gout"), "gout-entry and old");
    assert_eq!(single.unsaid, [], "there is one first event");
    first["PrimaryCriteria"]["ObservationWindow"] = json!({"PriorDays": 365, "PostDays": 0});
    first["EndStrategy"] = json!({"DateOffset": {"Offset": 7}});
    let open = named(&first).unwrap();
    assert_eq!(statement(&open, "gout"), "gout-entry");
    let unsaid: Vec<&str> = open.unsaid.iter().map(|part| &*part.what).collect();
    assert_eq!(
        unsaid,
        [
            "`PrimaryCriteria.ObservationWindow.PriorDays` 365",
            "`PrimaryCriteria.PrimaryCriteriaLimit` First",
            "`ExpressionLimit` First",
            "`EndStrategy`"
        ]
    );

    let era = json!({"CriteriaList": [{"ConditionEra": {"CodesetId": 0}}]});
    let none = named(&definition(era, &[])).unwrap();
    assert!(none.groups.iter().all(|group| group.name != "gout"));
    assert_eq!(none.unsaid.len(), 2);
}

#[test]
fn sets_of_concepts() {
    let mut one = definition(gout(), &[]);
    one["ConceptSets"] =
        json!([set(0, "Gout", &[(1, "below"), (3, "mapped"), (9, ""), (6, "excluded below")])]);
    let without = named(&one).unwrap();
    assert_eq!(statement(&without, "gout-2"), "OMOP//9, RxNorm//519, SNOMED//90560007");
    assert_eq!(without.groups[0].remarks.len(), 3, "{:?}", without.groups[0].remarks);
    assert!(without.unsaid[0].why.contains("CONCEPT_ANCESTOR was not given"));

    let (definition, limits) = (read(&one).unwrap(), PackLimits::default());
    let below =
        Ancestors::read("below", BELOW.as_bytes(), &definition.ancestors(), None, &limits).unwrap();
    let wanted = definition.concepts(Some(&below));
    let concepts = Concepts::read("CONCEPT.csv", CONCEPTS.as_bytes(), &wanted, &limits).unwrap();
    let with = definition.named(&concepts, Some(&below), None).unwrap();
    let codes = "ICD10CM//M1A9, OMOP//9, RxNorm//519, SNOMED//90560007";
    assert_eq!(statement(&with, "gout-2"), codes, "concept 2 is below one that is excluded");
    let names = ["SNOMED//90560007", "SNOMED//7"].map(|name| (name, Kind::Encounter));
    let known = Vocabulary::new(names).unwrap();
    let few = definition.named(&concepts, Some(&below), Some(&known)).unwrap();
    assert_eq!(statement(&few, "gout-2"), "SNOMED//90560007");
    assert!(few.groups[0].remarks.contains(&"1 of 4 codes are known".to_owned()));
}

#[test]
fn what_is_wrong_says_where() {
    let whole = || definition(gout(), &[("Rule", all(&[around(1, [Some(-9), Some(0)], [2, 1])]))]);
    let with = |pointer: &str, value: Value| {
        let mut one = whole();
        *one.pointer_mut(pointer).unwrap() = value;
        named(&one).unwrap_err()
    };
    let rule = "/InclusionRules/0/expression";
    let criterion = format!("{rule}/CriteriaList/0");
    for (pointer, value, expected) in [
        (
            "/ConceptSets/1/id".to_owned(),
            json!(0),
            "a second concept set with this number at `ConceptSets[1]`",
        ),
        (
            "/ConceptSets/1/expression/items/0/concept".to_owned(),
            json!({}),
            "no `CONCEPT_ID` at `ConceptSets[1].expression.items[0].concept`",
        ),
        (
            "/PrimaryCriteria/CriteriaList".to_owned(),
            json!([]),
            "no entry event at `PrimaryCriteria`",
        ),
        (
            "/PrimaryCriteria/CriteriaList/0".to_owned(),
            json!({"ConditionOccurrence": {"CodesetId": 7}}),
            "no concept set has this number at `PrimaryCriteria.CriteriaList[0].ConditionOccurrence.CodesetId`",
        ),
        (
            format!("{rule}/Type"),
            json!("SOME"),
            "expected `ALL`, `ANY`, `AT_LEAST` or `AT_MOST` at `InclusionRules[0].expression.Type`",
        ),
        (
            format!("{criterion}/Occurrence"),
            json!(null),
            "no `Occurrence` at `InclusionRules[0].expression.CriteriaList[0]`",
        ),
        (format!("{criterion}/Occurrence/Type"), json!(5), "expected 0, 1 or 2 at"),
        (format!("{criterion}/Occurrence/Count"), json!(-1), "expected a number of events at"),
        (
            format!("{criterion}/StartWindow/Start/Days"),
            json!("many"),
            "expected a whole number at",
        ),
        (format!("{criterion}/StartWindow/Start/Coeff"), json!(2), "expected -1 or 1 at"),
        (
            format!("{criterion}/Criteria"),
            json!({"A": {}, "B": {}}),
            "expected one kind of event at",
        ),
    ] {
        let refused = with(&pointer, value);
        assert!(refused.starts_with(&format!("gout.json: {expected}")), "{refused}");
    }
    let limits = PackLimits::default();
    let refuse = |text: &str| {
        CohortDefinition::read("gout.json", text.as_bytes(), &limits).unwrap_err().to_string()
    };
    assert!(refuse("{\n\"a\": }").starts_with("gout.json:2: the JSON is damaged"));
    assert!(refuse("{}").contains("no `PrimaryCriteria`"));
    assert!(refuse("predicates:").contains("the JSON is damaged"));
    // The expression of a web service is a text in the text.
    let inner = json!({"name": "Seen for gout", "expression": whole().to_string()});
    assert_eq!(named(&inner).unwrap().groups.last().unwrap().name, "seen-for-gout");
    let refused = Concepts::read("C.csv", "a,b\n".as_bytes(), &Default::default(), &limits);
    assert!(refused.unwrap_err().to_string().contains("expected the table CONCEPT of OMOP"));
}
