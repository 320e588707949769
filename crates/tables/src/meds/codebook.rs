//! Which code a string of a dataset is, static or of an encounter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::Array;
use consequence_record::{AgeBand, Code, Kind, Vocabulary};
use rayon::prelude::*;

use super::columns::{Integers, Strings, strings};
use super::layout::{
    AGE_KIND, BIRTH, BIRTH_KIND, CODE, CUT_KIND, DEATH, DEATH_KIND, ENCOUNTER_KIND, END_KIND, KIND,
    MEDS_DEATH, Markers, STATIC_KIND, TIME, TITLE, VISIT_KIND, age_named,
};
use super::table::Table;
use super::times::times;
use super::{MedsOptions, MedsProblem};
use crate::document::{check_name, shown};
use crate::error::Origin;
use crate::{Limits, Problem, TableError};

/// What stands before the name of a code in its static use, where it also has a timed one.
const STATIC_PREFIX: &str = "STATIC//";

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
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
pub(crate) struct Codebook {
    pub vocabulary: Arc<Vocabulary>,
    pub markers: Markers,
    pub deaths: Deaths,
}

/// What the events say that are named as MEDS names deaths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deaths {
    /// The code of that name.
    Kept,
    /// The code `DEATH`, as our list of codes says.
    Renamed,
    /// In a dataset of another tool: the code of that name if the vocabulary has it, and else `DEATH`.
    Foreign,
}

impl Codebook {
    /// That of events of another tool, over a vocabulary.
    pub fn foreign(vocabulary: Arc<Vocabulary>) -> Self {
        Self { vocabulary, markers: Markers::default(), deaths: Deaths::Foreign }
    }

    /// That over a given vocabulary, of events whose own codebook is known or is not.
    pub fn over(given: Arc<Vocabulary>, own: Option<Self>) -> Self {
        match own {
            Some(own) => Self { vocabulary: given, ..own },
            None => Self::foreign(given),
        }
    }

    /// Every code and marker with what it is, as a list of codes says it.
    pub fn listed(&self) -> Vec<(String, String)> {
        let Self { vocabulary, markers, deaths } = self;
        let codes =
            vocabulary.codes().filter(|&code| code != vocabulary.end()).map(|code| {
                match (vocabulary.name(code), vocabulary.kind(code)) {
                    (DEATH, Kind::Encounter) if *deaths == Deaths::Renamed => {
                        (MEDS_DEATH, DEATH_KIND)
                    }
                    (name, Kind::Static) => (name, STATIC_KIND),
                    (name, Kind::Encounter) => (name, ENCOUNTER_KIND),
                }
            });
        let Markers { visit, cut, birth, end, ages } = markers;
        let marks = [(visit, VISIT_KIND), (cut, CUT_KIND), (birth, BIRTH_KIND), (end, END_KIND)];
        let marks = marks.into_iter().filter_map(|(mark, kind)| Some((mark.as_deref()?, kind)));
        let ages = ages.iter().map(|(mark, _)| (&**mark, AGE_KIND));
        let all = codes.chain(marks).chain(ages);
        all.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
    }

    /// The code of a death that may come without the visit or admission that it belongs to.
    pub fn loose_death(&self) -> Option<Code> {
        self.vocabulary.code(DEATH).filter(|_| self.deaths == Deaths::Foreign)
    }

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
pub(crate) struct ListedCodes {
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
    /// Codes and markers with what each is.
    pub fn of(listed: &[(String, String)]) -> Self {
        let entry = |(name, kind): &(String, String)| Entry {
            name: name.as_str().into(),
            title: None,
            kind: Some(kind.as_str().into()),
        };
        Self { entries: listed.iter().map(entry).collect() }
    }

