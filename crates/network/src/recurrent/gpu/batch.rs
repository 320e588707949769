//! A batch laid out for a GPU.

use std::ops::Range;

use consequence_engine::cuda::{
    Ends, GpuError, Held, List, Packing, Piece, Staged, Staging, Visits, Words,
};

use super::super::copies::{Held as HeldCode, hold, within};
use crate::gpu::{ReadPiece, place, slots_of};
use crate::objective::{Beyond, Reading, Scoring};
use crate::{Batch, Objective};

/// Logits that are computed at once, at most: what bounds the memory of a batch.
const LOGITS: usize = 1 << 27;

/// What marks that a state speaks up to a code that is present.
const PRESENT: u32 = 1 << 31;

/// Rows of logits begin at multiples of so many: products are fastest so.
const ALIGNED: usize = 32;

/// A batch laid out for a GPU, and what its objective reads.
#[derive(Debug)]
pub(crate) struct GpuBatch {
    pub(super) staged: Option<Staged>,
    pub(super) rows: usize,
    pub(super) visits: List,
    pub(super) records: Ends,
    pub(super) inputs: (List, Ends),
    states: StateLists,
    held: [List; 3],
    held_ends: Ends,
    settled: (List, Ends),
    pub(super) pieces: Vec<ReadPiece>,
    /// Nats of what is settled.
    pub(super) settled_nats: f64,
    /// The batch itself and its rows as they are asked, for an objective that is given all outputs.
    pub(super) scored_whole: Option<(Batch, Vec<u32>)>,
}

#[derive(Debug)]
struct StateLists {
    rows: List,
    ends: Ends,
    from: List,
    until: List,
}

impl GpuBatch {
    /// Lays out a batch. None if its objective needs all outputs of the network, and some by less than is
    /// known of their visits.
    ///
    /// # Panics
    ///
    /// If the batch has 2^31 codes or more.
    pub fn new(
        batch: &Batch,
        objective: &dyn Objective,
        staging: &Staging,
    ) -> Result<Option<Self>, GpuError> {
        let (beyond, whole) = match objective.scoring() {
            Scoring::Outputs if batch.glances_at_any() => return Ok(None),
            Scoring::Outputs => (None, true),
            Scoring::Codewise => (None, false),
            Scoring::Beyond(beyond) => (Some(beyond), false),
        };
        let mut packing = Packing::default();
        let lengths = batch.sequences();
        let lengths = lengths.lengths();
        let visits = packing.list(lengths.iter().flat_map(|&length| 0..length as u32));
        let records = packing.ends(lengths.iter().copied());
        let inputs = packing.list(batch.inputs().iter().flatten().copied());
        let input_ends = packing.ends(batch.inputs().iter().map(<[u32]>::len));

        let asked = || {
            let groups = batch.outputs().iter();
            groups.flat_map(|group| group.rows.iter().map(move |&row| (&group.codes, row)))
        };
        let rows = packing.list(asked().map(|(_, row)| row));
        let mut layout = Layout::default();
        for (codes, row) in asked() {
            layout.push(batch.target(row as usize), codes);
        }
        let ends = packing.ends(layout.counts.iter().copied());
        let from = packing.list(layout.from.iter().copied());
        let until = packing.list_below(layout.until.iter().copied(), |until| until & !PRESENT);
        let states = StateLists { rows, ends, from, until };

        let held = Memories::new(batch, lengths);
        let of = |(codes, row): (&Range<usize>, u32)| {
            (held.visits[row as usize], within(held.of(row as usize), codes))
        };
        let all: Vec<(u32, &[HeldCode])> = asked().map(of).collect();
        let each = || all.iter().flat_map(|(visit, held)| held.iter().map(move |one| (visit, one)));
        let held_lists = [
            packing.list(each().map(|(_, one)| one.code)),
            packing.list(each().map(|(_, one)| one.times)),
            packing.list(each().map(|(visit, one)| visit - one.last)),
        ];
        let held_ends = packing.ends(all.iter().map(|(_, held)| held.len()));

        let settled = packing.list(asked().flat_map(|(codes, row)| {
            let settled = batch.settled(row as usize).iter();
            settled.map(|one| one.output + codes.start as u32)
        }));
        let settled_ends = packing.ends(asked().map(|(_, row)| batch.settled(row as usize).len()));
        let nats = asked().flat_map(|(_, row)| batch.settled(row as usize));
        let settled_nats = nats.map(|one| f64::from(one.nats)).sum();

        let pieces = layout.pieces(batch);
        let numbers: Vec<u32> = asked().map(|(_, row)| row).collect();
        let pieces = pieces
            .into_iter()
            .map(|piece| layout.read(piece, &numbers, beyond, &mut packing))
            .collect();
        let staged = staging.stage(&packing)?;
        Ok(Some(Self {
            staged: Some(staged),
            rows: batch.rows(),
            visits,
            records,
            inputs: (inputs, input_ends),
            states,
            held: held_lists,
            held_ends,
            settled: (settled, settled_ends),
            pieces,
            settled_nats,
            scored_whole: whole.then(|| (batch.clone(), numbers)),
        }))
    }

