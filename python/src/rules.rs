//! Rules as text, parsed.

use std::sync::Arc;

use consequence::{
    CodeSource, CompileOptions, Diagnostics, Error, Item, Kind, LanguageLimits, ResolveOptions,
    RuleFile, RuleSet, UnknownCodes, Vocabulary, compile, parse, resolve, write_tuples,
};
use pyo3::prelude::*;

use crate::call::Call;
use crate::errors;
use crate::plan::Plan;

/// A code, and whether it is static.
pub type NamedCode = (String, bool);

/// A rule as it was written: the file, its name, its text, and how often it holds.
type Listed = (String, String, String, Option<f64>);

/// Rules as text, parsed: what is not yet held against the codes there are.
#[pyclass(frozen, module = "conseq._native")]
pub struct Rules {
    sources: Vec<(String, String)>,
    files: Vec<RuleFile>,
}

#[pymethods]
impl Rules {
    /// Parses texts, each with a name that messages use; one whose name ends in `.json` is JSON.
    #[new]
    fn new(py: Python<'_>, sources: Vec<(String, String)>) -> PyResult<Self> {
        let limits = LanguageLimits::default();
        let read = |(name, text): &(String, String)| match is_json(name) {
            true => RuleFile::from_json(name, text, &limits),
            false => parse(name, text, &limits),
        };
        let files = py.detach(|| sources.iter().map(read).collect::<Result<_, _>>());
        match files {
            Ok(files) => Ok(Self { sources, files }),
            Err(diagnostics) => Err(errors::raised(py, &Error::Rules(diagnostics))),
        }
    }

    /// The texts with their names.
    #[getter]
    fn sources(&self) -> Vec<(String, String)> {
        self.sources.clone()
    }

    /// Every rule in order: its file, its name, its text, and how often it holds.
    fn rules(&self) -> Vec<Listed> {
        let mut listed = Vec::new();
        for ((file, _), rules) in self.sources.iter().zip(&self.files) {
            for item in rules.items() {
                if let Item::Rule(rule) = item {
                    let name = rule.name.text.clone();
                    listed.push((file.clone(), name, rule.to_string(), rule.probability));
                }
            }
        }
        listed
    }

    /// What looked odd to the parser, rendered.
    fn warnings(&self) -> Vec<String> {
        let warnings = self.files.iter().flat_map(RuleFile::warnings);
        warnings.map(|warning| warning.render()).collect()
    }

    /// The rules in the rule language, comments left out.
    fn to_text(&self) -> String {
        self.files.iter().map(RuleFile::to_string).collect()
    }

    /// The rules as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        if let [file] = self.files.as_slice() {
            return Ok(file.to_json());
        }
        let items = self.files.iter().flat_map(|file| file.items().iter().cloned()).collect();
        match RuleFile::new("rules", items, &LanguageLimits::default()) {
            Ok(file) => Ok(file.to_json()),
            Err(diagnostics) => Err(errors::raised(py, &Error::Rules(diagnostics))),
        }
    }

    /// The rules as the seven-field tuples of the reference.
    fn to_tuples(
        &self,
        py: Python<'_>,
        codes: Option<Vec<NamedCode>>,
        allow_unknown: bool,
    ) -> PyResult<String> {
        let vocabulary = codes.map(|codes| vocabulary(py, codes)).transpose()?;
        let written = self.over(vocabulary, allow_unknown, &CodeSource::Rules);
        let written = written.and_then(|(set, _)| Ok(write_tuples(&set)?));
        written.map_err(|error| errors::raised(py, &error))
    }

    /// Closes and proves the rules over the given codes, or over those that they name. Gives the plan, and
    /// what looked odd.
    fn compile(
        &self,
        py: Python<'_>,
        codes: Option<Vec<NamedCode>>,
        max_visits: u16,
        allow_unknown: bool,
        call: Call,
    ) -> PyResult<(Plan, Vec<String>)> {
        let vocabulary = codes.map(|codes| vocabulary(py, codes)).transpose()?;
        let from = CodeSource::Rules;
        let (set, warnings) = self
            .over(vocabulary, allow_unknown, &from)
            .map_err(|error| errors::raised(py, &error))?;
        let plan = call.run(py, move |watch| {
            let options = CompileOptions { max_visits, ..CompileOptions::default() };
            let set = Arc::new(set);
            watch.begin("compiling and proving", None);
            let plan = compile(Arc::clone(&set), &options);
            watch.finish();
            plan.map_err(|error| Error::compile(&set, error))
        })?;
        Ok((Plan::new(plan), warnings))
    }
}

impl Rules {
    /// The rules over codes, and what looked odd.
    fn over(
        &self,
        vocabulary: Option<Arc<Vocabulary>>,
        allow_unknown: bool,
        from: &CodeSource,
    ) -> Result<(RuleSet, Vec<String>), Error> {
        let options = ResolveOptions {
            unknown_codes: unknown_codes(allow_unknown),
            ..ResolveOptions::default()
        };
        let lacking = |diagnostics: Diagnostics| match diagnostics.iter().any(|one| one.lacks_code)
        {
            true => {
                Error::UnknownCodes { diagnostics, from: from.clone(), vocabulary_possible: true }
            }
            false => Error::Rules(diagnostics),
        };
        let resolved = resolve(&self.files, vocabulary, &options).map_err(lacking)?;
        Ok((resolved.rules, resolved.warnings.iter().map(|warning| warning.render()).collect()))
    }
}

/// What a code means that a rule names and the vocabulary does not have.
pub fn unknown_codes(allowed: bool) -> UnknownCodes {
    if allowed { UnknownCodes::Absent } else { UnknownCodes::Refuse }
}

/// A vocabulary of the given codes, in their order.
pub fn vocabulary(py: Python<'_>, codes: Vec<NamedCode>) -> PyResult<Arc<Vocabulary>> {
    let kind = |is_static| if is_static { Kind::Static } else { Kind::Encounter };
    let made = Vocabulary::new(codes.into_iter().map(|(name, is_static)| (name, kind(is_static))));
    made.map(Arc::new).map_err(|error| {
        errors::unusable(py, &error.to_string(), "correct the list of codes in vocabulary=")
    })
}

/// The codes of a vocabulary in their order, `END` left out.
pub fn named_codes(vocabulary: &Vocabulary) -> Vec<NamedCode> {
    let codes = vocabulary.codes().filter(|&code| code != vocabulary.end());
    codes
        .map(|code| (vocabulary.name(code).to_owned(), vocabulary.kind(code) == Kind::Static))
        .collect()
}

fn is_json(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".json")
}
