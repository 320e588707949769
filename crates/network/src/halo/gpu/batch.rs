//! A batch laid out for a GPU.

use std::ops::Range;

use consequence_engine::cuda::{
    Ends, GpuError, List, Packing, Piece, Staged, Staging, TriangleRows, Words,
};

use crate::batch::Outputs;
use crate::gpu::{ReadPiece, place, slots_of};
use crate::halo::Shape;
use crate::objective::{Beyond, Scoring};
use crate::{Batch, Objective};

/// Units and logits that are computed at once, at most: what bounds the memory of a batch.
const AT_ONCE: usize = 1 << 28;

/// Rows of units and of logits begin at multiples of so many: products are fastest so.
pub(super) const ALIGNED: usize = 32;

/// A batch laid out for a GPU, and what its objective reads.
#[derive(Debug)]
pub(crate) struct GpuBatch {
    pub(super) staged: Option<Staged>,
    pub(super) rows: usize,
    /// The number of each visit in its record, and that each row has one.
    pub(super) visits: (List, Ends),
    /// Where records end, and the record of each row.
    pub(super) records: (Ends, List),
    pub(super) inputs: (List, Ends),
    pub(super) pieces: Vec<HeadPiece>,
    /// Nats of what is settled.
    pub(super) settled_nats: f64,
    /// The batch itself, for an objective that is given all outputs.
    pub(super) scored_whole: Option<Batch>,
}

/// Some visits whose outputs are about the same codes. The states of its piece are the rows of the head: a
/// row for each visit, and after them one for each visit and number of codes that are known of it alone.
#[derive(Debug)]
pub(super) struct HeadPiece {
    pub read: ReadPiece,
    /// The number of the codes among those that the batch is about.
    pub group: usize,
    /// The rows of its visits.
    pub asked: Vec<u32>,
    rows: List,
    known: (List, Ends),
    drawn: List,
    more: Ends,
    settled: (List, Ends),
}

impl HeadPiece {
    /// Its rows, once it was sent.
    pub fn rows<'a>(&self, words: &'a Words) -> TriangleRows<'a> {
        let both = |(list, ends): &(List, Ends)| (words.list(list), words.ends(ends));
        TriangleRows {
            rows: words.list(&self.rows),
            known: both(&self.known),
            drawn: words.list(&self.drawn),
            more: words.ends(&self.more),
            settled: both(&self.settled),
        }
    }
}

impl GpuBatch {
    /// Lays out a batch. None if its objective needs all outputs of the network, and some by less than is
    /// known of their visits.
    pub fn new(
        batch: &Batch,
        objective: &dyn Objective,
        (shape, staging): (&Shape, &Staging),
    ) -> Result<Option<Self>, GpuError> {
        let (beyond, whole) = match objective.scoring() {
            Scoring::Outputs if batch.glances_at_any() => return Ok(None),
            Scoring::Outputs => (None, true),
            Scoring::Codewise => (None, false),
            Scoring::Beyond(beyond) => (Some(beyond), false),
        };
        let mut packing = Packing::default();
        let sequences = batch.sequences();
        let lengths = sequences.lengths();
        let visits = packing.list(lengths.iter().flat_map(|&length| 0..length as u32));
        let each = packing.ends(std::iter::repeat_n(1, batch.rows()));
        let records = packing.ends(lengths.iter().copied());
        let owners = lengths.iter().enumerate();
        let owners =
            owners.flat_map(|(record, &length)| std::iter::repeat_n(record as u32, length));
        let owners = packing.list(owners);
        let inputs = packing.list(batch.inputs().iter().flatten().copied());
        let input_ends = packing.ends(batch.inputs().iter().map(<[u32]>::len));
        let mut pieces = Vec::new();
        for (group, outputs) in batch.outputs().iter().enumerate() {
            let mut drawn = outputs.rows.len() as u32;
            for visits in cut(shape, outputs) {
                let rows = HeadRows::new(batch, (outputs, visits), beyond, &mut drawn);
                pieces.push(rows.piece(batch, (outputs, group), &mut packing));
            }
        }
        let asked = batch.outputs().iter().flat_map(|outputs| &outputs.rows);
        let settled = asked.flat_map(|&row| batch.settled(row as usize));
        let settled_nats = settled.map(|one| f64::from(one.nats)).sum();
        let staged = staging.stage(&packing)?;
        Ok(Some(Self {
            staged: Some(staged),
            rows: batch.rows(),
            visits: (visits, each),
            records: (records, owners),
            inputs: (inputs, input_ends),
            pieces,
            settled_nats,
            scored_whole: whole.then(|| batch.clone()),
        }))
    }

