//! A batch on its way through the network and back, on a GPU.

use std::ops::Range;

use consequence_engine::Dropout;
use consequence_engine::cuda::{Gpu, GpuError, Memory, Staging, Words};

use super::GpuBatch;
use super::batch::HeadPiece;
use super::head::Head;
use super::trunk::Trunk;
use crate::gpu::{self, Wanted, Whole};
use crate::halo::Shape;
use crate::halo::silent::Fired;
use crate::halo::weights::Ranges;
use crate::objective::Scoring;
use crate::{Batch, Objective};

/// The network on a GPU.
pub(super) type Net<'a> = gpu::Net<'a, Ranges, Shape>;

/// The sizes of the network, and its memory.
#[derive(Debug)]
pub(crate) struct GpuNetwork {
    shape: Shape,
    ranges: Ranges,
    pass: Pass,
}

/// Memory of a GPU for passes, kept from one to the next.
#[derive(Debug, Default)]
struct Pass {
    words: Words,
    trunk: Trunk,
    head: Head,
    /// What the host scores.
    whole: Whole,
    /// The nats of every visit.
    nats: Memory<f64>,
    /// Units that fired, and those that count.
    fired: Memory<u32>,
    read: Option<Fired>,
}

impl GpuNetwork {
    pub fn new(shape: Shape) -> Self {
        Self { shape, ranges: Ranges::new(&shape), pass: Pass::default() }
    }

    /// Gives the memory of passes back.
    pub fn forget(&mut self) {
        self.pass = Pass::default();
    }

    pub fn parameters(&self) -> usize {
        self.ranges.total
    }

    /// Where the bias of each code is; the mark that begins a record is none.
    pub fn biases(&self) -> Range<usize> {
        let Range { start, end } = self.ranges.second[1];
        start..end - 1
    }

    /// From now on notes which units fire.
    pub fn begin_fired(&mut self, gpu: &Gpu) -> Result<(), GpuError> {
        self.pass.fired.fit(gpu, self.shape.units())?;
        self.pass.fired.clear(gpu)?;
        self.pass.read = Some(Fired::new(&self.shape));
        Ok(())
    }

    /// Notes which units fire in the visits of a batch.
    pub fn note_fired(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        batch: &mut GpuBatch,
        staging: &Staging,
    ) -> Result<(), GpuError> {
        let net = Net { gpu, values, ranges: &self.ranges, shape: self.shape };
        let Pass { words, trunk, head, fired, read, .. } = &mut self.pass;
        if let Some(staged) = batch.staged.take() {
            words.take(gpu, staged, staging)?;
        }
        trunk.forward(&net, (batch, words), false)?;
        for piece in &batch.pieces {
            if let Some(read) = read {
                read.read(&net.shape, &piece.read.piece.codes);
            }
            let rows = piece.rows(words);
            head.note_fired(&net, (piece, &rows), &trunk.hidden, fired)?;
        }
        Ok(())
    }

    /// The share of units that never fired, of those that count; none if nothing was noted.
    pub fn silent_units(&mut self, gpu: &Gpu) -> Result<Option<f64>, GpuError> {
        let Some(mut read) = self.pass.read.take() else { return Ok(None) };
        let mut fired = vec![0; self.pass.fired.len()];
        self.pass.fired.read(gpu, &mut fired)?;
        read.found(&fired);
        Ok(Some(read.silent()))
    }

    /// Queues a pass of a batch, whose nats are added to a total.
    pub fn run(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        batch: &mut GpuBatch,
        (objective, staging): (&dyn Objective, &Staging),
        mut wanted: Wanted<'_>,
        total: &mut Memory<f64>,
    ) -> Result<(), GpuError> {
        let net = Net { gpu, values, ranges: &self.ranges, shape: self.shape };
        let pass = &mut self.pass;
        if let Some(staged) = batch.staged.take() {
            pass.words.take(gpu, staged, staging)?;
        }
        let keeps = matches!(wanted, Wanted::Gradients(_));
        pass.trunk.forward(&net, (batch, &pass.words), keeps)?;
        if let Wanted::Gradients(into) = &mut wanted {
            into.begin(gpu, net.ranges.total)?;
            let gradient = &mut pass.trunk.hidden_gradient;
            gradient.fit(gpu, batch.rows * net.shape.width)?;
            gradient.clear(gpu)?;
        }
        let nats = match &batch.scored_whole {
            Some(records) if !matches!(wanted, Wanted::Surplus(_)) => {
                pass.score_whole(&net, batch, (records, objective), &mut wanted)?
            }
            _ => pass.score(&net, batch, objective, &mut wanted)?,
        };
        gpu.add_up(total.all_mut(), pass.nats.all(), nats)?;
        let Wanted::Gradients(into) = &mut wanted else { return Ok(()) };
        Head::empty_halves(&net, into)?;
        pass.trunk.backward(&net, (batch, &pass.words), into)
    }
}

