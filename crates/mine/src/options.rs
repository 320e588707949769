//! What counts as enough evidence for a rule.

use consequence_record::Cohort;

/// How often something must have been seen before a rule is made of it: the paper's cut-offs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// Visits with a code, for a rule that it never comes without another. Default 10.
    pub together: u64,
    /// Visits with a code, for a rule that a demographic group never has it. Default 500.
    pub never_for: u64,
    /// Records of a demographic group, for the same. Default 0: the bound on probability decides.
    pub group_records: u64,
    /// Visits with a code, for a rule that it only comes after another.
    pub only_after: u64,
    /// Visits with a code, for a rule that it stays.
    pub stays: u64,
    /// Visits that have the code of the visit before again, for the same.
    pub repeats: u64,
}

impl Cutoffs {
    /// Encounters from which on a cohort counts as a large one.
    const LARGE: usize = 1_000_000;

    /// The paper's cut-offs for its inpatient cohort: some ten thousand records with few visits.
    pub fn inpatient() -> Self {
        Self {
            together: 10,
            never_for: 500,
            group_records: 0,
            only_after: 10,
            stays: 10,
            repeats: 5,
        }
    }

    /// The paper's cut-offs for its outpatient cohort: a million records with many visits.
    pub fn outpatient() -> Self {
        Self { only_after: 100, stays: 500, repeats: 250, ..Self::inpatient() }
    }

    /// The same for every kind of rule: so many visits with the code, and half as many repeats of
    /// a code that stays.
    ///
    /// ```
    /// use consequence_mine::Cutoffs;
    ///
    /// assert_eq!((Cutoffs::alike(40).never_for, Cutoffs::alike(40).repeats), (40, 20));
    /// ```
    pub fn alike(visits: u64) -> Self {
        Self {
            together: visits,
            never_for: visits,
            group_records: 0,
            only_after: visits,
            stays: visits,
            repeats: visits / 2,
        }
    }

    /// The cut-offs for a cohort of this size.
    ///
    /// ```
    /// use consequence_mine::Cutoffs;
    /// use consequence_record::Cohort;
    ///
    /// assert_eq!(Cutoffs::for_cohort(&Cohort::default()), Cutoffs::inpatient());
    /// ```
    pub fn for_cohort(cohort: &Cohort) -> Self {
        let encounters = cohort.visit_count().saturating_sub(cohort.len());
        if encounters < Self::LARGE { Self::inpatient() } else { Self::outpatient() }
    }
}

/// What a rule must show beyond the cut-offs. Records count as independent, visits of one record
/// do not: all of this is reckoned over records, each with its first occasion to break the rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The probability that one rule or more of a template is found where codes are independent of
    /// each other, over all candidates of that template together (Bonferroni). Default 0.05.
    pub probability: f64,
    /// The most a rule may be doubted: the probability that its exceptions are rare rather than
    /// none, judging by how the other candidates of its template fare. Default 0.05, which also
    /// bounds the share of wrong rules to be expected among all that are found.
    pub doubt: f64,
}

impl Default for Evidence {
    fn default() -> Self {
        Self { probability: 0.05, doubt: 0.05 }
    }
}

/// When a rule with few exceptions becomes a soft rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearRules {
    /// The most exceptions, as a share of the occasions. Default 1%.
    pub exceptions: f64,
    /// The most that the upper confidence bound of that share may be. Default 2%.
    pub bound: f64,
    /// The most that the bound may be as a share of what chance would give. Default 10%.
    pub of_chance: f64,
}

impl Default for NearRules {
    fn default() -> Self {
        Self { exceptions: 0.01, bound: 0.02, of_chance: 0.1 }
    }
}

/// How to mine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MineOptions {
    /// How often something must have been seen; none: by the size of the cohort.
    pub cutoffs: Option<Cutoffs>,
    /// What a rule must show beyond that; none: nothing, as in the paper.
    pub evidence: Option<Evidence>,
    /// When rules with exceptions become soft rules; none: never.
    pub near: Option<NearRules>,
    /// Whether `END` counts among the codes that others never come without. Default true.
    pub end: bool,
    /// Bytes the counts of pairs may take in all. Where they need more, the cohort is walked
    /// several times. Default 1 GiB.
    pub memory: usize,
}

impl Default for MineOptions {
    fn default() -> Self {
        Self {
            cutoffs: None,
            evidence: Some(Evidence::default()),
            near: Some(NearRules::default()),
            end: true,
            memory: 1 << 30,
        }
    }
}

impl MineOptions {
    /// The paper's way: cut-offs and nothing else.
    pub fn counts_alone() -> Self {
        Self { evidence: None, near: None, end: false, ..Self::default() }
    }
}
