//! What a cohort knows beside its codes: what of days, ages and values rules can ask about.

use std::collections::{BTreeMap, BTreeSet};

use consequence_record::{AgeBand, Code, CohortDetails, Scale, Vocabulary};

/// What a cohort knows of days, ages and values.
///
/// ```
/// use consequence_record::{CohortDetails, Details, Kind, Vocabulary};
/// use consequence_rules::language::{Ages, Knows};
///
/// let vocabulary = Vocabulary::new([("AGE//0-18", Kind::Static), ("AGE//18+", Kind::Static)])?;
/// let mut details = CohortDetails::default();
/// details.push(Details { times: vec![0], ..Details::default() }.view());
/// let knows = Knows::new(&vocabulary, Default::default(), Some(&details));
/// assert_eq!(knows.dated, Some(true));
/// assert!(matches!(knows.ages, Some(Ages::Bands(bands)) if bands.len() == 2));
/// # Ok::<(), consequence_record::VocabularyError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knows {
    /// What the values of codes are, for those that have any.
    pub scales: BTreeMap<Code, Scale>,
    /// The smallest and the largest value of each code that has any; none where values were not looked at.
    pub values: Option<BTreeMap<Code, (f32, f32)>>,
    /// Whether encounters have dates; none where that was not looked at.
    pub dated: Option<bool>,
    /// What of ages is known; none where that was not looked at.
    pub ages: Option<Ages>,
}

/// What a cohort knows of ages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ages {
    /// Nothing.
    Unknown,
    /// Bands only.
    Bands(BTreeSet<AgeBand>),
    /// Completed years, from births and dates.
    Years,
}

/// What the records of a cohort tell of days, ages and values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// Whether encounters have dates.
    pub dated: bool,
    /// Whether births are known.
    pub births: bool,
    /// The bands of age that the source gave at encounters.
    pub bands: BTreeSet<AgeBand>,
    /// The smallest and the largest value of each code that has any.
    pub values: BTreeMap<Code, (f32, f32)>,
}

impl Knows {
    /// What a cohort knows over these codes. Without details nothing is known of its dates and values, be
    /// it that they were not read; [`Knows::without_details`] says that there are none.
    pub fn new(
        vocabulary: &Vocabulary,
        scales: BTreeMap<Code, Scale>,
        details: Option<&CohortDetails>,
    ) -> Self {
        let Some(details) = details else { return Self { scales, ..Self::default() } };
        let told = Told {
            dated: details.dated(),
            births: details.has_births(),
            bands: details.age_bands(),
            values: details.value_spans(),
        };
        Self::told(vocabulary, scales, told)
    }

    /// What a cohort knows over these codes whose records tell so much.
    pub fn told(vocabulary: &Vocabulary, scales: BTreeMap<Code, Scale>, told: Told) -> Self {
        let Told { dated, births, mut bands, values } = told;
        bands.extend(AgeBand::of_statics(vocabulary).into_values());
        let ages = match (dated && births, bands.is_empty()) {
            (true, _) => Ages::Years,
            (false, false) => Ages::Bands(bands),
            (false, true) => Ages::Unknown,
        };
        Self { scales, values: Some(values), dated: Some(dated), ages: Some(ages) }
    }

    /// What is known of a cohort that has no dates, births and values.
    pub fn without_details(vocabulary: &Vocabulary) -> Self {
        Self::new(vocabulary, BTreeMap::new(), Some(&CohortDetails::default()))
    }

    /// The names of tests.
    pub(super) fn tests(&self) -> impl Iterator<Item = &str> {
        self.scales.values().map(|scale| &*scale.test)
    }

    /// The codes of the values of a test, ascending.
    pub(super) fn codes_of(&self, test: &str) -> Vec<Code> {
        let of_test = self.scales.iter().filter(|(_, scale)| scale.test == test);
        of_test.map(|(&code, _)| code).collect()
    }
}