    /// The number of rows: one for each visit.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// Cuts the rows of a group, so that none of it is too large.
fn cut(shape: &Shape, outputs: &Outputs) -> impl Iterator<Item = Range<usize>> {
    let each = 2 * shape.units_before(outputs.codes.end) + outputs.codes.len() + shape.width;
    let (most, rows) = ((AT_ONCE / each).max(1), outputs.rows.len());
    (0..rows).step_by(most).map(move |first| first..rows.min(first + most))
}

/// The rows of the head for some visits of a group.
struct HeadRows {
    /// The visits, among those of the group.
    visits: Range<usize>,
    /// For each row of the head: the row of the batch, how many codes are known of it, and by what number
    /// it chooses units.
    rows: Vec<(u32, usize, u32)>,
    /// Rows beyond the visits, for each visit.
    more: Vec<usize>,
    /// The places that visits read.
    read: Vec<(usize, Vec<u64>)>,
}

impl HeadRows {
    /// `drawn` is the number of the next row beyond the visits: they choose units as they do on the CPU.
    fn new(
        batch: &Batch,
        (outputs, visits): (&Outputs, Range<usize>),
        beyond: Option<&dyn Beyond>,
        drawn: &mut u32,
    ) -> Self {
        let own = outputs.rows[visits.clone()].iter().zip(visits.start as u32..);
        let all = |(&row, number)| (row, batch.target(row as usize).len(), number);
        let mut rows: Vec<(u32, usize, u32)> = own.map(all).collect();
        let (mut more, mut read) = (Vec::with_capacity(rows.len()), Vec::new());
        for (visit, &row) in outputs.rows[visits.clone()].iter().enumerate() {
            let (before, mut last) = (rows.len(), None);
            let readings = beyond.map_or_else(Vec::new, |beyond| beyond.readings(row as usize));
            let mut places = Vec::with_capacity(readings.len());
            for reading in readings {
                let Some(known) = reading.known else {
                    places.push(place(visit, reading.code));
                    continue;
                };
                if last != Some(known) {
                    rows.push((row, known as usize, *drawn));
                    *drawn += 1;
                    last = Some(known);
                }
                places.push(place(rows.len() - 1, reading.code));
            }
            more.push(rows.len() - before);
            if !places.is_empty() {
                read.push((row as usize, places));
            }
        }
        Self { visits, rows, more, read }
    }

    fn piece(
        self,
        batch: &Batch,
        (outputs, group): (&Outputs, usize),
        packing: &mut Packing,
    ) -> HeadPiece {
        let Self { visits, rows, more, read } = self;
        let (codes, first) = (outputs.codes.clone(), outputs.codes.start as u32);
        let asked = outputs.rows[visits.clone()].to_vec();
        let known = rows.iter().map(|&(row, known, _)| &batch.target(row as usize)[..known]);
        let settled = asked.iter().map(|&row| batch.settled(row as usize));
        let of_codes = settled.clone().flatten().map(|one| one.output + first);
        let stride = codes.len().next_multiple_of(ALIGNED);
        let piece = Piece { visits, states: 0..rows.len(), codes, stride };
        HeadPiece {
            group,
            rows: packing.list(rows.iter().map(|&(row, ..)| row)),
            known: (
                packing.list(known.clone().flatten().copied()),
                packing.ends(known.map(<[u32]>::len)),
            ),
            drawn: packing.list(rows.iter().map(|&(.., drawn)| drawn)),
            more: packing.ends(more),
            settled: (packing.list(of_codes), packing.ends(settled.map(<[_]>::len))),
            asked,
            read: slots_of(piece, read, packing),
        }
    }
}
