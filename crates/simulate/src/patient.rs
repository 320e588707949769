//! The life of one patient, encounter by encounter.

use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Record};

use crate::probability::Probability;
use crate::visit::{Memory, Visit};
use crate::world::{Disease, Population, World};

/// How often a code is looked for when an encounter would be empty.
const ATTEMPTS: usize = 16;

/// A record while it is written, and the room to write the next one in.
#[derive(Default)]
pub(crate) struct Draft {
    codes: Vec<Code>,
    /// Where each visit ends, the static visit first.
    ends: Vec<usize>,
    memory: Memory,
    /// The clusters of the patient, each with the encounter it begins in.
    clusters: Vec<(usize, u16)>,
}

impl Draft {
    /// Writes the record of a patient in index of the one before.
    pub fn write(&mut self, world: &World, draws: &Draws, patient: u64) {
        let mut fate = Probability::new(draws.visit(patient, 0, 0, Purpose::Simulation));
        let population = &world.populations[fate.pick(&world.shares)];
        let planned = 1 + fate.pick(&world.further_visits) as u16;
        self.codes.clear();
        self.ends.clear();
        self.codes.extend_from_slice(&population.codes);
        self.codes.sort_unstable();
        self.ends.push(self.codes.len());
        self.memory.begin(population.bits);
        self.draw_clusters(world, population, planned, &mut fate);
        for number in 1..=planned {
            let mut probability =
                Probability::new(draws.visit(patient, 0, number, Purpose::Simulation));
            let dies = self.encounter(world, population, number, &mut probability);
            self.ends.push(self.codes.len());
            let start = self.ends[self.ends.len() - 2];
            self.memory.close(&world.bonds, number, &self.codes[start..]);
            if dies {
                break;
            }
        }
    }

    /// The visits of the record, the static visit first.
    pub fn visits(&self) -> impl Iterator<Item = &[Code]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.codes[start..end])
    }

    /// The record by itself.
    pub fn record(&self) -> Record {
        Record { visits: self.visits().map(<[Code]>::to_vec).collect(), ended: true }
    }

    fn draw_clusters(
        &mut self,
        world: &World,
        population: &Population,
        planned: u16,
        fate: &mut Probability,
    ) {
        self.clusters.clear();
        for _ in 0..fate.pick(&population.cluster_count) {
            let cluster = fate.pick(&population.clusters);
            let early = fate.below(world.settings.early);
            let onset = if early { 1 } else { 1 + fate.index(planned.into()) as u16 };
            if self.clusters.iter().all(|&(known, _)| known != cluster) {
                self.clusters.push((cluster, onset));
            }
        }
    }

    /// Writes one encounter, and says whether the patient dies in it.
    fn encounter(
        &mut self,
        world: &World,
        population: &Population,
        number: u16,
        probability: &mut Probability,
    ) -> bool {
        let settings = &world.settings;
        let before = match self.ends.as_slice() {
            [.., start, end] => *start..*end,
            _ => 0..0,
        };
        // A code of the encounter before comes back: a course of treatment, a second opinion.
        let mut returning = [None; 4];
        for slot in returning.iter_mut().take(settings.returns.0) {
            if !before.is_empty() && probability.below(settings.returns.1) {
                *slot = Some(self.codes[before.start + probability.index(before.len())]);
            }
        }
        let mut visit = Visit::begin(&world.bonds, &self.memory, number, &mut self.codes);
        let dies = outcome(world, population, probability, &mut visit);
        for &(cluster, onset) in self.clusters.iter().filter(|&&(_, onset)| onset <= number) {
            disease(world, &world.diseases[cluster], onset == number, probability, &mut visit);
        }
        later(world, probability, &mut visit);
        for code in returning.into_iter().flatten() {
            visit.add(code);
        }
        for _ in 0..probability.pick(&world.unrelated_count) {
            unrelated(world, population, probability, &mut visit);
        }
        for _ in 0..ATTEMPTS {
            if !visit.is_empty() {
                break;
            }
            unrelated(world, population, probability, &mut visit);
        }
        visit.finish();
        dies
    }
}

/// How the encounter ends. True for death.
fn outcome(
    world: &World,
    population: &Population,
    probability: &mut Probability,
    visit: &mut Visit<'_>,
) -> bool {
    let mut left = probability.uniform();
    for (index, &(code, rate)) in world.outcomes.iter().enumerate() {
        let rate = if index == 0 { population.death } else { rate };
        if left < rate {
            visit.add(code);
            return index == 0;
        }
        left -= rate;
    }
    false
}

/// What an active cluster adds: its chronic diseases, certainly at first, and what they bring.
fn disease(
    world: &World,
    disease: &Disease,
    onset: bool,
    probability: &mut Probability,
    visit: &mut Visit<'_>,
) {
    for (&code, stays) in disease.cores.iter().zip(world.settings.cores) {
        if probability.below(if onset { (1.0 + stays) / 2.0 } else { stays }) {
            visit.add(code);
        }
    }
    for _ in 0..probability.pick(&world.companion_count) {
        if let Some(&code) = disease.companions.get(probability.pick(&world.companion)) {
            visit.add(code);
        }
    }
}

/// What earlier encounters made possible.
fn later(world: &World, probability: &mut Probability, visit: &mut Visit<'_>) {
    let mut ever = visit.memory.ever;
    while ever != 0 {
        let watch = ever.trailing_zeros() as usize;
        ever &= ever - 1;
        for later in &world.bonds.later[watch] {
            if probability.below(later.probability) {
                visit.add(later.code);
            }
        }
    }
}

/// A code without a particular reason, and at times its category.
fn unrelated(
    world: &World,
    population: &Population,
    probability: &mut Probability,
    visit: &mut Visit<'_>,
) {
    let index = probability.pick(&population.unrelated);
    visit.add(world.unrelated[index]);
    if let Some(category) = world.categories[index]
        && probability.below(world.settings.category)
    {
        visit.add(category);
    }
}
