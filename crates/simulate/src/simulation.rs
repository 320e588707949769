//! Simulated cohorts, by record and as a whole.

use std::ops::Range;
use std::sync::Arc;

use consequence_prng::Draws;
use consequence_record::{Code, Cohort, Record, Vocabulary};
use rayon::prelude::*;

use crate::catalogue::Catalogue;
use crate::detailed::DetailedSimulation;
use crate::patient::Draft;
use crate::preset::Preset;
use crate::truth::Truth;
use crate::world::World;

/// Records that one thread makes at a time.
pub(crate) const BATCH: usize = 512;

/// Batches that are made before any of them is joined to the cohort.
pub(crate) const BATCHES: usize = 64;

/// A simulated cohort. Nothing is made before it is asked for.
///
/// A record is a function of the preset, the seed and its number: it is the same in a cohort of any
/// size, whatever was made before it and on however many threads.
pub struct Simulation {
    preset: Preset,
    patients: usize,
    pub(crate) draws: Draws,
    catalogue: Catalogue,
    truth: Truth,
    pub(crate) world: World,
}

impl Simulation {
    /// So many patients of a preset.
    ///
    /// ```
    /// use consequence_simulate::{Preset, Simulation};
    ///
    /// let simulation = Simulation::new(Preset::Inpatient, 100, 7);
    /// let cohort = simulation.cohort();
    /// assert_eq!(cohort.len(), 100);
    /// assert_eq!(cohort.id(99), "sim-0000100");
    /// assert_eq!(cohort.record(99).to_record(), simulation.record(99));
    /// ```
    pub fn new(preset: Preset, patients: usize, seed: u64) -> Self {
        let catalogue = Catalogue::new(preset);
        let truth = Truth::new(preset, &catalogue);
        let world = World::new(preset, &catalogue);
        Self { preset, patients, draws: Draws::new(seed), catalogue, truth, world }
    }

    /// The same patients with births, dates, stays and values, and with codes that tell of these after
    /// the others.
    ///
    /// ```
    /// use consequence_simulate::{Preset, Simulation};
    ///
    /// let simulation = Simulation::new(Preset::Outpatient, 10, 7);
    /// let codes = simulation.record(3);
    /// let (record, details) = simulation.detailed().record(3);
    /// assert_eq!(details.times.len(), record.visits.len() - 1);
    /// assert!(record.visits[1].starts_with(&codes.visits[1]));
    /// ```
    pub fn detailed(self) -> DetailedSimulation {
        DetailedSimulation::new(self)
    }

    /// The preset.
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// The number of patients.
    pub fn patients(&self) -> usize {
        self.patients
    }

    /// The codes, the same for every simulation of a preset.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.catalogue.vocabulary
    }

    /// What a code means. `END` has no title.
    ///
    /// ```
    /// use consequence_simulate::{Preset, Simulation};
    ///
    /// let simulation = Simulation::new(Preset::Inpatient, 0, 7);
    /// let code = simulation.vocabulary().code("DX//eye//retina//tear").unwrap();
    /// assert_eq!(simulation.title(code), Some("Tear of retina"));
    /// ```
    pub fn title(&self, code: Code) -> Option<&str> {
        self.catalogue.title(code)
    }

    /// The rules that every record obeys, the same for every simulation of a preset.
    ///
    /// ```
    /// use consequence_simulate::{Preset, RuleKind, Simulation};
    ///
    /// let simulation = Simulation::new(Preset::Outpatient, 0, 7);
    /// let truth = simulation.truth();
    /// assert_eq!(truth.planted.len(), truth.rules.len());
    /// assert!(truth.planted.iter().any(|planted| planted.kind == RuleKind::Lifelong));
    /// assert!(truth.text.contains("rule death-ends-the-record: STATUS//DECEASED => END"));
    /// ```
    pub fn truth(&self) -> &Truth {
        &self.truth
    }

    /// The identifier of a patient, counted from 0.
    pub fn id(&self, patient: usize) -> String {
        format!("sim-{:07}", (patient as u64).saturating_add(1))
    }

    /// The record of a patient, counted from 0.
    pub fn record(&self, patient: usize) -> Record {
        let mut draft = Draft::default();
        draft.write(&self.world, &self.draws, patient as u64);
        draft.record()
    }

    /// All records, one after the other, made as they are asked for.
    pub fn records(&self) -> impl ExactSizeIterator<Item = (String, Record)> {
        (0..self.patients).map(|patient| (self.id(patient), self.record(patient)))
    }

    /// The whole cohort, made on all threads.
    pub fn cohort(&self) -> Cohort {
        self.part(0..self.patients)
    }

    /// The cohort in parts of so many records, each made on all threads as it is asked for.
    ///
    /// ```
    /// use consequence_simulate::{Preset, Simulation};
    ///
    /// let simulation = Simulation::new(Preset::Outpatient, 25, 7);
    /// let sizes: Vec<usize> = simulation.parts(10).map(|part| part.len()).collect();
    /// assert_eq!(sizes, [10, 10, 5]);
    /// ```
    pub fn parts(&self, records: usize) -> impl Iterator<Item = Cohort> {
        let size = records.max(1);
        (0..self.patients)
            .step_by(size)
            .map(move |start| self.part(start..start.saturating_add(size)))
    }

    /// The patients of a range, as far as there are such, made on all threads.
    pub fn part(&self, patients: Range<usize>) -> Cohort {
        let mut whole = Cohort::default();
        let end = patients.end.min(self.patients);
        let mut start = patients.start;
        while start < end {
            let stop = end.min(start.saturating_add(BATCH * BATCHES));
            let starts: Vec<usize> = (start..stop).step_by(BATCH).collect();
            let batches: Vec<Cohort> = starts
                .into_par_iter()
                .map(|start| self.batch(start..stop.min(start + BATCH)))
                .collect();
            for batch in &batches {
                for (index, record) in batch.records().enumerate() {
                    whole.push_visits(batch.id(index), record.visits(), record.ended());
                }
            }
            start = stop;
        }
        whole
    }

    fn batch(&self, patients: Range<usize>) -> Cohort {
        let mut cohort = Cohort::default();
        let mut draft = Draft::default();
        for patient in patients {
            draft.write(&self.world, &self.draws, patient as u64);
            cohort.push_visits(&self.id(patient), draft.visits(), true);
        }
        cohort
    }
}
