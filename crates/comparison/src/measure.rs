//! Trains, generates and measures; what is done is kept, and not done again.

use consequence_model::Network;
use consequence_pipeline::{Error, Watch};
use consequence_record::Cohort;

use super::arena::Arena;
use super::contestant::Contestant;
use super::figures::{
    Deep, DeepFigures, Generation, MethodFigures, OverTrainings, Prediction, RunFigures,
    TrainedOnce, broken,
};
use super::files::Files;
use super::gains::{Gain, Known, gains};
use super::run::{Gpus, Judge};
use super::task::network_name;
use super::{ComparisonTask, Method};

/// Records that are written before the first generation that counts.
const WARM_UP: u64 = 500;

/// What is compared, and where it is kept.
pub(super) struct Comparison<'a> {
    pub task: &'a ComparisonTask,
    pub files: &'a Files,
    pub arena: &'a Arena,
    pub contestants: &'a [Contestant],
    pub watch: &'a dyn Watch,
    pub gpus: Gpus,
}

/// The generations of a contestant, by training.
#[derive(Clone)]
struct Runs {
    figures: Vec<Vec<RunFigures>>,
    deep: Vec<Vec<DeepFigures>>,
}

impl Comparison<'_> {
    /// Measures everything, and tells what rules gain on each of two networks.
    pub fn measure(&self) -> Result<(Vec<MethodFigures>, Vec<Gain>), Error> {
        let trained = self.trainings()?;
        let runs = self.generations()?;
        let measured = self.contestants.iter().zip(&trained).zip(&runs);
        let known: Vec<Known<'_>> = measured
            .map(|((contestant, trained), runs)| Known { contestant, trained, runs: &runs.figures })
            .collect();
        let mut methods = Vec::new();
        for (Known { contestant, trained, runs: figures }, all) in known.iter().zip(&runs) {
            let Contestant { method, rival, network, beside, tried, .. } = contestant;
            let unexpressed = rival.as_ref().map(|rival| rival.unexpressed()).unwrap_or_default();
            let vanilla = known.iter().find(|one| {
                one.contestant.method == Method::Vanilla && one.contestant.beside == *beside
            });
            let Some(first) = trained.first() else { continue };
            methods.push(MethodFigures {
                method: method.name(),
                network: network_name(network),
                beside: *beside,
                title: contestant.title(),
                reach: method.reach(),
                unexpressed: unexpressed.iter().map(ToString::to_string).collect(),
                rate: network.options.rate,
                tried_rates: tried.clone(),
                training: first.training.clone(),
                prediction: first.prediction.clone(),
                trainings: trained.to_vec(),
                over_trainings: OverTrainings::of(trained, vanilla.map(|one| one.trained)),
                generation: Generation::of(figures, vanilla.map(|one| one.runs)),
                deep: Deep::of(&all.deep),
                broken: broken(figures),
            });
        }
        Ok((methods, gains(&known)))
    }

    /// Records of the first network of each contestant, for plots. They depend on their seed alone, so
    /// that they are generated again.
    pub fn plotted(&self, most: u64) -> Result<Vec<Cohort>, Error> {
        let records = self.task.effort.records.min(most);
        let seed = self.task.run_seed(0);
        let cohort = |contestant: &Contestant| {
            let network = self.network(contestant, 0)?;
            Ok(contestant.generate(self.arena, (&network, &self.gpus), (seed, records))?.cohort)
        };
        self.contestants.iter().map(cohort).collect()
    }

    /// All trainings of each contestant. Networks are on disk and not in memory: they may be large, and
    /// many.
    fn trainings(&self) -> Result<Vec<Vec<TrainedOnce>>, Error> {
        let Self { task, files, arena, watch, .. } = self;
        let whole = arena.train.len() as u64 * task.usual_epochs();
        let mut all: Vec<Vec<TrainedOnce>> = vec![Vec::new(); self.contestants.len()];
        for training in 0..task.effort.trainings {
            let seed = task.training_seed(training);
            for (contestant, trained) in self.contestants.iter().zip(&mut all) {
                let (network, training) = match contestant.trained(arena, files, seed)? {
                    Some(known) => {
                        watch.advance(whole);
                        known
                    }
                    None => contestant.train(task, arena, files, seed, *watch)?,
                };
                let note = contestant.file(&format!("seed-{seed}-prediction.json"));
                let prediction = match files.kept::<Option<Prediction>>(&note)? {
                    Some(known) => known,
                    None => {
                        let found = contestant.predict(arena, &network)?;
                        files.keep(&note, &found)?;
                        found
                    }
                };
                trained.push(TrainedOnce { seed, training, prediction });
            }
        }
        Ok(all)
    }

    /// All generations of each contestant: generation `r` is of training `r` modulo their number. All
    /// of one training come first, so that only its networks are in memory.
    fn generations(&self) -> Result<Vec<Runs>, Error> {
        let trainings = self.task.effort.trainings;
        let judge = Judge::new(self.arena)?;
        let count = self.contestants.len();
        let none = Runs {
            figures: vec![Vec::new(); trainings as usize],
            deep: vec![Vec::new(); trainings as usize],
        };
        let mut all = vec![none; count];
        for training in 0..trainings {
            let mut networks: Vec<Option<Network>> = vec![None; count];
            for run in (training..self.task.effort.runs).step_by(trainings as usize) {
                // One after the other, and each first in turn, so that whatever else the machine does
                // meets all of them.
                for turn in 0..count {
                    let at = (turn + run as usize) % count;
                    if self.watch.wants_stop() {
                        return Err(Error::halted(&self.task.out.path));
                    }
                    let contestant = &self.contestants[at];
                    let (figures, deep) = self.run(&judge, contestant, run, &mut networks[at])?;
                    all[at].figures[training as usize].push(figures);
                    all[at].deep[training as usize].extend(deep);
                }
            }
        }
        Ok(all)
    }

    /// The network of a training; trained again if what was kept is gone.
    fn network(&self, contestant: &Contestant, training: u32) -> Result<Network, Error> {
        let Self { task, files, arena, watch, .. } = self;
        let seed = task.training_seed(training);
        let (network, _) = match contestant.trained(arena, files, seed)? {
            Some(known) => known,
            None => contestant.train(task, arena, files, seed, *watch)?,
        };
        Ok(network)
    }

    /// One generation of a contestant, measured; or what is known of it. The network is read when it is
    /// first asked for.
    fn run(
        &self,
        judge: &Judge<'_>,
        contestant: &Contestant,
        run: u32,
        network: &mut Option<Network>,
    ) -> Result<(RunFigures, Option<DeepFigures>), Error> {
        let Self { task, files, arena, watch, gpus, .. } = self;
        let records = task.effort.records;
        let note = contestant.file(&format!("run-{run:03}.json"));
        if let Some(known) = files.kept(&note)? {
            watch.advance(records);
            return Ok(known);
        }
        let (title, runs, seed) = (contestant.title(), task.effort.runs, task.run_seed(run));
        watch.describe(&format!("{title}: generation {} of {runs}", run + 1));
        let network = match network {
            Some(network) => network,
            None => {
                let network =
                    network.insert(self.network(contestant, run % task.effort.trainings)?);
                // Memory that is touched for the first time is not the method's to pay for.
                contestant.generate(arena, (network, gpus), (seed, records.min(WARM_UP)))?;
                network
            }
        };
        let generated = contestant.generate(arena, (network, gpus), (seed, records))?;
        let figures = judge.figures(&generated)?;
        let deep = match run < task.effort.deep_runs {
            true => Some(judge.deep_figures(&generated.cohort, run.into())?),
            false => None,
        };
        files.keep(&note, &(&figures, &deep))?;
        watch.advance(records);
        watch.stage(&format!("{title}: generation {} of {runs} measured", run + 1));
        Ok((figures, deep))
    }
}
