//! How an import tells how far it has come.

/// What an import tells of itself while it works.
///
/// ```
/// use std::cell::Cell;
/// use consequence_import::{CsvColumns, ImportOptions, Source, Step, open_telling};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("events.csv");
/// std::fs::write(&path, "subject_id,time,code\n1,2024-01-31,A\n")?;
/// let bytes = Cell::new(0);
/// let source = Source::Csv(CsvColumns::default());
/// open_telling(&source, &path, &ImportOptions::default(), &|step| {
///     if let Step::Advance(more) = step {
///         bytes.set(bytes.get() + more);
///     }
/// })?;
/// assert_eq!(bytes.get(), 36);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// A table begins, of so many bytes on disk.
    Begin {
        /// The table.
        task: &'a str,
        /// Its bytes.
        total: u64,
    },
    /// So many more bytes were read.
    Advance(u64),
    /// The table is done.
    Finish,
}

/// Who is told.
pub(crate) type Teller<'a> = &'a dyn Fn(Step<'_>);
