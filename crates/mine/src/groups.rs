//! Groups of codes that a demographic group never has.
//!
//! A rare code alone shows little; together with others like it, it shows much. Codes are alike if
//! their names begin alike, if their titles share a word, if the caller says so, or if they keep
//! company in visits. Which codes of such a group stand to be claimed is decided by one half of the
//! records, and the claim about them all is tested by the other half, as one claim.

use std::collections::BTreeMap;

use consequence_record::{Code, Cohort, CohortDetails, Vocabulary};
use consequence_tally::{Block, Counts, Paused, Rounds, Whose, counts};
use rustc_hash::FxHashSet;

use crate::claim::Claim;
use crate::doubt::Rates;
use crate::found::{Class, Template};
use crate::options::MineOptions;
use crate::pool::{Candidate, Pool, Probability};
use crate::records::{CodeSet, Columns, Walk, sweep};
use crate::survey::Sample;
use crate::templates::{candidate, part_of_group, share};

/// Codes that belong together, as others say: those below a concept, or those of one map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeGroup {
    /// What they have in common, in a few words: rules are named after it.
    pub label: String,
    /// The codes.
    pub codes: Vec<Code>,
}

/// What is known of codes beside the records.
///
/// ```
/// use consequence_mine::{CodeGroup, Known};
///
/// let titles = |code: &str| (code == "ICD9CM//640").then(|| "Hemorrhage in pregnancy".to_owned());
/// let known = Known { titles: &titles, ..Known::NOTHING };
/// assert!((known.titles)("ICD9CM//640").is_some() && Known::NOTHING.groups.is_empty());
/// ```
#[derive(Clone, Copy)]
pub struct Known<'a> {
    /// The title of a code, where it has one.
    pub titles: &'a dyn Fn(&str) -> Option<String>,
    /// Groups of codes.
    pub groups: &'a [CodeGroup],
    /// When visits were and patients were born, by record: for rules about ages and days.
    pub details: Option<&'a CohortDetails>,
}

impl Known<'static> {
    /// No titles, no groups, and no dates.
    pub const NOTHING: Self = Self { titles: &|_| None, groups: &[], details: None };
}

/// Letters from which on a word of a title tells something.
const WORD: usize = 4;
/// The part of a group's records, in the forming half, that must be of codes without exceptions:
/// else it is another thing that they have in common.
const PURE: f64 = 0.9;
/// The part of a code's visits that must have another code, for it to keep its company.
const COMPANY: f64 = 0.5;
/// Members of written groups are taken out, and the rest is looked at again, so often at most.
const ROUNDS: usize = 6;
/// Exceptions to be expected by chance, below which a group is not worth testing; and which what
/// remains without its most frequent code must come to as well, or it is no more than that code.
const LEAST: f64 = 3.0;

/// Counts of the forming half.
pub(crate) struct Forming {
    records: u64,
    visits: u64,
    codes: u64,
    visits_with: Vec<u64>,
    records_with: Vec<u64>,
    group_records: Vec<u64>,
    group_codes: Vec<u64>,
    /// By group and column: records with the code.
    group_records_with: Vec<u64>,
}

counts!(Forming {
    records,
    visits,
    codes,
    visits_with,
    records_with,
    group_records,
    group_codes,
    group_records_with,
});

impl Forming {
    fn empty(columns: &Columns) -> Self {
        let (codes, groups) = (columns.len(), columns.groups.len());
        Self {
            records: 0,
            visits: 0,
            codes: 0,
            visits_with: vec![0; codes],
            records_with: vec![0; codes],
            group_records: vec![0; groups],
            group_codes: vec![0; groups],
            group_records_with: vec![0; codes * groups],
        }
    }

