//! What counts as enough evidence for a rule.

use consequence_record::Cohort;
use serde::{Deserialize, Serialize};

/// How often something must have been seen before a rule is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cutoffs {
    /// Visits with a code, for a rule that it never comes without another.
    pub together: u64,
    /// Visits with a code, for a rule that a demographic group never has it.
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
    /// Encounters from which on a cohort is more like the paper's outpatients.
    const LARGE: u64 = 1_000_000;
    /// The encounters of the paper's cohorts, in between which its cut-offs are led smoothly.
    const INPATIENT: f64 = 6e4;
    const OUTPATIENT: f64 = 3.6e7;

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

    /// The paper's cut-offs for whichever of its two cohorts is nearer in size.
    pub fn published(cohort: &Cohort) -> Self {
        Self::published_for(cohort.visit_count().saturating_sub(cohort.len()) as u64)
    }

    fn published_for(encounters: u64) -> Self {
        if encounters < Self::LARGE { Self::inpatient() } else { Self::outpatient() }
    }

    /// The cut-offs for a cohort of this size. They grow smoothly with it, up to the paper's for
    /// its outpatients; in a small cohort nearly everything is looked at, and the evidence decides.
    ///
    /// ```
    /// use consequence_mine::Cutoffs;
    /// use consequence_record::{Cohort, Record};
    ///
    /// let mut cohort = Cohort::default();
    /// cohort.push("p1", &Record::new(vec![vec![], vec![]]));
    /// let small = Cutoffs::for_cohort(&cohort);
    /// assert_eq!((small.together, small.never_for, small.stays), (3, 5, 3));
    /// ```
    pub fn for_cohort(cohort: &Cohort) -> Self {
        Self::for_encounters(cohort.visit_count().saturating_sub(cohort.len()) as u64)
    }

    fn for_encounters(encounters: u64) -> Self {
        let encounters = encounters.max(1) as f64;
        let inpatient = encounters / Self::INPATIENT;
        let outpatient = (encounters / Self::OUTPATIENT).min(1.0);
        let whole = |count: f64, least: u64, most: u64| (count.round() as u64).clamp(least, most);
        let stays = whole(500.0 * outpatient.powf(0.61), 3, 500);
        Self {
            together: whole(10.0 * inpatient.powf(0.25), 3, 10),
            never_for: whole(500.0 * outpatient.powf(0.5), 5, 500),
            group_records: 0,
            only_after: whole(100.0 * outpatient.powf(0.36), 3, 100),
            stays,
            repeats: stays.div_ceil(2),
        }
    }
}

/// What a rule must show beyond the cut-offs. The first two tell a certain rule, the last two a
/// likely one. Records count as independent, visits of one record
/// do not: all of this is reckoned over records, each with its first occasion to break the rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The probability that one rule or more of a template is found where codes are independent of
    /// each other, over all candidates of that template together (Bonferroni). Default 0.05.
    pub probability: f64,
    /// The most a rule may be doubted: the probability that its exceptions are rare rather than
    /// none, judging by how the other candidates of its template fare. Default 0.05, which also
    /// bounds the share of wrong rules to be expected among all that are found.
    pub doubt: f64,
    /// For a likely rule: the share of the claims without exceptions of its template that chance
    /// may have made, where all are taken that have as much against chance as it has. Default 0.05.
    pub by_chance: f64,
    /// For a likely rule: the most that the probability may be that a tenth of as many further
    /// records break it, judging by how the other candidates fare. Default 0.03.
    pub broken: f64,
}

impl Default for Evidence {
    fn default() -> Self {
        Self { probability: 0.05, doubt: 0.05, by_chance: 0.05, broken: 0.03 }
    }
}

/// When a rule with few exceptions becomes a soft rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// What becomes of likely rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LikelyRules {
    /// They are written as hard rules.
    #[default]
    Hard,
    /// They are written as soft rules with a small probability of an exception, where a soft rule
    /// can say what they say.
    Soft,
    /// They are listed, and are no rules.
    Leave,
}

/// How to mine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MineOptions {
    /// How often something must have been seen; none: by the size of the cohort, and where no
    /// other evidence is asked for, what the paper asked for.
    pub cutoffs: Option<Cutoffs>,
    /// What a rule must show beyond that; none: nothing, as in the paper.
    pub evidence: Option<Evidence>,
    /// When rules with exceptions become soft rules; none: never.
    pub near: Option<NearRules>,
    /// What becomes of likely rules. Default: they are hard rules.
    pub likely: LikelyRules,
    /// Whether to look beyond the paper's five kinds of rules, and for groups of codes. Default true.
    pub beyond: bool,
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
            likely: LikelyRules::default(),
            beyond: true,
            end: true,
            memory: 1 << 30,
        }
    }
}

impl MineOptions {
    /// The cut-offs for a cohort of so many encounters.
    pub(crate) fn cutoffs_for(&self, encounters: u64) -> Cutoffs {
        self.cutoffs.unwrap_or_else(|| match self.evidence {
            Some(_) => Cutoffs::for_encounters(encounters),
            None => Cutoffs::published_for(encounters),
        })
    }

    /// The paper's way: its five kinds of rules, cut-offs and nothing else.
    pub fn counts_alone() -> Self {
        Self { evidence: None, near: None, beyond: false, end: false, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_offs_grow_up_to_those_of_the_paper() {
        let sizes = [0, 1_000, 6_000, 60_000, 400_000, 3_000_000, 36_000_000, u64::MAX];
        let all = sizes.map(Cutoffs::for_encounters);
        for pair in all.windows(2) {
            assert!(pair[0].together <= pair[1].together && pair[0].never_for <= pair[1].never_for);
            assert!(pair[0].only_after <= pair[1].only_after && pair[0].stays <= pair[1].stays);
        }
        assert_eq!(all[6], Cutoffs::outpatient());
        let inpatient = all[3];
        assert_eq!((inpatient.together, inpatient.only_after, inpatient.stays), (10, 10, 10));
    }
}
