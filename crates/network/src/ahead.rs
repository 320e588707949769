//! Codes that are not decided yet.

/// What a network says of the codes of a visit that come after the one at hand.
pub trait Ahead {
    /// The logits of some of them, all that is not decided taken to be absent; with `present`, the code
    /// at hand is taken to be present.
    fn logits(&mut self, present: bool, codes: &[u32]) -> &[f32];
}
