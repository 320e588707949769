//! What is known of a source beside its rows: what its codes become, and how they are numbered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use consequence_record::calendar::Date;
use consequence_record::{
    Code, Concept, DEATH, DayBand, Details, EventDetail, Kind, Record, Scale, Vocabulary,
};

use crate::build::{Builder, Draft, DraftCode};
use crate::codes::{Codes, Role};
use crate::encounters::Profile;
use crate::event::Fact;
use crate::finals::{Cuts, Finals, Made};
use crate::sources::{Gathered, Told};
use crate::summary::{ImportSummary, Reason};
use crate::tally::{Counted, Habits};
use crate::units::{Measures, Units};
use crate::{ImportOptions, ImportProblem};

/// What is known of a source beside its rows. Values have parts once they are cut, and codes have numbers once records
/// were counted.
pub(crate) struct Known {
    pub options: ImportOptions,
    pub profile: Profile,
    pub codes: Codes,
    pub measures: Measures,
    pub finals: Finals,
    /// The code of death, where it was told of any subject.
    pub death: Option<usize>,
    pub habits: Habits,
    /// The code of each of the finals; none for those that are left out.
    pub kept: Vec<Option<Code>>,
    pub vocabulary: Arc<Vocabulary>,
    pub titles: BTreeMap<Code, String>,
    pub concepts: BTreeMap<Code, Concept>,
    pub scales: BTreeMap<Code, Scale>,
}

impl Known {
    /// What the codes of a source become, without parts of values.
    pub fn new(
        codes: Codes,
        units: &Units,
        gathered: Gathered,
        options: &ImportOptions,
    ) -> Result<Self, ImportProblem> {
        let Gathered { mut profile, truncate, told } = gathered;
        let dated = profile.dated && !profile.own;
        let given: Vec<DayBand> = bands(&codes, DayBand::of_gap).collect();
        profile.gaps = dated && options.gaps && given.is_empty();
        profile.stays = dated && bands(&codes, DayBand::of_stay).next().is_none();
        // Where a source has gaps of the same bands, encounters that are left out may call for others.
        let usual = DayBand::gaps();
        let known = !given.is_empty() && given.iter().all(|band| usual.contains(band));
        let made = Made {
            gaps: profile.gaps || known,
            stays: profile.stays,
            ages: profile.age || profile.births,
            editions: !profile.own,
        };
        let mut finals = Finals::new(&codes, truncate, made, options)?;
        let measures = Measures::new(units, &codes, &finals, options.units.as_ref());
        take_told(&mut finals, &codes, told);
        let is_death = |fact: &Fact| {
            fact.code().is_some_and(|number| codes.entries()[number].is(Role::Encounter))
        };
        let death = codes.find(DEATH).filter(is_death).and_then(Fact::code);
        Ok(Self {
            options: options.clone(),
            profile,
            kept: vec![None; finals.names.len()],
            codes,
            measures,
            finals,
            death,
            habits: Habits::default(),
            vocabulary: Arc::new(Vocabulary::new::<&str>([])?),
            titles: BTreeMap::new(),
            concepts: BTreeMap::new(),
            scales: BTreeMap::new(),
        })
    }

    /// Whether the values of tests are put into parts.
    pub fn cuts_values(&self) -> bool {
        self.options.quantiles > 0 && !self.profile.own
    }

    /// Puts the values of tests into parts. `placed` are codes that are parts of values already.
    pub fn cut(&mut self, cuts: Cuts, placed: BTreeSet<u32>) -> Result<(), ImportProblem> {
        for code in placed {
            self.finals.add_scale(code, self.measures.unit(code));
        }
        self.finals.add_parts(cuts, &self.measures)?;
        self.kept.resize(self.finals.names.len(), None);
        Ok(())
    }

    /// Gives days between encounters that stand out bands of their own.
    pub fn renew_gaps(&mut self, counted: &mut Counted) -> Result<(), ImportProblem> {
        if self.profile.gaps {
            let old: Vec<u32> = self.finals.gaps().collect();
            self.finals.set_gaps(DayBand::gaps_with(&counted.days_of_their_own()))?;
            self.kept.resize(self.finals.names.len(), None);
            counted.renew_gaps(&old, &self.finals);
        }
        Ok(())
    }

    /// Which codes too few records have.
    pub fn rare(&self, counted: &Counted) -> Vec<bool> {
        let is_rare = |(number, &patients): (usize, &u64)| {
            !self.finals.always_kept(number) && patients > 0 && patients < self.options.min_patients
        };
        counted.patients.iter().enumerate().map(is_rare).collect()
    }

