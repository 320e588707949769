//! Lists of numbers that are sent to a GPU together, in one copy.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaContext, CudaEvent, PinnedHostSlice, result};

use super::gpu::{Gpu, GpuError};
use super::memory::{Memory, Part};

/// Lists that are to be sent.
#[derive(Debug)]
pub struct Packing {
    id: u64,
    words: Vec<u32>,
}

impl Default for Packing {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), words: Vec::new() }
    }
}

/// Where a list of a packing is, and what its items are below.
#[derive(Clone, Copy, Debug)]
pub struct List {
    id: u64,
    start: usize,
    len: usize,
    below: usize,
}

/// Where the ends of lists that lie end to end are.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    list: List,
    total: usize,
}

impl Ends {
    /// How many lists there are.
    pub fn lists(&self) -> usize {
        self.list.len
    }

    /// How many items they have in all.
    pub fn total(&self) -> usize {
        self.total
    }
}

impl List {
    /// How many items it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Packing {
    /// Adds a list.
    pub fn list(&mut self, items: impl IntoIterator<Item = u32>) -> List {
        self.list_below(items, |item| item)
    }

    /// Adds a list of which `index` gives the numbers that are indices.
    pub fn list_below(
        &mut self,
        items: impl IntoIterator<Item = u32>,
        index: impl Fn(u32) -> u32,
    ) -> List {
        let (start, mut below) = (self.words.len(), 0);
        self.words.extend(items.into_iter().inspect(|&item| {
            below = below.max(index(item) as usize + 1);
        }));
        List { id: self.id, start, len: self.words.len() - start, below }
    }

    /// Adds where lists of these lengths end, if they lie end to end.
    pub fn ends(&mut self, lengths: impl IntoIterator<Item = usize>) -> Ends {
        let (start, mut total) = (self.words.len(), 0);
        self.words.extend(lengths.into_iter().map(|length| {
            total += length;
            u32::try_from(total).unwrap_or_else(|_| panic!("a batch has fewer than 2^32 items"))
        }));
        let list = List { id: self.id, start, len: self.words.len() - start, below: total + 1 };
        Ends { list, total }
    }
}

/// Host memory that a GPU copies from by itself, kept from one packing to the next. Threads share it.
#[derive(Debug)]
pub struct Staging {
    context: Arc<CudaContext>,
    free: Mutex<Vec<Sent>>,
}

/// Such memory, and when it was copied last.
#[derive(Debug)]
struct Sent {
    memory: PinnedHostSlice<u32>,
    copied: CudaEvent,
}

/// A packing that lies where a GPU can copy it from.
#[derive(Debug)]
pub struct Staged {
    id: u64,
    len: usize,
    memory: PinnedHostSlice<u32>,
}

impl Staging {
    /// None yet.
    pub fn new(gpu: &Gpu) -> Self {
        Self { context: Arc::clone(gpu.context()), free: Mutex::default() }
    }

    /// Puts a packing where the GPU can copy it from.
    pub fn stage(&self, packing: &Packing) -> Result<Staged, GpuError> {
        let (id, len) = (packing.id, packing.words.len());
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        // What was sent first is the likeliest to be done with.
        let sent = (!free.is_empty()).then(|| free.remove(0));
        drop(free);
        self.context.bind_to_thread()?;
        let kept = match sent {
            Some(Sent { memory, copied }) => {
                copied.synchronize()?;
                Some(memory).filter(|memory| memory.len() >= len)
            }
            None => None,
        };
        let mut memory = match kept {
            Some(memory) => memory,
            // SAFETY: it is filled before it is read.
            #[allow(unsafe_code)]
            None => unsafe { self.context.alloc_pinned(room_for(len)) }?,
        };
        memory.as_mut_slice()?[..len].copy_from_slice(&packing.words);
        Ok(Staged { id, len, memory })
    }
}

/// Words that pinned memory has for so many. It takes long to be had, and batches are of many lengths: it grows by doubling.
fn room_for(len: usize) -> usize {
    len.next_power_of_two().max(1 << 16)
}

/// The packing that a GPU was sent last.
#[derive(Debug, Default)]
pub struct Words {
    id: u64,
    memory: Memory<u32>,
}

impl Words {
    /// Takes a packing in place of the last.
    pub fn take(&mut self, gpu: &Gpu, staged: Staged, staging: &Staging) -> Result<(), GpuError> {
        let Staged { id, len, memory } = staged;
        self.memory.fit(gpu, len)?;
        self.id = id;
        let from = &memory.as_slice()?[..len];
        // SAFETY: there is room for the copy, and what is copied is kept as it is until it is over.
        #[allow(unsafe_code)]
        unsafe {
            result::memcpy_htod_async(self.memory.all().pointer, from, gpu.stream.cu_stream())?;
        }
        let copied = gpu.stream.record_event(None)?;
        let mut free = staging.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(Sent { memory, copied });
        Ok(())
    }

    /// A list.
    ///
    /// # Panics
    ///
    /// If it is of another packing.
    pub fn list(&self, list: &List) -> Indices<'_> {
        assert_eq!(list.id, self.id, "a list of the packing that was sent last");
        let words = self.memory.part(list.start..list.start + list.len);
        Indices { words, below: list.below }
    }

    /// The ends of lists.
    ///
    /// # Panics
    ///
    /// If they are of another packing.
    pub fn ends(&self, ends: &Ends) -> ListEnds<'_> {
        ListEnds { words: self.list(&ends.list).words, total: ends.total }
    }
}

/// Numbers on a GPU, all below some number.
#[derive(Clone, Copy, Debug)]
pub struct Indices<'a> {
    pub(super) words: Part<'a, u32>,
    pub(super) below: usize,
}

/// Ends of lists on a GPU.
#[derive(Clone, Copy, Debug)]
pub struct ListEnds<'a> {
    pub(super) words: Part<'a, u32>,
    pub(super) total: usize,
}

#[cfg(test)]
mod tests {
    use super::room_for;

    #[test]
    fn pinned_memory_grows_by_doubling() {
        let rooms: std::collections::BTreeSet<usize> =
            (0..1 << 20).step_by(77).map(room_for).collect();
        assert_eq!(
            rooms.into_iter().collect::<Vec<_>>(),
            [1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20]
        );
    }
}
