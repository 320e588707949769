//! Which code a string of a dataset is, static or of an encounter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::Array;
use consequence_record::{AgeBand, Code, Kind, Vocabulary};
use rayon::prelude::*;

use super::columns::{Strings, Table, strings, times};
use super::layout::{
    AGE_KIND, BIRTH, BIRTH_KIND, CODE, CUT_KIND, DEATH, DEATH_KIND, END_KIND, KIND, MEDS_DEATH,
    Markers, TIME, TITLE, VISIT_KIND, age_named,
};
use super::{MedsOptions, MedsProblem};
use crate::document::{check_name, shown};
use crate::{Limits, Problem, TableError};

/// What stands before the name of a code in its static use, where it also has a timed one.
const STATIC_PREFIX: &str = "STATIC//";

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A code of the vocabulary.
    Code(Code),
    /// That there is an encounter.
    Visit,
    /// That the record was cut.
    Cut,
    /// That the patient was born.
    Birth,
    /// That the encounter ended.
    End,
    /// The age at the encounter, as the source gave it.
    Age(AgeBand),
    /// Nothing that may stand here.
    Nothing,
}

/// The vocabulary and what else the events of a dataset can mean.
#[derive(Debug)]
pub(super) struct Codebook {
    pub vocabulary: Arc<Vocabulary>,
    pub markers: Markers,
    pub deaths: Deaths,
}

/// What the events say that are named as MEDS names deaths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deaths {
    /// The code of that name.
    Kept,
    /// The code `DEATH`, as our list of codes says.
    Renamed,
    /// In a dataset of another tool: the code of that name if the vocabulary has it, and else `DEATH`.
    Foreign,
}

impl Codebook {
    /// What a code means in a static event and in a timed one.
    pub fn meanings(&self, name: &str) -> [Meaning; 2] {
        let Markers { visit, cut, birth, end, ages } = &self.markers;
        let marks = [
            (visit, Meaning::Visit),
            (cut, Meaning::Cut),
            (birth, Meaning::Birth),
            (end, Meaning::End),
        ];
        if let Some(&(_, meaning)) = marks.iter().find(|(mark, _)| mark.as_deref() == Some(name)) {
            return [Meaning::Nothing, meaning];
        }
        if let Some(&(_, band)) = ages.iter().find(|(mark, _)| **mark == *name) {
            return [Meaning::Nothing, Meaning::Age(band)];
        }
        let foreign = self.deaths == Deaths::Foreign && self.vocabulary.code(name).is_none();
        if foreign && name == BIRTH {
            // One without a time says nothing that is not known of everyone.
            return [Meaning::Birth; 2];
        }
        let death = name == MEDS_DEATH && (foreign || self.deaths == Deaths::Renamed);
        let name = if death { DEATH } else { name };
        let find = |name: &str, kind| {
            let code = self.vocabulary.code(name).filter(|&code| {
                self.vocabulary.kind(code) == kind && code != self.vocabulary.end()
            });
            code.map_or(Meaning::Nothing, Meaning::Code)
        };
        match find(name, Kind::Static) {
            Meaning::Nothing => [find(&renamed(name), Kind::Static), find(name, Kind::Encounter)],
            found => [found, Meaning::Nothing],
        }
    }

    /// Why a code means nothing where it stands.
    pub fn refusal(&self, name: &str, limits: &Limits) -> Problem {
        if let Err(problem) = check_name(name, limits) {
            return problem;
        }
        match self.vocabulary.code(name) {
            Some(code) => {
                Problem::Misplaced { code: shown(name), kind: self.vocabulary.kind(code) }
            }
            None => Problem::UnknownCode { code: shown(name) },
        }
    }
}

fn renamed(name: &str) -> String {
    format!("{STATIC_PREFIX}{name}")
}

