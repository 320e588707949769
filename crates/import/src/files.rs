//! The files of a source: which of a folder hold which table, and the bytes of those that may be
//! compressed, with bounds on what they grow to.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use consequence_feedback::Watch;
use flate2::bufread::MultiGzDecoder;
use thiserror::Error;
use zip::ZipArchive;
use zip::result::ZipError;

use crate::{ImportError, ImportLimits, ImportProblem};

/// A folder of tables.
pub(crate) struct Folder {
    path: PathBuf,
    entries: Vec<Entry>,
    /// The tables that were asked for, in lower case.
    asked: RefCell<BTreeSet<String>>,
}

/// A file or folder that may be a table.
struct Entry {
    path: PathBuf,
    /// The name without what it ends in, in lower case.
    table: String,
    /// The name as it is.
    shown: String,
}

/// The files of one table.
#[derive(Debug)]
pub(crate) struct Parts {
    pub table: &'static str,
    pub files: Vec<PathBuf>,
    /// The columns of files without a line of names, in the orders that a standard gives them.
    pub orders: Vec<Vec<&'static str>>,
}

impl Parts {
    /// The files of a table whose columns have names.
    pub fn new(table: &'static str, files: Vec<PathBuf>) -> Self {
        Self { table, files, orders: Vec::new() }
    }
}

impl Folder {
    /// Looks through a folder, and through those of its folders that are named in `inner`.
    pub fn open(path: &Path, inner: &[&str]) -> Result<Self, ImportError> {
        let mut entries = list(path)?;
        let folders: Vec<PathBuf> = entries
            .iter()
            .filter(|entry| inner.contains(&entry.table.as_str()) && entry.path.is_dir())
            .map(|entry| entry.path.clone())
            .collect();
        for folder in folders {
            entries.extend(list(&folder)?);
        }
        Ok(Self { path: path.to_path_buf(), entries, asked: RefCell::default() })
    }

    /// The files of a table that may be missing.
    pub fn find(&self, table: &'static str) -> Result<Option<Parts>, ImportError> {
        let wanted = table.to_ascii_lowercase();
        self.asked.borrow_mut().insert(wanted.clone());
        let found: Vec<&Entry> =
            self.entries.iter().filter(|entry| entry.table == wanted).collect();
        match found.as_slice() {
            [] => Ok(None),
            [entry] if entry.path.is_dir() => {
                let mut files: Vec<PathBuf> = list(&entry.path)?
                    .into_iter()
                    .filter(|part| part.path.is_file())
                    .map(|part| part.path)
                    .collect();
                files.sort();
                Ok((!files.is_empty()).then(|| Parts::new(table, files)))
            }
            [entry] => Ok(Some(Parts::new(table, vec![entry.path.clone()]))),
            several => {
                let files = several.iter().map(|entry| entry.shown.clone()).collect();
                Err(self.fail(ImportProblem::TwoTables { table, files }))
            }
        }
    }

    /// The files of a table that must be there.
    pub fn need(&self, table: &'static str) -> Result<Parts, ImportError> {
        self.find(table)?.ok_or_else(|| {
            let found = self.entries.iter().map(|entry| entry.shown.clone()).collect();
            self.fail(ImportProblem::MissingTable { table, found })
        })
    }

    /// The tables that are there and that nobody asked for. What tells of the tables is none.
    pub fn unread(&self) -> Vec<String> {
        let asked = self.asked.borrow();
        let is_about = |entry: &&Entry| {
            ["license", "readme", "sha256sums", "changelog"]
                .iter()
                .any(|word| entry.table.starts_with(word))
        };
        let entries = self.entries.iter().filter(|entry| !is_about(entry));
        let unread = entries.filter(|entry| !asked.contains(&entry.table));
        unread.map(|entry| entry.shown.clone()).collect()
    }

    fn fail(&self, problem: ImportProblem) -> ImportError {
        ImportError::whole(self.path.display().to_string(), problem)
    }
}

/// What a folder holds that may be a table, by name.
fn list(path: &Path) -> Result<Vec<Entry>, ImportError> {
    let fail = |error| ImportError::whole(path.display().to_string(), ImportProblem::Open(error));
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let shown = entry.file_name().to_string_lossy().into_owned();
        let name = shown.to_ascii_lowercase();
        let stem = name.strip_suffix(".gz").unwrap_or(&name);
        let table = ["csv", "tsv", "txt", "parquet"].iter().find_map(|end| {
            stem.strip_suffix(end).and_then(|stem| stem.strip_suffix('.')).map(str::to_owned)
        });
        let path = entry.path();
        let table = match table {
            Some(table) => table,
            None if path.is_dir() => name.clone(),
            None => continue,
        };
        if !name.starts_with(['.', '_']) {
            entries.push(Entry { path, table, shown });
        }
    }
    entries.sort_by(|one, other| one.shown.cmp(&other.shown));
    Ok(entries)
}

const BUFFER_BYTES: usize = 1 << 17;

/// Tables rarely compress to less than a hundredth; a short one may.
const ALWAYS_ALLOWED: u64 = 16 << 20;

/// Whether a path stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

/// What messages call a file.
pub(crate) fn called(path: &Path) -> String {
    match is_standard_input(path) {
        true => "standard input".into(),
        false => path.display().to_string(),
    }
}