    fn of(cohort: &Cohort, records: &[usize], columns: &Columns) -> Self {
        let start = || (Self::empty(columns), Walk::new(columns.len()), Vec::new(), Vec::new());
        type Part = (Forming, Walk, Vec<usize>, Vec<u32>);
        let work = |(counts, walk, groups, now): &mut Part, place: usize| {
            let record = cohort.record(records[place]);
            if record.len() == 0 {
                return;
            }
            counts.records += 1;
            columns.groups_of(&record, groups);
            groups.iter().for_each(|&group| counts.group_records[group] += 1);
            walk.begin_record();
            for visit in 1..record.len() {
                columns.encounter(&record, visit, now);
                walk.begin_visit(now);
                counts.visits += 1;
                counts.codes += now.len() as u64;
                groups.iter().for_each(|&group| counts.group_codes[group] += now.len() as u64);
                for &code in now.iter() {
                    counts.visits_with[code as usize] += 1;
                }
            }
            for &code in walk.seen() {
                counts.records_with[code as usize] += 1;
                for &group in groups.iter() {
                    counts.group_records_with[group * columns.len() + code as usize] += 1;
                }
            }
        };
        let join = |mut one: Part, other: Part| {
            one.0.add(other.0);
            one
        };
        sweep(records.len(), rayon::current_num_threads(), start, work, join).0
    }

    /// A group's part in what chance would give.
    fn part(&self, group: usize) -> f64 {
        part_of_group(
            [self.group_records[group], self.records],
            [self.group_codes[group], self.codes],
        )
    }

    /// Whether the code was seen, and never in the group.
    fn clean(&self, columns: &Columns, group: usize, code: usize) -> bool {
        self.records_with[code] > 0 && self.group_records_with[group * columns.len() + code] == 0
    }
}

/// What is looked for in, and what was found.
pub(crate) struct Search<'a> {
    pub columns: &'a Columns,
    pub vocabulary: &'a Vocabulary,
    pub known: &'a Known<'a>,
    pub sample: &'a Sample,
    pub options: &'a MineOptions,
    /// How often single codes that a demographic group seems never to have are there after all.
    /// Groups overlap too much to be judged by each other.
    pub rates: Option<&'a Rates>,
}

/// A group of codes that is claimed to be absent in a demographic group.
struct Proposal {
    group: usize,
    set: CodeSet,
    /// Whether the codes keep company, rather than being alike.
    company: bool,
    /// The code of most records.
    strongest: usize,
}

/// Group claims, each about a set of its own.
#[derive(Debug, Default)]
pub(crate) struct FoundGroups {
    pub sets: Vec<CodeSet>,
    pub claims: Vec<Candidate>,
    pub tried: u64,
    pub by_chance: u64,
    pub without_exception: u64,
}

