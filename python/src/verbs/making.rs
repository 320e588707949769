//! Where rules and cohorts come from.

use std::path::PathBuf;

use consequence::common_sense::CommonSenseTask;
use consequence::import::{CodeMap, CsvColumns, ImportOptions, ImportTask, Source, Titles};
use consequence::mine::{Cutoffs, LikelyRules, MineTask, NearRules, SearchOptions};
use consequence::packs::{Level, Over, RuleTable, RulesFromTask};
use consequence::simulate::{Preset, SimulateTask};
use consequence::synthesize::{Origin, SynthesizeTask};
use consequence::{Out, Task};
use pyo3::prelude::*;

use super::run;
use crate::call::Call;
use crate::cohort::Cohort;
use crate::errors;
use crate::given::{CohortGiven, Settings};
use crate::model::model_choice;
use crate::report::Finished;
use crate::rules::unknown_codes;

/// Finds rules in a cohort, and gives their text with the report.
#[pyfunction]
pub fn mine(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(String, Finished)> {
    let mut task = MineTask::in_memory(cohort);
    task.search = search(py, &settings)?;
    task.review = settings.out("review")?;
    task.titles = settings.get("titles")?;
    task.ages_and_days = settings.is_on("ages_and_days")?;
    call.run(py, move |watch| {
        let report = task.run(watch)?;
        Ok((report.text.clone(), Finished::new(&report)?))
    })
}

/// What counts as enough evidence for a rule.
pub fn search(py: Python<'_>, settings: &Settings<'_>) -> PyResult<SearchOptions> {
    let kinds = [("inpatient", Cutoffs::inpatient()), ("outpatient", Cutoffs::outpatient())];
    let likely =
        [("hard", LikelyRules::Hard), ("soft", LikelyRules::Soft), ("leave", LikelyRules::Leave)];
    let mut search = SearchOptions::default();
    let support = settings.get("min_support")?;
    if support == Some(0) {
        let what = "a rule needs at least one visit that shows it";
        return Err(errors::input(py, what, Some("give min_support= at least 1".into())));
    }
    search.cutoffs = match settings.choice("cutoffs", &kinds)? {
        Some(cutoffs) => Some(cutoffs),
        None => support.map(Cutoffs::alike),
    };
    if let Some(likely) = settings.choice("likely", &likely)? {
        search.likely = likely;
    }
    search.near = (!settings.is_on("no_soft")?).then(NearRules::default);
    Ok(search)
}

/// The rules that nobody needs to be told, as text, with the report.
#[pyfunction]
pub fn common_sense(
    py: Python<'_>,
    cohort: CohortGiven<'_>,
    call: Call,
) -> PyResult<(String, Finished)> {
    let task = CommonSenseTask { cohort: cohort.into(), out: None, never_seen: None };
    call.run(py, move |watch| {
        let report = task.run(watch)?;
        Ok((report.found.text(), Finished::new(&report)?))
    })
}

/// Makes rules of a table that experts publish, and gives their text with the report.
#[pyfunction]
pub fn rules_from(
    py: Python<'_>,
    cohort: Option<CohortGiven<'_>>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(String, Finished)> {
    let over = settings.choice("over", &[("icd", Over::Icd), ("phecodes", Over::Phecodes)])?;
    let tables = [
        ("mce", RuleTable::Mce),
        ("dqd", RuleTable::Dqd),
        ("phecode", RuleTable::Phecode(over.unwrap_or(Over::Icd))),
        ("cci", RuleTable::Cci),
        ("icd10", RuleTable::Icd10),
    ];
    let levels = [("codes", Level::Codes), ("categories", Level::Categories)];
    let (Some(table), Some(file)) =
        (settings.choice("table", &tables)?, settings.get::<PathBuf>("file")?)
    else {
        return Err(errors::input(py, "a table of experts is named, and its file", None));
    };
    let mut task = RulesFromTask {
        table,
        cohort: cohort.map(Into::into),
        vocabulary: settings.get("vocabulary")?,
        level: settings.choice("level", &levels)?,
        codes: settings.get("codes")?,
        ancestors: settings.get("ancestors")?,
        prefix: settings.get("prefix")?,
        procedure_prefix: settings.get("procedure_prefix")?,
        stays: settings.get("stays")?,
        code_first: settings.get("code_first")?,
        out: None,
        ..RulesFromTask::new(file, PathBuf::new())
    };
    settings.put("female", &mut task.female)?;
    settings.put("male", &mut task.male)?;
    settings.put("ages", &mut task.ages)?;
    settings.put("years", &mut task.years)?;
    call.run(py, move |watch| {
        let report = task.run(watch)?;
        Ok((report.text.clone(), Finished::new(&report)?))
    })
}

/// Simulates a cohort, and gives it with the report.
#[pyfunction]
pub fn simulate(
    py: Python<'_>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(Cohort, Finished)> {
    let presets = [("inpatient", Preset::Inpatient), ("outpatient", Preset::Outpatient)];
    let preset = settings.choice("preset", &presets)?.unwrap_or(Preset::Inpatient);
    let patients = settings.get("patients")?;
    if patients == Some(0) {
        return Err(errors::input(py, "a cohort has at least one record", None));
    }
    let task = SimulateTask {
        patients,
        seed: settings.get("seed")?.unwrap_or(1),
        codes_only: settings.is_on("codes_only")?,
        ..SimulateTask::in_memory(preset)
    };
    call.run(py, move |watch| {
        let (held, report) = task.simulated(watch)?;
        Ok((Cohort::new(held).with_truth(&report.truth_text), Finished::new(&report)?))
    })
}

/// Imports a cohort from the tables that people have, and gives it with the report.
#[pyfunction]
pub fn import_tables(
    py: Python<'_>,
    kind: &str,
    path: PathBuf,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<(Cohort, Finished)> {
    let mut options = ImportOptions {
        truncate: settings.get("truncate")?,
        max_visits: settings.get("max_visits")?,
        ..ImportOptions::default()
    };
    settings.put("split_seed", &mut options.split_seed)?;
    settings.put("min_patients", &mut options.min_patients)?;
    settings.put("drop_empty", &mut options.drop_empty)?;
    settings.put("gaps", &mut options.gaps)?;
    settings.put("quantiles", &mut options.quantiles)?;
    options.age_bands = settings.get("ages")?;
    settings.put("sex", &mut options.sex)?;
    settings.put("race", &mut options.race)?;
    settings.put("ethnicity", &mut options.ethnicity)?;
    settings.put("visit_types", &mut options.visit_types)?;
    let source = source(py, kind, &settings)?;
    let [map, titles] = ["map", "titles"].map(|name| settings.get::<PathBuf>(name));
    let (map, titles) = (map?, titles?);
    call.run(py, move |watch| {
        if let Some(path) = map {
            options.map = Some(CodeMap::read(&path, None, &options.limits)?);
        }
        if let Some(path) = titles {
            options.titles = Some(Titles::read(&path, &options.limits)?);
        }
        let task = ImportTask { options, ..ImportTask::in_memory(source, path) };
        let (held, report) = task.imported(watch)?;
        Ok((Cohort::new(held), Finished::new(&report)?))
    })
}

/// The kind of a source, with the columns of a table of its own.
fn source(py: Python<'_>, kind: &str, settings: &Settings<'_>) -> PyResult<Source> {
    let known = Source::all();
    let named = known
        .iter()
        .find(|source| source.name() == kind || source.name().replace('-', "_") == kind);
    match named {
        Some(Source::Csv(_)) => {
            let mut columns = CsvColumns::default();
            settings.put("subject", &mut columns.subject)?;
            settings.put("code", &mut columns.code)?;
            columns.visit = settings.get("visit")?;
            if settings.get::<String>("time")?.is_some() || columns.visit.is_some() {
                columns.time = settings.get("time")?;
            }
            columns.end = settings.get("end")?;
            columns.value = settings.get("value")?;
            columns.unit = settings.get("unit")?;
            settings.put("static", &mut columns.statics)?;
            Ok(Source::Csv(columns))
        }
        Some(source) => Ok(source.clone()),
        None => {
            let names: Vec<&str> = known.iter().map(Source::name).collect();
            let what = format!("kind={kind:?} is none of {}", names.join(", "));
            Err(errors::input(py, &what, None))
        }
    }
}

/// From a cohort to generated records in one go.
#[pyfunction]
pub fn synthesize(
    py: Python<'_>,
    path: PathBuf,
    rules: Vec<PathBuf>,
    settings: Settings<'_>,
    call: Call,
) -> PyResult<Finished> {
    let Some(out) = settings.out("out")? else {
        return Err(errors::input(py, "everything that is made is written to a folder", None));
    };
    let origin = match settings.get::<String>("kind")? {
        None => Origin::Cohort(path),
        Some(kind) => Origin::Tables { kind: source(py, &kind, &settings)?, path },
    };
    let task = SynthesizeTask {
        rules,
        packs: settings.get("packs")?,
        no_common_sense: settings.is_on("no_common_sense")?,
        no_own_rules: settings.is_on("no_own_rules")?,
        accept_broken: settings.is_on("accept_broken")?,
        unknown_codes: unknown_codes(settings.is_on("allow_unknown")?),
        records: settings.get("records")?,
        seed: settings.get("seed")?.unwrap_or(1),
        ..SynthesizeTask::new(origin, out, model_choice(py, &settings)?)
    };
    run(py, &call, task)
}

/// Writes a text to a file, whole or not at all.
#[pyfunction]
pub fn write_text(py: Python<'_>, path: PathBuf, text: &str, force: bool) -> PyResult<()> {
    let out = Out::new(path).replacing(force);
    let written = out.file().and_then(|file| file.write(|file| file.write_all(text.as_bytes())));
    written.map_err(|error| errors::raised(py, &error))
}
