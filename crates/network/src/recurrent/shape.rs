//! The sizes of a network.

use serde::{Deserialize, Serialize};

use super::copies::TERMS;
use crate::{ShapeError, check_sizes};

/// The sizes of a network.
///
/// ```
/// use consequence_network::recurrent::Shape;
///
/// let shape = Shape { codes: 1_617, width: 64, head: 256, bottleneck: 32, side: 0 };
/// assert_eq!(shape.parameters() / 1_000, 1_020);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Codes that a visit may hold.
    pub codes: usize,
    /// Numbers that the history of a record is kept in.
    pub width: usize,
    /// Numbers that the state of a visit has, which every code reads.
    pub head: usize,
    /// Numbers between the two layers that refine a state.
    pub bottleneck: usize,
    /// Outputs beside the head, read from the history alone.
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
            (self.width, "width"),
            (self.head, "width of the head"),
            (self.bottleneck, "bottleneck"),
        ])?;
        match self.side > 1 << 20 || self.parameters() > 1 << 40 {
            true => Err(ShapeError::TooLarge),
            false => Ok(()),
        }
    }

    /// Numbers that are kept.
    pub fn parameters(&self) -> u128 {
        let [codes, width, head, bottleneck, side] =
            [self.codes, self.width, self.head, self.bottleneck, self.side]
                .map(|size| size as u128);
        let linear = |inputs: u128, outputs: u128| inputs * outputs + outputs;
        let history = (codes + 1 + PLACES as u128) * width
            + 3 * 2 * width
            + linear(width, 2 * width)
            + linear(width, width)
            + linear(width, 4 * width)
            + linear(4 * width, width);
        let states = linear(width, head)
            + codes * head
            + 2 * head
            + linear(head, bottleneck)
            + linear(bottleneck, head);
        let copies = TERMS as u128 * (codes + 1 + width);
        history + states + codes * (head + 1) + copies + linear(width, side)
    }
}

/// Functions of the number of a visit that the history begins with.
pub(super) const PLACES: usize = 8;

/// The functions of the number of a visit, the static visit being 0.
pub(super) fn places(visit: usize) -> [f32; PLACES] {
    let t = visit as f32;
    let is = |number: usize| f32::from(u8::from(visit == number));
    [
        t.ln_1p() / 3.0,
        t / 100.0,
        is(0),
        is(1),
        1.0 / (1.0 + t),
        t.sqrt() / 7.0,
        (-t / 10.0).exp(),
        (-t / 40.0).exp(),
    ]
}
