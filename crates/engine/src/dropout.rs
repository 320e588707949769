//! Units left out at random while training.

use rayon::prelude::*;

use crate::level::vectorised;
use crate::rows::SPREAD;

/// Units left out at random: which ones follows from the key and their index alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dropout {
    /// The part that is left out, from 0 to less than 1.
    pub rate: f32,
    /// What the choice depends on.
    pub key: u64,
}

impl Dropout {
    /// What the units that stay are multiplied by, so that their sum stays the same on average.
    pub fn scale(&self) -> f32 {
        1.0 / (1.0 - self.rate)
    }

    /// Draws below this leave a unit out.
    pub(crate) fn limit(&self) -> u32 {
        (f64::from(self.rate) * 4_294_967_296.0) as u32
    }
}

/// Sets some values to zero and makes the others larger.
///
/// ```
/// use consequence_engine::{Dropout, drop_out};
///
/// let mut values = vec![1.0; 100_000];
/// drop_out(&mut values, Dropout { rate: 0.25, key: 7 });
/// let sum: f32 = values.iter().sum();
/// assert!((sum - 100_000.0).abs() < 1_000.0);
/// assert!(values.iter().all(|&value| value == 0.0 || value == 1.0 / 0.75));
/// ```
pub fn drop_out(values: &mut [f32], dropout: Dropout) {
    if dropout.rate <= 0.0 {
        return;
    }
    let limit = dropout.limit();
    values.par_chunks_mut(SPREAD).enumerate().for_each(|(chunk, values)| {
        // Every chunk has a key of its own, so that indices are counted with 32 bits.
        let key = mix(dropout.key as u32 ^ mix(chunk as u32 ^ (dropout.key >> 32) as u32));
        drop_some(values, key, limit, dropout.scale());
    });
}

vectorised! {
    fn drop_some(values: &mut [f32], key: u32, limit: u32, scale: f32) {
        for (index, value) in values.iter_mut().enumerate() {
            let stays = mix(index as u32 ^ key) >= limit;
            *value = if stays { *value * scale } else { 0.0 };
        }
    }
}

/// Scrambles a number: every bit of the result depends on every bit of it.
#[inline(always)]
fn mix(mut x: u32) -> u32 {
    x = x.wrapping_add(0x9e37_79b9);
    x = (x ^ (x >> 16)).wrapping_mul(0x21f0_aaad);
    x = (x ^ (x >> 15)).wrapping_mul(0x735a_2d97);
    x ^ (x >> 15)
}