    /// Reads a table of codes.
    pub fn read(table: Table, limits: &Limits) -> Result<Self, TableError> {
        let origin = table.origin.clone();
        table.require(CODE)?;
        table.bound_strings(CODE, limits.code_bytes)?;
        // A title is a sentence, not a file.
        table.bound_strings(TITLE, limits.line_bytes)?;
        let mut columns = vec![CODE];
        columns.extend([TITLE, KIND].into_iter().filter(|column| table.kind(column).is_some()));
        let mut entries = Vec::new();
        table.each_batch(&columns, |arrays, before| {
            let names = strings(CODE, &arrays[0]).map_err(|problem| origin.fail(problem))?;
            let of = |column: &'static str| -> Result<Option<Strings<'_>>, MedsProblem> {
                let index = columns.iter().position(|name| *name == column);
                index.map(|index| strings(column, &arrays[index])).transpose()
            };
            // A list made elsewhere may have columns of these names that are something else.
            let titles = of(TITLE).unwrap_or(None);
            let kinds = of(KIND).unwrap_or(None);
            for row in 0..arrays[0].len() {
                let Some(name) = names.get(row) else {
                    let problem = MedsProblem::null(CODE);
                    return Err(origin.at_row(before + row as u64 + 1, problem));
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
    pub fn codebook(
        &self,
        origin: &Origin,
        limits: &Limits,
    ) -> Result<Option<Codebook>, TableError> {
        let (mut markers, mut deaths) = (Markers::default(), Deaths::Kept);
        let mut codes = Vec::with_capacity(self.entries.len());
        for Entry { name, kind, .. } in &self.entries {
            match kind.as_deref() {
                Some(STATIC_KIND) => codes.push((&**name, Kind::Static)),
                Some(ENCOUNTER_KIND) => codes.push((&**name, Kind::Encounter)),
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
            check_name(name, limits).map_err(|problem| origin.at_row(row as u64 + 1, problem))?;
        }
        let vocabulary =
            Vocabulary::new(codes).map_err(|error| origin.fail(Problem::from(error)))?;
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

/// Whether codes are used in static events, and whether in timed ones.
#[derive(Debug, Default)]
pub(crate) struct Uses(BTreeMap<Box<str>, [bool; 2]>);

impl Uses {
    /// By name, whether a code is used in static events, and whether in timed ones.
    pub fn into_map(self) -> BTreeMap<Box<str>, [bool; 2]> {
        self.0
    }

    pub fn add(&mut self, name: &str, [of_static, timed]: [bool; 2]) {
        if !self.0.contains_key(name) {
            self.0.insert(name.into(), [false; 2]);
        }
        if let Some(known) = self.0.get_mut(name) {
            known[0] |= of_static;
            known[1] |= timed;
        }
    }

    /// Takes in the codes of a batch of so many rows; what is refused is told with its row in the batch.
    pub fn take(
        &mut self,
        column: &str,
        names: &Strings<'_>,
        times: &Integers<'_>,
        rows: usize,
        limits: &Limits,
    ) -> Result<(), (usize, Problem)> {
        let mut met = vec![[false; 2]; names.count()];
        for row in 0..rows {
            let key = names.key(row).ok_or_else(|| (row, MedsProblem::null(column).into()))?;
            if met[key] == [false; 2] {
                check_name(names.value(key), limits).map_err(|problem| (row, problem))?;
            }
            met[key][usize::from(times.get(row).is_some())] = true;
        }
        for (key, &uses) in met.iter().enumerate() {
            if uses != [false; 2] {
                self.add(names.value(key), uses);
            }
        }
        Ok(())
    }

    /// The codebook of events that do not say which codes are static: those without a time are.
    pub fn codebook(mut self) -> Result<Codebook, Problem> {
        self.0.remove(BIRTH);
        if let Some(uses) = self.0.remove(MEDS_DEATH) {
            self.add(DEATH, uses);
        }
        let mut static_names = Vec::new();
        for (name, uses) in &self.0 {
            match uses {
                [true, true] => {
                    let new = renamed(name);
                    if self.0.contains_key(new.as_str()) {
                        let (code, renamed) = (shown(name), shown(&new));
                        return Err(MedsProblem::TwoKinds { code, renamed }.into());
                    }
                    static_names.push(new);
                }
                [true, false] => static_names.push(name.to_string()),
                _ => {}
            }
        }
        static_names.sort_unstable();
        let timed = self.0.iter().filter(|(_, uses)| uses[1]).map(|(name, _)| name.to_string());
        let codes = static_names.into_iter().map(|name| (name, Kind::Static));
        let vocabulary = Vocabulary::new(codes.chain(timed.map(|name| (name, Kind::Encounter))))?;
        Ok(Codebook::foreign(Arc::new(vocabulary)))
    }
}

/// The codebook of a dataset that does not say which codes are static.
pub(super) fn from_events(
    files: &[PathBuf],
    options: &MedsOptions,
) -> Result<Codebook, TableError> {
    let limits = &options.limits;
    let found: Vec<Result<Uses, TableError>> =
        files.par_iter().map(|file| uses(file, limits)).collect();
    let mut all = Uses::default();
    for uses in found {
        uses?.0.iter().for_each(|(name, &uses)| all.add(name, uses));
    }
    all.codebook().map_err(|problem| TableError::of_file(&files[0], problem))
}

/// The codes of one file and how they are used.
fn uses(path: &Path, limits: &Limits) -> Result<Uses, TableError> {
    let table = Table::open(path)?;
    table.require(TIME)?;
    table.require(CODE)?;
    table.bound_strings(CODE, limits.code_bytes)?;
    let mut all = Uses::default();
    table.each_batch(&[TIME, CODE], |arrays, before| {
        let fail = |problem| TableError::of_file(path, problem);
        let times = times(TIME, &arrays[0]).map_err(|error| fail(error.problem))?;
        let names = strings(CODE, &arrays[1]).map_err(fail)?;
        let taken = all.take(CODE, &names, &times, arrays[1].len(), limits);
        taken.map_err(|(row, problem)| TableError::of_row(path, before + row as u64 + 1, problem))
    })?;
    Ok(all)
}