/// The list of codes of a dataset.
#[derive(Debug, Default)]
pub(super) struct ListedCodes {
    /// Names with their titles and what the list says of their kind, in its order.
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    name: Box<str>,
    title: Option<Box<str>>,
    kind: Option<Box<str>>,
}

impl ListedCodes {
    /// Reads `codes.parquet`.
    pub fn read(path: &Path, limits: &Limits) -> Result<Self, TableError> {
        let table = Table::open(path)?;
        table.require(CODE)?;
        table.bound_strings(CODE, limits.code_bytes)?;
        // A title is a sentence, not a file.
        table.bound_strings(TITLE, limits.line_bytes)?;
        let mut columns = vec![CODE];
        columns.extend([TITLE, KIND].into_iter().filter(|column| table.kind(column).is_some()));
        let mut entries = Vec::new();
        table.each_batch(&columns, |arrays, before| {
            let fail = |problem| TableError::of_file(path, problem);
            let names = strings(CODE, &arrays[0]).map_err(fail)?;
            let of = |column: &'static str| -> Result<Option<Strings<'_>>, MedsProblem> {
                let index = columns.iter().position(|name| *name == column);
                index.map(|index| strings(column, &arrays[index])).transpose()
            };
            // A list made elsewhere may have columns of these names that are something else.
            let titles = of(TITLE).unwrap_or(None);
            let kinds = of(KIND).unwrap_or(None);
            for row in 0..arrays[0].len() {
                let Some(name) = names.get(row) else {
                    let problem = MedsProblem::Null(CODE);
                    return Err(TableError::of_row(path, before + row as u64 + 1, problem));
                };
                let text = |column: &Option<Strings<'_>>| {
                    column.as_ref().and_then(|column| column.get(row)).map(Into::into)
                };
                let (title, kind) = (text(&titles), text(&kinds));
                entries.push(Entry { name: name.into(), title, kind });
            }
            Ok(())
        })?;
        Ok(Self { entries })
    }

    /// The vocabulary and markers, if the list says of each code what kind it is, as ours does.
    pub fn codebook(&self, path: &Path, limits: &Limits) -> Result<Option<Codebook>, TableError> {
        let (mut markers, mut deaths) = (Markers::default(), Deaths::Kept);
        let mut codes = Vec::with_capacity(self.entries.len());
        for Entry { name, kind, .. } in &self.entries {
            match kind.as_deref() {
                Some("static") => codes.push((&**name, Kind::Static)),
                Some("encounter") => codes.push((&**name, Kind::Encounter)),
                Some(DEATH_KIND) if &**name == MEDS_DEATH => {
                    deaths = Deaths::Renamed;
                    codes.push((DEATH, Kind::Encounter));
                }
                Some(VISIT_KIND) => markers.visit = Some(name.clone()),
                Some(CUT_KIND) => markers.cut = Some(name.clone()),
                Some(BIRTH_KIND) => markers.birth = Some(name.clone()),
                Some(END_KIND) => markers.end = Some(name.clone()),
                Some(AGE_KIND) => match age_named(name) {
                    Some(band) => markers.ages.push((name.clone(), band)),
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        if markers.visit.is_none() {
            return Ok(None);
        }
        for (row, (name, _)) in codes.iter().enumerate() {
            check_name(name, limits)
                .map_err(|problem| TableError::of_row(path, row as u64 + 1, problem))?;
        }
        let vocabulary = Vocabulary::new(codes)
            .map_err(|error| TableError::of_file(path, Problem::from(error)))?;
        Ok(Some(Codebook { vocabulary: Arc::new(vocabulary), markers, deaths }))
    }

    /// The titles of codes, where the list has any.
    pub fn titles(&self, vocabulary: &Vocabulary) -> BTreeMap<Code, String> {
        let mut titles = BTreeMap::new();
        for Entry { name, title, kind } in &self.entries {
            let Some(title) = title.as_deref().filter(|title| !title.trim().is_empty()) else {
                continue;
            };
            let death = &**name == MEDS_DEATH
                && (kind.as_deref() == Some(DEATH_KIND) || vocabulary.code(name).is_none());
            let name = if death { DEATH } else { name };
            for name in [name, &renamed(name)] {
                if let Some(code) = vocabulary.code(name).filter(|&code| code != vocabulary.end()) {
                    titles.insert(code, title.to_owned());
                }
            }
        }
        titles
    }
}

/// Whether a code is used in static events, and whether in timed ones.
type Uses = BTreeMap<Box<str>, [bool; 2]>;

/// The codebook of a dataset that does not say which codes are static: those without a time are.
pub(super) fn from_events(
    files: &[PathBuf],
    options: &MedsOptions,
) -> Result<Codebook, TableError> {
    let limits = &options.limits;
    let found: Vec<Result<Uses, TableError>> =
        files.par_iter().map(|file| uses(file, limits)).collect();
    let mut all = Uses::new();
    for uses in found {
        for (name, [of_static, timed]) in uses? {
            let known = all.entry(name).or_default();
            known[0] |= of_static;
            known[1] |= timed;
        }
    }
    all.remove(BIRTH);
    if let Some(uses) = all.remove(MEDS_DEATH) {
        let known = all.entry(DEATH.into()).or_default();
        known.iter_mut().zip(uses).for_each(|(known, used)| *known |= used);
    }
    let mut static_names = Vec::new();
    for (name, uses) in &all {
        match uses {
            [true, true] => {
                let new = renamed(name);
                if all.contains_key(new.as_str()) {
                    let problem = MedsProblem::TwoKinds { code: shown(name), renamed: shown(&new) };
                    return Err(TableError::of_file(&files[0], problem));
                }
                static_names.push(new);
            }
            [true, false] => static_names.push(name.to_string()),
            _ => {}
        }
    }
    static_names.sort_unstable();
    let timed = all.iter().filter(|(_, uses)| uses[1]).map(|(name, _)| name.to_string());
    let codes = static_names.into_iter().map(|name| (name, Kind::Static));
    let vocabulary = Vocabulary::new(codes.chain(timed.map(|name| (name, Kind::Encounter))))
        .map_err(|error| TableError::of_file(&files[0], Problem::from(error)))?;
    let (vocabulary, markers) = (Arc::new(vocabulary), Markers::default());
    Ok(Codebook { vocabulary, markers, deaths: Deaths::Foreign })
}

/// The codes of one file and how they are used.
fn uses(path: &Path, limits: &Limits) -> Result<Uses, TableError> {
    let table = Table::open(path)?;
    table.require(TIME)?;
    table.require(CODE)?;
    table.bound_strings(CODE, limits.code_bytes)?;
    let mut all = Uses::new();
    table.each_batch(&[TIME, CODE], |arrays, before| {
        let fail = |problem| TableError::of_file(path, problem);
        let times = times(TIME, &arrays[0]).map_err(fail)?;
        let names = strings(CODE, &arrays[1]).map_err(fail)?;
        let mut met = vec![[false; 2]; names.values.len()];
        for row in 0..arrays[1].len() {
            let at_row = |problem| TableError::of_row(path, before + row as u64 + 1, problem);
            let Some(key) = names.key(row) else {
                return Err(at_row(MedsProblem::Null(CODE).into()));
            };
            if met[key] == [false; 2] {
                check_name(names.values.value(key), limits).map_err(at_row)?;
            }
            met[key][usize::from(times.get(row).is_some())] = true;
        }
        for (key, &[of_static, timed]) in met.iter().enumerate() {
            if of_static || timed {
                let name = names.values.value(key);
                if !all.contains_key(name) {
                    all.insert(name.into(), [false; 2]);
                }
                if let Some(known) = all.get_mut(name) {
                    known[0] |= of_static;
                    known[1] |= timed;
                }
            }
        }
        Ok(())
    })?;
    Ok(all)
}
