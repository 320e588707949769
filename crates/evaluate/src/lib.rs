//! Measures of models and of cohorts.
//!
//! - [`likelihood`]: how well a model, with rules or without, predicts records that exist.
//! - [`compare`]: how far the frequencies of codes and of pairs of codes agree in two cohorts.
//! - [`shares`]: those frequencies one by one, for scatter plots.
//! - [`violations`]: how records obey rules.
//! - [`utility`]: whether models trained on synthetic records are as good as those from real ones.
//! - [`privacy`]: what synthetic records give away of those trained on.
//! - [`rarity`]: what they show that few of those trained on have.
//! - [`timing`]: days between visits, ages, stays and values, real beside synthetic.
//! - [`Describer`]: what one cohort looks like: sizes, lengths, dates, codes, values, and what is odd.
//! - [`Interval`]: a figure over repeated generations.
//! - [`Independent`]: what a model that knows little reaches.
//!
//! Counts are exact. Sums are taken record by record and then in the order of the records, so that
//! a figure is the same for any number of threads and any size of batch.
#![forbid(unsafe_code)]

mod codes_only;
mod compare;
mod counts;
mod describe;
mod figures;
mod keyed;
mod likelihood;
mod measured;
mod privacy;
mod ranking;
mod rarity;
mod replay;
mod timing;
mod utility;
mod violations;

pub use compare::{
    CohortShape, CompareError, CompareOptions, Comparison, Correlation, Correlations, Frequencies,
    Reference, StaticCode, compare,
};
pub use counts::{Points, Shares, shares, shares_of};
pub use describe::{
    CodeCount, DescribeCounts, Describer, Description, Family, Lengths, Oddities, Oddity,
    SplitCounts, Spread, StaticOddity, TestFigures, YearCount, test_name,
};
pub use figures::{Interval, interval_by};
pub use keyed::KeyedSample;
pub use likelihood::{
    BrokenRule, Independent, Likelihood, LikelihoodError, Positives, UnnormalisedLikelihood,
    likelihood, likelihood_with_rules, likelihood_with_settled, log_probabilities,
};
pub use measured::{BadRecord, MeasureError, Measured, Role, Samples, Unmeasured};
pub use privacy::{
    AttributeInference, ClosestRecords, Distances, DrawnRecords, GuessFigures, Guesses,
    MembershipInference, Privacy, PrivacyOptions, draw_records, privacy,
};
pub use rarity::{Rarity, RarityOptions, Shown, rarity};
pub use replay::{Parts, ReplayOptions};
pub use timing::{
    AfterCode, Distribution, FollowedCodes, Known, Misplaced, ShareRow, SharesOf, Sides, Summary,
    TestValues, Timing, TimingCounts, TimingOptions, TimingSample, TimingSamples, Values,
    followed_codes, timing, timing_of,
};
pub use utility::{FittedModel, LeftOut, Predicted, Scores, Utility, UtilityOptions, utility};
pub use violations::{
    HardRule, Obeyed, SoftRule, ViolationCounts, Violations, ViolationsError, violations,
};
