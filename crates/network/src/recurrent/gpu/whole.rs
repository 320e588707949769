//! Batches whose objective is given all outputs of the network: it scores them on the host, row by row, and
//! their gradients are sent back.

use consequence_engine::cuda::{GpuError, Memory};

use super::GpuBatch;
use super::pass::{Net, Pass};
use crate::Objective;
use crate::gpu::Wanted;

impl Pass {
    /// The rest of a pass, once the history is known.
    pub(super) fn run_whole(
        &mut self,
        net: Net<'_>,
        batch: &GpuBatch,
        objective: &dyn Objective,
        mut wanted: Wanted<'_>,
        total: &mut Memory<f64>,
    ) -> Result<(), GpuError> {
        let Some((records, rows)) = &batch.scored_whole else { return Ok(()) };
        let (gpu, asks_head, whole) = (net.gpu, objective.asks_head(), &mut self.whole);
        if asks_head {
            self.head.forward(&net, batch, &self.words, &self.history.hidden)?;
        }
        whole.begin(&net, (&self.history.hidden, &net.ranges.side), batch.rows)?;
        let factor = match &mut wanted {
            Wanted::Nats | Wanted::Surplus(_) => 1.0,
            Wanted::Gradients(into) => {
                into.begin(gpu, net.ranges.total)?;
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
                whole.bring_own(gpu)?;
            }
            let own = (records, &rows[piece.piece.visits.clone()]);
            whole.score(own, &piece.piece.codes, (objective, factor));
            if let (Wanted::Gradients(into), true) = (&mut wanted, asks_head) {
                whole.own.write(gpu, &whole.said)?;
                let logits = &mut self.head.logits;
                gpu.own_gradients(logits, whole.own.all(), &visits, &piece.piece)?;
                self.head.logits_backward(&net, &visits, piece, into)?;
            }
        }
        self.nats.fit(gpu, 0)?;
        gpu.add_up(total.all_mut(), self.nats.all(), whole.nats.iter().sum())?;
        let Wanted::Gradients(into) = &mut wanted else { return Ok(()) };
        if asks_head {
            self.head.backward(&net, batch, &self.words, &mut self.history, into)?;
        } else {
            self.history.hidden_gradient.fit(gpu, batch.rows * net.shape.width)?;
            self.history.hidden_gradient.clear(gpu)?;
        }
        let (hidden, to) = (&self.history.hidden, &mut self.history.hidden_gradient);
        whole.side_backward(&net, (hidden, &net.ranges.side), to, into)?;
        self.history.backward(&net, batch, &self.words, into)
    }
}