    /// Numbers the codes that occur in enough records.
    pub fn number(
        &mut self,
        counted: Counted,
        rare: &[bool],
        summary: &mut ImportSummary,
    ) -> Result<(), ImportProblem> {
        let Counted { mut patients, values, habits, .. } = counted;
        summary.drop_many(Reason::RareCodes, rare.iter().filter(|rare| **rare).count() as u64);
        let finals = &self.finals;
        if self.profile.stays {
            // Where every stay is of no day, saying so says nothing.
            let longer = |code: u32| patients[code as usize] > 0 && finals.stay(0) != Some(code);
            if !finals.stays().any(longer) {
                self.profile.stays = false;
                finals.stays().for_each(|code| patients[code as usize] = 0);
            }
        }
        self.habits = habits;
        // A code that no record has is one that too few patients have, where that is asked.
        let is_told = |number: usize| {
            self.options.min_patients == 0 && finals.unused.contains(&(number as u32))
        };
        let mut kept: Vec<usize> = (0..patients.len())
            .filter(|&number| patients[number] > 0 && !rare[number] || is_told(number))
            .collect();
        let is_encounter = |number: usize| finals.kinds[number] == Kind::Encounter;
        kept.sort_by_key(|&number| (is_encounter(number), &finals.names[number]));
        let names = kept.iter().map(|&number| (&finals.names[number], finals.kinds[number]));
        let vocabulary = Vocabulary::new(names)?;
        let mut tests: BTreeSet<&str> = BTreeSet::new();
        for (index, &number) in kept.iter().enumerate() {
            let code = Code(index as u32);
            self.kept[number] = Some(code);
            let given = self.options.titles.as_ref().and_then(|all| all.of(&finals.names[number]));
            if let Some(title) = given.or(finals.titles[number].as_deref()) {
                self.titles.insert(code, title.to_owned());
            }
            if let Some(concept) = finals.concepts.get(&(number as u32)) {
                self.concepts.insert(code, concept.clone());
            }
            if let Some(scale) = finals.scales.get(&(number as u32)) {
                tests.insert(&scale.test);
                let mut scale = scale.clone();
                if !self.profile.own {
                    scale.count = values.get(&(number as u32)).copied().unwrap_or(0);
                }
                self.scales.insert(code, scale);
            }
            match finals.kinds[number] {
                Kind::Static => summary.static_vocabulary += 1,
                Kind::Encounter => summary.vocabulary += 1,
            }
        }
        summary.tests = tests.len() as u64;
        summary.texts = finals.texts(|code| self.kept[code as usize].is_some());
        self.vocabulary = Arc::new(vocabulary);
        Ok(())
    }

    /// What makes records of events.
    pub fn builder(&self) -> Builder<'_> {
        let Self { options, profile, codes, finals, measures, death, .. } = self;
        Builder { options, profile: *profile, codes, finals, measures, death: *death }
    }

    /// A record of a draft, once codes have numbers.
    pub fn record(&self, draft: &Draft, summary: &mut ImportSummary) -> (Record, Details) {
        let mut details = Details { birth: draft.birth, ..Details::default() };
        if self.profile.dated {
            let times = draft.visits.iter().map(|visit| visit.time.unwrap_or_default());
            details.times = times.collect();
        }
        if draft.visits.iter().any(|visit| visit.end.is_some()) {
            details.ends = draft.visits.iter().map(|visit| visit.end).collect();
        }
        if draft.visits.iter().any(|visit| visit.age.is_some()) {
            details.ages = draft.visits.iter().map(|visit| visit.age).collect();
        }
        summary.patients += 1;
        summary.visits += draft.visits.len() as u64;
        summary.cut += u64::from(!draft.ended);
        summary.births += u64::from(draft.birth.is_some());
        summary.ends += details.ends.iter().flatten().count() as u64;
        if let (Some(&first), Some(&last)) = (details.times.first(), details.times.last()) {
            let (first, last) = (Date(first).year(), Date(last).year());
            let (from, to) = summary.years.unwrap_or((first, last));
            summary.years = Some((from.min(first), to.max(last)));
        }
        let mut visits = Vec::with_capacity(draft.visits.len() + 1);
        visits.push(self.numbered(&draft.statics, 0, &mut details, summary));
        for (index, visit) in draft.visits.iter().enumerate() {
            let codes = self.numbered(&visit.codes, index + 1, &mut details, summary);
            summary.codes += codes.len() as u64;
            let tells = |code: &&DraftCode| {
                self.kept[code.code as usize].is_some() && !self.finals.is_time(code.code)
            };
            summary.empty_visits += u64::from(!visit.codes.iter().any(|code| tells(&code)));
            visits.push(codes);
        }
        details.events.sort_by_key(|event| (event.visit, event.code));
        let record = Record::new(visits);
        (if draft.ended { record } else { record.cut() }, details)
    }

    /// The codes of a visit that are kept, with what is known of each put into the details.
    fn numbered(
        &self,
        codes: &[DraftCode],
        visit: usize,
        details: &mut Details,
        summary: &mut ImportSummary,
    ) -> Vec<Code> {
        let mut kept = Vec::with_capacity(codes.len());
        for draft in codes {
            let Some(code) = self.kept[draft.code as usize] else {
                summary.drop_one(Reason::RareOccurrences);
                continue;
            };
            kept.push(code);
            let scaled = self.profile.own || self.finals.scales.contains_key(&draft.code);
            let value = Some(draft.value).filter(|value| scaled && value.is_finite());
            summary.values += u64::from(value.is_some());
            if value.is_some() || draft.time.is_some() {
                let visit = visit as u32;
                details.events.push(EventDetail { visit, code, time: draft.time, value });
            }
        }
        kept
    }
}

/// Takes over what a source tells of codes by themselves.
fn take_told(finals: &mut Finals, codes: &Codes, told: Told) {
    // One that was mapped or cut is not what was told of.
    let told_of = |finals: &Finals, raw: usize| {
        let whole = |&code: &u32| finals.names[code as usize] == *codes.entries()[raw].name;
        finals.test(raw).filter(whole)
    };
    for (raw, scale) in told.scales {
        if let Some(code) = told_of(finals, raw) {
            finals.scales.insert(code, scale);
        }
    }
    finals.unused = told.unused.into_iter().filter_map(|raw| told_of(finals, raw)).collect();
}

/// The bands of days that codes of a source tell.
fn bands(codes: &Codes, band: fn(&str) -> Option<DayBand>) -> impl Iterator<Item = DayBand> {
    codes.entries().iter().filter_map(move |code| band(&code.name))
}
