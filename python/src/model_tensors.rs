//! The weights of a network, out of a model and back into one.

use std::sync::Arc;

use consequence::Error;
use consequence_model::{Network, Trained};
use consequence_network::Weights;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::model::Model;

/// The shape of a model's network as JSON, the columns of its codes in the order it decides them, how many
/// of them are static, and its weights as a `safetensors` file. None if the model has no network.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "a tuple for Python, taken apart at once")]
pub fn network<'py>(
    py: Python<'py>,
    model: &Model,
) -> PyResult<Option<(String, Vec<u32>, usize, Bound<'py, PyBytes>)>> {
    let Trained::Network(network) = &model.model().trained else { return Ok(None) };
    let raised = |error: Error| errors::raised(py, &error);
    let shape = serde_json::to_string(&network.weights().shape());
    let shape = shape.map_err(|error| raised(Error::Json(error)))?;
    let bytes = network.weights().to_safetensors().map_err(|error| raised(error.into()))?;
    let order = network.codes();
    let columns = order.codes().iter().map(|code| code.0).collect();
    Ok(Some((shape, columns, order.statics(), PyBytes::new(py, &bytes))))
}

/// The same model with other weights, given as a `safetensors` file of the same shape.
#[pyfunction]
pub fn with_network(py: Python<'_>, model: &Model, weights: &[u8]) -> PyResult<Model> {
    let unusable = |what: &str| {
        errors::unusable(py, what, "give the weights of a network that this model gave")
    };
    let Trained::Network(network) = &model.model().trained else {
        return Err(unusable("the model has no network"));
    };
    let weights = Weights::from_safetensors(weights, network.weights().shape());
    let weights = weights.map_err(|error| unusable(&error.to_string()))?;
    let made = Network::new(network.codes().clone(), weights, network.max_visits());
    let made = made.ok_or_else(|| unusable("the weights are of another network"))?;
    let mut changed = consequence::Model::clone(model.model());
    changed.trained = Trained::Network(Box::new(made));
    Ok(Model::new(model.input().to_string(), Arc::new(changed)))
}