impl Search<'_> {
    /// What is counted to form groups by.
    pub fn forming(&self, block: &Block<'_>) -> Forming {
        Forming::of(block.records.cohort(), &self.sample.forming(block), self.columns)
    }

    /// Forms groups and tests them. `certain` are the claims about single codes that need no group.
    pub fn run(
        &self,
        rounds: &mut Rounds<'_>,
        forming: &Forming,
        certain: &FxHashSet<(usize, usize)>,
    ) -> Result<FoundGroups, Paused> {
        let named = self.named();
        let company = self.company(rounds, forming)?;
        let mut found = FoundGroups::default();
        let mut covered: FxHashSet<(usize, usize)> = FxHashSet::default();
        for round in 0..ROUNDS {
            if round == 1 {
                covered.extend(certain);
            }
            let proposals = self.propose(forming, &named, &company, &covered);
            if proposals.is_empty() {
                break;
            }
            let before = found.claims.len();
            self.test(rounds, proposals, certain, &mut covered, &mut found)?;
            // The second round looks at what is left where single codes are certain by themselves.
            if found.claims.len() == before && round > 0 {
                break;
            }
        }
        Ok(found)
    }

    /// Sets of codes that are alike by name, title or the word of others. A set that is found in
    /// several ways has the label of the first.
    fn named(&self) -> Vec<CodeSet> {
        let Self { columns, vocabulary, known, .. } = *self;
        let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut prefixes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for column in 0..columns.end() {
            let name = vocabulary.name(columns.codes[column]);
            if let Some(start) = name.find("//").map(|at| at + 2) {
                let ends = name[start..].char_indices().map(|(at, letter)| at + letter.len_utf8());
                for end in ends {
                    prefixes.entry(&name[..start + end]).or_default().push(column);
                }
            }
            let title = (known.titles)(name).unwrap_or_default().to_lowercase();
            for word in title.split(|letter: char| !letter.is_alphabetic()) {
                if word.chars().count() >= WORD {
                    let list = words.entry(word.to_owned()).or_default();
                    if list.last() != Some(&column) {
                        list.push(column);
                    }
                }
            }
        }
        let given = known.groups.iter().map(|group| {
            let mut list: Vec<usize> =
                group.codes.iter().filter_map(|&code| columns.column(code)).collect();
            list.retain(|&column| column != columns.end());
            list.sort_unstable();
            list.dedup();
            CodeSet { label: group.label.clone(), columns: list }
        });
        let words = words.into_iter().map(|(label, columns)| CodeSet { label, columns });
        let prefixes = prefixes
            .into_iter()
            .map(|(prefix, columns)| CodeSet { label: prefix.to_owned(), columns });
        let mut seen = FxHashSet::default();
        let all = given.chain(words).chain(prefixes);
        all.filter(|set| set.columns.len() > 1 && seen.insert(set.columns.clone())).collect()
    }

    /// By demographic group, sets of codes that keep the company of one that is strongly tied to
    /// the group's absence in the forming half.
    fn company(
        &self,
        rounds: &mut Rounds<'_>,
        forming: &Forming,
    ) -> Result<Vec<Vec<CodeSet>>, Paused> {
        let Self { columns, vocabulary, .. } = *self;
        let groups = columns.groups.len();
        let candidates = (groups * columns.len()).max(1) as f64;
        let least = self
            .options
            .evidence
            .map_or(LEAST, |evidence| (candidates / evidence.probability).ln());
        let ties = |group: usize, code: usize| {
            forming.clean(columns, group, code)
                && forming.records_with[code] as f64 * forming.part(group) >= least
        };
        let seeds: Vec<usize> =
            (0..columns.end()).filter(|&code| (0..groups).any(|group| ties(group, code))).collect();
        let with = self.visits_with(rounds, &seeds)?;
        let company_of = |row: usize, group: usize| -> Vec<usize> {
            let likely = share(forming.visits_with[seeds[row]], forming.visits);
            let keeps = |&code: &usize| {
                let shared = f64::from(with[row * columns.len() + code]);
                let visits = forming.visits_with[code] as f64;
                // Any half of the visits might have been those with company.
                let nats = -shared * likely.ln() - visits * std::f64::consts::LN_2;
                code == seeds[row]
                    || forming.clean(columns, group, code)
                        && shared >= COMPANY * visits
                        && nats >= least
            };
            (0..columns.end()).filter(keeps).collect()
        };
        let of_group = |group: usize| -> Vec<CodeSet> {
            let rows = (0..seeds.len()).filter(|&row| ties(group, seeds[row]));
            let sets = rows.map(|row| {
                let label = format!("company-of-{}", vocabulary.name(columns.codes[seeds[row]]));
                CodeSet { label, columns: company_of(row, group) }
            });
            sets.filter(|set| set.columns.len() > 1).collect()
        };
        Ok((0..groups).map(of_group).collect())
    }

    /// By seed and column: visits of the forming half with both.
    fn visits_with(&self, rounds: &mut Rounds<'_>, seeds: &[usize]) -> Result<Vec<u32>, Paused> {
        let Self { columns, sample, .. } = *self;
        if seeds.is_empty() {
            return Ok(Vec::new());
        }
        let mut row_of: Vec<Option<usize>> = vec![None; columns.len()];
        for (row, &seed) in seeds.iter().enumerate() {
            row_of[seed] = Some(row);
        }
        let start = || (vec![0_u32; seeds.len() * columns.len()], Vec::new());
        rounds.count(Whose::Cohort, "company", |block| {
            let (cohort, records) = (block.records.cohort(), sample.forming(block));
            let work = |(counts, now): &mut (Vec<u32>, Vec<u32>), place: usize| {
                let record = cohort.record(records[place]);
                for visit in 1..record.len() {
                    columns.encounter(&record, visit, now);
                    for row in now.iter().filter_map(|&code| row_of[code as usize]) {
                        for &code in now.iter() {
                            counts[row * columns.len() + code as usize] += 1;
                        }
                    }
                }
            };
            let join = |mut one: (Vec<u32>, Vec<u32>), other: (Vec<u32>, Vec<u32>)| {
                one.0.add(other.0);
                one
            };
            let workers = rayon::current_num_threads();
            Ok::<_, Paused>(sweep(records.len(), workers, start, work, join).0)
        })
    }

    /// What the forming half says is worth testing.
    fn propose(
        &self,
        forming: &Forming,
        named: &[CodeSet],
        company: &[Vec<CodeSet>],
        covered: &FxHashSet<(usize, usize)>,
    ) -> Vec<Proposal> {
        let columns = self.columns;
        let mut proposals = Vec::new();
        let mut seen = FxHashSet::default();
        for (group, company) in company.iter().enumerate() {
            let part = forming.part(group);
            if part <= 0.0 {
                continue;
            }
            let named = named.iter().map(|set| (set, false));
            for (set, company) in named.chain(company.iter().map(|set| (set, true))) {
                let open = || {
                    let open = |&&code: &&usize| !covered.contains(&(group, code));
                    set.columns.iter().filter(open).copied()
                };
                let records = |code: usize| forming.records_with[code] as f64;
                let all: f64 = open().map(records).sum();
                let members: Vec<usize> =
                    open().filter(|&code| forming.clean(columns, group, code)).collect();
                let clean: f64 = members.iter().map(|&code| records(code)).sum();
                let worth = members.len() > 1 && clean >= PURE * all && clean * part >= LEAST;
                let strongest =
                    members.iter().copied().max_by_key(|&code| forming.records_with[code]);
                let Some(strongest) = strongest.filter(|_| worth) else { continue };
                if seen.insert((group, members.clone())) {
                    let set = CodeSet { label: set.label.clone(), columns: members };
                    proposals.push(Proposal { group, set, company, strongest });
                }
            }
        }
        proposals
    }

    /// Tests proposals on the other half, and takes those that hold and do not overlap.
    fn test(
        &self,
        rounds: &mut Rounds<'_>,
        proposals: Vec<Proposal>,
        certain: &FxHashSet<(usize, usize)>,
        covered: &mut FxHashSet<(usize, usize)>,
        found: &mut FoundGroups,
    ) -> Result<(), Paused> {
        let seen: Seen = rounds.count(Whose::Cohort, "groups tested", |block| {
            let records = self.sample.testing(block);
            Ok::<_, Paused>(self.seen(block.records.cohort(), &records, &proposals))
        })?;
        let tried = proposals.len() as u64;
        let mut pool = Pool::new(Template::NeverFor, tried, self.options).of_part(0.5);
        for (set, proposal) in proposals.iter().enumerate() {
            let [records, misses, rest] = seen.of_set[set];
            let group = proposal.group;
            let part = part_of_group(
                [seen.group_records[group], seen.records],
                [seen.group_codes[group], seen.codes],
            );
            if (rest as f64) * part < LEAST {
                continue;
            }
            let claim = Claim::NoneFor { set, group };
            let seen = Candidate {
                scale: part,
                trials: records as f64 * part,
                ..candidate(claim, records, misses, records, misses)
            };
            pool.offer(seen, || Probability::of(records, part));
        }
        let settled = pool.settle_as(self.rates);
        found.tried += settled.tried.candidates;
        found.by_chance += settled.tried.by_chance;
        found.without_exception += settled.tried.without_exception;
        let mut held: Vec<(Candidate, usize, usize)> = settled
            .exact
            .into_iter()
            .filter(|one| one.class != Class::Doubted)
            .filter_map(|one| match one.claim {
                Claim::NoneFor { set, group } => Some((one, set, group)),
                _ => None,
            })
            .collect();
        held.sort_by(|(one, set, _), (other, other_set, _)| {
            let members = |set: &usize| proposals[*set].set.columns.len();
            let company = |set: &usize| proposals[*set].company;
            one.class
                .cmp(&other.class)
                .then(company(set).cmp(&company(other_set)))
                .then(other.trials.total_cmp(&one.trials))
                .then(members(other_set).cmp(&members(set)))
        });
        for (one, set, group) in held {
            let set = &proposals[set].set;
            let overlaps = set.columns.iter().any(|&code| {
                covered.contains(&(group, code))
                    // What is certain by itself must not become merely likely.
                    || one.class != Class::Certain && certain.contains(&(group, code))
            });
            if overlaps {
                continue;
            }
            covered.extend(set.columns.iter().map(|&code| (group, code)));
            let claim = Claim::NoneFor { set: found.sets.len(), group };
            found.sets.push(set.clone());
            found.claims.push(Candidate { claim, ..one });
        }
        Ok(())
    }

    /// What the testing half has of each proposal.
    fn seen(&self, cohort: &Cohort, records: &[usize], proposals: &[Proposal]) -> Seen {
        let columns = self.columns;
        let mut sets_of: Vec<Vec<u32>> = vec![Vec::new(); columns.len()];
        for (number, proposal) in proposals.iter().enumerate() {
            for &code in &proposal.set.columns {
                sets_of[code].push(number as u32);
            }
        }
        let start = || {
            let seen = Seen {
                of_set: vec![[0; 3]; proposals.len()],
                group_records: vec![0; columns.groups.len()],
                group_codes: vec![0; columns.groups.len()],
                ..Seen::default()
            };
            let none = vec![[0_u64; 2]; proposals.len()];
            (seen, none, vec![0_u64; columns.len()], Vec::new(), Vec::new())
        };
        type Part = (Seen, Vec<[u64; 2]>, Vec<u64>, Vec<usize>, Vec<u32>);
        let work = |(seen, set_in, code_in, groups, now): &mut Part, place: usize| {
            let record = cohort.record(records[place]);
            if record.len() == 0 {
                return;
            }
            seen.records += 1;
            columns.groups_of(&record, groups);
            groups.iter().for_each(|&group| seen.group_records[group] += 1);
            for visit in 1..record.len() {
                columns.encounter(&record, visit, now);
                seen.codes += now.len() as u64;
                groups.iter().for_each(|&group| seen.group_codes[group] += now.len() as u64);
                for &code in now.iter() {
                    let code = code as usize;
                    if std::mem::replace(&mut code_in[code], seen.records) == seen.records {
                        continue;
                    }
                    for &set in &sets_of[code] {
                        let set = set as usize;
                        let [set_in, rest_in] = &mut set_in[set];
                        if std::mem::replace(set_in, seen.records) != seen.records {
                            seen.of_set[set][0] += 1;
                            seen.of_set[set][1] +=
                                u64::from(groups.contains(&proposals[set].group));
                        }
                        if code != proposals[set].strongest
                            && std::mem::replace(rest_in, seen.records) != seen.records
                        {
                            seen.of_set[set][2] += 1;
                        }
                    }
                }
            }
        };
        let join = |mut one: Part, other: Part| {
            one.0.add(other.0);
            one
        };
        sweep(records.len(), rayon::current_num_threads(), start, work, join).0
    }
}

/// Counts of the testing half.
#[derive(Default)]
struct Seen {
    records: u64,
    codes: u64,
    group_records: Vec<u64>,
    group_codes: Vec<u64>,
    /// By proposal: records with a code of it; those of them that are of the group; and records with
    /// a code of it that is not its strongest.
    of_set: Vec<[u64; 3]>,
}

counts!(Seen { records, codes, group_records, group_codes, of_set });
