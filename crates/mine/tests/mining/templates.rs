//! Each template on cohorts small enough to see through.

use crate::support::{all_counts, cohort, lowest, mine_all, reread, said, vocabulary};
use consequence_mine::{Cutoffs, Evidence, MineError, MineOptions, Reason, Template, mine};
use consequence_record::{Cohort, Split};

#[test]
fn at_most_one_where_it_is_really_so() {
    let vocabulary = vocabulary(&["SEX//F", "SEX//M", "RACE//A", "RACE//B", "ONLY//X", "q"]);
    let cohort = cohort(
        &vocabulary,
        &[(40, "SEX//F RACE//A | q"), (40, "SEX//M RACE//B |"), (1, "RACE//A RACE//B | q")],
    );
    let mined = mine_all(&cohort, &vocabulary, &MineOptions::default());
    assert_eq!(said(&mined), ["at most one of SEX//F, SEX//M"]);
    let rule = &mined.rules[0];
    assert_eq!((rule.train.support, rule.template), (80, Template::OneOf));
    reread(&mined, &vocabulary);
}

#[test]
fn few_records_do_not_make_a_category() {
    let vocabulary = vocabulary(&["SEX//F", "SEX//M", "q"]);
    let cohort = cohort(&vocabulary, &[(2, "SEX//F | q"), (2, "SEX//M |")]);
    assert!(mine_all(&cohort, &vocabulary, &MineOptions::default()).rules.is_empty());
    let counted = mine_all(&cohort, &vocabulary, &all_counts());
    assert!(said(&counted).contains(&"at most one of SEX//F, SEX//M".to_owned()));
}

#[test]
fn pair_counts_do_not_depend_on_the_order_of_codes() {
    // `late` stands after its companion in the vocabulary, `early` before it; each is seen ten
    // times, which is enough only if all ten are counted as one pair.
    let vocabulary = vocabulary(&["early", "companion", "late"]);
    let cohort = cohort(
        &vocabulary,
        &[(10, "| early companion"), (10, "| late companion"), (5, "| companion"), (80, "|")],
    );
    let mined = mine_all(&cohort, &vocabulary, &MineOptions::default());
    assert_eq!(said(&mined), ["early => companion", "late => companion"]);
    assert!(mined.rules.iter().all(|rule| rule.train.support == 10));
}

#[test]
fn what_a_value_goes_with_is_no_rule_and_takes_nothing_from_rules_of_codes() {
    let records = [(30, "| early companion q2"), (30, "| companion q1"), (80, "|")];
    let named = |test: &str| {
        let vocabulary =
            vocabulary(&["early", "companion", &format!("{test}q1"), &format!("{test}q2")]);
        let records =
            records.map(|(count, text)| (count, text.replace(" q", &format!(" {test}q"))));
        let records = records.each_ref().map(|(count, text)| (*count, text.as_str()));
        said(&mine_all(&cohort(&vocabulary, &records), &vocabulary, &MineOptions::default()))
    };
    assert_eq!(named("LAB//x//"), ["early => companion"]);
    assert!(named("x-").contains(&"x-q1 => companion".to_owned()), "codes that are no values");
}

#[test]
fn equivalences_are_one_rule_whichever_code_comes_first() {
    for names in [["a", "b"], ["b", "a"]] {
        let vocabulary = vocabulary(&names);
        let cohort = cohort(&vocabulary, &[(30, "| a b | a b"), (100, "|")]);
        let options = MineOptions {
            cutoffs: Some(Cutoffs { stays: u64::MAX, ..lowest() }),
            ..MineOptions::default()
        };
        let mined = mine_all(&cohort, &vocabulary, &options);
        assert_eq!(said(&mined), [format!("{} <=> {}", names[0], names[1])]);
        let rule = &mined.rules[0];
        assert_eq!((rule.train.support, rule.records), (60, 30));
        reread(&mined, &vocabulary);
    }
}

#[test]
fn only_the_train_split_makes_rules_and_only_tuning_breaks_them() {
    let vocabulary = vocabulary(&["a", "b"]);
    let make = |odd: Split| {
        let cohort = cohort(&vocabulary, &[(20, "| a b"), (10, "| b"), (90, "|"), (3, "| a")]);
        let mut splits = vec![Split::Train; 120];
        splits.extend([odd; 3]);
        mine(&cohort, &vocabulary, &splits, &MineOptions::default()).unwrap()
    };
    let held_out = make(Split::HeldOut);
    assert_eq!(said(&held_out), ["a => b"], "the held-out split is not looked at");
    assert_eq!((held_out.train_records, held_out.tuning_records), (120, 0));

    let tuning = make(Split::Tuning);
    assert!(tuning.rules.is_empty());
    let dropped = &tuning.dropped[0];
    assert_eq!((dropped.reason, dropped.rule.tuning.exceptions), (Reason::Contradicted, 3));
    assert!(tuning.text(&|_| None).contains("#   rule a-with-b: a => b (3 of 3)"));

    assert!(make(Split::Train).rules.is_empty(), "an exception in train is no rule");
}

#[test]
fn staying_is_judged_by_the_next_encounter_alone() {
    // `stays` is in every encounter after its first; `returns` skips one; `once` is only ever in
    // the last encounter, so that nothing is known about it.
    let vocabulary = vocabulary(&["stays", "returns", "once"]);
    let cohort = cohort(
        &vocabulary,
        &[(20, "| | stays returns | stays | stays returns once"), (60, "| | | |")],
    );
    let options = MineOptions {
        cutoffs: Some(Cutoffs { together: u64::MAX, only_after: u64::MAX, ..lowest() }),
        ..MineOptions::default()
    };
    let mined = mine_all(&cohort, &vocabulary, &options);
    assert_eq!(said(&mined), ["stays in previous => stays"]);
    assert_eq!((mined.rules[0].train.support, mined.rules[0].records), (40, 20));
}

