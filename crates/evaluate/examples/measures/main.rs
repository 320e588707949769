//! Measures simulated cohorts, and writes them and every figure into a folder, for another program
//! to work out again: `tools/cross_check.py`.

mod cohorts;
mod dated;
mod rules;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use consequence_evaluate::{
    CompareOptions, Independent, Interval, PrivacyOptions, ReplayOptions, Samples, UtilityOptions,
    compare, draw_records, likelihood, privacy, shares, utility, violations,
};
use consequence_record::{Cohort, Kind, Selection, Vocabulary};
use consequence_rules::{CompileLimits, Order, RuleSet};
use consequence_simulate::{Preset, Simulation};
use consequence_tables::jsonl;
use serde_json::{Value, json};

/// Real records, and how many of them are trained on.
const PATIENTS: usize = 1_200;
const TRAIN: usize = 800;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from).ok_or("name a folder")?;
    std::fs::create_dir_all(&folder)?;
    let simulation = Simulation::new(Preset::Inpatient, PATIENTS, 7);
    let vocabulary = simulation.vocabulary();
    let real = simulation.cohort();
    let good = Simulation::new(Preset::Inpatient, 900, 8).cohort();
    let bad = cohorts::spoilt(&good, &real, vocabulary);
    let rules = Arc::new(rules::with_soft(&simulation.truth().rules, &good));
    for (name, cohort) in [("real", &real), ("good", &good), ("bad", &bad)] {
        jsonl::write(folder.join(format!("{name}.jsonl")), cohort, vocabulary)?;
    }
    write(&folder, "vocabulary.json", &codes(vocabulary))?;
    write(&folder, "rules.json", &rules::as_json(&rules)?)?;

    let indices: Vec<usize> = (0..PATIENTS).collect();
    let (train, held_out) = indices.split_at(TRAIN);
    let world = World { real: &real, train, held_out, rules: &rules, vocabulary };
    let wide = UtilityOptions::default();
    let narrow = UtilityOptions { codes: 12, examples: 150 };
    let whole = PrivacyOptions { sensitive: 15, ..PrivacyOptions::default() };
    let drawn = PrivacyOptions { records: 250, seed: 3, ..PrivacyOptions::default() };
    let measures = json!({
        "train": train,
        "held_out": held_out,
        "independent": world.independent()?,
        "interval": world.interval(&good)?,
        "dated": dated::measure(&folder)?,
        "cohorts": {
            "good": world.measure(&good, &wide, &drawn)?,
            "bad": world.measure(&bad, &narrow, &whole)?,
        },
    });
    write(&folder, "measures.json", &measures)
}

struct World<'a> {
    real: &'a Cohort,
    train: &'a [usize],
    held_out: &'a [usize],
    rules: &'a Arc<RuleSet>,
    vocabulary: &'a Arc<Vocabulary>,
}

impl World<'_> {
    fn records<'a>(&'a self, records: &'a [usize]) -> Selection<'a> {
        Selection::new(self.real, records)
    }

    fn measure(
        &self,
        cohort: &Cohort,
        for_utility: &UtilityOptions,
        for_privacy: &PrivacyOptions,
    ) -> Result<Value, Box<dyn Error>> {
        let synthetic = Selection::all(cohort);
        let (train, held_out) = (self.records(self.train), self.records(self.held_out));
        let samples = Samples { train, synthetic, held_out, vocabulary: self.vocabulary };
        let drawn = draw_records(&samples, for_privacy);
        let pairs = 40;
        let options = CompareOptions::default();
        Ok(json!({
            "comparison": compare(train, synthetic, self.vocabulary, &options)?,
            "pairs": pairs,
            "shares": shares(&[train, synthetic], self.vocabulary, pairs)?,
            "violations": violations(synthetic, self.rules, &CompileLimits::default())?,
            "codes": for_utility.codes,
            "examples": for_utility.examples,
            "utility": utility(&samples, for_utility)?,
            "sensitive": for_privacy.sensitive,
            "drawn": {
                "train": drawn.train,
                "held_out": drawn.held_out,
                "synthetic": drawn.synthetic,
            },
            "privacy": privacy(&samples, for_privacy)?,
        }))
    }

    /// The likelihood of held-out records where codes are independent.
    fn independent(&self) -> Result<Value, Box<dyn Error>> {
        let codes = Order::natural(Arc::clone(self.vocabulary));
        let model = Independent::fit(codes, self.records(self.train), 1_000)?;
        let figures = likelihood(&model, self.records(self.held_out), &ReplayOptions::default())?;
        Ok(serde_json::to_value(figures)?)
    }

    /// The agreement of codes over parts of a cohort, as if each part were a run.
    fn interval(&self, cohort: &Cohort) -> Result<Value, Box<dyn Error>> {
        let mut values = Vec::new();
        for part in Selection::all(cohort).chunks(cohort.len().div_ceil(5)) {
            let options = CompareOptions::default();
            let comparison = compare(self.records(self.train), part, self.vocabulary, &options)?;
            values.extend(comparison.all.code.r2);
        }
        Ok(json!({ "values": values, "interval": Interval::of(&values) }))
    }
}

/// The codes in their order, without `END`.
fn codes(vocabulary: &Vocabulary) -> Value {
    let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
    let entry = |code| {
        json!({
            "code": vocabulary.name(code),
            "static": vocabulary.kind(code) == Kind::Static,
        })
    };
    codes.map(entry).collect()
}

fn write(folder: &Path, name: &str, value: &Value) -> Result<(), Box<dyn Error>> {
    Ok(std::fs::write(folder.join(name), serde_json::to_string(value)?)?)
}
