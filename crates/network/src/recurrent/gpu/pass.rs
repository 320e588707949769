//! A batch on its way through the network and back, on a GPU.

use std::ops::Range;

use consequence_engine::cuda::{Factor, Gpu, GpuError, Memory, Staging, Sums, Words};

use super::GpuBatch;
use crate::Objective;
use crate::gpu::{self, Asking, Gradients, ReadPiece, Wanted, Whole};
use crate::objective::Scoring;
use crate::recurrent::Shape;
use crate::recurrent::copies::TERMS;
use crate::recurrent::shape::PLACES;
use crate::recurrent::weights::Ranges;

/// The network on a GPU.
pub(super) type Net<'a> = gpu::Net<'a, Ranges, Shape>;

/// The sizes of the network, and its memory.
#[derive(Debug)]
pub(crate) struct GpuNetwork {
    shape: Shape,
    ranges: Ranges,
    pass: Pass,
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

    /// Where the bias of each code is.
    pub fn biases(&self) -> Range<usize> {
        self.ranges.bias.clone()
    }

    /// Queues a pass of a batch, whose nats are added to a total.
    pub fn run(
        &mut self,
        (gpu, values): (&Gpu, &Memory),
        batch: &mut GpuBatch,
        asked: (&dyn Objective, &Staging),
        wanted: Wanted<'_>,
        total: &mut Memory<f64>,
    ) -> Result<(), GpuError> {
        let net = Net { gpu, values, ranges: &self.ranges, shape: self.shape };
        self.pass.run(net, batch, asked, wanted, total)
    }
}

/// Memory of a GPU for passes, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) words: Words,
    pub(super) history: History,
    pub(super) head: Head,
    /// What the host scores.
    pub(super) whole: Whole,
    /// The nats of every state.
    pub(super) nats: Memory<f64>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    places: Memory,
    input: Memory,
    normals_1: Memory,
    normed_1: Memory,
    mixed: Memory,
    averages: Memory,
    middle: Memory,
    normals_2: Memory,
    normed_2: Memory,
    wide: Memory,
    active: Memory,
    last: Memory,
    normals_3: Memory,
    pub(super) hidden: Memory,
    narrow: Memory,
    dx: Memory,
    wide_gradient: Memory,
    mixed_gradient: Memory,
    pub(super) hidden_gradient: Memory,
}

#[derive(Debug, Default)]
pub(super) struct Head {
    base: Memory,
    sums: Memory,
    normals: Memory,
    active: Memory,
    narrow: Memory,
    narrow_active: Memory,
    widened: Memory,
    read: Memory,
    gates: Memory,
    gate_gradients: Memory,
    pub(super) logits: Memory,
    asking: Asking,
    read_gradient: Memory,
    narrow_gradient: Memory,
    sums_gradient: Memory,
    base_gradient: Memory,
}

