//! Outputs on their way to the host and back, for an objective that is given all outputs of the network.

use std::ops::Range;

use consequence_engine::cuda::{Gpu, GpuError, Memory};

use super::{Gradients, Net};
use crate::batch::Outputs;
use crate::layers::Layer;
use crate::objective::score;
use crate::side::Side;
use crate::{Batch, Objective, Said};

/// Outputs on their way to the host and back.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// The logits of each visit of a piece, or their gradients.
    pub own: Memory,
    pub said: Vec<f32>,
    side: Side,
    side_outputs: Memory,
    side_product: Memory,
    side_gradient: Memory,
    pub nats: Vec<f64>,
}

impl Whole {
    /// Begins a batch of so many rows: the outputs beside the head are brought to the host.
    pub fn begin<Ranges, Shape>(
        &mut self,
        net: &Net<'_, Ranges, Shape>,
        (hidden, layer): (&Memory, &Layer),
        rows: usize,
    ) -> Result<(), GpuError> {
        let (gpu, count) = (net.gpu, layer[1].len());
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
        self.nats.clear();
        self.nats.resize(rows, 0.0);
        Ok(())
    }

    /// Brings the logits of visits that are in `own` to the host.
    pub fn bring_own(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        self.said.clear();
        self.said.resize(self.own.len(), 0.0);
        self.own.read(gpu, &mut self.said)
    }

    /// Scores rows, or what is beside the head alone; outputs are replaced by their gradients.
    pub fn score(
        &mut self,
        (batch, rows): (&Batch, &[u32]),
        codes: &Range<usize>,
        (objective, factor): (&dyn Objective, f32),
    ) {
        let outputs = Outputs { codes: codes.clone(), rows: Vec::new() };
        let said = Said { logits: &mut self.said, side: self.side.of(rows), ahead: &mut [] };
        score(objective, batch, (&outputs, rows), factor, said, &mut self.nats);
        self.side.put_back(rows);
    }

    /// The gradients of the outputs beside the head; that of the history is added to `to`.
    pub fn side_backward<Ranges, Shape>(
        &mut self,
        net: &Net<'_, Ranges, Shape>,
        (hidden, layer): (&Memory, &Layer),
        to: &mut Memory,
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        if layer[1].is_empty() {
            return Ok(());
        }
        self.side_outputs.write(net.gpu, self.side.all())?;
        let gradient = &mut self.side_gradient;
        net.linear_backward(gradient, &self.side_outputs, hidden, layer, into)?;
        net.gpu.add(to.all_mut(), gradient.all())
    }
}
