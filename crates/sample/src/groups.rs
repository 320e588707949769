//! Groups of patients that every record is to be of, or not to be of.

use std::sync::Arc;

use consequence_details::DetailModel;
use consequence_record::Vocabulary;
use consequence_referee::{Referee, Visits};
use consequence_rules::{Rule, RuleSet};

use crate::{Request, SampleError};

/// Groups that every record is of, or is not.
pub(crate) struct GivenGroups {
    referee: Referee,
    /// For each, its name and whether records are of it.
    pub wanted: Vec<(String, bool)>,
    /// Whether they ask for days, ages or values.
    pub ask_details: bool,
}

impl GivenGroups {
    /// None if no group is given.
    pub fn of(
        request: &Request<'_>,
        vocabulary: &Arc<Vocabulary>,
    ) -> Result<Option<Self>, SampleError> {
        let conditions = || request.given.iter().filter_map(|one| Some((one, one.group()?)));
        // What is given twice, or also as its contrary, has two names here.
        let numbered = conditions().enumerate().map(|(number, (_, rule))| Rule {
            name: format!("{} {number}", rule.name).into(),
            ..rule.clone()
        });
        let groups = RuleSet::new(Arc::clone(vocabulary), numbered.collect())
            .map_err(|_| SampleError::OtherCodes)?;
        if groups.is_empty() {
            return Ok(None);
        }
        if groups.ask_dates() && !request.details.is_some_and(DetailModel::dated) {
            return Err(SampleError::NoDates);
        }
        let wanted = conditions().map(|(one, rule)| (rule.name.to_string(), one.present));
        Ok(Some(Self {
            referee: Referee::new(&groups),
            wanted: wanted.collect(),
            ask_details: groups.ask_details(),
        }))
    }

    /// The first group that a record is of and should not be, or the other way round.
    pub fn first_unmet<V: Visits + ?Sized>(&self, record: &V) -> Option<usize> {
        let unmet = |&(number, (_, present)): &(usize, &(String, bool))| {
            self.referee.ever(number, record) != *present
        };
        self.wanted.iter().enumerate().find(unmet).map(|(number, _)| number)
    }
}
