//! Generation, timed.

use std::time::Instant;

use consequence_model::{Network, NetworkGenerator};
use consequence_rules::RuleSet;
use consequence_sample::{Mode, Request, Sampler, Totals};
use serde::Serialize;

/// What a run took and gave.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Run {
    /// Seconds by the clock.
    pub seconds: f64,
    /// Seconds of all threads together, where the system tells: other work on the machine does not
    /// count in them.
    pub busy: f64,
    /// Records.
    pub records: u64,
    /// Visits, the static ones included.
    pub visits: u64,
    /// Codes in encounters.
    pub codes: u64,
    /// Encounters of the longest of 32 records, on average: how long a batch that does not refill
    /// goes on.
    pub longest: f64,
}

/// Records of a batch of the reference.
const THEIR_BATCH: usize = 32;

/// A network that writes records.
pub struct Writing {
    generator: NetworkGenerator,
    rules: RuleSet,
}

impl Writing {
    /// Makes a network ready.
    pub fn new(network: &Network, rules: RuleSet) -> Self {
        Self { generator: NetworkGenerator::new(network), rules }
    }

    /// The number of rules.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Writes so many records without rules.
    pub fn plain(&self, seed: u64, batch: usize, records: u64) -> Run {
        timed(&self.sampler(Mode::Off, seed, batch), records)
    }

    /// Writes records without rules and with them, the referee included, in turn: which of the two
    /// is first changes from round to round. The first round is not counted.
    pub fn rounds(&self, rounds: usize, batch: usize, records: u64) -> Vec<[Run; 2]> {
        let samplers = [Mode::Off, Mode::Guided].map(|mode| self.sampler(mode, 1, batch));
        let round = |round: usize| {
            let turned = round % 2;
            let (one, other) = (&samplers[turned], &samplers[1 - turned]);
            let mut runs = [timed(one, records), timed(other, records)];
            runs.rotate_left(turned);
            runs
        };
        (0..=rounds).map(round).skip(1).collect()
    }

    fn sampler(&self, mode: Mode, seed: u64, batch: usize) -> Sampler<'_, NetworkGenerator> {
        let trained_with = Some(&self.rules);
        let request = Request { mode, seed, batch, trained_with, ..Request::default() };
        Sampler::new(&self.generator, &self.rules, request).expect("these rules have a plan")
    }
}

fn timed(sampler: &Sampler<'_, NetworkGenerator>, records: u64) -> Run {
    let mut totals = Totals::default();
    let mut lengths = Vec::with_capacity(records as usize);
    let (start, busy) = (Instant::now(), busy_seconds());
    let written = sampler.records(0..records, &mut totals, |_, record| {
        lengths.push(record.visits.len() - 1);
        Ok(())
    });
    written.expect("the referee finds nothing");
    let (seconds, busy) = (start.elapsed().as_secs_f64(), busy_seconds() - busy);
    let longest: Vec<usize> =
        lengths.chunks(THEIR_BATCH).filter_map(|batch| batch.iter().copied().max()).collect();
    Run {
        seconds,
        busy,
        longest: longest.iter().sum::<usize>() as f64 / longest.len().max(1) as f64,
        records: totals.records,
        visits: totals.records + totals.encounters,
        codes: totals.codes,
    }
}

/// Seconds that all threads of this process have run, where the system tells.
fn busy_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let run = |path: std::path::PathBuf| -> Option<f64> {
        let text = std::fs::read_to_string(path.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    threads.flatten().filter_map(|thread| run(thread.path())).sum::<f64>() * 1e-9
}

/// The most memory the process has held so far, in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
