//! Two cohorts side by side: lengths and static codes of each, and how far the frequencies of codes
//! and pairs of codes agree.

use std::fmt::{self, Display, Formatter};

use consequence_feedback::words::{count, number};
use consequence_record::{Code, Selection, Vocabulary};
use serde::Serialize;
use thiserror::Error;

use consequence_tally::counts;

use crate::codes_only::CodesOnly;
use crate::counts::{Counts, Moments, PairCounts};
use crate::measured::{BadRecord, check};

/// What counts as rare.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions {
    /// A code is rare if it is in less than this share of the real encounters. Default 0.01.
    pub rare_below: f64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self { rare_below: 0.01 }
    }
}

/// Why two cohorts cannot be compared.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CompareError {
    /// A record of the real cohort cannot be measured.
    #[error("real cohort: {0}")]
    Real(BadRecord),
    /// A record of the synthetic cohort cannot be measured.
    #[error("synthetic cohort: {0}")]
    Synthetic(BadRecord),
}

/// How far one kind of frequency agrees in two cohorts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Correlation {
    /// Codes, or pairs of codes, seen in either cohort.
    pub keys: u64,
    /// `1 - SS(real - synthetic) / SS(real - mean)`; none where a cohort has nothing to count, or
    /// all real frequencies are the same.
    pub r2: Option<f64>,
}

/// How far the frequencies of codes and pairs of codes agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Correlations {
    /// Codes, per encounter.
    pub code: Correlation,
    /// Pairs of codes of one encounter, per encounter.
    pub pair: Correlation,
    /// A code of one encounter and a code of the next, per pair of such encounters.
    pub sequence: Correlation,
}

/// Two cohorts side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// All codes of encounters; no static codes, no `END`, and none that tells time or a value.
    pub all: Correlations,
    /// Rare codes only, and pairs with a rare code in them.
    pub rare: Correlations,
    /// Codes in less than this share of the real encounters are rare.
    pub rare_below: f64,
    /// Lengths and static codes of the real cohort.
    pub real: CohortShape,
    /// Lengths and static codes of the synthetic cohort.
    pub synthetic: CohortShape,
}

/// Compares records of two cohorts over one vocabulary.
///
/// The figures mean little by themselves: hold them against those of a fresh real sample as large
/// as the synthetic one.
///
/// ```
/// use consequence_evaluate::{CompareOptions, compare};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
///
/// let simulation = Simulation::new(Preset::Inpatient, 2_000, 7);
/// let cohort = simulation.cohort();
/// let [one, other] = [0..1_000, 1_000..2_000].map(|range| Selection::all(&cohort).part(range));
/// let comparison = compare(one, other, simulation.vocabulary(), &CompareOptions::default())?;
/// let [code, pair] = [comparison.all.code, comparison.all.pair].map(|figure| figure.r2.unwrap());
/// assert!(0.9 < code && code < 1.0 && pair < code);
/// # Ok::<(), consequence_evaluate::CompareError>(())
/// ```
pub fn compare(
    real: Selection<'_>,
    synthetic: Selection<'_>,
    vocabulary: &Vocabulary,
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    Reference::new(real, vocabulary, options)?.compare(synthetic)
}

/// How often codes and pairs of codes are there, and how long records are: what records are compared by. Counts of
/// parts of the records can be added up.
///
/// ```
/// use consequence_evaluate::{CompareOptions, Frequencies, Reference, compare};
/// use consequence_record::Selection;
/// use consequence_simulate::{Preset, Simulation};
/// use consequence_tally::Counts;
///
/// let simulation = Simulation::new(Preset::Inpatient, 300, 7);
/// let (cohort, codes) = (simulation.cohort(), simulation.vocabulary());
/// let [real, one, other] = [0..100, 100..220, 220..300].map(|range| Selection::all(&cohort).part(range));
/// let mut synthetic = Frequencies::of(one, codes)?;
/// synthetic.add(Frequencies::of(other, codes)?);
///
/// let options = CompareOptions::default();
/// let found = Reference::of(Frequencies::of(real, codes)?, codes, &options).compare_with(&synthetic);
/// assert_eq!(found, compare(real, Selection::all(&cohort).part(100..300), codes, &options)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Frequencies {
    pub(crate) counts: Counts,
    shape: ShapeCounts,
}

