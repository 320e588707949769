//! The events of one record.

use consequence_record::{Code, Kind, Vocabulary};

use super::encode::Shard;
use super::layout::ordinal_time;

/// What the events of a record say beside its visits.
pub(super) struct Events<'t> {
    /// The number of the subject.
    pub number: i64,
    pub ended: bool,
    /// When its encounters were; none where only their order is known.
    pub times: Option<&'t [i64]>,
}

impl Events<'_> {
    /// Appends the events of a record to a shard: the static visit, then the encounters. What is no
    /// record is refused with what is wrong with it.
    pub fn push<'a, V>(
        &self,
        shard: &mut Shard,
        vocabulary: &Vocabulary,
        visits: V,
    ) -> Result<(), &'static str>
    where
        V: IntoIterator<Item = &'a [Code]>,
        V::IntoIter: ExactSizeIterator,
    {
        let Self { number, ended, times } = *self;
        let visits = visits.into_iter();
        let count = visits.len();
        if count < 2 {
            return Err("has no encounter");
        }
        if let Some(times) = times {
            if times.len() + 1 != count {
                return Err("has more encounters than times, or the reverse");
            }
            if !times.is_sorted() {
                return Err("has encounters that go back in time");
            }
        }
        // The numbers of the markers follow those of the codes; `END` has none.
        let visit_marker = vocabulary.end().0 as i32;
        for (visit, codes) in visits.enumerate() {
            let encounter = (visit > 0).then(|| {
                let time = times.map(|times| times[visit - 1]);
                (time.unwrap_or_else(|| ordinal_time(visit)), visit as i64)
            });
            if visit > 0 {
                shard.push(number, visit_marker, encounter);
            }
            if !ended && visit + 1 == count {
                shard.push(number, visit_marker + 1, encounter);
            }
            for &code in codes {
                if code >= vocabulary.end() {
                    return Err("has a code that is not of the vocabulary, or stores `END`");
                }
                if vocabulary.kind(code) != Kind::of_visit(visit) {
                    return Err("has a static code in an encounter, or the reverse");
                }
                shard.push(number, code.0 as i32, encounter);
            }
        }
        Ok(())
    }
}
