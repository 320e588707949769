//! How close generated records come to real ones.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_enforce::Auditor;
use consequence_evaluate::{
    CompareOptions, Comparison, Correlations, Sample, compare as compare_samples,
};
use consequence_record::{Cohort, Split, Vocabulary};
use consequence_rules::{CompileLimits, UnknownCodes, WrittenRules};
use serde::Serialize;

use super::union::union;
use crate::Error;
use crate::load::{self, LoadedCohort, RuleOptions};
use crate::source::CodeSource;
use crate::watch::{Watch, watched};

/// Which cohorts to compare.
#[derive(Clone, Debug, Default)]
pub struct CompareTask {
    /// The real cohort: its train split is what the other is held against.
    pub real: PathBuf,
    /// The generated cohort, from any source.
    pub synthetic: PathBuf,
    /// Rule files that the generated records are audited by.
    pub rules: Vec<PathBuf>,
    /// What a code means that a rule names and neither cohort has.
    pub unknown_codes: UnknownCodes,
}

/// How close generated records come to real ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareReport {
    /// The real cohort, as the user named it.
    pub real: String,
    /// The generated cohort.
    pub synthetic: String,
    /// Whether the real records are those of the train split; else they are all that there are.
    pub of_train_split: bool,
    /// All generated records beside the real ones.
    pub comparison: Comparison,
    /// Real records that the figures are of no use without.
    pub fresh: Option<FreshSample>,
    /// The rule files.
    pub files: Vec<String>,
    /// How the generated records obey the rules.
    pub obedience: Option<Obedience>,
    /// What looked odd in the text of the rules, rendered.
    pub warnings: Vec<String>,
}

/// Real records of other patients, and as many generated ones: what could be reached, and what was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FreshSample {
    /// Records of each.
    pub records: usize,
    /// The real records, of the held-out split and then of the tuning split.
    pub real: Correlations,
    /// The first of the generated records.
    pub synthetic: Correlations,
}

/// How records obey rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Obedience {
    /// Hard rules.
    pub hard_rules: usize,
    /// Records.
    pub records: u64,
    /// Records that break none.
    pub valid_records: u64,
    /// Violations.
    pub violations: u64,
    /// Rules that are broken.
    pub broken_rules: usize,
}

/// Holds generated records against the train split of a real cohort: how far the frequencies of codes,
/// of pairs of codes and of sequential pairs agree, how long records are, and which rules they break.
///
/// ```
/// use consequence::Unwatched;
/// use consequence::evaluate::{CompareTask, compare};
///
/// let folder = tempfile::tempdir()?;
/// let [real, synthetic] = ["real.jsonl", "synthetic.jsonl"].map(|name| folder.path().join(name));
/// let line = |n: usize| {
///     let visit = ["\"A\"", "\"A\",\"B\"", "\"C\""][n % 3];
///     format!("{{\"id\": {n}, \"static\": [], \"visits\": [[{visit}]]}}\n")
/// };
/// std::fs::write(&real, (0..300).map(line).collect::<String>())?;
/// std::fs::write(&synthetic, (1000..1300).map(line).collect::<String>())?;
/// let task = CompareTask { real, synthetic, ..CompareTask::default() };
/// assert!(compare(&task, &Unwatched)?.comparison.all.code.r2.unwrap() > 0.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn compare(task: &CompareTask, watch: &dyn Watch) -> Result<CompareReport, Error> {
    let real = load::cohort(&task.real, None, watch)?;
    let synthetic = load::cohort(&task.synthetic, None, watch)?;
    for (loaded, path) in [(&real, &task.real), (&synthetic, &task.synthetic)] {
        if loaded.cohort.is_empty() {
            return Err(Error::Cohort {
                path: path.clone(),
                what: "the cohort has no record".into(),
                help: "compare cohorts with records",
            });
        }
    }
    let LoadedCohort { cohort, vocabulary, .. } = synthetic;
    let (vocabulary, synthetic) = union(&real.vocabulary, &vocabulary, &cohort, &task.synthetic)?;
    drop(cohort);
    let of = |split: Split| -> Vec<usize> {
        (0..real.cohort.len()).filter(|&place| real.splits.get(place) == Some(&split)).collect()
    };
    let train = of(Split::Train);
    let of_train_split = !train.is_empty();
    let base = if of_train_split { train } else { (0..real.cohort.len()).collect() };
    let measured = Measured {
        base: Sample { cohort: &real.cohort, records: &base },
        synthetic: &synthetic,
        vocabulary: &vocabulary,
    };
    let others = [of(Split::HeldOut), of(Split::Tuning)].concat();
    let (comparison, fresh) = watched(watch, "comparing", None, || -> Result<_, Error> {
        let comparison = measured.with(&synthetic, synthetic.len())?;
        let fresh = match of_train_split && !others.is_empty() {
            true => Some(measured.fresh(&real.cohort, &others)?),
            false => None,
        };
        Ok((comparison, fresh))
    })?;
    let (obedience, files, warnings) = match task.rules.is_empty() {
        true => (None, Vec::new(), Vec::new()),
        false => audited(task, &vocabulary, &synthetic, watch)?,
    };
    Ok(CompareReport {
        real: shown(&task.real),
        synthetic: shown(&task.synthetic),
        of_train_split,
        comparison,
        fresh,
        files,
        obedience,
        warnings,
    })
}