counts!(Frequencies { counts, shape });

impl Frequencies {
    /// Counts records, once it is known that they can be measured.
    pub fn of(records: Selection<'_>, vocabulary: &Vocabulary) -> Result<Self, BadRecord> {
        check(records, vocabulary)?;
        let kept = CodesOnly::of(records, vocabulary);
        let records = kept.records();
        let counts = Counts::new(records, vocabulary.len());
        Ok(Self { counts, shape: ShapeCounts::of(records, vocabulary) })
    }

    /// The records counted.
    pub fn records(&self) -> u64 {
        self.shape.records
    }
}

/// Real records, counted once to be compared with many cohorts.
#[derive(Clone, Debug)]
pub struct Reference<'a> {
    vocabulary: &'a Vocabulary,
    options: CompareOptions,
    real: Frequencies,
}

impl<'a> Reference<'a> {
    /// Counts real records.
    pub fn new(
        real: Selection<'_>,
        vocabulary: &'a Vocabulary,
        options: &CompareOptions,
    ) -> Result<Self, CompareError> {
        let real = Frequencies::of(real, vocabulary).map_err(CompareError::Real)?;
        Ok(Self::of(real, vocabulary, options))
    }

    /// Takes real records that were counted.
    pub fn of(real: Frequencies, vocabulary: &'a Vocabulary, options: &CompareOptions) -> Self {
        Self { vocabulary, options: *options, real }
    }

    /// Compares records with the real ones, as [`compare`] does.
    pub fn compare(&self, synthetic: Selection<'_>) -> Result<Comparison, CompareError> {
        let synthetic =
            Frequencies::of(synthetic, self.vocabulary).map_err(CompareError::Synthetic)?;
        Ok(self.compare_with(&synthetic))
    }

    /// Compares records that were counted with the real ones.
    pub fn compare_with(&self, synthetic: &Frequencies) -> Comparison {
        let (real, counts) = (&self.real.counts, &synthetic.counts);
        let least = self.options.rare_below * real.encounters as f64;
        let is_rare = |code: Code| (real.codes[code.index()] as f64) < least;
        Comparison {
            all: correlations(real, counts, |_| true),
            rare: correlations(real, counts, is_rare),
            rare_below: self.options.rare_below,
            real: self.real.shape.shape(self.vocabulary),
            synthetic: synthetic.shape.shape(self.vocabulary),
        }
    }

    /// The real records.
    pub fn real(&self) -> &Frequencies {
        &self.real
    }
}

/// The figures over the keys with a code that `counts` allows.
fn correlations(real: &Counts, synthetic: &Counts, counts: impl Fn(Code) -> bool) -> Correlations {
    let mut codes = Moments::default();
    for (code, (&one, &other)) in (0..).map(Code).zip(real.codes.iter().zip(&synthetic.codes)) {
        if one + other > 0 && counts(code) {
            codes.add(one, other);
        }
    }
    let pairs = |one: &PairCounts, other: &PairCounts| {
        let mut moments = Moments::default();
        let counted = |pair: &(Code, Code)| counts(pair.0) || counts(pair.1);
        for (pair, &count) in one.iter().filter(|(pair, _)| counted(pair)) {
            moments.add(count, other.get(pair).copied().unwrap_or(0));
        }
        let fresh = |pair: &(Code, Code)| counted(pair) && !one.contains_key(pair);
        for (_, &count) in other.iter().filter(|(pair, _)| fresh(pair)) {
            moments.add(0, count);
        }
        moments
    };
    let figure = |moments: Moments, of: fn(&Counts) -> u64| Correlation {
        keys: moments.keys as u64,
        r2: moments.r2(of(real), of(synthetic)),
    };
    Correlations {
        code: figure(codes, |counts| counts.encounters),
        pair: figure(pairs(&real.pairs, &synthetic.pairs), |counts| counts.encounters),
        sequence: figure(pairs(&real.sequences, &synthetic.sequences), |counts| counts.transitions),
    }
}

