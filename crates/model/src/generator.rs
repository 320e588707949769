//! What a model must be able to do to write records.

use consequence_rules::Order;

/// Tells what a model says of later codes of the visit: whether the code at hand is taken to be present,
/// positions after it, and room for the probability of each. All codes that are not decided are taken to
/// be absent.
pub type LookAhead<'a> = dyn FnMut(bool, &[u32], &mut [f64]) + 'a;

/// Who decides the codes of one visit: sampling, rules, or a record that exists.
pub trait Decide: Send {
    /// Whether the code at a position of the order is in the visit, given the probability that the
    /// model gives it; the model may be asked for codes that come after it.
    fn decide(&mut self, position: u32, probability: f64, ahead: &mut LookAhead<'_>) -> bool;

    /// Told what a network says beside the probabilities of codes, before those of a visit are
    /// decided.
    fn open(&mut self, side: &[f32]) {
        let _ = side;
    }
}

/// The next visit of one record.
pub struct Turn<'a, P> {
    /// What the model remembers of the record.
    pub past: &'a mut P,
    /// The visit decided last, as ascending positions; none before the static visit.
    pub last: Option<&'a [u32]>,
    /// Who decides the codes of the next visit.
    pub decider: &'a mut dyn Decide,
}

/// A model that gives the probability of each code of the next visit.
///
/// The probability of a code may depend on the visits before and on the codes of the same visit
/// that come before it in the order. It must not depend on which other records are in the batch.
///
/// A model that knows nothing, as an example:
/// ```
/// use std::sync::Arc;
/// use consequence_model::{Decide, Generator, LookAhead, Turn};
/// use consequence_rules::Order;
/// use consequence_record::{Kind, Vocabulary};
///
/// struct Coin(Order);
///
/// impl Generator for Coin {
///     type Past = usize; // visits so far
///     type Scratch = ();
///     fn codes(&self) -> &Order { &self.0 }
///     fn max_visits(&self) -> usize { 10 }
///     fn begin(&self) -> usize { 0 }
///     fn next(&self, turns: &mut [Turn<'_, usize>], _: &mut ()) {
///         for turn in turns {
///             for position in self.0.range(*turn.past) {
///                 turn.decider.decide(position, 0.5, &mut |_, _, ahead| ahead.fill(0.5));
///             }
///             *turn.past += 1;
///         }
///     }
/// }
///
/// struct All(Vec<u32>);
/// impl Decide for All {
///     fn decide(&mut self, position: u32, _: f64, _: &mut LookAhead<'_>) -> bool {
///         self.0.push(position);
///         true
///     }
/// }
/// let coin = Coin(Order::natural(Arc::new(Vocabulary::new([("A", Kind::Encounter)])?)));
/// let (mut past, mut all) = (1, All(Vec::new()));
/// coin.next(&mut [Turn { past: &mut past, last: Some(&[]), decider: &mut all }], &mut ());
/// assert_eq!(all.0, [0, 1]);
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
pub trait Generator: Sync {
    /// What the model remembers of one record.
    type Past: Send;
    /// Memory that is kept from one call to the next.
    type Scratch: Default + Send;

    /// The codes, in the order they are decided.
    fn codes(&self) -> &Order;

    /// The most encounters that a record may have.
    fn max_visits(&self) -> usize;

    /// What the model knows before the first visit.
    fn begin(&self) -> Self::Past;

    /// Takes in each record's last visit and has its next one decided: the decider is asked for
    /// every position that the visit may hold, in order.
    ///
    /// It works on the thread that calls it: threads call it side by side, each with records and
    /// memory of its own.
    fn next(&self, turns: &mut [Turn<'_, Self::Past>], scratch: &mut Self::Scratch);
}
