//! A small clinic to try things on: rules, and records that break some of them.

use std::path::{Path, PathBuf};

use consequence_pipeline::{Error, Out, load, refuse_file, refuse_lines, write_file};
use consequence_prng::{Draws, Purpose, VisitDraws};
use consequence_record::{Code, Cohort, Record, Vocabulary};
use consequence_store::Lock;
use consequence_tables::jsonl;
use serde_json::json;

/// The rules of the small clinic.
pub const CLINIC_RULES: &str = include_str!("clinic.rules");

const STATICS: [&str; 6] =
    ["AGE//0-17", "AGE//18-44", "AGE//45-64", "AGE//65+", "SEX//F", "SEX//M"];

/// Codes of encounters: the probability to appear, and the probability to stay once it was there.
const ENCOUNTERS: [(&str, f64, f64); 22] = [
    ("DISCHARGE//EXPIRED", 0.01, 0.0),
    ("DISCHARGE//HOME", 0.90, 0.0),
    ("DISCHARGE//TRANSFER", 0.05, 0.0),
    ("ICD9CM//185", 0.02, 0.6),
    ("ICD9CM//250", 0.10, 0.95),
    ("ICD9CM//290", 0.02, 0.8),
    ("ICD9CM//357", 0.02, 0.7),
    ("ICD9CM//401", 0.20, 0.8),
    ("ICD9CM//496", 0.04, 0.8),
    ("ICD9CM//585", 0.04, 0.8),
    ("ICD9CM//600", 0.02, 0.5),
    ("ICD9CM//650", 0.02, 0.0),
    ("ICD9CM//741", 0.005, 0.97),
    ("ICD9CM//V22", 0.06, 0.5),
    ("LAB//A1C//high", 0.06, 0.2),
    ("LAB//A1C//normal", 0.15, 0.2),
    ("PROC//dialysis", 0.02, 0.7),
    ("RX//insulin", 0.03, 0.5),
    ("RX//metformin", 0.06, 0.5),
    ("RX//warfarin", 0.04, 0.5),
    ("SMOKER", 0.15, 0.8),
    ("SYM//numb-feet", 0.03, 0.3),
];

/// The files of the small clinic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clinic {
    /// The rules.
    pub rules: PathBuf,
    /// Every code of the clinic.
    pub vocabulary: PathBuf,
    /// Records that break some of the rules.
    pub cohort: PathBuf,
    /// Where the repaired records go.
    pub repaired: PathBuf,
}

impl Clinic {
    /// The files in a folder, whether or not they are there.
    pub fn in_folder(folder: &Path) -> Self {
        let file = |name: &str| folder.join(name);
        Self {
            rules: file("clinic.rules"),
            vocabulary: file("codes.json"),
            cohort: file("cohort.jsonl"),
            repaired: file("repaired.jsonl"),
        }
    }

    /// Makes the folder and writes the rules, the codes and so many records into it. No other demo
    /// writes there as long as the lock is kept.
    ///
    /// ```
    /// use consequence::demo::Clinic;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let clinic = Clinic::in_folder(folder.path());
    /// let _lock = clinic.write(100, 7, false)?;
    /// assert_eq!(std::fs::read_to_string(&clinic.cohort)?.lines().count(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, records: u64, seed: u64, force: bool) -> Result<Lock, Error> {
        let folder = self.rules.parent().unwrap_or(Path::new("."));
        let out = Out::new(folder).resuming(true);
        let open = out.filled_in_place()?;
        for path in [&self.rules, &self.vocabulary] {
            refuse_file(path, force)?;
        }
        for path in [&self.cohort, &self.repaired] {
            refuse_lines(path, force)?;
        }
        write_file(&self.rules, force, |file| file.write_all(CLINIC_RULES.as_bytes()))?;
        let codes = json!({ "static": STATICS, "encounter": ENCOUNTERS.map(|(name, ..)| name) });
        write_file(&self.vocabulary, force, |file| writeln!(file, "{codes:#}"))?;
        let vocabulary = load::vocabulary_file(&self.vocabulary)?;
        let cohort = cohort(&vocabulary, records, seed);
        match force {
            true => jsonl::write(&self.cohort, &cohort, &vocabulary)?,
            false => jsonl::write_new(&self.cohort, &cohort, &vocabulary)?,
        }
        Ok(open.into_lock())
    }
}

/// Records drawn code by code, with no regard for any rule.
fn cohort(vocabulary: &Vocabulary, records: u64, seed: u64) -> Cohort {
    let draws = Draws::new(seed);
    let mut cohort = Cohort::default();
    for number in 0..records {
        let visits = patient(vocabulary, &draws, number);
        cohort.push(&format!("patient-{:05}", number + 1), &Record::new(visits));
    }
    cohort
}

fn patient(vocabulary: &Vocabulary, draws: &Draws, number: u64) -> Vec<Vec<Code>> {
    let mut fate = draws.visit(number, 0, 0, Purpose::Simulation);
    let age = (fate.uniform(0) * 4.0) as usize;
    let sex = 4 + usize::from(fate.below(1, 0.5));
    let encounters = 1 + (fate.uniform(2) * fate.uniform(3) * 10.0) as usize;
    let mut visits = vec![codes(vocabulary, [STATICS[age], STATICS[sex]])];
    let mut before: Vec<&str> = Vec::new();
    for visit in 1..=encounters {
        let mut codes_here = draws.visit(number, 0, visit as u16, Purpose::Simulation);
        before = encounter(&mut codes_here, &before, STATICS[sex] == "SEX//M");
        visits.push(codes(vocabulary, before.iter().copied()));
        if before.contains(&"DISCHARGE//EXPIRED") && fate.below(8, 0.8) {
            break;
        }
    }
    visits
}

/// One encounter: what was there tends to stay, and a few codes mostly go where they belong.
fn encounter(draws: &mut VisitDraws, before: &[&str], man: bool) -> Vec<&'static str> {
    let mut present = Vec::new();
    for (index, (name, appear, stay)) in (0u32..).zip(ENCOUNTERS) {
        let misplaced = match name {
            "ICD9CM//650" | "ICD9CM//V22" => man,
            "ICD9CM//185" | "ICD9CM//600" => !man,
            "DISCHARGE//HOME" | "DISCHARGE//TRANSFER" => {
                present.iter().any(|other: &&str| other.starts_with("DISCHARGE//"))
            }
            "LAB//A1C//normal" => present.contains(&"LAB//A1C//high"),
            "RX//insulin" | "RX//metformin" => !present.contains(&"ICD9CM//250"),
            _ => false,
        };
        let likely = if before.contains(&name) { stay.max(appear) } else { appear };
        if draws.below(index, if misplaced { likely * 0.02 } else { likely }) {
            present.push(name);
        }
    }
    present
}

fn codes<'a>(vocabulary: &Vocabulary, names: impl IntoIterator<Item = &'a str>) -> Vec<Code> {
    names.into_iter().filter_map(|name| vocabulary.code(name)).collect()
}
