//! The folder of a run that can be stopped and resumed.
//!
//! A run writes down what it was begun with, in a manifest, before it does anything else. A later
//! run resumes it only if it was asked for the same task by the same version of the program. Nobody
//! else uses the folder meanwhile, and nothing is deleted or replaced that nobody asked to replace.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::atomic::digest;
use crate::atomic::{PARTIAL, write_atomically};
use crate::error::directory_of;
use crate::folder::{Belongs, replaceable, sync_directories};
use crate::folder::{create_directory, remove_file, sweep};
use crate::{Lock, RunError, StoreError, WorkingFolder};

/// The file beside the notes that holds their digests.
const DIGESTS_FILE: &str = "digests.json";

/// Where a run works.
#[derive(Clone, Copy, Debug)]
pub enum Site {
    /// In the folder itself, which is made if it is not there, with those above it.
    InPlace,
    /// Beside the folder, under its name with `.unfinished` after it, until the run is finished. A
    /// folder that is there is replaced only if every name in it belongs to what is written.
    Beside(Belongs),
}

/// How a run uses its folder.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions<'a> {
    /// Where it works.
    pub site: Site,
    /// The number of the format of what the run keeps.
    pub format: u32,
    /// The version of the program.
    pub version: &'a str,
    /// Whether to resume the run that is there, if it was begun with the same task.
    pub resume: bool,
    /// Whether to replace what is there.
    pub force: bool,
    /// The file of the manifest; `task.json` by default.
    pub manifest: &'a str,
    /// The folder of the notes and of all else that is of no use without them. None: the notes are
    /// in the folder of the run.
    pub notes: Option<&'a str>,
    /// Other files and folders that the run writes. They are deleted when it begins anew in place.
    pub parts: &'a [&'a str],
    /// The part that is written last: a run in place that has it is finished.
    pub last: Option<&'a str>,
}

impl<'a> RunOptions<'a> {
    /// A run at a site that neither resumes nor replaces.
    pub fn new(site: Site, format: u32, version: &'a str) -> Self {
        Self {
            site,
            format,
            version,
            resume: false,
            force: false,
            manifest: "task.json",
            notes: None,
            parts: &[],
            last: None,
        }
    }
}

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Anew.
    New,
    /// With what an earlier run left.
    Resumed,
    /// With all that it was to do done by an earlier run.
    Finished,
}

/// The folder of a run that can be stopped and resumed.
///
/// ```
/// use consequence_store::{RunError, RunFolder, RunOptions, RunState, Site};
///
/// #[derive(serde::Serialize)]
/// struct Task {
///     records: u64,
/// }
///
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("comparison");
/// let options = RunOptions::new(Site::InPlace, 1, "0.1.0");
/// let run = RunFolder::open(&path, &Task { records: 100 }, &options)?;
/// run.keep("first.json", &0.25)?;
/// drop(run);
///
/// // Stopped here. What was kept is there for a run with the same task.
/// let resume = RunOptions { resume: true, ..options };
/// let run = RunFolder::open(&path, &Task { records: 100 }, &resume)?;
/// assert_eq!(run.state(), RunState::Resumed);
/// assert_eq!(run.kept("first.json")?, Some(0.25));
/// run.finish()?;
///
/// let other = RunFolder::open(&path, &Task { records: 200 }, &resume);
/// assert!(matches!(other, Err(RunError::OtherTask { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunFolder {
    /// Where the run works.
    folder: PathBuf,
    /// The same, if it is put in place in the end.
    working: Option<WorkingFolder>,
    notes: PathBuf,
    digests: Mutex<Digests>,
    state: RunState,
    _lock: Lock,
}

/// The digests of each note: the one it has, and before that the one it had, as a program can be
/// killed between the two.
type Digests = BTreeMap<String, Vec<String>>;

impl RunFolder {
    /// Opens the folder for a task. The task is an object as JSON. It is kept as the manifest, with
    /// the fields `format` and `version` unless it has both.
    pub fn open(
        path: impl AsRef<Path>,
        task: &impl Serialize,
        options: &RunOptions<'_>,
    ) -> Result<Self, RunError> {
        Self::reserve(path, options)?.begin(task)
    }

