//! The table of OMOP that says which concepts are below which.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};

use csv::{ByteRecord, ReaderBuilder};
use flate2::read::MultiGzDecoder;

use crate::error::{PackError, shown};
use crate::table::PackLimits;

const COLUMNS: [&str; 2] = ["ancestor_concept_id", "descendant_concept_id"];
const HELP: &str = "expected the table CONCEPT_ANCESTOR of OMOP";

/// The concepts below others, as far as they are asked for.
///
/// ```
/// use std::collections::BTreeSet;
/// use consequence_packs::{Ancestors, PackLimits};
///
/// let text = "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n\
///             4129922\t4266526\t2\n7\t8\t1\n";
/// let wanted = BTreeSet::from([4_129_922]);
/// let limits = PackLimits::default();
/// let below = Ancestors::read("CONCEPT_ANCESTOR.csv", text.as_bytes(), &wanted, None, &limits)?;
/// assert_eq!(below.len(), 1);
/// assert!(below.contains(4_129_922, 4_266_526));
/// # Ok::<(), consequence_packs::PackError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ancestors {
    pairs: BTreeSet<(u64, u64)>,
}

impl Ancestors {
    /// Reads the table, separated by tabs or commas, gzip or plain: all of it passes by, and what
    /// is kept are the concepts below those that are wanted. With `known`, only those.
    pub fn read(
        file: &str,
        input: impl Read,
        wanted: &BTreeSet<u64>,
        known: Option<&BTreeSet<u64>>,
        limits: &PackLimits,
    ) -> Result<Self, PackError> {
        let failed = |cause| PackError::Read { file: file.to_owned(), cause };
        let mut input = BufReader::new(input);
        if input.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            let unpacked = BufReader::new(MultiGzDecoder::new(input));
            let damaged = |cause| PackError::Gzip { file: file.to_owned(), cause };
            return Self::read_text(file, unpacked, (wanted, known), limits, damaged);
        }
        Self::read_text(file, input, (wanted, known), limits, failed)
    }

    fn read_text(
        file: &str,
        mut input: impl BufRead,
        (wanted, known): (&BTreeSet<u64>, Option<&BTreeSet<u64>>),
        limits: &PackLimits,
        failed: impl Fn(std::io::Error) -> PackError,
    ) -> Result<Self, PackError> {
        let start = input.fill_buf().map_err(&failed)?;
        let first = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let delimiter = if first.contains(&b'\t') { b'\t' } else { b',' };
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        let fault = |cause: csv::Error| match cause.into_kind() {
            csv::ErrorKind::Io(cause) => failed(cause),
            other => failed(std::io::Error::other(format!("{other:?}"))),
        };
        let header = reader.byte_headers().map_err(&fault)?.clone();
        let place = |column: &str| {
            let named = |cell: &[u8]| {
                cell.strip_prefix(b"\xef\xbb\xbf")
                    .unwrap_or(cell)
                    .eq_ignore_ascii_case(column.as_bytes())
            };
            header.iter().position(named).ok_or_else(|| {
                let cells = header
                    .iter()
                    .take(8)
                    .map(|cell| format!("`{}`", shown(&String::from_utf8_lossy(cell))));
                let found = cells.collect::<Vec<_>>().join(", ");
                let found = if found.is_empty() { "nothing".to_owned() } else { found };
                let (file, missing) = (file.to_owned(), format!("`{column}`"));
                PackError::MissingColumn { file, missing, found, help: HELP }
            })
        };
        let places = [place(COLUMNS[0])?, place(COLUMNS[1])?];
        let mut pairs = BTreeSet::new();
        let mut row = ByteRecord::new();
        while reader.read_byte_record(&mut row).map_err(&fault)? {
            let number = |column: usize| {
                let cell = row.get(places[column]).unwrap_or_default().trim_ascii();
                let number = str::from_utf8(cell).ok().and_then(|text| text.parse::<u64>().ok());
                number.ok_or_else(|| PackError::Value {
                    file: file.to_owned(),
                    line: row.position().map_or(0, csv::Position::line),
                    column: COLUMNS[column].to_owned(),
                    value: shown(&String::from_utf8_lossy(cell)),
                    expected: "the number of a concept",
                })
            };
            let (above, below) = (number(0)?, number(1)?);
            let kept = wanted.contains(&above) && known.is_none_or(|known| known.contains(&below));
            if kept && above != below {
                pairs.insert((above, below));
            }
            if pairs.len() > limits.codes {
                let (file, what) = (file.to_owned(), "concepts below others");
                return Err(PackError::TooMany { file, what, most: limits.codes });
            }
        }
        Ok(Self { pairs })
    }

    /// Whether a concept is below another.
    pub fn contains(&self, ancestor: u64, concept: u64) -> bool {
        self.pairs.contains(&(ancestor, concept))
    }

    /// The concepts below one.
    pub fn below(&self, ancestor: u64) -> impl Iterator<Item = u64> {
        self.pairs.range((ancestor, 0)..=(ancestor, u64::MAX)).map(|&(_, below)| below)
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}