#[test]
fn coming_after_means_an_earlier_encounter() {
    // `after` always has `before` in an earlier encounter; `with` only in the same one or earlier;
    // `late` has it earlier but for one record, where it comes later.
    let vocabulary = vocabulary(&["after", "before", "late", "with"]);
    let cohort = cohort(
        &vocabulary,
        &[
            (30, "| before | | after late with"),
            (5, "| before with | after | after late"),
            (1, "| late | before"),
            (300, "| | |"),
        ],
    );
    let cutoffs = Cutoffs { together: u64::MAX, stays: u64::MAX, ..lowest() };
    // Among so few candidates, one with an exception would cast doubt on all.
    let evidence = Some(Evidence { doubt: 1.0, ..Evidence::default() });
    let options =
        MineOptions { cutoffs: Some(cutoffs), near: None, evidence, ..MineOptions::default() };
    let mined = mine_all(&cohort, &vocabulary, &options);
    assert_eq!(said(&mined), ["not before in past => not after"]);
    assert_eq!((mined.rules[0].train.support, mined.rules[0].records), (40, 35));
}

#[test]
fn coming_after_what_nearly_everyone_has_is_chance() {
    let vocabulary = vocabulary(&["checkup", "rare"]);
    let records = [(30, "| checkup | rare"), (970, "| checkup |"), (10, "| |")];
    let cohort = cohort(&vocabulary, &records);
    let options = MineOptions { end: false, beyond: false, ..MineOptions::default() };
    assert!(mine_all(&cohort, &vocabulary, &options).rules.is_empty());
    let counted = mine_all(&cohort, &vocabulary, &all_counts());
    assert!(said(&counted).contains(&"not checkup in past => not rare".to_owned()));
}

#[test]
fn absence_in_a_group_counts_when_the_group_is_large_enough() {
    let vocabulary = vocabulary(&["SEX//F", "SEX//M", "SEX//X", "prostate"]);
    let cohort = cohort(
        &vocabulary,
        &[(500, "SEX//F |"), (500, "SEX//M | prostate"), (5, "SEX//X |"), (300, "SEX//M |")],
    );
    let mined = mine_all(&cohort, &vocabulary, &MineOptions::default());
    let said = said(&mined);
    assert!(said.contains(&"SEX//F in static => not prostate".to_owned()), "{said:?}");
    assert_eq!(said.len(), 2, "five records of a third sex prove nothing: {said:?}");
}

#[test]
fn few_exceptions_make_a_soft_rule() {
    let vocabulary = vocabulary(&["SEX//F", "SEX//M", "a", "b", "stays"]);
    let cohort = cohort(
        &vocabulary,
        &[
            (995, "SEX//M | a b | a b"),
            (5, "SEX//M | a | a b"),
            (990, "SEX//F | b stays | b stays"),
            (4, "SEX//F | stays |"),
            (4000, "SEX//F | |"),
            (4000, "SEX//M | |"),
        ],
    );
    let mined = mine_all(&cohort, &vocabulary, &MineOptions::default());
    let soft: Vec<_> = mined.rules.iter().filter(|rule| rule.probability.is_some()).collect();
    let find = |code: &str, template: Template| {
        soft.iter().find(|rule| rule.codes[0] == code && rule.template == template)
    };
    let stays = find("stays", Template::Stays).expect("a soft rule");
    assert_eq!(stays.probability, Some(0.996));
    assert_eq!((stays.train.support, stays.train.exceptions), (994, 4));
    assert!(stays.bound > 0.004 && stays.bound < 0.01);
    let outputs: Vec<_> =
        soft.iter().map(|rule| rule.formula.codes_now().last().copied()).collect();
    let mut distinct = outputs.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(outputs.len(), distinct.len(), "one soft rule for each code");
    reread(&mined, &vocabulary);
}

#[test]
fn odd_input_is_refused_or_passed_over() {
    let vocabulary = vocabulary(&["SEX//F", "a"]);
    let options = MineOptions::default();
    let empty = Cohort::default();
    let refused =
        |cohort, splits: &[Split]| mine(cohort, &vocabulary, splits, &options).unwrap_err();
    assert!(matches!(refused(&empty, &[]), MineError::NoTrain));
    let mut odd = cohort(&vocabulary, &[(3, "SEX//F | a"), (1, ""), (1, "a | SEX//F")]);
    odd.push_visits("nothing at all", [], true);
    let splits = refused(&odd, &[Split::Train]);
    assert!(matches!(splits, MineError::Splits { records: 6, splits: 1 }));
    let mined = mine_all(&odd, &vocabulary, &all_counts());
    assert_eq!(mined.train_visits, 4);
    // A cohort over a larger vocabulary: codes that this one does not know are passed over.
    let smaller = crate::support::vocabulary(&["SEX//F"]);
    assert!(mine_all(&odd, &smaller, &all_counts()).rules.is_empty());
}

#[test]
fn sure_rules_are_found_whatever_is_asked_for() {
    let vocabulary = vocabulary(&["a", "b"]);
    let cohort = cohort(&vocabulary, &[(300, "| a b"), (300, "| b"), (3000, "|")]);
    let evidence = Some(Evidence { probability: 1e-9, doubt: 0.01, ..Evidence::default() });
    let options = MineOptions { evidence, ..MineOptions::default() };
    assert_eq!(said(&mine_all(&cohort, &vocabulary, &options)), ["a => b"]);
}
