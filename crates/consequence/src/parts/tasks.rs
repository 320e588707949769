//! Parts of a cohort counted on one machine each, and added up on another.

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;

use consequence_pipeline::words::{count, number};
use consequence_pipeline::{CohortInput, Error, Out, Report, Task, Watch, watched};
use consequence_tables::Dataset;
use consequence_tally::{Wanted, Whose};
use serde::Serialize;

use super::counts_file::CountsFile;
use super::job::{Job, PartRecords};
use super::shard::Shard;
use super::work::{Merged, PartReport, Work};
use super::writer::PartWriter;

/// The round of a repair in which records are written.
const REPAIR: &str = "repair";

/// A part of the records to be counted, as a task asks for it.
#[derive(Clone, Debug)]
pub struct CountTask {
    /// The task.
    pub work: Work,
    /// The cohort; where two are held against each other, the real one and the generated one.
    pub cohorts: Vec<CohortInput>,
    /// A vocabulary file, for codes that the cohort does not have.
    pub vocabulary: Option<PathBuf>,
    /// Lists of codes with titles, for codes that the cohort gives none.
    pub titles: Vec<PathBuf>,
    /// Which part, and of how many, counted from 1.
    pub shard: (u32, u32),
    /// The file for what was counted.
    pub state: Out,
    /// What was counted in the rounds before, as [`MergeTask`] wrote it; none in the first.
    pub after: Option<PathBuf>,
    /// Where repaired records go, in the last round of a repair.
    pub out: Option<Out>,
}

/// What was counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CountReport {
    /// The task.
    pub verb: &'static str,
    /// What was counted in this round.
    pub counted: &'static str,
    /// Which part of how many.
    pub shard: (u32, u32),
    /// The cohort.
    pub cohort: String,
    /// Records of the part.
    pub records: u64,
    /// The file that was written.
    pub state: String,
    /// The repaired records, if this was the round in which they are written.
    pub out: Option<String>,
}

impl Task for CountTask {
    type Report = CountReport;

    /// Counts a part in the round after those that are known.
    fn run(&self, watch: &dyn Watch) -> Result<CountReport, Error> {
        let before = self.after.as_deref().map(CountsFile::read).transpose()?;
        let (outlines, known) = match before {
            Some(before) if before.work != self.work => {
                let what = "the counts of the rounds before are of another task, or other rules";
                return Err(Error::refused(what, "give the same command with each {after}"));
            }
            Some(before) => (before.outlines, before.known),
            None => {
                let open = |cohort: &CohortInput| Ok(self.open(cohort, watch)?.outline().clone());
                (self.cohorts.iter().map(open).collect::<Result<Vec<_>, Error>>()?, Vec::new())
            }
        };
        let job = Job::new(self.work.clone(), outlines)?;
        let Some(wanted) = job.wanted(&known, watch)? else {
            return Err(Error::refused(
                "all records are counted already",
                "the counts in {after} have the report: give them to merge",
            ));
        };
        let cohort = &self.cohorts[(wanted.whose as usize).min(self.cohorts.len() - 1)];
        let shard = self.open(cohort, watch)?.over(job.outline(wanted.whose)?)?;
        let out = self.out.as_ref().filter(|_| wanted.name == REPAIR);
        let _target = out.map(Out::cohort).transpose()?;
        let mut writer = out.map(PartWriter::new);
        let counted = watched(watch, "counting", None, || {
            let mut blocks = shard.blocks();
            let (whose, part) = (wanted.whose, Some(self.shard));
            let records = PartRecords { whose, blocks: &mut *blocks, shard: part };
            let mut write = |repaired: Dataset| match &mut writer {
                Some(writer) => writer.add(&repaired),
                None => Ok(()),
            };
            job.repair(&known, records, watch, &mut write)
        })?;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        let records = counted.records;
        let (work, outlines) = (self.work.clone(), job.outlines().to_vec());
        let file = CountsFile { work, outlines, known, counted: Some(counted) };
        file.write(&self.state)?;
        Ok(CountReport {
            verb: self.work.verb(),
            counted: wanted.name,
            shard: self.shard,
            cohort: cohort.shown(),
            records,
            state: self.state.shown(),
            out: out.map(Out::shown),
        })
    }
}

impl CountTask {
    fn open(&self, cohort: &CohortInput, watch: &dyn Watch) -> Result<Shard, Error> {
        Shard::open(cohort, self.vocabulary.as_ref(), self.shard, watch)?.titled(&self.titles)
    }
}

