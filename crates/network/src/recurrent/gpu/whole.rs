//! Batches whose objective is given all outputs of the network: it scores them on the host, row by row, and
//! their gradients are sent back.

use consequence_engine::cuda::{GpuError, Memory};

use super::GpuBatch;
use super::batch::ReadPiece;
use super::pass::{Net, Pass, Wanted};
use crate::batch::Outputs;
use crate::objective::score;
use crate::side::Side;
use crate::{Batch, Objective, Said};

/// Outputs on their way to the host and back.
#[derive(Debug, Default)]
pub(super) struct Whole {
    /// The logits of each visit of a piece, or their gradients.
    own: Memory,
    said: Vec<f32>,
    side: Side,
    side_outputs: Memory,
    side_product: Memory,
    side_gradient: Memory,
    nats: Vec<f64>,
}

impl Whole {
    /// Brings the outputs beside the head to the host.
    fn bring_side(&mut self, net: &Net<'_>, hidden: &Memory, rows: usize) -> Result<(), GpuError> {
        let (gpu, layer, count) = (net.gpu, &net.ranges.side, net.shape.side);
        let mut all = vec![0.0; rows * count];
        if count > 0 {
            net.linear(&mut self.side_product, hidden, layer)?;
            self.side_gradient.fit(gpu, rows * count)?;
            self.side_gradient.clear(gpu)?;
            let nothing = &self.side_gradient;
            net.add_linear(&mut self.side_outputs, nothing, &self.side_product, &layer[1])?;
            self.side_outputs.read(gpu, &mut all)?;
        }
        self.side.take(all, count);
        Ok(())
    }

    /// Scores the rows of a piece, or what is beside the head alone; outputs are replaced by their gradients.
    fn score(
        &mut self,
        batch: &Batch,
        rows: &[u32],
        ReadPiece { piece, .. }: &ReadPiece,
        (objective, factor): (&dyn Objective, f32),
    ) {
        let outputs = Outputs { codes: piece.codes.clone(), rows: Vec::new() };
        let rows = &rows[piece.visits.clone()];
        let said = Said { logits: &mut self.said, side: self.side.of(rows), ahead: &mut [] };
        score(objective, batch, (&outputs, rows), factor, said, &mut self.nats);
        self.side.put_back(rows);
    }
}

impl Pass {
    /// The rest of a pass, once the history is known.
    pub(super) fn run_whole(
        &mut self,
        net: Net<'_>,
        batch: &GpuBatch,
        objective: &dyn Objective,
        mut wanted: Wanted<'_>,
    ) -> Result<(), GpuError> {
        let Some((records, rows)) = &batch.scored_whole else { return Ok(()) };
        let (gpu, asks_head, whole) = (net.gpu, objective.asks_head(), &mut self.whole);
        if asks_head {
            self.head.forward(&net, batch, &self.words, &self.history.hidden)?;
        }
        whole.bring_side(&net, &self.history.hidden, batch.rows)?;
        whole.nats.clear();
        whole.nats.resize(batch.rows, 0.0);
        let factor = match &mut wanted {
            Wanted::Nats | Wanted::Surplus(_) => 1.0,
            Wanted::Gradients(into) => {
                into.begin(&net)?;
                if asks_head {
                    self.head.begin_gradients(&net, batch)?;
                }
                into.scale
            }
        };
        for piece in &batch.pieces {
            whole.said.clear();
            let visits = batch.visits(&self.words);
            if asks_head {
                let count = piece.piece.visits.len() * piece.piece.codes.len();
                self.head.logits(&net, &visits, piece)?;
                whole.own.fit(gpu, count)?;
                let (to, bias) = (whole.own.all_mut(), net.at(&net.ranges.bias));
                gpu.own_logits(to, &self.head.logits, bias, &visits, &piece.piece)?;
                whole.said.resize(count, 0.0);
                whole.own.read(gpu, &mut whole.said)?;
            }
            whole.score(records, rows, piece, (objective, factor));
            if let (Wanted::Gradients(into), true) = (&mut wanted, asks_head) {
                whole.own.write(gpu, &whole.said)?;
                let logits = &mut self.head.logits;
                gpu.own_gradients(logits, whole.own.all(), &visits, &piece.piece)?;
                self.head.logits_backward(&net, &visits, piece, into)?;
            }
        }
        self.nats.fit(gpu, 0)?;
        gpu.add_up(self.total.all_mut(), self.nats.all(), whole.nats.iter().sum())?;
        let Wanted::Gradients(into) = &mut wanted else { return Ok(()) };
        if asks_head {
            self.head.backward(&net, batch, &self.words, &mut self.history, into)?;
        } else {
            self.history.hidden_gradient.fit(gpu, batch.rows * net.shape.width)?;
            self.history.hidden_gradient.clear(gpu)?;
        }
        if net.shape.side > 0 {
            whole.side_outputs.write(gpu, whole.side.all())?;
            let (to, from) = (&mut whole.side_gradient, &self.history.hidden);
            net.linear_backward(to, &whole.side_outputs, from, &net.ranges.side, into)?;
            gpu.add(self.history.hidden_gradient.all_mut(), whole.side_gradient.all())?;
        }
        self.history.backward(&net, batch, &self.words, into)
    }
}