    /// The number of rows: one for each visit.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// States of all visits.
    pub(super) fn states(&self) -> usize {
        self.states.ends.total()
    }

    /// Its visits, once it was sent.
    pub(super) fn visits<'a>(&self, words: &'a Words) -> Visits<'a> {
        let StateLists { rows, ends, from, until } = &self.states;
        let [codes, times, since] = self.held.each_ref().map(|list| words.list(list));
        Visits {
            rows: words.list(rows),
            ends: words.ends(ends),
            from: words.list(from),
            until: words.list(until),
            settled: words.list(&self.settled.0),
            settled_ends: words.ends(&self.settled.1),
            held: Held { codes, times, since, ends: words.ends(&self.held_ends) },
        }
    }
}

/// The states of visits, in the order in which they are asked.
#[derive(Default)]
struct Layout {
    counts: Vec<usize>,
    from: Vec<u32>,
    until: Vec<u32>,
    /// Where the states of each visit begin.
    starts: Vec<usize>,
}

impl Layout {
    fn push(&mut self, target: &[u32], codes: &Range<usize>) {
        let before = self.from.len();
        self.starts.push(before);
        let mut from = codes.start as u32;
        for &code in target {
            self.from.push(from);
            self.until.push(code | PRESENT);
            from = code + 1;
        }
        if (from as usize) < codes.end {
            self.from.push(from);
            self.until.push(codes.end as u32 - 1);
        }
        self.counts.push(self.from.len() - before);
    }

    /// Cuts the visits into pieces: of one group each, and not too large.
    fn pieces(&self, batch: &Batch) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut first = 0;
        for group in batch.outputs() {
            let stride = group.codes.len().next_multiple_of(ALIGNED);
            let most = (LOGITS / stride).max(1);
            let end = first + group.rows.len();
            while first < end {
                let start = self.starts[first];
                let (mut next, mut states) = (first, 0);
                while next < end && (next == first || states + self.counts[next] <= most) {
                    states += self.counts[next];
                    next += 1;
                }
                let (codes, states) = (group.codes.clone(), start..start + states);
                pieces.push(Piece { visits: first..next, states, codes, stride });
                first = next;
            }
        }
        pieces
    }

    /// What is read of a piece.
    fn read(
        &self,
        piece: Piece,
        numbers: &[u32],
        beyond: Option<&dyn Beyond>,
        packing: &mut Packing,
    ) -> ReadPiece {
        let mut found: Vec<(usize, Vec<u64>)> = Vec::new();
        if let Some(beyond) = beyond {
            for visit in piece.visits.clone() {
                let row = numbers[visit] as usize;
                let of = |reading: &Reading| place(self.state(visit, reading), reading.code);
                let places: Vec<u64> = beyond.readings(row).iter().map(of).collect();
                if !places.is_empty() {
                    found.push((row, places));
                }
            }
        }
        slots_of(piece, found, packing)
    }

    /// The state under which a logit is read.
    fn state(&self, visit: usize, reading: &Reading) -> usize {
        let start = self.starts[visit];
        let own = &self.until[start..start + self.counts[visit]];
        match reading.known {
            Some(known) => start + known as usize,
            None => start + own.partition_point(|until| until & !PRESENT < reading.code),
        }
    }
}

/// What records have held before each row.
#[derive(Default)]
struct Memories {
    held: Vec<HeldCode>,
    ends: Vec<usize>,
    visits: Vec<u32>,
}

impl Memories {
    fn new(batch: &Batch, lengths: &[usize]) -> Self {
        let mut all = Self::default();
        let mut held = Vec::new();
        for &length in lengths {
            held.clear();
            for visit in 0..length as u32 {
                let row = all.visits.len();
                all.visits.push(visit);
                all.held.extend_from_slice(&held);
                all.ends.push(all.held.len());
                hold(&mut held, visit, batch.target(row));
            }
        }
        all
    }

    fn of(&self, row: usize) -> &[HeldCode] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.held[start..self.ends[row]]
    }
}
