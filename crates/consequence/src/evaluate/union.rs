//! Two cohorts over one vocabulary.

use std::path::Path;
use std::sync::Arc;

use consequence_record::{Code, Cohort, Record, Vocabulary};

use consequence_pipeline::Error;

/// The vocabulary of one cohort with the codes that only another has after it, and the other cohort
/// numbered by it. The numbers of the first stay as they are.
pub(super) fn union(
    first: &Vocabulary,
    other: &Vocabulary,
    cohort: &Cohort,
    path: &Path,
) -> Result<(Arc<Vocabulary>, Cohort), Error> {
    let own = |vocabulary: &Vocabulary| -> Vec<Code> {
        vocabulary.codes().filter(|&code| code != vocabulary.end()).collect()
    };
    let refused = |what: String| {
        Error::refused_at(path, what, "compare cohorts that agree on which codes are static")
    };
    let mut all: Vec<_> =
        own(first).into_iter().map(|code| (first.name(code), first.kind(code))).collect();
    for code in own(other) {
        let (name, kind) = (other.name(code), other.kind(code));
        match first.code(name).map(|code| first.kind(code)) {
            Some(known) if known != kind => {
                return Err(refused(format!("`{name}` is {kind} here and {known} in the other")));
            }
            Some(_) => {}
            None => all.push((name, kind)),
        }
    }
    let vocabulary = Vocabulary::new(all).map_err(|error| refused(error.to_string()))?;
    let numbers: Vec<Option<Code>> =
        other.codes().map(|code| vocabulary.code(other.name(code))).collect();
    let mut renumbered = Cohort::default();
    for (index, record) in cohort.records().enumerate() {
        let visits = record.visits();
        let visits =
            visits.map(|visit| visit.iter().filter_map(|code| numbers[code.index()]).collect());
        let again = Record::new(visits.collect());
        let again = if record.ended() { again } else { again.cut() };
        renumbered.push(cohort.id(index), &again);
    }
    Ok((Arc::new(vocabulary), renumbered))
}

#[cfg(test)]
mod tests {
    use consequence_record::{Cohort, Kind, Record, Vocabulary};

    use super::union;

    #[test]
    fn codes_of_both_are_there_once() {
        let first = Vocabulary::new([("A", Kind::Encounter), ("F", Kind::Static)]).unwrap();
        let other = [("F", Kind::Static), ("B", Kind::Encounter), ("A", Kind::Encounter)];
        let other = Vocabulary::new(other).unwrap();
        let [f, b, a] = ["F", "B", "A"].map(|name| other.code(name).unwrap());
        let mut cohort = Cohort::default();
        cohort.push("p", &Record::new(vec![vec![f], vec![b, a]]).cut());
        let (all, again) = union(&first, &other, &cohort, "x".as_ref()).unwrap();
        let names: Vec<&str> = all.codes().map(|code| all.name(code)).collect();
        assert_eq!(names, ["A", "F", "B", "END"]);
        let record = again.record(0);
        assert_eq!((record.visit(0).len(), record.visit(1).len()), (1, 2));
        assert_eq!(all.name(record.visit(1)[0]), "A");
        assert!(!record.ended());

        let clash = Vocabulary::new([("A", Kind::Static)]).unwrap();
        assert!(union(&first, &clash, &Cohort::default(), "x".as_ref()).is_err());
    }
}
