//! What an objective has beyond the likelihood: a few logits are read, scored on the host, and their gradients
//! sent back to be added.

use consequence_engine::cuda::{Gpu, GpuError, List, Memory, Packing, Part, Piece, Words};
use rayon::prelude::*;

use crate::objective::Beyond;

/// A piece of a batch, and the logits that are read of it.
#[derive(Debug)]
pub(crate) struct ReadPiece {
    pub piece: Piece,
    /// The states and codes of logits that are read, each once.
    pub at: (List, List),
    pub rows: Vec<ReadRow>,
}

/// A row whose objective reads logits: which of those that are read.
#[derive(Debug)]
pub(crate) struct ReadRow {
    pub row: usize,
    pub slots: Vec<u32>,
}

/// A logit by its state and its code, as one number.
pub(crate) fn place(state: usize, code: u32) -> u64 {
    (state as u64) << 32 | u64::from(code)
}

/// What is read of a piece, given the places that each row reads.
pub(crate) fn slots_of(
    piece: Piece,
    found: Vec<(usize, Vec<u64>)>,
    packing: &mut Packing,
) -> ReadPiece {
    let mut unique: Vec<u64> = found.iter().flat_map(|(_, places)| places).copied().collect();
    unique.sort_unstable();
    unique.dedup();
    let slot = |place: &u64| unique.partition_point(|one| one < place) as u32;
    let rows = found
        .into_iter()
        .map(|(row, places)| ReadRow { row, slots: places.iter().map(slot).collect() })
        .collect();
    let states = packing.list(unique.iter().map(|place| (place >> 32) as u32));
    let codes = packing.list(unique.iter().map(|&place| place as u32));
    ReadPiece { piece, at: (states, codes), rows }
}

/// Logits on their way to the host, and their gradients on the way back.
#[derive(Debug, Default)]
pub(crate) struct Asking {
    asked: Memory,
    changes: Memory,
}

impl Asking {
    /// Reads logits of a piece and scores them on the host; gives their nats.
    pub fn look_beyond(
        &mut self,
        gpu: &Gpu,
        (logits, bias): (&Memory, Part<'_>),
        (words, piece): (&Words, &ReadPiece),
        (beyond, scale): (&dyn Beyond, f32),
    ) -> Result<f64, GpuError> {
        let at = (words.list(&piece.at.0), words.list(&piece.at.1));
        let count = piece.at.0.len();
        self.asked.fit(gpu, count)?;
        gpu.read_logits(self.asked.all_mut(), logits, bias, at, &piece.piece)?;
        let mut found = vec![0f32; count];
        self.asked.read(gpu, &mut found)?;
        let scored = piece.rows.par_iter().with_min_len(16).map(|row| {
            let slots = row.slots.iter();
            let read: Vec<f64> = slots.map(|&slot| f64::from(found[slot as usize])).collect();
            let mut changes = vec![0.0; read.len()];
            (beyond.score(row.row, &read, &mut changes), changes)
        });
        let scored: Vec<(f64, Vec<f64>)> = scored.collect();
        if scale != 0.0 {
            let mut changes = vec![0f32; count];
            for (row, (_, own)) in piece.rows.iter().zip(&scored) {
                for (&slot, change) in row.slots.iter().zip(own) {
                    changes[slot as usize] += scale * *change as f32;
                }
            }
            self.changes.write(gpu, &changes)?;
        }
        Ok(scored.iter().map(|(nats, _)| nats).sum())
    }

    /// Adds the gradients of the logits that were read last to those of the piece.
    pub fn add_changes(
        &self,
        gpu: &Gpu,
        gradient: &mut Memory,
        (words, piece): (&Words, &ReadPiece),
    ) -> Result<(), GpuError> {
        let at = (words.list(&piece.at.0), words.list(&piece.at.1));
        gpu.add_at(gradient, self.changes.all(), at, &piece.piece)
    }
}
