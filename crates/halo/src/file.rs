//! Parameters as `safetensors`, with the names and shapes of the published network.
//!
//! The blocks' weights are `[in, out]`, the embedding's and the head's `[out, in]`. The head's
//! second layer has a row for every input of the first: that of code `c` is row `width - 1 + c`,
//! and rows that no code has are written as zeros and not read.

use std::ops::Range;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use thiserror::Error;

use crate::weights::Ranges;
use crate::{Shape, ShapeError, Weights};

/// Why a file holds no parameters for a network.
#[derive(Debug, Error)]
pub enum WeightsError {
    /// Sizes that make no network.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A pickle, which could run code.
    #[error(
        "this is a PyTorch pickle, which can run code when it is read; save the weights as safetensors"
    )]
    Pickle,
    /// Not the format, or cut short.
    #[error("this is not a whole safetensors file: {0}")]
    Format(String),
    /// A tensor is not there.
    #[error("the tensor `{0}` is missing")]
    Missing(String),
    /// A tensor has another type.
    #[error("the tensor `{name}` holds {found}, not F32")]
    Type {
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// A tensor has another shape.
    #[error("the tensor `{name}` has shape {found:?}, not {expected:?}")]
    Size {
        /// The tensor.
        name: String,
        /// The shape that the network has.
        expected: Vec<usize>,
        /// The shape that the file has.
        found: Vec<usize>,
    },
    /// A tensor holds something that is no number.
    #[error("the tensor `{0}` holds values that are not finite numbers")]
    NotFinite(String),
}

/// How a tensor lies in a file, compared with how it lies in memory.
#[derive(Clone, Copy)]
enum Lay {
    /// As it is.
    Same,
    /// Rows and columns exchanged.
    Turned,
    /// Rows that begin after so many others, and one more after them.
    Among(usize),
}

struct Tensor {
    name: String,
    /// The shape in the file.
    shape: Vec<usize>,
    range: Range<usize>,
    lay: Lay,
}

fn tensors(shape: &Shape, ranges: &Ranges) -> Vec<Tensor> {
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
    /// use consequence_halo::{Shape, Weights, WeightsError};
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
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x80\x02") {
            return Err(WeightsError::Pickle);
        }
        let file = SafeTensors::deserialize(bytes)
            .map_err(|error| WeightsError::Format(error.to_string()))?;
        // A shape that the file does not bear out costs no memory.
        shape.check()?;
        if shape.layers > file.len() {
            return Err(WeightsError::Missing(format!("{prefix}transformer.h.{}", file.len())));
        }
        let list = tensors(&shape, &Ranges::new(&shape));
        for tensor in &list {
            let name = format!("{prefix}{}", tensor.name);
            let found = file.tensor(&name).map_err(|_| WeightsError::Missing(name.clone()))?;
            if found.dtype() != Dtype::F32 {
                return Err(WeightsError::Type { name, found: format!("{:?}", found.dtype()) });
            }
            if found.shape() != tensor.shape {
                let (expected, found) = (tensor.shape.clone(), found.shape().to_vec());
                return Err(WeightsError::Size { name, expected, found });
            }
        }
        let mut weights = Self::zero(shape)?;
        for tensor in list {
            let name = format!("{prefix}{}", tensor.name);
            let found = file.tensor(&name).map_err(|_| WeightsError::Missing(name.clone()))?;
            let (words, _) = found.data().as_chunks::<4>();
            let numbers: Vec<f32> = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
            if numbers.iter().any(|number| !number.is_finite()) {
                return Err(WeightsError::NotFinite(name));
            }
            let to = &mut weights.values_mut()[tensor.range.clone()];
            match tensor.lay {
                Lay::Same => to.copy_from_slice(&numbers),
                Lay::Turned => turn(to, &numbers, tensor.shape[0], tensor.shape[1]),
                Lay::Among(before) => {
                    let start = before * tensor.shape.get(1).unwrap_or(&1);
                    to.copy_from_slice(&numbers[start..start + to.len()]);
                }
            }
        }
        weights.empty_halves();
        Ok(weights)
    }

    /// The bytes of a `safetensors` file.
    pub fn to_safetensors(&self) -> Result<Vec<u8>, WeightsError> {
        let data: Vec<(Tensor, Vec<u8>)> = tensors(self.shape(), &self.ranges)
            .into_iter()
            .map(|tensor| {
                let from = self.at(&tensor.range);
                let mut numbers = vec![0f32; tensor.shape.iter().product()];
                match tensor.lay {
                    Lay::Same => numbers.copy_from_slice(from),
                    Lay::Turned => turn(&mut numbers, from, tensor.shape[1], tensor.shape[0]),
                    Lay::Among(before) => {
                        let start = before * tensor.shape.get(1).unwrap_or(&1);
                        numbers[start..start + from.len()].copy_from_slice(from);
                    }
                }
                let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                (tensor, bytes)
            })
            .collect();
        let format = |error: safetensors::SafeTensorError| WeightsError::Format(error.to_string());
        let views = data
            .iter()
            .map(|(tensor, bytes)| {
                let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes)?;
                Ok((tensor.name.as_str(), view))
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(format)?;
        safetensors::serialize(views, None).map_err(format)
    }
}

/// Exchanges rows and columns; `from` has so many of each.
fn turn(to: &mut [f32], from: &[f32], rows: usize, columns: usize) {
    for (row, values) in from.chunks_exact(columns).enumerate() {
        for (column, value) in values.iter().enumerate() {
            to[column * rows + row] = *value;
        }
    }
}