    /// Locks the folder and refuses what can be refused before the task is known.
    pub fn reserve<'a>(
        path: impl AsRef<Path>,
        options: &RunOptions<'a>,
    ) -> Result<Reserved<'a>, RunError> {
        let target = path.as_ref().to_path_buf();
        let parent = directory_of(&target);
        let folder = match options.site {
            Site::InPlace => {
                create_directory(parent)?;
                target.clone()
            }
            Site::Beside(_) if !parent.is_dir() => {
                let directory = parent.to_path_buf();
                return Err(StoreError::NoDirectory { path: target, directory }.into());
            }
            Site::Beside(_) => WorkingFolder::path_for(&target)?,
        };
        let lock = Lock::exclusive(&target)?;
        let reserved = Reserved { options: *options, target, folder, lock };
        reserved.refuse()?;
        Ok(reserved)
    }

    /// How the run began.
    pub fn state(&self) -> RunState {
        self.state
    }

    /// Where a file or folder of the run is.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }

    /// Keeps a note, whole or not at all, in place of the one of that name if there is one.
    pub fn keep(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let path = self.notes.join(name);
        let text = json_text(&path, value)?;
        let new = digest(text.as_bytes());
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let known = digests.entry(name.to_owned()).or_default();
        if known.last() != Some(&new) {
            let there = fs::read(&path).ok().map(|bytes| digest(&bytes));
            *known = there.into_iter().filter(|there| known.contains(there)).chain([new]).collect();
            // Noted first, so that a note that is in place has a digest.
            let file = self.notes.join(DIGESTS_FILE);
            write_json(&file, &json_text(&file, &*digests)?)?;
        }
        write_json(&path, &text)
    }

    /// A note that this run kept, or the run that it resumes; none if there is no such note. One
    /// that was changed since is an error.
    pub fn kept<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, RunError> {
        let path = self.notes.join(name);
        let digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = digests.get(name) else { return Ok(None) };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unread(&path, error)),
        };
        if !known.contains(&digest(&bytes)) {
            return Err(RunError::Changed(path));
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unread(&path, error.into()))
    }

    /// Deletes a note, if it is there.
    pub fn forget(&self, name: &str) -> Result<(), RunError> {
        Ok(remove_file(&self.notes.join(name))?)
    }

    /// Deletes what a run beside its folder has written.
    pub fn discard(self) -> Result<(), RunError> {
        Ok(self.working.map_or(Ok(()), WorkingFolder::discard)?)
    }

    /// Ends the run: what it wrote is on disk, and in place.
    pub fn finish(self) -> Result<(), RunError> {
        match self.working {
            Some(working) => working.commit()?,
            None => sync_directories(&self.folder)
                .map_err(|error| StoreError::new(&self.folder, error))?,
        }
        Ok(())
    }
}

/// A folder that is locked for a run whose task is not known yet.
#[derive(Debug)]
pub struct Reserved<'a> {
    options: RunOptions<'a>,
    target: PathBuf,
    folder: PathBuf,
    lock: Lock,
}

