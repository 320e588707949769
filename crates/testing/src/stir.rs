//! Networks whose codes depend on each other without training.

/// Makes the weights of an untrained recurrent network larger, and adds to each a number of its own, so
/// that nothing is zero that could make a difference.
pub fn stir(weights: &mut [f32], scale: f32) {
    for (at, value) in weights.iter_mut().enumerate() {
        *value = *value * scale + 0.1 * scale * (at as f32 * 1.7).sin();
    }
}
