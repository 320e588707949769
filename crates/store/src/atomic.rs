//! A file that appears whole or not at all, and the digests that tell one file from another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::StoreError;
use crate::error::directory_of;

const BUFFER_BYTES: usize = 1 << 18;

/// What the names of files begin with that are not yet in place.
pub(crate) const PARTIAL: &str = ".partial-";

/// How many temporary names to try; each holds the time, so more than one is already rare.
const NAME_TRIES: usize = 100;

/// Writes a file through `fill`: whole, synced and under its name, or not at all.
///
/// If `fill` fails, the temporary is removed and an existing target stays as it was.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("codes.txt");
/// consequence_store::write_atomically(&path, |writer| writeln!(writer, "ICD9CM//250"))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "ICD9CM//250\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_atomically(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    filled(AtomicFile::create(path)?, fill)
}

/// As [`write_atomically`], but a file that is there is never replaced: not one that was there
/// before, and not one that came while `fill` was at work.
///
/// ```
/// use consequence_store::{StoreError, write_new};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("codes.txt");
/// write_new(&path, |writer| writeln!(writer, "ICD9CM//250"))?;
/// let again = write_new(&path, |writer| writeln!(writer, "ICD9CM//401"));
/// assert!(matches!(again, Err(StoreError::Exists { .. })));
/// assert_eq!(std::fs::read_to_string(&path)?, "ICD9CM//250\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_new(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    filled(AtomicFile::create_new(path)?, fill)
}

fn filled(
    mut file: AtomicFile,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), StoreError> {
    fill(&mut file).map_err(|error| writing(&file.path, error))?;
    file.commit()
}

/// A file being written beside its target; [`commit`](Self::commit) puts it in place, dropping it
/// without that leaves no trace.
///
/// A symbolic link to a file stays a link: the file it points to is replaced. An existing
/// target hands its permissions on.
///
/// ```
/// use std::io::Write;
/// use consequence_store::AtomicFile;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("shard.bin");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(&[1, 2, 3])?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    /// The path as the caller gave it, for messages.
    path: PathBuf,
    /// The path with a last symbolic link followed.
    target: PathBuf,
    temporary: PathBuf,
    /// Whether a file that is there may be replaced.
    replace: bool,
    /// `None` once the file is in place.
    writer: Option<BufWriter<File>>,
}

impl AtomicFile {
    /// Opens a temporary beside `path`, whose file is replaced in the end if there is one.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::begin(path.as_ref(), true)
    }

    /// Opens a temporary beside `path`, where no file is, and none may be in the end.
    pub fn create_new(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::begin(path.as_ref(), false)
    }

    fn begin(path: &Path, replace: bool) -> Result<Self, StoreError> {
        let fail = |error| StoreError::new(path, error);
        let ends_in_separator =
            path.as_os_str().as_encoded_bytes().last().is_some_and(|&byte| is_separator(byte));
        if path.file_name().is_none() || ends_in_separator {
            return Err(StoreError::IsDirectory { path: path.to_path_buf() });
        }
        let before = match fs::metadata(path) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(fail(error)),
        };
        let mut target = path.to_path_buf();
        if let Some(metadata) = &before {
            if metadata.is_dir() {
                return Err(StoreError::IsDirectory { path: path.to_path_buf() });
            }
            if !metadata.is_file() {
                return Err(StoreError::NotAFile { path: path.to_path_buf() });
            }
            if !replace {
                return Err(StoreError::Exists { path: path.to_path_buf() });
            }
            if fs::symlink_metadata(path).map_err(fail)?.is_symlink() {
                target = fs::canonicalize(path).map_err(fail)?;
            }
        }
        let (temporary, file) = create_beside(&target).map_err(fail)?;
        let file = Self {
            path: path.to_path_buf(),
            target,
            temporary,
            replace,
            writer: Some(BufWriter::with_capacity(BUFFER_BYTES, file)),
        };
        if let Some(metadata) = before {
            fs::set_permissions(&file.temporary, metadata.permissions()).map_err(fail)?;
        }
        Ok(file)
    }

    /// The SHA-256 digest of what was written so far, to be noted before
    /// the file is in place.
    ///
    /// ```
    /// use std::io::Write;
    /// use consequence_store::{AtomicFile, digest, digest_file};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("shard.bin");
    /// let mut file = AtomicFile::create(&path)?;
    /// file.write_all(b"abc")?;
    /// assert_eq!(file.digest()?, digest(b"abc"));
    /// file.commit()?;
    /// assert_eq!(digest_file(&path)?, digest(b"abc"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn digest(&mut self) -> Result<String, StoreError> {
        self.flush()
            .and_then(|()| digest_file(&self.temporary))
            .map_err(|error| writing(&self.path, error))
    }

    /// Puts the file in place: flushes, syncs, renames, and syncs the directory. One begun by
    /// [`create_new`](Self::create_new) is refused if a file has come to be there.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if let Some(writer) = &mut self.writer {
            writer
                .flush()
                .and_then(|()| writer.get_ref().sync_all())
                .map_err(|error| writing(&self.path, error))?;
            let renamed = if self.replace {
                fs::rename(&self.temporary, &self.target)
            } else {
                rename_new(&self.temporary, &self.target)
            };
            renamed.map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => StoreError::Exists { path: self.path.clone() },
                _ => StoreError::new(&self.path, error),
            })?;
        }
        self.writer = None;
        sync_directory(directory_of(&self.target))
            .map_err(|error| StoreError::new(&self.path, error))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // What is still in the buffer belongs to a file nobody wants any more.
            let (file, _unwritten) = writer.into_parts();
            drop(file);
            // If the temporary cannot be deleted, there is nothing else to do.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// An error met while filling the file. The directory was fine when the temporary was created, so
