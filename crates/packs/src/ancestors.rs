//! The table of OMOP that says which concepts are below which.

use std::collections::BTreeSet;
use std::io::Read;

use crate::error::PackError;
use crate::stream;
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
        let mut pairs = BTreeSet::new();
        stream::rows(file, input, &COLUMNS, HELP, |row| {
            let (above, below) = (row.concept(0)?, row.concept(1)?);
            let kept = wanted.contains(&above) && known.is_none_or(|known| known.contains(&below));
            if kept && above != below {
                pairs.insert((above, below));
            }
            if pairs.len() > limits.codes {
                let (file, what) = (file.to_owned(), "concepts below others");
                return Err(PackError::TooMany { file, what, most: limits.codes });
            }
            Ok(())
        })?;
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
