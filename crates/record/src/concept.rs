//! Codes in the vocabularies that many datasets share.

/// The OMOP concept that a code stands for.
///
/// ```
/// use consequence_record::Concept;
///
/// let ancestors = vec![4_088_927];
/// let pregnancy = Concept { id: 4_299_535, ancestors, ..Concept::default() };
/// assert!(pregnancy.is_below(4_088_927) && !pregnancy.is_below(pregnancy.id));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concept {
    /// Its number.
    pub id: u64,
    /// The concepts above it, as far as they are known.
    pub ancestors: Vec<u64>,
    /// What it speaks of, where that is known.
    pub domain: Option<Domain>,
    /// Whether it is known as a concept of the source alone, for which no standard concept stands.
    pub source: bool,
    /// For a result in words, the concept of the words; 0 where they have none.
    pub result: Option<u64>,
}

impl Concept {
    /// Whether a concept is known to be above it.
    pub fn is_below(&self, ancestor: u64) -> bool {
        self.ancestors.contains(&ancestor)
    }
}

/// What a concept of OMOP speaks of, and so the table that it belongs to.
///
/// ```
/// use consequence_record::Domain;
///
/// assert_eq!(Domain::of("Condition"), Some(Domain::Condition));
/// assert_eq!(Domain::of("Condition/Meas"), Some(Domain::Condition));
/// assert_eq!(Domain::of("Relationship"), None);
/// assert_eq!(Domain::Drug.name(), "Drug");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Domain {
    /// What a patient has.
    Condition,
    /// What was put into a patient, or used on one.
    Device,
    /// What a patient was given.
    Drug,
    /// What was measured.
    Measurement,
    /// All else that is known of a patient.
    Observation,
    /// What was done.
    Procedure,
}

impl Domain {
    /// All domains.
    pub const ALL: [Self; 6] = [
        Self::Condition,
        Self::Device,
        Self::Drug,
        Self::Measurement,
        Self::Observation,
        Self::Procedure,
    ];

    /// Its name, as the vocabularies of OMOP have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Condition => "Condition",
            Self::Device => "Device",
            Self::Drug => "Drug",
            Self::Measurement => "Measurement",
            Self::Observation => "Observation",
            Self::Procedure => "Procedure",
        }
    }

    /// The domain of a name; of a name that joins two, the first. None for names of what no event is.
    pub fn of(name: &str) -> Option<Self> {
        let first = name.split('/').next().unwrap_or(name).trim();
        Self::ALL.into_iter().find(|domain| domain.name().eq_ignore_ascii_case(first))
    }
}