/// Opens a file, or standard input for `-`, unpacking it if it is compressed by gzip, whatever its name says.
pub(crate) fn open<'a>(
    path: &Path,
    limits: &ImportLimits,
    watch: &'a dyn Watch,
) -> Result<Box<dyn Read + 'a>, ImportProblem> {
    let packed_bytes = Rc::new(Cell::new(0));
    if is_standard_input(path) {
        let mut input = BufReader::with_capacity(BUFFER_BYTES, io::stdin());
        let packed = input.fill_buf().map_err(ImportProblem::Read)?.starts_with(b"\x1f\x8b");
        let counted = Counted { inner: input, bytes: Rc::clone(&packed_bytes), watch };
        return Ok(match packed {
            true => {
                let inner = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, counted));
                Box::new(Bounded::new(inner, packed_bytes, limits))
            }
            false => Box::new(counted),
        });
    }
    let mut file = File::open(path).map_err(ImportProblem::Open)?;
    if file.metadata().map_err(ImportProblem::Open)?.is_dir() {
        return Err(ImportProblem::Open(io::ErrorKind::IsADirectory.into()));
    }
    let mut start = Vec::new();
    (&mut file).take(4).read_to_end(&mut start).map_err(ImportProblem::Read)?;
    file.seek(SeekFrom::Start(0)).map_err(ImportProblem::Read)?;
    let counted = Counted { inner: file, bytes: Rc::clone(&packed_bytes), watch };
    if start.starts_with(b"\x1f\x8b") {
        let inner = MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, counted));
        return Ok(Box::new(Bounded::new(inner, packed_bytes, limits)));
    }
    Ok(Box::new(counted))
}

/// The entry of a zip file whose name ends in `name`, unpacked into a file without a name.
pub(crate) fn zip_entry(
    path: &Path,
    name: &str,
    scratch: impl FnOnce() -> io::Result<File>,
    limits: &ImportLimits,
) -> Result<File, ImportProblem> {
    let file = File::open(path).map_err(ImportProblem::Open)?;
    let size = file.metadata().map_err(ImportProblem::Read)?.len();
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(damaged)?;
    let ends_so = |entry: &str| {
        let end = entry.rsplit(['/', '\\']).next().unwrap_or(entry);
        end.eq_ignore_ascii_case(name)
    };
    let mut names = archive.file_names().filter_map(Result::ok);
    let found = names.find(|entry| ends_so(entry)).map(Cow::into_owned);
    drop(names);
    let Some(entry) = found else {
        return Err(ImportProblem::Damaged(format!("it holds no `{name}`")));
    };
    let entry = archive.by_name(&entry).map_err(damaged)?;
    let mut bounded = Bounded::new(entry, Rc::new(Cell::new(size)), limits);
    let mut unpacked = scratch().map_err(ImportProblem::Scratch)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match bounded.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => io::Write::write_all(&mut unpacked, &buffer[..count])
                .map_err(ImportProblem::Scratch)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(explained(error)),
        }
    }
    unpacked.seek(SeekFrom::Start(0)).map_err(ImportProblem::Scratch)?;
    Ok(unpacked)
}

fn damaged(error: ZipError) -> ImportProblem {
    match error {
        ZipError::Io(error) => explained(error),
        ZipError::FileNotFound => ImportProblem::Damaged("an entry is missing".into()),
        other => ImportProblem::Damaged(other.to_string().to_lowercase()),
    }
}

/// Why reading was given up, carried through the readers above as an I/O error.
#[derive(Debug, Error)]
pub(crate) enum Stop {
    #[error("more than {0} bytes")]
    TooLarge(u64),
    #[error("more than {0} times the size")]
    TooDense(u64),
    #[error("a row of more than {0} bytes")]
    LongRow(usize),
    #[error("an open quote")]
    OpenQuote,
}

/// What an error met while reading means.
pub(crate) fn explained(error: io::Error) -> ImportProblem {
    if let Some(stop) = error.get_ref().and_then(|inner| inner.downcast_ref::<Stop>()) {
        return match *stop {
            Stop::TooLarge(limit) => ImportProblem::TooLarge { limit },
            Stop::TooDense(limit) => ImportProblem::TooDense { limit },
            Stop::LongRow(limit) => ImportProblem::LongRow { limit },
            Stop::OpenQuote => ImportProblem::OpenQuote,
        };
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ImportProblem::CutShort,
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            ImportProblem::Damaged(error.to_string())
        }
        _ => ImportProblem::Read(error),
    }
}

/// Counts the bytes of the file itself, and tells of them.
struct Counted<'a, R> {
    inner: R,
    bytes: Rc<Cell<u64>>,
    watch: &'a dyn Watch,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + count as u64);
        self.watch.advance(count as u64);
        Ok(count)
    }
}

/// Stops a decompressor whose output grows too large.
struct Bounded<R> {
    inner: R,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
    largest: u64,
    ratio: u64,
}

impl<R> Bounded<R> {
    fn new(inner: R, packed: Rc<Cell<u64>>, limits: &ImportLimits) -> Self {
        let (largest, ratio) = (limits.unpacked_bytes, limits.unpacked_ratio);
        Self { inner, packed, unpacked: 0, largest, ratio }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.unpacked += count as u64;
        if self.unpacked > self.largest {
            return Err(io::Error::other(Stop::TooLarge(self.largest)));
        }
        let dense = self.packed.get().saturating_mul(self.ratio);
        if self.unpacked > ALWAYS_ALLOWED && self.unpacked > dense {
            return Err(io::Error::other(Stop::TooDense(self.ratio)));
        }
        Ok(count)
    }
}

/// The bytes of a task as those who watch are told; none where they cannot be known before.
pub(crate) fn known(bytes: u64) -> Option<u64> {
    (bytes > 0).then_some(bytes)
}
