//! The next encounter predicted: by hand where it can be, and what is left out.

use consequence_evaluate::{
    MeasureError, Measured, Role, Samples, Unmeasured, Utility, UtilityOptions, utility,
};
use consequence_record::{Code, Cohort, Record, Selection, Vocabulary};
use consequence_testing::every::vocabulary;
use rayon::ThreadPoolBuilder;

use crate::support::random_cohort;

/// E0 is followed by E1, and E1 by E0; E2 always comes; in the other cohort it is the other way
/// round.
fn alternating(records: usize, stays: bool) -> Cohort {
    let [e0, e1, e2] = [1, 2, 3].map(Code);
    let mut cohort = Cohort::default();
    for number in 0..records {
        let (one, other) = if number % 2 == 0 { (e0, e1) } else { (e1, e0) };
        let next = if stays { one } else { other };
        let visits = vec![vec![], vec![one, e2], vec![next, e2], vec![one, e2]];
        cohort.push(&number.to_string(), &Record::new(visits));
    }
    cohort
}

fn measured<'a>(
    vocabulary: &'a Vocabulary,
    [train, synthetic, held_out]: [&'a Cohort; 3],
    options: &UtilityOptions,
) -> Measured<Utility> {
    let samples = Samples {
        train: Selection::all(train),
        synthetic: Selection::all(synthetic),
        held_out: Selection::all(held_out),
        vocabulary,
    };
    utility(&samples, options).unwrap()
}

#[test]
fn what_always_follows_is_predicted_and_what_never_does_misleads() {
    let vocabulary = vocabulary(1, 3);
    let (turns, stays) = (alternating(20, false), alternating(20, true));
    let found = measured(&vocabulary, [&turns, &stays, &turns], &UtilityOptions::default());
    let figures = found.figures().unwrap();
    assert_eq!((figures.trained_on, figures.tried_on), (40, 40));
    assert_eq!((figures.real.auroc, figures.real.average_precision), (1.0, 1.0));
    assert!(figures.synthetic.auroc < 0.5);
    let codes: Vec<_> = figures.codes.iter().map(|code| code.code.as_str()).collect();
    assert_eq!(codes, ["E0", "E1"]);
    assert_eq!((figures.codes[0].positives, figures.codes[0].real.positives), (20, 20));
    let left_out: Vec<_> =
        figures.left_out.iter().map(|left| (left.code.as_str(), left.because)).collect();
    assert_eq!(left_out, [("E2", Unmeasured::AlwaysNext(Role::HeldOut))]);
    assert!(found.to_string().contains("E2 left out: it is in every next encounter"), "{found}");
    // A model of synthetic records is trained on no more of them than there are real ones.
    let options = UtilityOptions { examples: 30, ..UtilityOptions::default() };
    let few = measured(&vocabulary, [&turns, &alternating(5, false), &turns], &options);
    let few = few.figures().unwrap();
    assert_eq!((few.trained_on, few.tried_on), (10, 30));
}

#[test]
fn figures_do_not_depend_on_threads() {
    let vocabulary = vocabulary(2, 8);
    let [train, synthetic, held_out] =
        [(150, 1), (90, 2), (80, 3)].map(|(n, seed)| random_cohort(&vocabulary, n, seed));
    let measure =
        || measured(&vocabulary, [&train, &synthetic, &held_out], &UtilityOptions::default());
    let found = measure();
    assert_eq!(found.figures().unwrap().codes.len(), 8);
    assert!(found.figures().unwrap().real.auroc > 0.55);
    let pool = ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(pool.install(measure), found);
}

#[test]
fn what_cannot_be_measured_says_why() {
    let vocabulary = vocabulary(1, 3);
    let good = alternating(20, false);
    let empty = Cohort::default();
    let mut single = Cohort::default();
    single.push("p", &Record::new(vec![vec![], vec![Code(1)]]));
    let mut constant = Cohort::default();
    constant.push("p", &Record::new(vec![vec![], vec![Code(1)], vec![Code(1)]]));
    let options = UtilityOptions::default();
    let why = |cohorts, options: UtilityOptions| match measured(&vocabulary, cohorts, &options) {
        Measured::Unmeasured(why) => why,
        Measured::Measured(figures) => panic!("{figures}"),
    };
    assert_eq!(why([&empty, &good, &good], options), Unmeasured::NoRecords(Role::Train));
    assert_eq!(why([&good, &empty, &good], options), Unmeasured::NoRecords(Role::Synthetic));
    assert_eq!(why([&good, &good, &single], options), Unmeasured::NoTransitions(Role::HeldOut));
    assert_eq!(why([&constant, &good, &good], options), Unmeasured::NoCode);
    let none = UtilityOptions { codes: 0, ..options };
    assert_eq!(why([&good; 3], none), Unmeasured::NoCode);
    let none = UtilityOptions { examples: 0, ..options };
    assert_eq!(why([&good; 3], none), Unmeasured::NoTransitions(Role::Train));
    let shown = measured(&vocabulary, [&empty, &good, &good], &options);
    let text = serde_json::to_string(&shown).unwrap();
    assert_eq!(text, r#"{"unmeasured":"there are no train records"}"#);
}

#[test]
fn foreign_codes_are_refused() {
    let vocabulary = vocabulary(1, 3);
    let good = alternating(4, false);
    let mut foreign = Cohort::default();
    foreign.push("p", &Record::new(vec![vec![], vec![Code(77)]]));
    let sample = Selection::all(&good);
    let synthetic = Selection::all(&foreign);
    let samples = Samples { train: sample, synthetic, held_out: sample, vocabulary: &vocabulary };
    let error: MeasureError = utility(&samples, &UtilityOptions::default()).unwrap_err();
    assert_eq!(error.role, Role::Synthetic);
    assert!(error.to_string().starts_with("synthetic records: record 0 holds code number 77"));
}
