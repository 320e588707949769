//! Codes in the vocabularies that many datasets share.

/// The OMOP concept that a code stands for.
///
/// ```
/// use consequence_record::Concept;
///
/// let pregnancy = Concept { id: 4_299_535, ancestors: vec![4_088_927] };
/// assert!(pregnancy.is_below(4_088_927) && !pregnancy.is_below(pregnancy.id));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concept {
    /// Its number.
    pub id: u64,
    /// The concepts above it, as far as they are known.
    pub ancestors: Vec<u64>,
}

impl Concept {
    /// Whether a concept is known to be above it.
    pub fn is_below(&self, ancestor: u64) -> bool {
        self.ancestors.contains(&ancestor)
    }
}
