//! Parameters as `safetensors`: every tensor as it lies in memory, weights `[in, out]`.

use super::copies::TERMS;
use super::weights::Ranges;
use super::{Shape, Weights};
use crate::WeightsError;
use crate::layers::Layer;
use crate::tensors::{self, Lay, Tensor};

fn list_of(shape: &Shape, ranges: &Ranges) -> Vec<Tensor> {
    let (codes, width, head) = (shape.codes, shape.width, shape.head);
    let mut list = Vec::new();
    let mut put = |name: &str, shape: Vec<usize>, range: &std::ops::Range<usize>| {
        list.push(Tensor { name: name.to_owned(), shape, range: range.clone(), lay: Lay::Same });
    };
    put("history.codes", vec![codes + 1, width], &ranges.codes);
    put("history.places", vec![ranges.places.len() / width, width], &ranges.places);
    put("head.present", vec![codes, head], &ranges.present);
    put("head.read", vec![codes, head], &ranges.read);
    put("head.bias", vec![codes], &ranges.bias);
    put("copy.own", vec![TERMS, codes], &ranges.copy_own);
    put("copy.shared", vec![TERMS], &ranges.copy_shared);
    put("copy.gate", vec![TERMS, width], &ranges.copy_gate);
    let mut layer = |name: &str, layer: &Layer| {
        let outputs = layer[1].len();
        let shape = match layer[0].len() / outputs {
            1 => vec![outputs],
            inputs => vec![inputs, outputs],
        };
        put(&format!("{name}.weight"), shape, &layer[0]);
        put(&format!("{name}.bias"), vec![outputs], &layer[1]);
    };
    layer("history.norm_1", &ranges.norm_1);
    layer("history.mix", &ranges.mix);
    layer("history.join", &ranges.join);
    layer("history.norm_2", &ranges.norm_2);
    layer("history.up", &ranges.up);
    layer("history.down", &ranges.down);
    layer("history.norm_3", &ranges.norm_3);
    layer("head.start", &ranges.start);
    layer("head.norm", &ranges.norm);
    layer("head.narrow", &ranges.narrow);
    layer("head.widen", &ranges.widen);
    if shape.side > 0 {
        layer("side", &ranges.side);
    }
    list
}

impl Weights {
    /// Reads parameters from the bytes of a `safetensors` file.
    ///
    /// ```
    /// use consequence_network::WeightsError;
    /// use consequence_network::recurrent::{Shape, Weights};
    ///
    /// let shape = Shape { codes: 5, width: 8, head: 16, bottleneck: 4, side: 2 };
    /// let weights = Weights::drawn(shape, 1)?;
    /// let bytes = weights.to_safetensors()?;
    /// assert_eq!(Weights::from_safetensors(&bytes, shape)?.values(), weights.values());
    /// let cut = Weights::from_safetensors(&bytes[..bytes.len() - 1], shape);
    /// assert!(matches!(cut, Err(WeightsError::Format(_))));
    /// # Ok::<(), WeightsError>(())
    /// ```
    pub fn from_safetensors(bytes: &[u8], shape: Shape) -> Result<Self, WeightsError> {
        let file = tensors::open(bytes)?;
        shape.check()?;
        let list = list_of(&shape, &Ranges::new(&shape));
        tensors::check(&file, &list, "")?;
        let mut weights = Self::zero(shape)?;
        tensors::read(&file, list, "", weights.values_mut())?;
        Ok(weights)
    }

    /// The bytes of a `safetensors` file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, WeightsError> {
        tensors::write(list_of(self.shape(), &self.ranges), self.values())
    }
}