/// The units that are left out of a group of codes.
fn dropout(wanted: &Wanted<'_>, piece: &HeadPiece) -> Dropout {
    match wanted {
        Wanted::Gradients(into) => {
            let key = into.dropout.key.wrapping_add(piece.group as u64);
            Dropout { key, ..into.dropout }
        }
        Wanted::Nats | Wanted::Surplus(_) => Dropout::default(),
    }
}

impl Pass {
    /// Scores every visit; gives the nats of what is not scored on the GPU.
    fn score(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        objective: &dyn Objective,
        wanted: &mut Wanted<'_>,
    ) -> Result<f64, GpuError> {
        let Self { words, trunk, head, nats: each, .. } = self;
        each.fit(net.gpu, batch.pieces.iter().map(|piece| piece.asked.len()).sum())?;
        let (mut nats, mut first, scale) = (batch.settled_nats, 0, wanted.scale());
        let bias = net.at(&net.ranges.second[1]);
        for piece in &batch.pieces {
            let (rows, dropout) = (piece.rows(words), dropout(wanted, piece));
            head.forward(net, (piece, &rows), &trunk.hidden, dropout)?;
            let read = &piece.read;
            let beyond = match objective.scoring() {
                Scoring::Beyond(beyond) if !read.rows.is_empty() => Some(beyond),
                _ => None,
            };
            if let Some(beyond) = beyond {
                let said = (&head.logits, bias);
                let asked = (&*words, read);
                nats += head.asking.look_beyond(net.gpu, said, asked, (beyond, scale))?;
            }
            let own = each.part_mut(first..first + piece.asked.len());
            first += piece.asked.len();
            let logits = (&mut head.logits, read.piece.stride);
            net.gpu.score_visits(logits, own, bias, &rows, (&read.piece.codes, scale))?;
            if beyond.is_some() && scale != 0.0 {
                head.asking.add_changes(net.gpu, &mut head.logits, (words, read))?;
            }
            match wanted {
                Wanted::Nats => {}
                Wanted::Surplus(sums) => head.bias_gradient(net, piece, sums)?,
                Wanted::Gradients(into) => {
                    let gradient = (dropout, &mut trunk.hidden_gradient);
                    head.backward(net, (piece, words), gradient, into)?;
                }
            }
        }
        Ok(nats)
    }

    /// Has all outputs scored on the host; gives their nats.
    fn score_whole(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        (records, objective): (&Batch, &dyn Objective),
        wanted: &mut Wanted<'_>,
    ) -> Result<f64, GpuError> {
        let Self { words, trunk, head, whole, nats, .. } = self;
        let (gpu, asks_head, side) = (net.gpu, objective.asks_head(), &net.ranges.side);
        nats.fit(gpu, 0)?;
        whole.begin(net, (&trunk.hidden, side), batch.rows)?;
        let factor = if let Wanted::Gradients(into) = wanted { into.scale } else { 1.0 };
        for piece in &batch.pieces {
            whole.said.clear();
            let (rows, dropout) = (piece.rows(words), dropout(wanted, piece));
            let own = &piece.read.piece;
            if asks_head {
                head.forward(net, (piece, &rows), &trunk.hidden, dropout)?;
                whole.own.fit(gpu, piece.asked.len() * own.codes.len())?;
                let bias = net.at(&net.ranges.second[1]);
                let logits = (&head.logits, own.stride);
                gpu.narrow_rows(whole.own.all_mut(), logits, bias, &own.codes)?;
                whole.bring_own(gpu)?;
            }
            whole.score((records, &piece.asked), &own.codes, (objective, factor));
            if let (Wanted::Gradients(into), true) = (&mut *wanted, asks_head) {
                whole.own.write(gpu, &whole.said)?;
                let logits = (&mut head.logits, own.stride);
                gpu.widen_rows(logits, whole.own.all(), own.codes.len())?;
                let gradient = (dropout, &mut trunk.hidden_gradient);
                head.backward(net, (piece, words), gradient, into)?;
            }
        }
        if let Wanted::Gradients(into) = wanted {
            let gradient = &mut trunk.hidden_gradient;
            whole.side_backward(net, (&trunk.hidden, side), gradient, into)?;
        }
        Ok(whole.nats.iter().sum())
    }
}
