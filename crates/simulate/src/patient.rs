//! The life of one patient, encounter by encounter. An encounter obeys the rules at every moment
//! while its codes are added.

use consequence_prng::{Draws, Purpose};
use consequence_record::{Code, Record};

use crate::bonds::{Bond, Bonds, WATCHES};
use crate::probability::Probability;
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
    /// Writes the record of a patient in place of the one before.
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

/// What a patient's earlier encounters leave for the rules to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory {
    /// Bits of the demographic codes.
    pub demographic: u32,
    /// The encounter in which each watched code was last seen; 0 for never.
    pub seen: [u16; WATCHES],
    /// Bits of the watched codes that were ever seen.
    pub ever: u32,
    /// The lifelong codes of the encounter before.
    pub lifelong: Vec<Code>,
}

impl Memory {
    /// Forgets everything but the patient's demographic codes.
    pub fn begin(&mut self, demographic: u32) {
        self.demographic = demographic;
        self.seen = [0; WATCHES];
        self.ever = 0;
        self.lifelong.clear();
    }

    /// Takes in a finished encounter.
    pub fn close(&mut self, bonds: &Bonds, number: u16, codes: &[Code]) {
        self.lifelong.clear();
        for &code in codes {
            let Some(bond) = bonds.of(code) else { continue };
            if bond.lifelong {
                self.lifelong.push(code);
            }
            if let Some(watch) = bond.watch {
                self.seen[watch] = number;
                self.ever |= 1 << watch;
            }
        }
    }
}

/// An encounter that is being written. Its codes lie at the end of a longer list.
pub(crate) struct Visit<'a> {
    pub bonds: &'a Bonds,
    pub memory: &'a Memory,
    pub number: u16,
    codes: &'a mut Vec<Code>,
    start: usize,
    lists: u32,
}

impl<'a> Visit<'a> {
    /// An encounter that holds what must stay from the one before.
    pub fn begin(
        bonds: &'a Bonds,
        memory: &'a Memory,
        number: u16,
        codes: &'a mut Vec<Code>,
    ) -> Self {
        let start = codes.len();
        let mut visit = Self { bonds, memory, number, codes, start, lists: 0 };
        for &code in &memory.lifelong {
            visit.add(code);
        }
        visit
    }

    pub fn is_empty(&self) -> bool {
        self.codes.len() == self.start
    }

    fn holds(&self, code: Code) -> bool {
        self.codes[self.start..].contains(&code)
    }

    fn allows(&self, bond: &Bond) -> bool {
        bond.barred & self.memory.demographic == 0
            && bond.lists & self.lists == 0
            && bond.needs.is_none_or(|watch| self.memory.seen[watch] > 0)
    }

    /// Writes a code down with all that it brings, or nothing if a rule is against any of it.
    pub fn add(&mut self, code: Code) {
        if self.holds(code) {
            return;
        }
        let bonds = self.bonds;
        let Some(bond) = bonds.of(code) else {
            self.codes.push(code);
            return;
        };
        let brought = |visit: &Self, other| {
            visit.holds(other) || bonds.of(other).is_none_or(|bond| visit.allows(bond))
        };
        if !self.allows(bond) || !bond.brings.iter().all(|&other| brought(self, other)) {
            return;
        }
        self.codes.push(code);
        self.lists |= bond.lists;
        for &other in &bond.brings {
            if !self.holds(other) {
                self.codes.push(other);
                self.lists |= bonds.of(other).map_or(0, |bond| bond.lists);
            }
        }
        if let Some(after) = bond.after {
            let seen = self.memory.seen[after.disease];
            if seen > 0 && self.number - seen <= after.within {
                self.add(after.consequence);
            }
        }
    }

    /// Puts the codes in order.
    pub fn finish(self) {
        self.codes[self.start..].sort_unstable();
    }
}
