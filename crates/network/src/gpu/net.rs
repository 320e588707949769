//! Layers of a network whose parameters are on a GPU, forward and backward.

use std::ops::Range;

use consequence_engine::Dropout;
use consequence_engine::cuda::{Factor, Gpu, GpuError, Memory, Part, Sums};

use crate::layers::{EPSILON, Layer};

/// A network on a GPU, of some shape.
#[derive(Clone, Copy)]
pub(crate) struct Net<'a, Ranges, Shape> {
    pub gpu: &'a Gpu,
    pub values: &'a Memory,
    pub ranges: &'a Ranges,
    pub shape: Shape,
}

/// Where gradients go: those of products, and those that are summed in fixed point.
pub(crate) struct Gradients<'a> {
    pub products: &'a mut Memory,
    pub sums: &'a mut Sums,
    pub scale: f32,
    /// Whether they are added to those of other pieces of the batch.
    pub adding: bool,
    /// Units that are left out, by a network that does so.
    pub dropout: Dropout,
}

impl Gradients<'_> {
    /// Begins with zeros, for so many parameters, unless they are added to others.
    pub fn begin(&mut self, gpu: &Gpu, count: usize) -> Result<(), GpuError> {
        if self.adding {
            return Ok(());
        }
        self.products.fit(gpu, count)?;
        self.products.clear(gpu)?;
        self.sums.begin(gpu, count, self.scale)
    }
}

/// What is asked of a pass.
pub(crate) enum Wanted<'a> {
    /// What each visit costs.
    Nats,
    /// That, and the gradients of all parameters.
    Gradients(Gradients<'a>),
    /// What each visit costs, and how much more often codes are expected than they are there.
    Surplus(&'a mut Sums),
}

impl Wanted<'_> {
    /// What gradients of logits are multiplied by; zero: none are asked for.
    pub fn scale(&self) -> f32 {
        match self {
            Self::Nats => 0.0,
            Self::Surplus(_) => 1.0,
            Self::Gradients(into) => into.scale,
        }
    }
}

impl<Ranges, Shape> Net<'_, Ranges, Shape> {
    pub fn at(&self, range: &Range<usize>) -> Part<'_> {
        self.values.part(range.clone())
    }

    fn weight(&self, [weight, bias]: &Layer) -> Factor<'_> {
        Factor::new(self.at(weight), weight.len() / bias.len(), bias.len())
    }

    /// `to = from * weight`, without the bias.
    pub fn linear(&self, to: &mut Memory, from: &Memory, layer: &Layer) -> Result<(), GpuError> {
        let (inputs, outputs) = (layer[0].len() / layer[1].len(), layer[1].len());
        let rows = from.len() / inputs;
        to.fit(self.gpu, rows * outputs)?;
        let from = Factor::new(from.all(), rows, inputs);
        self.gpu.product(to.all_mut(), from, self.weight(layer), false)
    }

    /// The gradients of [`Net::linear`] and of the bias: that of its argument replaces what is in `to`.
    pub fn linear_backward(
        &self,
        to: &mut Memory,
        dy: &Memory,
        from: &Memory,
        layer: &Layer,
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let [weight, bias] = layer;
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        let rows = dy.len() / outputs;
        self.gpu.column_sums(into.sums, bias.clone(), dy.all(), outputs)?;
        let dy = Factor::new(dy.all(), rows, outputs);
        let from = Factor::new(from.all(), rows, inputs).transposed();
        self.gpu.product(into.products.part_mut(weight.clone()), from, dy, true)?;
        to.fit(self.gpu, rows * inputs)?;
        self.gpu.product(to.all_mut(), dy, self.weight(layer).transposed(), false)
    }

    /// Normalises rows; `curved`: GELU follows.
    pub fn norm(
        &self,
        to: &mut Memory,
        normals: &mut Memory,
        from: &Memory,
        layer: &Layer,
        curved: bool,
    ) -> Result<(), GpuError> {
        to.fit(self.gpu, from.len())?;
        normals.fit(self.gpu, 2 * (from.len() / layer[0].len()))?;
        let layer = layer.each_ref().map(|range| self.at(range));
        let (to, normals) = (to.all_mut(), normals.all_mut());
        self.gpu.layer_norm(to, normals, from.all(), layer, (EPSILON, curved))
    }

    pub fn norm_backward(
        &self,
        to: &mut Memory,
        dy: &mut Memory,
        (from, normals): (&Memory, &Memory),
        (layer, curved): (&Layer, bool),
        into: &mut Gradients<'_>,
    ) -> Result<(), GpuError> {
        let parts = layer.each_ref().map(|range| self.at(range));
        let (kept, to) = ((from.all(), normals.all()), to.all_mut());
        self.gpu.layer_norm_backward(to, dy, kept, parts, curved, into.sums, layer.clone())
    }

    /// `to = from + product + bias`
    pub fn add_linear(
        &self,
        to: &mut Memory,
        from: &Memory,
        product: &Memory,
        bias: &Range<usize>,
    ) -> Result<(), GpuError> {
        to.fit(self.gpu, from.len())?;
        self.gpu.add_linear(to.all_mut(), from.all(), product.all(), self.at(bias))
    }

    /// `to = gelu(from + bias)`
    pub fn gelu_linear(
        &self,
        to: &mut Memory,
        from: &Memory,
        bias: &Range<usize>,
    ) -> Result<(), GpuError> {
        to.fit(self.gpu, from.len())?;
        self.gpu.gelu_linear(to.all_mut(), from.all(), self.at(bias))
    }
}