/// one that speaks of missing or forbidden files is about something else the writer touched.
fn writing(path: &Path, source: io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::new(path, source),
        _ => StoreError::Failed { path: path.to_path_buf(), source },
    }
}

/// Renames a file where no other is; the system makes sure of that, where it has hard links.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        // The file is in place; a second name that cannot be deleted does no harm.
        Ok(()) => fs::remove_file(from).or(Ok(())),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if fs::symlink_metadata(to).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

fn is_separator(byte: u8) -> bool {
    std::path::is_separator(char::from(byte))
}

/// Creates a file with a name of its own in the directory of `target`.
fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let directory = directory_of(target);
    for name in temporary_names() {
        let temporary = directory.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (temporary, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Names for temporaries, to be tried one after the other.
pub(crate) fn temporary_names() -> impl Iterator<Item = String> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    (0..NAME_TRIES).map(|_| {
        // Process numbers repeat between containers that share a disk; the time tells those apart.
        format!(
            "{PARTIAL}{}-{:x}-{}",
            std::process::id(),
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos()),
            CREATED.fetch_add(1, Ordering::Relaxed)
        )
    })
}

/// Makes a rename survive a loss of power, where the system can.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync a directory, and some directories can be written but not
        // read. The file is in place all the same.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput
                    | io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// The SHA-256 digest of some bytes, as 64 hexadecimal digits.
///
/// It shows damage, not intent: whoever changes a file on purpose can change its digest too.
///
/// ```
/// let digest = consequence_store::digest(b"abc");
/// assert!(digest.starts_with("ba7816bf") && digest.len() == 64);
/// ```
pub fn digest(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// The digest of a file, read in parts.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// std::fs::write(&path, "abc")?;
/// assert_eq!(consequence_store::digest_file(&path)?, consequence_store::digest(b"abc"));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn digest_file(path: impl AsRef<Path>) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hexadecimal(&hasher.finalize())),
            Ok(count) => hasher.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose bytes go to a device that is always full.
    #[cfg(target_os = "linux")]
    fn on_a_full_disk(path: &Path) -> AtomicFile {
        let mut file = AtomicFile::create(path).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        file.writer = Some(BufWriter::new(full));
        file
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_named_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cohort.jsonl");
        let mut file = on_a_full_disk(&path);
        file.write_all(b"few enough bytes to wait in the buffer").unwrap();
        let error = file.commit().unwrap_err();
        assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let mut file = on_a_full_disk(&path);
        let error = file.write_all(&[0; 1 << 20]).unwrap_err();
        assert!(matches!(writing(&path, error), StoreError::DiskFull { .. }));
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn without_hard_links_nothing_is_replaced_either() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        // A folder has no hard links.
        fs::create_dir(&from).unwrap();
        fs::write(&to, "before").unwrap();
        let error = rename_new(&from, &to).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        fs::remove_file(&to).unwrap();
        rename_new(&from, &to).unwrap();
        assert!(to.is_dir() && !from.exists());
    }
}
