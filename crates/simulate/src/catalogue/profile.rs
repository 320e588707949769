//! Who has a code more often, by age.

/// A stage of life. An age band of a preset stands for one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Up to 17.
    Child,
    /// From 18 to the middle thirties or forties.
    Young,
    /// The years between.
    Middle,
    /// Up to 64.
    Older,
    /// 65 and over.
    Senior,
}

/// How the frequency of a code goes with age.
///
/// No factor is zero: only a planted rule keeps a code out of an age band altogether.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The same at every age.
    Flat,
    /// Falls with age.
    Young,
    /// Highest in the middle.
    Adult,
    /// Rises with age.
    Old,
}

impl Profile {
    /// The factor of the frequency at a stage of life, 1 where it is not known.
    pub fn factor(self, stage: Option<Stage>) -> f64 {
        let Some(stage) = stage else { return 1.0 };
        let factors = match self {
            Self::Flat => [1.0; 5],
            Self::Young => [1.9, 1.3, 0.9, 0.8, 0.6],
            Self::Adult => [0.4, 1.3, 1.4, 1.2, 0.8],
            Self::Old => [0.3, 0.5, 0.8, 1.3, 1.8],
        };
        factors[stage as usize]
    }
}
