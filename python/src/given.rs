//! What Python gives, as tasks take it.

use std::path::PathBuf;
use std::sync::Arc;

use consequence::{CohortInput, ModelInput, Out, RuleInput, Split};
use pyo3::exceptions::{PyKeyError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::cohort::Cohort;
use crate::errors;
use crate::model::Model;

/// A cohort: a handle, or a path.
#[derive(FromPyObject)]
pub enum CohortGiven<'py> {
    /// A cohort in memory.
    Held(PyRef<'py, Cohort>),
    /// JSON lines, or a MEDS dataset.
    Path(PathBuf),
}

impl From<CohortGiven<'_>> for CohortInput {
    fn from(given: CohortGiven<'_>) -> Self {
        match given {
            CohortGiven::Held(cohort) => Self::Held(Arc::clone(cohort.held())),
            CohortGiven::Path(path) => Self::Path(path),
        }
    }
}

/// A model: a handle, or the path of its folder.
#[derive(FromPyObject)]
pub enum ModelGiven<'py> {
    /// A model in memory.
    Held(PyRef<'py, Model>),
    /// A folder.
    Path(PathBuf),
}

impl From<ModelGiven<'_>> for ModelInput {
    fn from(given: ModelGiven<'_>) -> Self {
        match given {
            ModelGiven::Held(model) => model.input(),
            ModelGiven::Path(path) => Self::Path(path),
        }
    }
}

/// Texts of rules, each with its name.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub struct RulesGiven(Vec<(String, String)>);

impl From<RulesGiven> for Vec<RuleInput> {
    fn from(RulesGiven(sources): RulesGiven) -> Self {
        sources.into_iter().map(|(name, text)| RuleInput::text(name, text)).collect()
    }
}

/// The settings of a call: a dictionary that has those which were given.
pub struct Settings<'py>(Bound<'py, PyDict>);

impl<'a, 'py> FromPyObject<'a, 'py> for Settings<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(given.cast::<PyDict>()?.to_owned()))
    }
}

impl<'py> Settings<'py> {
    /// A setting, where it was given and is not `None`.
    pub fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: FromPyObjectOwned<'py>,
    {
        match self.0.get_item(name)? {
            None => Ok(None),
            Some(value) if value.is_none() => Ok(None),
            Some(value) => {
                let taken: PyResult<T> = value.extract().map_err(Into::into);
                taken.map(Some).map_err(|error| self.unusable(name, &value, error))
            }
        }
    }

    /// Texts of rules; none where none were given.
    pub fn rules(&self, name: &str) -> PyResult<Vec<RuleInput>> {
        Ok(self.get::<RulesGiven>(name)?.map(Into::into).unwrap_or_default())
    }

    /// Puts a setting in its place, where it was given.
    pub fn put<T>(&self, name: &str, place: &mut T) -> PyResult<()>
    where
        T: FromPyObjectOwned<'py>,
    {
        if let Some(value) = self.get(name)? {
            *place = value;
        }
        Ok(())
    }

    /// A setting that is one of several words.
    pub fn choice<T: Clone>(&self, name: &str, words: &[(&str, T)]) -> PyResult<Option<T>> {
        let Some(given) = self.get::<String>(name)? else { return Ok(None) };
        // A word is written as Python writes names, or as the command line does.
        let same = |word: &str| word == given || word.replace('-', "_") == given;
        match words.iter().find(|(word, _)| same(word)) {
            Some((_, choice)) => Ok(Some(choice.clone())),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let what = format!("{name}={given:?} is none of {}", known.join(", "));
                Err(errors::input(self.0.py(), &what, None))
            }
        }
    }

    /// A split.
    pub fn split(&self) -> PyResult<Option<Split>> {
        let splits = [Split::Train, Split::Tuning, Split::HeldOut];
        self.choice("split", &splits.map(|split| (split.name(), split)))
    }

    /// What is to be written: a path, and whether it may be replaced or resumed.
    pub fn out(&self, name: &str) -> PyResult<Option<Out>> {
        let Some(path) = self.get::<PathBuf>(name)? else { return Ok(None) };
        let [force, resume] = ["force", "resume"].map(|switch| self.get::<bool>(switch));
        let (force, resume) = (force?.unwrap_or(false), resume?.unwrap_or(false));
        Ok(Some(Out::new(path).replacing(force).resuming(resume)))
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name)?.unwrap_or(false))
    }

    fn unusable(&self, name: &str, value: &Bound<'py, PyAny>, error: PyErr) -> PyErr {
        let py = self.0.py();
        let expected = error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyOverflowError>(py)
            || error.is_instance_of::<PyKeyError>(py);
        if !expected {
            return error;
        }
        let shown = value.repr().map_or_else(|_| "it".to_owned(), |shown| shown.to_string());
        errors::input(py, &format!("{name}={shown} cannot be used: {}", error.value(py)), None)
    }
}
