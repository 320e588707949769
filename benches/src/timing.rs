//! Clocks that share the machine's noise between the things they compare.
//!
//! Time in which the thread waited for a core is not counted where the system tells of it: on a busy
//! machine long pieces of work would wait, and short ones would slip through.

use std::time::Instant;

/// Seconds one piece of work took over many repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The middle one.
    pub median: f64,
    /// The shortest one.
    pub minimum: f64,
}

impl Times {
    /// Each time divided by a count.
    pub fn per(self, count: usize) -> Self {
        Self { median: self.median / count as f64, minimum: self.minimum / count as f64 }
    }
}

/// The seconds of each repeat of one piece of work, in the order they were run.
#[derive(Clone, Debug)]
pub struct Repeats(Vec<f64>);

impl Repeats {
    /// The median and the minimum.
    pub fn times(&self) -> Times {
        let mut sorted = self.0.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        Times { median: sorted[sorted.len() / 2], minimum: sorted[0] }
    }

    /// How much longer this took than another: the median of the differences between runs that
    /// followed each other, which drift of the machine's speed leaves alone, and the difference of
    /// the minima.
    pub fn beyond(&self, other: &Self) -> Times {
        let pairs = self.0.iter().zip(&other.0).map(|(one, other)| one - other);
        let minimum = self.times().minimum - other.times().minimum;
        Times { median: Self(pairs.collect()).times().median, minimum }
    }
}

/// Runs every piece of work in turn, `repeats` times over, after one round that is not counted.
pub fn interleaved<const N: usize>(
    repeats: usize,
    mut work: [&mut dyn FnMut(); N],
) -> [Repeats; N] {
    let mut seconds = in_turn(repeats, &mut work).into_iter();
    std::array::from_fn(|_| seconds.next().expect("as many as there are pieces"))
}

/// The same for any number of pieces.
///
/// ```
/// use consequence_benches::timing::in_turn;
///
/// let mut runs = 0;
/// let mut count = || runs += 1;
/// let times = in_turn(3, &mut [&mut count as &mut dyn FnMut()]);
/// assert_eq!((times.len(), runs), (1, 4));
/// ```
pub fn in_turn(repeats: usize, work: &mut [impl FnMut()]) -> Vec<Repeats> {
    let mut seconds = vec![Vec::with_capacity(repeats); work.len()];
    for repeat in 0..=repeats {
        for (piece, seconds) in work.iter_mut().zip(&mut seconds) {
            let (waited, start) = (waited_for_core(), Instant::now());
            piece();
            let elapsed = start.elapsed().as_secs_f64();
            if repeat > 0 {
                seconds.push(elapsed - (waited_for_core() - waited));
            }
        }
    }
    seconds.into_iter().map(Repeats).collect()
}

/// Seconds for which this thread could have run and had no core; 0 where the system does not tell.
fn waited_for_core() -> f64 {
    let Ok(status) = std::fs::read_to_string("/proc/thread-self/schedstat") else { return 0.0 };
    let nanoseconds = status.split_whitespace().nth(1).and_then(|field| field.parse::<f64>().ok());
    nanoseconds.unwrap_or(0.0) * 1e-9
}

/// Forgets the peak: from here on [`peak_memory`] starts with what is held now. Where the system
/// does not allow it, the peak stays that of the whole process.
pub fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The most memory the process has held so far, in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