impl Report for CountReport {}

impl Display for CountReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { verb, counted, shard: (part, of), cohort, records, state, .. } = self;
        let records = count(*records, "record");
        writeln!(out, "{state}: part {part} of {of} of {cohort}, {records} ({verb}: {counted})")?;
        if let Some(repaired) = &self.out {
            writeln!(out, "  repaired records: {repaired}")?;
        }
        writeln!(
            out,
            "  once all parts are counted: consequence merge, with the files of all of them"
        )
    }
}

/// Counts of all parts, to be added up.
#[derive(Clone, Debug)]
pub struct MergeTask {
    /// The files of all parts.
    pub files: Vec<PathBuf>,
    /// The file to go on with, where records are to be counted again.
    pub out: Option<Out>,
    /// The file for rules that were mined.
    pub rules: Option<Out>,
}

/// What came of counts that were added up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MergeReport {
    /// The task.
    pub verb: &'static str,
    /// Whether all is counted.
    pub finished: bool,
    /// Records of the round that was added up.
    pub records: u64,
    /// What is to be counted next, and whether of the generated records.
    pub wanted: Option<WantedRound>,
    /// The file to go on with.
    pub out: Option<String>,
    /// What was found, once all is counted: the report of the task.
    #[serde(skip)]
    report: Option<Box<PartReport>>,
}

/// A round that is to be counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WantedRound {
    /// What is counted.
    pub name: &'static str,
    /// Whether it is counted of the generated records.
    pub of_synthetic: bool,
}

impl From<&Wanted> for WantedRound {
    fn from(wanted: &Wanted) -> Self {
        Self { name: wanted.name, of_synthetic: wanted.whose == Whose::Synthetic }
    }
}

impl Task for MergeTask {
    type Report = MergeReport;

    /// Adds up the counts of all parts, and tells what was found or what is to be counted next.
    fn run(&self, watch: &dyn Watch) -> Result<MergeReport, Error> {
        let rules = self.rules.as_ref().map(Out::file).transpose()?;
        let files = self.files.iter().map(|path| CountsFile::read(path));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let (next, merged) =
            watched(watch, "adding up", None, || CountsFile::merge(&files, watch))?;
        let records = next.known.last().map_or(0, |sum| sum.records);
        let (wanted, report) = match merged {
            Merged::Wanted { wanted, .. } => (Some(wanted), None),
            Merged::Finished { report, .. } => (None, Some(report)),
        };
        if let (Some(file), Some(text)) =
            (rules, report.as_ref().and_then(|one| one.rules.as_ref()))
        {
            file.write(|out| out.write_all(text.as_bytes()))?;
        }
        match (&self.out, &wanted) {
            (None, Some(wanted)) => {
                return Err(Error::refused(
                    format!("the records are to be counted again: {}", wanted.name),
                    "give {out}, a file for what is counted so far, and count every part after it",
                ));
            }
            (Some(out), Some(_)) => next.write(out)?,
            (_, None) => {}
        }
        Ok(MergeReport {
            verb: next.work.verb(),
            finished: report.is_some(),
            records,
            out: self.out.as_ref().filter(|_| wanted.is_some()).map(Out::shown),
            wanted: wanted.as_ref().map(Into::into),
            report,
        })
    }
}

impl MergeReport {
    /// The report of the task, once all is counted.
    pub fn report(&self) -> Option<&PartReport> {
        self.report.as_deref()
    }
}

impl Report for MergeReport {
    fn warnings(&self) -> &[String] {
        self.report().map_or(&[], |report| &report.warnings)
    }

    fn found(&self) -> bool {
        self.report().is_some_and(|report| report.found)
    }

    /// The report of the task itself, once all is counted.
    fn json(&self) -> Result<String, Error> {
        match &self.report {
            Some(report) => Ok(report.json.clone()),
            None => consequence_pipeline::report_json(self),
        }
    }
}

impl Display for MergeReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(report) = &self.report {
            return out.write_str(&report.text);
        }
        let Some(wanted) = &self.wanted else { return Ok(()) };
        let whose = if wanted.of_synthetic { " of the generated records" } else { "" };
        writeln!(
            out,
            "{}: {} counted so far, of {} records",
            self.out.as_deref().unwrap_or_default(),
            self.verb,
            number(self.records)
        )?;
        writeln!(out, "  next{whose}: {}", wanted.name)
    }
}
