//! Parameters as `safetensors`.

use std::ops::Range;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use thiserror::Error;

use crate::ShapeError;

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
pub(crate) enum Lay {
    /// As it is.
    Same,
    /// Rows and columns exchanged.
    Turned,
    /// Rows that begin after so many others, and one more after them.
    Among(usize),
}

/// A tensor in a file, and where it is among the parameters.
pub(crate) struct Tensor {
    pub name: String,
    /// The shape in the file.
    pub shape: Vec<usize>,
    pub range: Range<usize>,
    pub lay: Lay,
}

/// Opens the bytes of a `safetensors` file.
pub(crate) fn open(bytes: &[u8]) -> Result<SafeTensors<'_>, WeightsError> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\x80\x02") {
        return Err(WeightsError::Pickle);
    }
    SafeTensors::deserialize(bytes).map_err(|error| WeightsError::Format(error.to_string()))
}

/// Refuses a file that does not have these tensors; `prefix` is put before the name of each. What is
/// not borne out by the file costs no memory.
pub(crate) fn check(
    file: &SafeTensors<'_>,
    list: &[Tensor],
    prefix: &str,
) -> Result<(), WeightsError> {
    for tensor in list {
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
    Ok(())
}

/// Reads tensors of a file that was checked into parameters.
pub(crate) fn read(
    file: &SafeTensors<'_>,
    list: Vec<Tensor>,
    prefix: &str,
    values: &mut [f32],
) -> Result<(), WeightsError> {
    for tensor in list {
        let name = format!("{prefix}{}", tensor.name);
        let found = file.tensor(&name).map_err(|_| WeightsError::Missing(name.clone()))?;
        let (words, _) = found.data().as_chunks::<4>();
        let numbers: Vec<f32> = words.iter().map(|&word| f32::from_le_bytes(word)).collect();
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(WeightsError::NotFinite(name));
        }
        let to = &mut values[tensor.range.clone()];
        match tensor.lay {
            Lay::Same => to.copy_from_slice(&numbers),
            Lay::Turned => turn(to, &numbers, tensor.shape[0], tensor.shape[1]),
            Lay::Among(before) => {
                let start = before * tensor.shape.get(1).unwrap_or(&1);
                to.copy_from_slice(&numbers[start..start + to.len()]);
            }
        }
    }
    Ok(())
}

/// The bytes of a `safetensors` file with these tensors.
pub(crate) fn write(list: Vec<Tensor>, values: &[f32]) -> Result<Vec<u8>, WeightsError> {
    let data: Vec<(Tensor, Vec<u8>)> = list
        .into_iter()
        .map(|tensor| {
            let from = &values[tensor.range.clone()];
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

/// Exchanges rows and columns; `from` has so many of each.
fn turn(to: &mut [f32], from: &[f32], rows: usize, columns: usize) {
    for (row, values) in from.chunks_exact(columns).enumerate() {
        for (column, value) in values.iter().enumerate() {
            to[column * rows + row] = *value;
        }
    }
}
