//! Parameters as `safetensors`, with the names and shapes of the published network.
//!
//! The blocks' weights are `[in, out]`, the embedding's and the head's `[out, in]`. The head's
//! second layer has a row for every input of the first: that of code `c` is row `width - 1 + c`,
//! and rows that no code has are written as zeros and not read.

use std::ops::Range;

use super::weights::Ranges;
use super::{Shape, Weights};
use crate::WeightsError;
use crate::tensors::{self, Lay, Tensor};

fn list_of(shape: &Shape, ranges: &Ranges) -> Vec<Tensor> {
    let (codes, width, units) = (shape.codes, shape.width, shape.units());
    let mut list = Vec::new();
    let mut put = |name: String, shape: Vec<usize>, range: &Range<usize>, lay: Lay| {
        list.push(Tensor { name, shape, range: range.clone(), lay });
    };
    put("transformer.vis_embed_mat.weight".into(), vec![width, codes], &ranges.codes, Lay::Turned);
    put(
        "transformer.pos_embed_mat.weight".into(),
        vec![shape.positions, width],
        &ranges.positions,
        Lay::Same,
    );
    for (number, block) in ranges.blocks.iter().enumerate() {
        let mut linear = |name: &str, inputs: usize, range: &[Range<usize>; 2]| {
            let name = format!("transformer.h.{number}.{name}");
            let outputs = range[1].len();
            let shape = if inputs == 0 { vec![outputs] } else { vec![inputs, outputs] };
            put(format!("{name}.weight"), shape, &range[0], Lay::Same);
            put(format!("{name}.bias"), vec![outputs], &range[1], Lay::Same);
        };
        linear("ln_1", 0, &block.norm_1);
        linear("attn.c_attn", width, &block.qkv);
        linear("attn.c_proj", width, &block.projection);
        linear("ln_2", 0, &block.norm_2);
        linear("mlp.c_fc", width, &block.up);
        linear("mlp.c_proj", 4 * width, &block.down);
    }
    put("transformer.ln_f.weight".into(), vec![width], &ranges.norm[0], Lay::Same);
    put("transformer.ln_f.bias".into(), vec![width], &ranges.norm[1], Lay::Same);
    let inputs = width + codes;
    put("ehr_head.auto1.weight".into(), vec![units, inputs], &ranges.first[0], Lay::Turned);
    put("ehr_head.auto1.bias".into(), vec![units], &ranges.first[1], Lay::Same);
    let among = Lay::Among(width - 1);
    put("ehr_head.auto2.weight".into(), vec![inputs, units], &ranges.second[0], among);
    put("ehr_head.auto2.bias".into(), vec![inputs], &ranges.second[1], among);
    if shape.side > 0 {
        put("side.weight".into(), vec![shape.side, width], &ranges.side[0], Lay::Turned);
        put("side.bias".into(), vec![shape.side], &ranges.side[1], Lay::Same);
    }
    list
}

impl Weights {
    /// Reads parameters from the bytes of a `safetensors` file. `prefix` is put before the name of
    /// every tensor; it is empty in a model's own file.
    ///
    /// ```
    /// use consequence_network::WeightsError;
    /// use consequence_network::halo::{Shape, Weights};
    ///
    /// let (codes, positions, width) = (5, 4, 8);
    /// let shape = Shape { codes, positions, width, layers: 1, heads: 2, head_units: 1, side: 0 };
    /// let weights = Weights::drawn(shape, 1)?;
    /// let bytes = weights.to_safetensors()?;
    /// assert_eq!(Weights::from_safetensors(&bytes, shape, "")?.values(), weights.values());
    /// let cut = Weights::from_safetensors(&bytes[..bytes.len() - 1], shape, "");
    /// assert!(matches!(cut, Err(WeightsError::Format(_))));
    /// # Ok::<(), WeightsError>(())
    /// ```
    pub fn from_safetensors(
        bytes: &[u8],
        shape: Shape,
        prefix: &str,
    ) -> Result<Self, WeightsError> {
        let file = tensors::open(bytes)?;
        shape.check()?;
        if shape.layers > file.len() {
            return Err(WeightsError::Missing(format!("{prefix}transformer.h.{}", file.len())));
        }
        let list = list_of(&shape, &Ranges::new(&shape));
        tensors::check(&file, &list, prefix)?;
        let mut weights = Self::zero(shape)?;
        tensors::read(&file, list, prefix, weights.values_mut())?;
        weights.empty_halves();
        Ok(weights)
    }

    /// The bytes of a `safetensors` file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, WeightsError> {
        tensors::write(list_of(self.shape(), &self.ranges), self.values())
    }
}