impl Display for Comparison {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "real       {}synthetic  {}", self.real, self.synthetic)?;
        writeln!(out, "R2 of code, pair and sequential pair frequencies")?;
        writeln!(out, "  all codes   {}", self.all)?;
        let share = 100.0 * self.rare_below;
        writeln!(out, "  rare codes  {}", self.rare)?;
        writeln!(
            out,
            "  rare: {} in less than {share}% of the real encounters, and pairs with one of them",
            count(self.rare.code.keys, "code")
        )
    }
}

impl Display for Correlations {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{} / {} / {}", self.code, self.pair, self.sequence)
    }
}

impl Display for Correlation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self.r2 {
            Some(r2) => write!(out, "{r2:.4} ({} keys)", number(self.keys)),
            None => write!(out, "none ({} keys)", number(self.keys)),
        }
    }
}

/// How often a static code occurs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StaticCode {
    /// Its name.
    pub code: String,
    /// The records that hold it.
    pub records: u64,
}

/// The lengths of records and visits, and the static codes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CohortShape {
    /// Records.
    pub records: u64,
    /// Encounters of all records.
    pub encounters: u64,
    /// Codes of all encounters; none that tells time or a value.
    pub codes: u64,
    /// At index `n`, the records with `n` encounters.
    pub visits_per_record: Vec<u64>,
    /// At index `n`, the encounters with `n` codes.
    pub codes_per_visit: Vec<u64>,
    /// All static codes of the vocabulary, in its order.
    pub static_codes: Vec<StaticCode>,
}

/// Counts of the lengths of records and visits, and of static codes.
#[derive(Clone, Debug, Default, PartialEq)]
struct ShapeCounts {
    records: u64,
    encounters: u64,
    codes: u64,
    visits_per_record: Vec<u64>,
    codes_per_visit: Vec<u64>,
    /// By code: records with it in the static visit.
    statics: Vec<u64>,
}

counts!(ShapeCounts { records, encounters, codes, visits_per_record, codes_per_visit, statics });

impl ShapeCounts {
    /// Counts some records of a cohort, whose codes are of the vocabulary.
    fn of(records: Selection<'_>, vocabulary: &Vocabulary) -> Self {
        let mut shape = Self {
            records: records.len() as u64,
            statics: vec![0; vocabulary.len()],
            ..Self::default()
        };
        for record in records.records() {
            shape.encounters += record.len() as u64 - 1;
            bump(&mut shape.visits_per_record, record.len() - 1);
            record.visit(0).iter().for_each(|code| shape.statics[code.index()] += 1);
            for visit in record.visits().skip(1) {
                shape.codes += visit.len() as u64;
                bump(&mut shape.codes_per_visit, visit.len());
            }
        }
        shape
    }

    fn shape(&self, vocabulary: &Vocabulary) -> CohortShape {
        let static_code = |code: Code| StaticCode {
            code: vocabulary.name(code).to_owned(),
            records: self.statics[code.index()],
        };
        CohortShape {
            records: self.records,
            encounters: self.encounters,
            codes: self.codes,
            visits_per_record: self.visits_per_record.clone(),
            codes_per_visit: self.codes_per_visit.clone(),
            static_codes: vocabulary.statics().map(static_code).collect(),
        }
    }
}

impl CohortShape {
    /// Encounters a record.
    pub fn mean_visits(&self) -> f64 {
        self.encounters as f64 / self.records.max(1) as f64
    }

    /// Codes an encounter.
    pub fn mean_codes(&self) -> f64 {
        self.codes as f64 / self.encounters.max(1) as f64
    }
}

fn bump(counts: &mut Vec<u64>, index: usize) {
    if counts.len() <= index {
        counts.resize(index + 1, 0);
    }
    counts[index] += 1;
}

impl Display for CohortShape {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "{}, {:.3} encounters a record, {:.3} codes an encounter",
            count(self.records, "record"),
            self.mean_visits(),
            self.mean_codes()
        )
    }
}
