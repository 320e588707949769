//! Where a visit stands in a record whose end is given: how many visits follow it, and whether the
//! record ended or was cut.
//!
//! A record that exists has an end that no rule may move. So a clause of a plan for repair says at
//! which stages it is required: `A => not END` asks something of the last visit of a record that
//! ended, and through what it forbids there it asks something of the visit before, and so on.
//! Stages count visits up to [`HORIZON`]; one more stage of each kind stands for that many and
//! more. It is exact where what a visit asks of the one before no longer changes by then, and not
//! used elsewhere. Visits further from the end than that are then [`Stage::OPEN`]: the record could
//! still end anywhere, as it could while it is generated.

/// From how many visits that follow on their number no longer counts.
pub(crate) const HORIZON: usize = 30;

/// One bit for each number of visits that follow, up to [`HORIZON`] and more: those of records that
/// ended, or of records that were cut.
const KIND: u64 = (1 << (HORIZON + 1)) - 1;
/// The first bit of records that were cut.
const CUT: u32 = HORIZON as u32 + 1;
const OPEN: u32 = 2 * CUT;

/// Where a visit stands in a record: one member of [`Stages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage(u32);

impl Stage {
    /// The record may end at any visit: what a record is while it is generated.
    pub const OPEN: Self = Self(OPEN);
    /// The last visit of a record that ended.
    pub(crate) const END: Self = Self(0);

    /// The stage of a visit that `following` visits follow, in a record that ended or was cut.
    pub(crate) fn before(following: usize, ended: bool) -> Self {
        Self(following.min(HORIZON) as u32 + if ended { 0 } else { CUT })
    }

    /// Whether `END` holds here; `None` where that is open.
    pub(crate) fn ends(self) -> Option<bool> {
        (self != Self::OPEN).then_some(self == Self::END)
    }

    /// The stages that the next visit may be at; none where no visit follows.
    pub(crate) fn next(self) -> Stages {
        let Self(bit) = self;
        match bit {
            0 | CUT => Stages::NONE,
            OPEN => Stages::OPEN,
            _ if bit % CUT == HORIZON as u32 => Stages(1 << bit | 1 << (bit - 1)),
            _ => Stages(1 << (bit - 1)),
        }
    }
}

/// A set of [`Stage`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stages(u64);

impl Stages {
    pub(crate) const NONE: Self = Self(0);
    /// Every stage.
    pub(crate) const ALL: Self = Self(KIND | KIND << CUT | 1 << OPEN);
    /// The one stage of records that may end anywhere.
    pub(crate) const OPEN: Self = Self(1 << OPEN);
    /// The stages of records whose end is given.
    pub(crate) const GIVEN: Self = Self(KIND | KIND << CUT);
    /// The last visit of a record that ended.
    pub(crate) const END: Self = Self(1);
    /// Static visits of records that were cut: at least one encounter follows.
    const CUT_STATICS: Self = Self((KIND & !1) << CUT);

    /// Whether a stage is in the set.
    #[inline]
    pub fn contains(self, stage: Stage) -> bool {
        self.0 >> stage.0 & 1 == 1
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub(crate) fn covers(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    pub(crate) fn meet(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn join(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The stages of visits whose next visit may be at one of these, where the end is given.
    pub(crate) fn one_visit_earlier(self) -> Self {
        let kind = |bits: u64| (bits << 1 | bits & 1 << HORIZON) & KIND;
        Self(kind(self.0 & KIND) | kind(self.0 >> CUT & KIND) << CUT)
    }

    /// Whether the set says the same of a visit as many visits before the end as are counted, and
    /// of one before it.
    pub(crate) fn is_settled(self, ended: bool) -> bool {
        let [last, beyond] =
            [HORIZON - 1, HORIZON].map(|following| Stage::before(following, ended));
        self.contains(last) == self.contains(beyond)
    }

    /// Whether no record that was cut, and that has an encounter, is left if these static visits
    /// are impossible.
    pub(crate) fn leaves_no_cut_record(self) -> bool {
        self.covers(Self::CUT_STATICS)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Stage> {
        (0..=OPEN).map(Stage).filter(move |&stage| self.contains(stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_is_the_inverse_of_next() {
        for stage in Stages::GIVEN.iter() {
            let here = Stages(1 << stage.0);
            let before: Vec<Stage> = here.one_visit_earlier().iter().collect();
            let follows = |earlier: &Stage| earlier.next().contains(stage);
            let expected: Vec<Stage> = Stages::GIVEN.iter().filter(follows).collect();
            assert_eq!(before, expected, "{stage:?}");
        }
    }

    #[test]
    fn records_run_down_to_their_end() {
        for ended in [true, false] {
            for following in 1..HORIZON {
                let next = Stage::before(following, ended).next();
                assert_eq!(next.iter().collect::<Vec<_>>(), [Stage::before(following - 1, ended)]);
            }
            let beyond = Stage::before(HORIZON, ended);
            assert_eq!(beyond, Stage::before(HORIZON + 9, ended));
            assert_eq!(beyond.next().iter().count(), 2);
            assert!(Stage::before(0, ended).next().is_empty());
            assert_eq!(Stage::before(0, ended).ends(), Some(ended));
        }
        assert_eq!(Stage::OPEN.ends(), None);
        assert_eq!(Stages::ALL.iter().count(), 2 * (HORIZON + 1) + 1);
    }
}
