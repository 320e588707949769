//! Codes in the order a model decides them.

use std::ops::Range;
use std::sync::Arc;

use consequence_record::{Code, Kind, RecordView, Vocabulary};
use consequence_rules::Order;

/// A vocabulary, and the order in which the codes of a visit are decided: static codes first.
///
/// ```
/// use std::sync::Arc;
/// use consequence_model::CodeOrder;
/// use consequence_record::{Kind, Record, Cohort, Vocabulary};
///
/// let vocabulary = Vocabulary::new([("A", Kind::Encounter), ("SEX//F", Kind::Static)])?;
/// let codes = CodeOrder::natural(Arc::new(vocabulary));
/// let [a, f] = ["A", "SEX//F"].map(|name| codes.vocabulary().code(name).unwrap());
/// assert_eq!((codes.range(0), codes.range(1)), (0..1, 1..3));
/// let mut cohort = Cohort::default();
/// cohort.push("p", &Record::new(vec![vec![f], vec![a]]));
/// assert_eq!(codes.positions(cohort.record(0), 1), [1, 2]); // A, and END
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CodeOrder {
    vocabulary: Arc<Vocabulary>,
    order: Order,
    statics: u32,
}

impl CodeOrder {
    /// Codes in an order that a plan was made with.
    pub fn new(vocabulary: Arc<Vocabulary>, order: Order) -> Self {
        let is_static = |code: &Code| vocabulary.kind(*code) == Kind::Static;
        let statics = vocabulary.codes().filter(is_static).count() as u32;
        Self { vocabulary, order, statics }
    }

    /// Static codes, then codes of encounters, each as the vocabulary has them.
    pub fn natural(vocabulary: Arc<Vocabulary>) -> Self {
        let mut codes: Vec<Code> = vocabulary.codes().collect();
        codes.sort_by_key(|&code| vocabulary.kind(code) != Kind::Static);
        let Some(order) = Order::new(codes, &vocabulary) else {
            unreachable!("all codes, the static ones first")
        };
        Self::new(vocabulary, order)
    }

    /// The vocabulary.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// The order.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The number of codes, `END` among them.
    #[allow(clippy::len_without_is_empty, reason = "END makes it never empty")]
    pub fn len(&self) -> usize {
        self.order.codes().len()
    }

    /// The number of static codes.
    pub fn statics(&self) -> usize {
        self.statics as usize
    }

    /// The position of `END`.
    pub fn end(&self) -> u32 {
        self.order.position(self.vocabulary.end())
    }

    /// The positions of the codes that a visit may hold; visit 0 is the static one.
    pub fn range(&self, visit: usize) -> Range<u32> {
        if visit == 0 { 0..self.statics } else { self.statics..self.len() as u32 }
    }

    /// The positions of the codes of a record's visit in ascending order, with that of `END` where
    /// the record ends.
    pub fn positions(&self, record: RecordView<'_>, visit: usize) -> Vec<u32> {
        let codes = record.visit(visit).iter().map(|&code| self.order.position(code));
        let end = (visit > 0 && record.ends_at(visit)).then(|| self.end());
        let mut positions: Vec<u32> = codes.chain(end).collect();
        positions.sort_unstable();
        positions
    }
}
