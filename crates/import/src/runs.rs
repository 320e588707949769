//! Sorting more than fits into memory: sorted runs in a file without a name, merged when read.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use crate::event::Fixed;

/// The bytes that all runs together hold in memory while they are merged.
const MERGE_BYTES: usize = 32 << 20;

/// The fewest bytes a run reads at a time, whatever their number.
const FEWEST_BYTES: usize = 16 << 10;

/// Values in sorted runs. What compares equal stays in the order in which it came.
pub(crate) struct Runs<T> {
    batch: Vec<T>,
    most: usize,
    scratch: Option<PathBuf>,
    file: Option<File>,
    /// Where each run ends in the file.
    ends: Vec<u64>,
}

impl<T: Fixed> Runs<T> {
    /// Runs of up to `most` values; files are made in `scratch`, or where the system keeps such.
    pub fn new(most: usize, scratch: Option<&Path>) -> Self {
        Self {
            batch: Vec::new(),
            most: most.max(1),
            scratch: scratch.map(Path::to_path_buf),
            file: None,
            ends: Vec::new(),
        }
    }

    /// Whether the batch must go to the file before more is taken in.
    pub fn full(&self) -> bool {
        self.batch.len() >= self.most
    }

    /// Takes in a value.
    pub fn push(&mut self, value: T) {
        self.batch.push(value);
    }

    /// The values that wait to be sorted.
    pub fn batch(&self) -> &[T] {
        &self.batch
    }

    /// Sorts the batch and puts it into the file.
    pub fn flush<K: Ord>(&mut self, key: impl Fn(&T) -> K) -> io::Result<()> {
        self.batch.sort_by_key(|value| key(value));
        let mut bytes = Vec::with_capacity(T::BYTES * self.batch.len().min(1 << 16));
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(temporary(self.scratch.as_deref())?),
        };
        for part in self.batch.chunks(1 << 16) {
            bytes.clear();
            part.iter().for_each(|value| value.put(&mut bytes));
            file.write_all(&bytes)?;
        }
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(before + (self.batch.len() * T::BYTES) as u64);
        self.batch.clear();
        Ok(())
    }

    /// Ends taking in: the last batch stays in memory if it is the only one.
    pub fn finish<K: Ord>(&mut self, key: impl Fn(&T) -> K) -> io::Result<()> {
        if self.file.is_some() && !self.batch.is_empty() {
            self.flush(key)?;
            self.batch = Vec::new();
        } else {
            self.batch.sort_by_key(|value| key(value));
        }
        Ok(())
    }

    /// All values in order, by the key they were sorted by.
    pub fn merged<K: Ord, F: Fn(&T) -> K>(&self, key: F) -> Merged<'_, T, K, F> {
        let size = (MERGE_BYTES / self.ends.len().max(1)).max(FEWEST_BYTES);
        let size = (size / T::BYTES).max(1) * T::BYTES;
        let starts = std::iter::once(&0).chain(&self.ends);
        let runs = starts
            .zip(&self.ends)
            .map(|(&start, &end)| Run { next: start, end, size, buffer: Vec::new(), used: 0 })
            .collect();
        Merged {
            file: self.file.as_ref(),
            memory: if self.file.is_none() { &self.batch } else { &[] },
            taken: 0,
            runs,
            heap: None,
            key,
            values: PhantomData,
        }
    }
}

/// A file without a name, which goes away with the program however it ends.
pub(crate) fn temporary(folder: Option<&Path>) -> io::Result<File> {
    match folder {
        Some(folder) => tempfile::tempfile_in(folder),
        None => tempfile::tempfile(),
    }
}

/// One run being read.
struct Run {
    next: u64,
    end: u64,
    size: usize,
    buffer: Vec<u8>,
    used: usize,
}

impl Run {
    fn advance<T: Fixed>(&mut self, mut file: &File) -> io::Result<Option<T>> {
        if self.used >= self.buffer.len() {
            let left = self.end - self.next;
            if left == 0 {
                return Ok(None);
            }
            self.buffer.resize(left.min(self.size as u64) as usize, 0);
            file.seek(SeekFrom::Start(self.next))?;
            file.read_exact(&mut self.buffer)?;
            self.next += self.buffer.len() as u64;
            self.used = 0;
        }
        let value = T::take(&self.buffer[self.used..]);
        self.used += T::BYTES;
        Ok(value)
    }
}

/// All values of [`Runs`] in order.
pub(crate) struct Merged<'r, T, K: Ord, F> {
    file: Option<&'r File>,
    memory: &'r [T],
    taken: usize,
    runs: Vec<Run>,
    /// The next value of each run, the smallest first, then the earlier run.
    heap: Option<BinaryHeap<Reverse<Next<T, K>>>>,
    key: F,
    values: PhantomData<T>,
}

struct Next<T, K> {
    key: K,
    run: usize,
    value: T,
}

impl<T, K: Ord> PartialEq for Next<T, K> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T, K: Ord> Eq for Next<T, K> {}

impl<T, K: Ord> PartialOrd for Next<T, K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T, K: Ord> Ord for Next<T, K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key).then(self.run.cmp(&other.run))
    }
}

impl<T: Fixed, K: Ord, F: Fn(&T) -> K> Merged<'_, T, K, F> {
    fn step(&mut self) -> io::Result<Option<T>> {
        let Some(file) = self.file else {
            self.taken += 1;
            return Ok(self.memory.get(self.taken - 1).copied());
        };
        let heap = match &mut self.heap {
            Some(heap) => heap,
            none => {
                let mut heap = BinaryHeap::with_capacity(self.runs.len());
                for (run, reader) in self.runs.iter_mut().enumerate() {
                    if let Some(value) = reader.advance(file)? {
                        heap.push(Reverse(Next { key: (self.key)(&value), run, value }));
                    }
                }
                none.insert(heap)
            }
        };
        let Some(Reverse(Next { run, value, .. })) = heap.pop() else { return Ok(None) };
        if let Some(next) = self.runs[run].advance(file)? {
            heap.push(Reverse(Next { key: (self.key)(&next), run, value: next }));
        }
        Ok(Some(value))
    }
}

impl<T: Fixed, K: Ord, F: Fn(&T) -> K> Iterator for Merged<'_, T, K, F> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<io::Result<T>> {
        self.step().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, Fact, VisitKey};
    use super::*;

    #[test]
    fn runs_merge_into_one_order_and_keep_ties_as_they_came() {
        for most in [1, 7, 100, 1_000_000] {
            let mut runs = Runs::new(most, None);
            for number in 0..1000_u32 {
                if runs.full() {
                    runs.flush(|event: &Event| event.subject).unwrap();
                }
                let time = Some(i64::from(number));
                let subject = number * 7919 % 10;
                runs.push(Event::new(subject, Fact::VISIT, VisitKey::STATIC, time));
            }
            runs.finish(|event| event.subject).unwrap();
            for _ in 0..2 {
                let all: Vec<Event> =
                    runs.merged(|event| event.subject).collect::<io::Result<_>>().unwrap();
                assert_eq!(all.len(), 1000);
                let rises = |pair: &[Event]| {
                    (pair[0].subject, pair[0].time()) < (pair[1].subject, pair[1].time())
                };
                assert!(all.windows(2).all(rises), "{most}");
            }
        }
    }
}
