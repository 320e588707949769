//! The sizes of a network.

use serde::{Deserialize, Serialize};

use crate::{ShapeError, check_sizes};

/// The sizes of a network.
///
/// ```
/// use consequence_network::halo::Shape;
///
/// let paper = Shape {
///     codes: 1_619,
///     positions: 48,
///     width: 768,
///     layers: 12,
///     heads: 12,
///     head_units: 1,
///     side: 0,
/// };
/// assert_eq!(paper.parameters() / 1_000_000, 95);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Codes that a visit may hold, and marks such as the one a record begins with.
    pub codes: usize,
    /// Visits that a record may have, and one for the mark it begins with.
    pub positions: usize,
    /// Numbers that a visit is embedded in.
    pub width: usize,
    /// Blocks of attention.
    pub layers: usize,
    /// Heads of attention; they share the width.
    pub heads: usize,
    /// Hidden units of the head for each code; 1 in the published network.
    pub head_units: usize,
    /// Outputs beside the head, read from the history alone; none in the published network.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub side: usize,
}

fn is_zero(size: &usize) -> bool {
    *size == 0
}

impl Shape {
    /// Refuses sizes that make no network.
    pub fn check(&self) -> Result<(), ShapeError> {
        check_sizes(&[
            (self.codes, "codes"),
            (self.positions, "positions"),
            (self.width, "width"),
            (self.layers, "layers"),
            (self.heads, "heads"),
            (self.head_units, "hidden units of the head"),
        ])?;
        if self.side > 1 << 20 {
            return Err(ShapeError::TooLarge);
        }
        if !self.width.is_multiple_of(self.heads) {
            return Err(ShapeError::Heads { heads: self.heads, width: self.width });
        }
        if self.parameters() > 1 << 40 {
            return Err(ShapeError::TooLarge);
        }
        Ok(())
    }

    /// Hidden units of the head: one for each number of the history, `head_units` for each code.
    pub fn units(&self) -> usize {
        self.width + self.head_units * self.codes
    }

    /// Hidden units that may speak for a code: those of the history and of the codes before it.
    pub fn units_before(&self, code: usize) -> usize {
        self.width + self.head_units * code
    }

    /// Numbers that are kept, the empty halves of triangles included. (The published network keeps
    /// rows for outputs that nobody reads, too.)
    pub fn parameters(&self) -> u128 {
        let [codes, positions, width, layers] =
            [self.codes, self.positions, self.width, self.layers].map(|size| size as u128);
        let units = self.units() as u128;
        let layer = 12 * width * width + 13 * width;
        (codes + positions) * width
            + layers * layer
            + 2 * width
            + (width + codes + 1) * units
            + codes * (units + 1)
            + self.side as u128 * (width + 1)
    }
}
