//! Clocks that share the machine's noise between the things they compare.

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

/// Runs every piece of work in turn, `repeats` times over, after one round that is not counted.
pub fn interleaved<const N: usize>(repeats: usize, mut work: [&mut dyn FnMut(); N]) -> [Times; N] {
    let mut seconds: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(repeats));
    for repeat in 0..=repeats {
        for (piece, seconds) in work.iter_mut().zip(&mut seconds) {
            let start = Instant::now();
            piece();
            if repeat > 0 {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
    }
    seconds.map(|mut seconds| {
        seconds.sort_unstable_by(f64::total_cmp);
        Times { median: seconds[seconds.len() / 2], minimum: seconds[0] }
    })
}

/// The most memory the process has held so far, in bytes, where the system tells.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