/// Real records, and generated ones to hold against them.
struct Measured<'a> {
    base: Sample<'a>,
    synthetic: &'a Cohort,
    vocabulary: &'a Vocabulary,
}

impl Measured<'_> {
    /// The first of some records beside the real ones.
    fn with(&self, cohort: &Cohort, records: usize) -> Result<Comparison, Error> {
        let places: Vec<usize> = (0..records).collect();
        self.beside(Sample { cohort, records: &places })
    }

    fn beside(&self, sample: Sample<'_>) -> Result<Comparison, Error> {
        Ok(compare_samples(self.base, sample, self.vocabulary, &CompareOptions::default())?)
    }

    /// Other real records and as many generated ones.
    fn fresh(&self, real: &Cohort, others: &[usize]) -> Result<FreshSample, Error> {
        let records = others.len().min(self.synthetic.len());
        let others = Sample { cohort: real, records: &others[..records] };
        Ok(FreshSample {
            records,
            real: self.beside(others)?.all,
            synthetic: self.with(self.synthetic, records)?.all,
        })
    }
}

type Audited = (Option<Obedience>, Vec<String>, Vec<String>);

fn audited(
    task: &CompareTask,
    vocabulary: &Arc<Vocabulary>,
    synthetic: &Cohort,
    watch: &dyn Watch,
) -> Result<Audited, Error> {
    let options = RuleOptions {
        vocabulary: Some(Arc::clone(vocabulary)),
        unknown_codes: task.unknown_codes,
        ..RuleOptions::default()
    };
    let both = format!("{} and {}", shown(&task.real), shown(&task.synthetic));
    let source = CodeSource::Cohorts(both);
    let loaded = load::rules_over(&task.rules, &options, &source)?;
    let written = WrittenRules::new(Arc::clone(&loaded.rules), &CompileLimits::default())
        .map_err(|error| Error::compile(&loaded.rules, error))?;
    let found = watched(watch, "auditing", Some(synthetic.len() as u64), || {
        Auditor::new(&written).audit(synthetic, 0, &|records| watch.advance(records))
    });
    let obedience = Obedience {
        hard_rules: loaded.rules.rules.iter().filter(|rule| rule.is_hard()).count(),
        records: found.records,
        valid_records: found.valid_records,
        violations: found.violations(),
        broken_rules: found.rules.iter().filter(|finding| finding.violations > 0).count(),
    };
    let warnings = loaded.warnings.iter().map(|warning| warning.render()).collect();
    Ok((Some(obedience), loaded.files, warnings))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
