//! How a dataset was generated.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use consequence_model::Generator;
use consequence_store::{StoreError, digest_file, write_atomically};
use serde::{Deserialize, Serialize};

use crate::{DrawnBy, Mode, SampleError, Sampler};

/// The file of the manifest in a dataset.
pub(crate) const FILE: &str = "metadata/generation.json";

/// The number of the format. It counts up when the file changes, and when the same request would
/// give other records. Format 1 had no digests, format 2 no groups, format 3 did not tell what drew the records.
const FORMAT: u32 = 4;

/// What the files are that records are made from, by a digest of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The model.
    pub model: String,
    /// The rules; none in mode `off`.
    pub rules: Option<String>,
    /// The groups that could be given, if there are any.
    pub groups: Option<String>,
    /// The records of the prefix, if there are any.
    pub prefix: Option<String>,
}

/// All that the records of a dataset depend on, and what its files are. It stays in the dataset, as
/// `metadata/generation.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The number of the format.
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// What the draws depend on.
    pub seed: u64,
    /// How rules and model work together.
    pub mode: Mode,
    /// How many records there are.
    pub records: u64,
    /// How many records a data file has; the last may have fewer.
    pub shard_records: u64,
    /// What the logits were divided by.
    pub temperature: f64,
    /// Proposals for each record, where there are several.
    pub proposals: u16,
    /// What every record is, or is not.
    pub given: Vec<String>,
    /// What the files are that the records were made from.
    pub made_from: Identity,
    /// What drew the records.
    pub drawn_by: DrawnBy,
    /// The digest of every file that is done, but for this one.
    pub files: BTreeMap<String, String>,
}

/// The beginning of a manifest of any format.
#[derive(Deserialize)]
struct Numbered {
    format: u32,
}

impl Manifest {
    pub(crate) fn new<G: Generator>(
        sampler: &Sampler<'_, G>,
        records: u64,
        shard_records: u64,
        made_from: Identity,
    ) -> Self {
        let (request, vocabulary) = (sampler.request(), sampler.codes().vocabulary());
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seed: request.seed,
            mode: request.mode,
            records,
            shard_records,
            temperature: request.temperature,
            proposals: request.proposals(),
            given: request.given.iter().map(|one| one.text(vocabulary)).collect(),
            made_from,
            drawn_by: sampler.drawn_by(),
            files: BTreeMap::new(),
        }
    }

    /// Reads the manifest of a folder; none if there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>, SampleError> {
        let path = folder.join(FILE);
        let fail = |reason: String| SampleError::Manifest { path: path.clone(), reason };
        match fs::read(&path) {
            Ok(bytes) => {
                let unread = |error: serde_json::Error| fail(error.to_string());
                match serde_json::from_slice::<Numbered>(&bytes).map_err(unread)?.format {
                    FORMAT => serde_json::from_slice(&bytes).map(Some).map_err(unread),
                    format => Err(SampleError::OtherFormat { path, format, known: FORMAT }),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fail(error.to_string())),
        }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), SampleError> {
        Ok(write_atomically(folder.join(FILE), |out| {
            serde_json::to_writer_pretty(&mut *out, self)?;
            out.write_all(b"\n")
        })?)
    }

    /// Notes what a file is that is done.
    pub(crate) fn note(&mut self, folder: &Path, name: &str) -> Result<(), SampleError> {
        let path = folder.join(name);
        let digest = digest_file(&path).map_err(|error| StoreError::new(&path, error))?;
        self.files.insert(name.to_owned(), digest);
        Ok(())
    }

    /// Whether a file is there and is what it was when it was done.
    pub(crate) fn has(&self, folder: &Path, name: &str) -> bool {
        let known = self.files.get(name);
        known.is_some_and(|known| digest_file(folder.join(name)).is_ok_and(|now| now == *known))
    }

    /// Refuses to resume what was begun otherwise, and says what differs.
    pub(crate) fn refuse_other(&self, there: &Self, folder: &Path) -> Result<(), SampleError> {
        if there.version != self.version {
            return Err(SampleError::OtherVersion {
                path: folder.to_path_buf(),
                version: there.version.clone(),
                ours: self.version.clone(),
            });
        }
        let pairs = there.named().into_iter().zip(self.named());
        let differs = pairs.into_iter().find(|((_, left), (_, right))| left != right);
        match differs {
            None => Ok(()),
            Some(((name, there), (_, asked))) => Err(SampleError::OtherRequest {
                path: folder.to_path_buf(),
                there: format!("{name} {there}"),
                asked,
            }),
        }
    }

    /// Refuses to go on with records that something else drew, where there are some and others are missing: `names` are those of
    /// all data files.
    pub(crate) fn take_up(
        &self,
        there: &mut Self,
        folder: &Path,
        names: impl Iterator<Item = String>,
    ) -> Result<(), SampleError> {
        if there.drawn_by == self.drawn_by {
            return Ok(());
        }
        let (mut kept, mut missing) = (false, false);
        for name in names {
            match there.has(folder, &name) {
                true => kept = true,
                false => missing = true,
            }
        }
        match (kept, missing) {
            (true, true) => Err(SampleError::OtherDevice {
                path: folder.to_path_buf(),
                there: there.drawn_by.clone(),
                ours: self.drawn_by.clone(),
            }),
            (true, false) => Ok(()),
            (false, _) => {
                there.drawn_by = self.drawn_by.clone();
                Ok(())
            }
        }
    }

    /// Everything by name, as text.
    fn named(&self) -> [(&'static str, String); 11] {
        let none = || "none".to_owned();
        let Identity { model, rules, groups, prefix } = &self.made_from;
        [
            ("the model", model.clone()),
            ("the rules", rules.clone().unwrap_or_else(none)),
            ("mode", self.mode.to_string()),
            ("seed", self.seed.to_string()),
            ("records", self.records.to_string()),
            ("records in a shard", self.shard_records.to_string()),
            ("temperature", self.temperature.to_string()),
            ("proposals", self.proposals.to_string()),
            ("the conditions", if self.given.is_empty() { none() } else { self.given.join(", ") }),
            ("the groups", groups.clone().unwrap_or_else(none)),
            ("the prefix", prefix.clone().unwrap_or_else(none)),
        ]
    }
}