impl Pass {
    pub fn run(
        &mut self,
        net: Net<'_>,
        batch: &mut GpuBatch,
        (objective, staging): (&dyn Objective, &Staging),
        mut wanted: Wanted<'_>,
        total: &mut Memory<f64>,
    ) -> Result<(), GpuError> {
        if let Some(staged) = batch.staged.take() {
            self.words.take(net.gpu, staged, staging)?;
        }
        self.history.forward(&net, batch, &self.words)?;
        if batch.scored_whole.is_some() && !matches!(wanted, Wanted::Surplus(_)) {
            return self.run_whole(net, batch, objective, wanted, total);
        }
        self.head.forward(&net, batch, &self.words, &self.history.hidden)?;
        self.nats.fit(net.gpu, batch.states())?;
        if let Wanted::Gradients(into) = &mut wanted {
            into.begin(net.gpu, net.ranges.total)?;
            self.head.begin_gradients(&net, batch)?;
        }
        let mut nats = batch.settled_nats;
        for piece in &batch.pieces {
            let (scale, read) = (wanted.scale(), (&self.words, piece));
            let visits = batch.visits(&self.words);
            self.head.logits(&net, &visits, piece)?;
            let beyond = match objective.scoring() {
                Scoring::Beyond(beyond) if !piece.rows.is_empty() => Some(beyond),
                _ => None,
            };
            if let Some(beyond) = beyond {
                let said = (&self.head.logits, net.at(&net.ranges.bias));
                nats += self.head.asking.look_beyond(net.gpu, said, read, (beyond, scale))?;
            }
            let (logits, bias) = (&mut self.head.logits, net.at(&net.ranges.bias));
            net.gpu.settle(logits, &visits, &piece.piece)?;
            net.gpu.score(logits, &mut self.nats, bias, &visits, (&piece.piece, scale))?;
            if beyond.is_some() && scale != 0.0 {
                let head = &mut self.head;
                head.asking.add_changes(net.gpu, &mut head.logits, read)?;
            }
            match &mut wanted {
                Wanted::Nats => {}
                Wanted::Surplus(sums) => self.head.bias_gradient(&net, &piece.piece, sums)?,
                Wanted::Gradients(into) => {
                    self.head.logits_backward(&net, &visits, piece, into)?;
                }
            }
        }
        net.gpu.add_up(total.all_mut(), self.nats.all(), nats)?;
        if let Wanted::Gradients(into) = &mut wanted {
            self.head.backward(&net, batch, &self.words, &mut self.history, into)?;
            self.history.backward(&net, batch, &self.words, into)?;
        }
        Ok(())
    }
}

impl History {
    pub(super) fn forward(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        words: &Words,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width) = (net.gpu, net.ranges, net.shape.width);
        let rows = batch.rows;
        self.places.fit(gpu, rows * PLACES)?;
        gpu.places(self.places.all_mut(), words.list(&batch.visits))?;
        self.input.fit(gpu, rows * width)?;
        let places = Factor::new(self.places.all(), rows, PLACES);
        let table = Factor::new(net.at(&ranges.places), PLACES, width);
        gpu.product(self.input.all_mut(), places, table, false)?;
        let inputs = (words.list(&batch.inputs.0), words.ends(&batch.inputs.1));
        gpu.add_gathered(self.input.all_mut(), net.at(&ranges.codes), inputs, width)?;
        let (normed, normals) = (&mut self.normed_1, &mut self.normals_1);
        net.norm(normed, normals, &self.input, &ranges.norm_1, false)?;
        net.linear(&mut self.mixed, &self.normed_1, &ranges.mix)?;
        self.averages.fit(gpu, rows * width)?;
        let mixed = (self.mixed.all(), net.at(&ranges.mix[1]));
        gpu.gated_average(self.averages.all_mut(), mixed, words.ends(&batch.records))?;
        net.linear(&mut self.narrow, &self.averages, &ranges.join)?;
        net.add_linear(&mut self.middle, &self.input, &self.narrow, &ranges.join[1])?;
        let (normed, normals) = (&mut self.normed_2, &mut self.normals_2);
        net.norm(normed, normals, &self.middle, &ranges.norm_2, false)?;
        net.linear(&mut self.wide, &self.normed_2, &ranges.up)?;
        net.gelu_linear(&mut self.active, &self.wide, &ranges.up[1])?;
        net.linear(&mut self.narrow, &self.active, &ranges.down)?;
        net.add_linear(&mut self.last, &self.middle, &self.narrow, &ranges.down[1])?;
        let (hidden, normals) = (&mut self.hidden, &mut self.normals_3);
        net.norm(hidden, normals, &self.last, &ranges.norm_3, false)
    }

    /// The gradients of the history, given that of what it came to.
    pub(super) fn backward(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        words: &Words,
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width) = (net.gpu, net.ranges, net.shape.width);
        let rows = batch.rows;
        let (dx, narrow) = (&mut self.dx, &mut self.narrow);
        dx.fit(gpu, rows * width)?;
        dx.clear(gpu)?;
        let kept = (&self.last, &self.normals_3);
        net.norm_backward(dx, &mut self.hidden_gradient, kept, (&ranges.norm_3, false), into)?;
        let wide = &mut self.wide_gradient;
        net.linear_backward(wide, dx, &self.active, &ranges.down, into)?;
        gpu.gelu_linear_backward(wide.all_mut(), self.wide.all(), net.at(&ranges.up[1]))?;
        net.linear_backward(narrow, wide, &self.normed_2, &ranges.up, into)?;
        let kept = (&self.middle, &self.normals_2);
        net.norm_backward(dx, narrow, kept, (&ranges.norm_2, false), into)?;
        net.linear_backward(narrow, dx, &self.averages, &ranges.join, into)?;
        self.mixed_gradient.fit(gpu, 2 * rows * width)?;
        gpu.gated_average_backward(
            self.mixed_gradient.all_mut(),
            (narrow.all(), self.averages.all()),
            (self.mixed.all(), net.at(&ranges.mix[1])),
            words.ends(&batch.records),
        )?;
        net.linear_backward(narrow, &self.mixed_gradient, &self.normed_1, &ranges.mix, into)?;
        let kept = (&self.input, &self.normals_1);
        net.norm_backward(dx, narrow, kept, (&ranges.norm_1, false), into)?;
        let inputs = (words.list(&batch.inputs.0), words.ends(&batch.inputs.1));
        gpu.scatter_rows(into.sums, ranges.codes.clone(), dx.all(), inputs, width)?;
        let places = Factor::new(self.places.all(), rows, PLACES).transposed();
        let table = into.products.part_mut(ranges.places.clone());
        gpu.product(table, places, Factor::new(dx.all(), rows, width), true)
    }
}