impl Reserved<'_> {
    /// Refuses what is there, unless it may be resumed or replaced.
    fn refuse(&self) -> Result<(), RunError> {
        let RunOptions { site, resume, force, last, .. } = self.options;
        let unfinished = match site {
            Site::InPlace if self.target.is_file() => {
                return Err(StoreError::NotADirectory { path: self.target.clone() }.into());
            }
            Site::InPlace => {
                self.manifest().is_file()
                    && last.is_some_and(|last| !self.folder.join(last).exists())
            }
            Site::Beside(belongs) => {
                replaceable(&self.target, Some(belongs))?;
                !is_empty(&self.folder)
            }
        };
        if resume || force {
            Ok(())
        } else if unfinished {
            Err(RunError::Unfinished(self.folder.clone()))
        } else if !is_empty(&self.target) {
            Err(RunError::Exists(self.target.clone()))
        } else {
            Ok(())
        }
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join(self.options.manifest)
    }

    /// Begins the run, or resumes the one that is there.
    pub fn begin(self, task: &impl Serialize) -> Result<RunFolder, RunError> {
        let (wanted, text) = self.described(task)?;
        let state = self.found(&wanted)?;
        self.opened(state, Some(&text))
    }

    /// The same, for a run whose own files tell what it was begun with: there is no manifest.
    pub fn begin_without_manifest(self) -> Result<RunFolder, RunError> {
        let resumed = self.options.resume && !is_empty(&self.folder);
        self.opened(if resumed { RunState::Resumed } else { RunState::New }, None)
    }

    /// The manifest as a value, and as text.
    fn described(&self, task: &impl Serialize) -> Result<(Value, String), RunError> {
        let path = self.manifest();
        let mut value = serde_json::to_value(task)
            .map_err(|source| RunError::Json { path: path.clone(), source })?;
        let Value::Object(fields) = &mut value else {
            let source = serde::ser::Error::custom("a task is an object");
            return Err(RunError::Json { path, source });
        };
        let numbered = ["format", "version"].iter().all(|&name| fields.contains_key(name));
        if !numbered {
            fields.insert("format".into(), self.options.format.into());
            fields.insert("version".into(), self.options.version.into());
        }
        let text = if numbered {
            // In the order of its own fields.
            json_text(&path, task)?
        } else {
            json_text(&path, &value)?
        };
        Ok((value, text))
    }

    /// What is there of a run, given what this one is begun with.
    fn found(&self, wanted: &Value) -> Result<RunState, RunError> {
        let RunOptions { site, resume, force, manifest, last, .. } = self.options;
        let finished = || match site {
            Site::InPlace => last.is_some_and(|last| self.folder.join(last).exists()),
            Site::Beside(_) => is_empty(&self.folder),
        };
        let folder = match site {
            Site::Beside(_) if is_empty(&self.folder) => &self.target,
            _ => &self.folder,
        };
        if !resume || is_empty(folder) {
            return Ok(RunState::New);
        }
        let path = folder.join(manifest);
        let found = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(unread(&path, error)),
        };
        if found.as_ref() == Some(wanted) {
            return Ok(if finished() { RunState::Finished } else { RunState::Resumed });
        }
        if force { Ok(RunState::New) } else { Err(other(path, found, wanted)) }
    }

    fn opened(self, state: RunState, manifest: Option<&str>) -> Result<RunFolder, RunError> {
        let Self { options, target, mut folder, lock } = self;
        let mut working = None;
        match options.site {
            Site::InPlace => {
                create_directory(&folder)?;
                sweep(&folder)?;
                if state == RunState::New {
                    clear(&folder, &options)?;
                }
            }
            Site::Beside(_) if state == RunState::Finished => folder = target.clone(),
            Site::Beside(belongs) => {
                let open = || {
                    if options.force {
                        WorkingFolder::replacing(&target, belongs)
                    } else {
                        WorkingFolder::open(&target)
                    }
                };
                if state == RunState::New && folder.is_dir() {
                    open()?.discard()?;
                }
                let opened = open()?;
                opened.sweep()?;
                working = Some(opened);
            }
        }
        let path = folder.join(options.manifest);
        let notes = options.notes.map_or_else(|| folder.clone(), |name| folder.join(name));
        if let (RunState::New, Some(text)) = (state, manifest) {
            write_json(&path, text)?;
        }
        let file = notes.join(DIGESTS_FILE);
        let digests = match fs::read(&file) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| unread(&file, error.into()))?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Digests::new(),
            Err(error) => return Err(unread(&file, error)),
        };
        let digests = Mutex::new(digests);
        Ok(RunFolder { folder, working, notes, digests, state, _lock: lock })
    }
}

/// Deletes what another run left in a folder, so that none of it is taken for a part of this one.
/// The manifest stays until the next one replaces it.
fn clear(folder: &Path, options: &RunOptions<'_>) -> Result<(), RunError> {
    // A folder of this name may be somebody's, unless a run stands beside it.
    if let Some(notes) = options.notes.map(|name| folder.join(name))
        && notes.is_dir()
        && !folder.join(options.manifest).is_file()
    {
        return Err(RunError::Exists(notes));
    }
    let notes = options.notes.unwrap_or(DIGESTS_FILE);
    for name in options.parts.iter().copied().chain(options.last).chain([notes]) {
        let path = folder.join(name);
        if path.is_dir() {
            fs::remove_dir_all(&path).map_err(|error| StoreError::new(&path, error))?
        } else {
            remove_file(&path)?
        }
    }
    Ok(())
}

/// Whether there is no such folder, or nothing in it but what a killed program left.
fn is_empty(folder: &Path) -> bool {
    let partial = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(PARTIAL))
    };
    fs::read_dir(folder).map_or(true, |mut entries| entries.all(partial))
}

/// The error of a run that was begun with another task, or by another version of the program.
fn other(path: PathBuf, found: Option<Value>, wanted: &Value) -> RunError {
    let Some(found) = found else { return RunError::OtherTask { path, found: None } };
    if ["format", "version"].iter().all(|&name| found[name] == wanted[name]) {
        return RunError::OtherTask { path, found: Some(found) };
    }
    let version = |manifest: &Value| manifest["version"].as_str().map(str::to_owned);
    RunError::OtherVersion {
        path,
        version: version(&found),
        format: found["format"].as_u64(),
        ours: version(wanted).unwrap_or_default(),
    }
}

fn unread(path: &Path, source: io::Error) -> RunError {
    RunError::Unread { path: path.to_path_buf(), source }
}

fn json_text(path: &Path, value: &impl Serialize) -> Result<String, RunError> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|source| RunError::Json { path: path.to_path_buf(), source })
}

fn write_json(path: &Path, text: &str) -> Result<(), RunError> {
    create_directory(directory_of(path))?;
    Ok(write_atomically(path, |file| file.write_all(text.as_bytes()))?)
}