impl Head {
    /// What codes read of every state.
    pub(super) fn forward(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        words: &Words,
        hidden: &Memory,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, width) = (net.gpu, net.ranges, net.shape.width);
        net.linear(&mut self.base, hidden, &ranges.start)?;
        self.sums.fit(gpu, batch.states() * net.shape.head)?;
        let base = (self.base.all(), net.at(&ranges.start[1]));
        let visits = batch.visits(words);
        gpu.states(self.sums.all_mut(), base, net.at(&ranges.present), &visits)?;
        net.norm(&mut self.active, &mut self.normals, &self.sums, &ranges.norm, true)?;
        net.linear(&mut self.narrow, &self.active, &ranges.narrow)?;
        net.gelu_linear(&mut self.narrow_active, &self.narrow, &ranges.narrow[1])?;
        net.linear(&mut self.widened, &self.narrow_active, &ranges.widen)?;
        net.add_linear(&mut self.read, &self.active, &self.widened, &ranges.widen[1])?;
        self.gates.fit(gpu, batch.rows * TERMS)?;
        let gate = Factor::new(net.at(&ranges.copy_gate), TERMS, width).transposed();
        let hidden = Factor::new(hidden.all(), batch.rows, width);
        gpu.product(self.gates.all_mut(), hidden, gate, false)
    }

    pub(super) fn begin_gradients(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
    ) -> Result<(), GpuError> {
        let (gpu, wide) = (net.gpu, net.shape.head);
        self.read_gradient.fit(gpu, batch.states() * wide)?;
        // Rows that are asked nothing have none.
        self.gate_gradients.fit(gpu, batch.rows * TERMS)?;
        self.gate_gradients.clear(gpu)?;
        self.base_gradient.fit(gpu, batch.rows * wide)?;
        self.base_gradient.clear(gpu)
    }

    /// The table of what codes read.
    fn table<'a>(net: &'a Net<'_>, codes: &Range<usize>) -> (Range<usize>, Factor<'a>) {
        let (start, wide) = (net.ranges.read.start, net.shape.head);
        let own = start + codes.start * wide..start + codes.end * wide;
        (own.clone(), Factor::new(net.values.part(own), codes.len(), wide))
    }

    /// The logits of a piece, without their biases.
    pub(super) fn logits(
        &mut self,
        net: &Net<'_>,
        visits: &consequence_engine::cuda::Visits<'_>,
        ReadPiece { piece, .. }: &ReadPiece,
    ) -> Result<(), GpuError> {
        let (wide, states) = (net.shape.head, &piece.states);
        self.logits.fit(net.gpu, piece.logits())?;
        let read = self.read.part(states.start * wide..states.end * wide);
        let read = Factor::new(read, states.len(), wide);
        let table = Self::table(net, &piece.codes).1.transposed();
        net.gpu.product_within(self.logits.all_mut(), piece.stride, read, table, false)?;
        let ranges = net.ranges;
        let copies = (self.gates.all(), net.at(&ranges.copy_shared), net.at(&ranges.copy_own));
        net.gpu.copies(&mut self.logits, copies, visits, piece)
    }

    fn bias_gradient(
        &self,
        net: &Net<'_>,
        piece: &consequence_engine::cuda::Piece,
        sums: &mut Sums,
    ) -> Result<(), GpuError> {
        let start = net.ranges.bias.start;
        let own = start + piece.codes.start..start + piece.codes.end;
        net.gpu.column_sums(sums, own, self.logits.all(), piece.stride)
    }

    /// The gradients of what made the logits of a piece.
    pub(super) fn logits_backward(
        &mut self,
        net: &Net<'_>,
        visits: &consequence_engine::cuda::Visits<'_>,
        ReadPiece { piece, .. }: &ReadPiece,
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let (gpu, wide, states) = (net.gpu, net.shape.head, &piece.states);
        self.bias_gradient(net, piece, into.sums)?;
        let (gates, own) = (self.gate_gradients.all_mut(), net.ranges.copy_own.clone());
        gpu.copies_backward(gates, (into.sums, own), &self.logits, visits, piece)?;
        let part = states.start * wide..states.end * wide;
        let read = Factor::new(self.read.part(part.clone()), states.len(), wide);
        let count = piece.codes.len();
        let logits = Factor::within(self.logits.all(), states.len(), count, piece.stride);
        let (own, table) = Self::table(net, &piece.codes);
        gpu.product(into.products.part_mut(own), logits.transposed(), read, true)?;
        gpu.product(self.read_gradient.part_mut(part), logits, table, false)
    }

    /// The gradients of the head once all its logits are done with, and that of the history.
    pub(super) fn backward(
        &mut self,
        net: &Net<'_>,
        batch: &GpuBatch,
        words: &Words,
        history: &mut History,
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let (gpu, ranges, shape) = (net.gpu, net.ranges, net.shape);
        let (narrow, read, sums) =
            (&mut self.narrow_gradient, &mut self.read_gradient, &mut self.sums_gradient);
        net.linear_backward(narrow, read, &self.narrow_active, &ranges.widen, into)?;
        let bias = net.at(&ranges.narrow[1]);
        gpu.gelu_linear_backward(narrow.all_mut(), self.narrow.all(), bias)?;
        net.linear_backward(sums, narrow, &self.active, &ranges.narrow, into)?;
        gpu.add(read.all_mut(), sums.all())?;
        sums.clear(gpu)?;
        let kept = (&self.sums, &self.normals);
        net.norm_backward(sums, read, kept, (&ranges.norm, true), into)?;
        let visits = batch.visits(words);
        let (base, present) = (&mut self.base_gradient, (&mut *into.sums, ranges.present.clone()));
        gpu.states_backward(base.all_mut(), present, sums.all(), &visits, shape.head)?;
        let hidden = &mut history.hidden_gradient;
        net.linear_backward(hidden, base, &history.hidden, &ranges.start, into)?;

        let gates = &self.gate_gradients;
        gpu.column_sums(into.sums, ranges.copy_shared.clone(), gates.all(), TERMS)?;
        let gates = Factor::new(gates.all(), batch.rows, TERMS);
        let kept = Factor::new(history.hidden.all(), batch.rows, shape.width);
        let gate = into.products.part_mut(ranges.copy_gate.clone());
        gpu.product(gate, gates.transposed(), kept, true)?;
        let gate = Factor::new(net.at(&ranges.copy_gate), TERMS, shape.width);
        gpu.product(hidden.all_mut(), gates, gate, true)
    }
}
