//! Rules found in a cohort, as a file to read and to check, and as a page to choose from.

mod review;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use consequence_mine::{MineError, mine_in_rounds};
use consequence_pipeline::parts::Outline;
use consequence_pipeline::words::{count, number};
use consequence_pipeline::{
    Advice, CohortInput, Error, OpenOut, Out, Report, Task, Watch, load, watched,
};
use consequence_record::{Code, CohortDetails, Concept, Selection};
use consequence_rules::{
    CompileError, CompileOptions, LanguageLimits, Plan, ResolveOptions, RuleSet, compile, parse,
    resolve,
};
use consequence_tally::{Block, Rounds, Whose};
use serde::Serialize;

use crate::look::TitleList;

pub use consequence_mine::{
    Class, CodeGroup, Cutoffs, Dropped, Evidence, Known, LikelyRules, MineOptions as SearchOptions,
    Mined, MinedRule, NearRules, Reason, Tally, Template, Tried, mine as search,
    mine_knowing as search_knowing,
};

/// Where to mine, and where the rules go.
///
/// ```
/// use consequence::mine::MineTask;
/// use consequence::{Task, Unwatched};
///
/// let folder = tempfile::tempdir()?;
/// let [cohort, out] = ["cohort.jsonl", "mined.rules"].map(|name| folder.path().join(name));
/// let visit = |number| if number % 5 == 0 { "[\"INSULIN\",\"DIABETES\"]" } else { "[]" };
/// let line = |n| format!("{{\"id\": {n}, \"static\": [], \"visits\": [{}]}}\n", visit(n));
/// std::fs::write(&cohort, (0..500).map(line).collect::<String>())?;
///
/// assert_eq!(MineTask::new(cohort, &out).run(&Unwatched)?.hard_rules, 1);
/// assert!(std::fs::read_to_string(out)?.contains(": DIABETES <=> INSULIN\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MineTask {
    /// The cohort: JSON lines, a MEDS dataset, or one in memory.
    pub cohort: CohortInput,
    /// The rule file to write; none: the rules are in the report alone.
    pub out: Option<Out>,
    /// The page to write on which an expert chooses from the rules; none: no page.
    pub review: Option<Out>,
    /// A table of codes and titles, or a list of the codes of ICD, for codes that the cohort gives none.
    pub titles: Option<PathBuf>,
    /// Whether to look for ages at which codes never come, and for the fewest days between two of a code.
    pub ages_and_days: bool,
    /// What counts as enough evidence.
    pub search: SearchOptions,
}

/// What was mined.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MineReport {
    /// The cohort, as the user named it.
    pub cohort: String,
    /// The rule file that was written, if one was.
    pub out: Option<String>,
    /// The page that was written.
    pub review: Option<String>,
    /// Rules that must hold.
    pub hard_rules: usize,
    /// Rules that hold with a probability.
    pub soft_rules: usize,
    /// How many of each class.
    pub classes: ClassCounts,
    /// How many of each template.
    pub templates: Vec<TemplateCount>,
    /// What the proof of the rules took.
    pub proof: MinedProof,
    /// How long it took.
    pub seconds: Seconds,
    /// The rules as text, each with its evidence.
    #[serde(skip)]
    pub text: String,
    /// The rules with their evidence, and what did not become a rule.
    #[serde(flatten)]
    pub mined: Mined,
}

/// How many rules there are of each class, and how many claims were doubted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// No exception, and evidence that exceptions are not merely rare.
    pub certain: usize,
    /// No exception, and further records are unlikely to have one; those that are left out of the
    /// file count too.
    pub likely: usize,
    /// Few exceptions.
    pub frequent: usize,
    /// No exception, and not evidence enough: no rules.
    pub doubted: usize,
}

/// What became of the claims of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TemplateCount {
    /// The template.
    pub template: Template,
    /// How many of each class.
    #[serde(flatten)]
    pub classes: ClassCounts,
    /// Hard rules.
    pub hard: usize,
    /// Soft rules.
    pub soft: usize,
    /// Claims left out because the tuning split contradicts them.
    pub contradicted: usize,
    /// Claims left out because another rule says them too.
    pub covered: usize,
    /// Soft claims left out because another soft rule decides the code.
    pub crowded: usize,
}

/// The proof that mined rules can always be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MinedProof {
    /// The most encounters of a record that it holds for.
    pub max_visits: u16,
    /// Statements whose negation was shown to be impossible.
    pub statements: usize,
}

/// How long each part took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Seconds {
    /// Reading the cohort.
    pub reading: f64,
    /// Mining.
    pub mining: f64,
    /// Compiling the rules and proving that they can be kept.
    pub proving: f64,
}

impl MineTask {
    /// The usual cut-offs, titles of the cohort alone, no page, and nothing about ages and days.
    pub fn new(cohort: impl Into<CohortInput>, out: impl Into<Out>) -> Self {
        Self { out: Some(out.into()), ..Self::in_memory(cohort) }
    }

    /// The same, and no file is written.
    pub fn in_memory(cohort: impl Into<CohortInput>) -> Self {
        let search = SearchOptions::default();
        Self {
            cohort: cohort.into(),
            out: None,
            review: None,
            titles: None,
            ages_and_days: false,
            search,
        }
    }

    fn review_file(&self) -> Result<Option<OpenOut<'_>>, Error> {
        let same = |(review, out): (&Out, &Out)| review.path == out.path;
        if let Some(review) = &self.review
            && self.out.as_ref().is_some_and(|out| same((review, out)))
        {
            let what = "the rules and the page to choose from would be one file";
            return Err(Error::refused_at(&review.path, what, "give the page another name"));
        }
        self.review.as_ref().map(Out::file).transpose()
    }
}

impl Report for MineReport {}

impl Task for MineTask {
    type Report = MineReport;

    /// Mines the train split of a cohort, drops what the tuning split contradicts, proves that the
    /// rules can be kept together, and writes them with their evidence.
    fn run(&self, watch: &dyn Watch) -> Result<MineReport, Error> {
        let out = self.out.as_ref().map(Out::file).transpose()?;
        let review = self.review_file()?;
        let (loaded, reading) = timed(|| match self.ages_and_days {
            true => load::dated_cohort(&self.cohort, watch),
            false => load::cohort(&self.cohort, None, watch),
        });
        let loaded = loaded?;
        let details = loaded.details.as_ref().filter(|_| self.ages_and_days);
        if self.ages_and_days && !details.is_some_and(CohortDetails::dated) {
            return Err(self.undated());
        }
        let outline = Outline::of(self.cohort.shown(), &loaded);
        let records = Selection::all(&loaded.cohort).detailed(details);
        let block = Block { records, splits: &loaded.splits };
        let titles = MineTitles::of(self, &outline)?;
        let mut report = self.mined(&outline, &titles, &mut Rounds::whole(block), watch)?;
        report.seconds.reading = reading;
        if let Some(out) = out {
            out.write(|file| file.write_all(report.text.as_bytes()))?;
        }
        if let Some(review) = review {
            let read = |code: &str| titles.read(code);
            let page = review::page(&self.cohort, &loaded, &report.mined, &read).html();
            review.write(|file| file.write_all(page.as_bytes()))?;
        }
        Ok(report)
    }
}

impl MineTask {
    /// The same of records that are counted in rounds, in parts or all together: the rules are in the report alone.
    pub fn counted(
        &self,
        outline: &Outline,
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<MineReport, Error> {
        if self.ages_and_days {
            let dated: bool = rounds.count(Whose::Cohort, "dates", |block| {
                Ok::<_, Error>(block.records.details().is_some_and(CohortDetails::dated))
            })?;
            if !dated {
                return Err(self.undated());
            }
        }
        self.mined(outline, &MineTitles::of(self, outline)?, rounds, watch)
    }

    fn undated(&self) -> Error {
        let what = "the cohort has no dates, so that ages and days are not known";
        Error::refused_at(&self.cohort, what, "mine without {ages_and_days}")
    }

    fn mined(
        &self,
        outline: &Outline,
        titles: &MineTitles,
        rounds: &mut Rounds<'_>,
        watch: &dyn Watch,
    ) -> Result<MineReport, Error> {
        let vocabulary = &outline.vocabulary;
        let title = |code: &str| titles.own(code);
        let (mined, mining) = timed(|| {
            let groups = below_concepts(&outline.concepts);
            let known = Known { titles: &title, groups: &groups, details: None };
            watched(watch, "mining", None, || {
                mine_in_rounds(rounds, vocabulary, &known, self.ages_and_days, &self.search)
            })
        });
        let mined = mined.map_err(|error| refused(&self.cohort, error))?;
        let text = mined.text(&|code: &str| titles.read(code));
        let longest = u16::try_from(mined.longest.max(100)).unwrap_or(u16::MAX);
        let (plan, proving) = timed(|| {
            watched(watch, "compiling and proving", None, || {
                let name = self.out.as_ref().map_or_else(|| "mined rules".into(), Out::shown);
                let file = parse(&name, text.as_bytes(), &LanguageLimits::default())?;
                let resolve_options = ResolveOptions::default();
                let rules = resolve(&[file], Some(Arc::clone(vocabulary)), &resolve_options)?.rules;
                prove(&Arc::new(rules), longest)
            })
        });
        let statements = plan?.proof().goals;
        let soft_rules = mined.rules.iter().filter(|rule| rule.probability.is_some()).count();
        Ok(MineReport {
            cohort: self.cohort.shown(),
            out: self.out.as_ref().map(Out::shown),
            review: self.review.as_ref().map(Out::shown),
            hard_rules: mined.rules.len() - soft_rules,
            soft_rules,
            classes: classes(&mined, |_| true),
            templates: Template::ALL.map(|template| counts(&mined, template)).to_vec(),
            proof: MinedProof { max_visits: longest, statements },
            seconds: Seconds { reading: 0.0, mining, proving },
            text,
            mined,
        })
    }
}

/// Titles of codes: those of the cohort, and else those of a list.
struct MineTitles {
    known: BTreeMap<String, String>,
    list: Option<TitleList>,
}

impl MineTitles {
    fn of(task: &MineTask, outline: &Outline) -> Result<Self, Error> {
        let name = |code: &Code| outline.vocabulary.name(*code).to_owned();
        let known =
            outline.titles.iter().map(|(code, title)| (name(code), title.clone())).collect();
        Ok(Self { known, list: task.titles.as_deref().map(TitleList::read).transpose()? })
    }

    /// The title of a code itself.
    fn own(&self, code: &str) -> Option<String> {
        let listed = || self.list.as_ref().and_then(|list| list.title(code)).map(str::to_owned);
        self.known.get(code).cloned().or_else(listed)
    }

    /// A title that may be made of others. Those are for people; alike words in them are no reason to group codes.
    fn read(&self, code: &str) -> Option<String> {
        self.own(code).or_else(|| self.list.as_ref().and_then(|list| list.any_title(code)))
    }
}

/// Codes that are below one OMOP concept, where the cohort keeps concepts.
fn below_concepts(concepts: &BTreeMap<Code, Concept>) -> Vec<CodeGroup> {
    let mut below: BTreeMap<u64, Vec<Code>> = BTreeMap::new();
    for (&code, concept) in concepts {
        for &ancestor in &concept.ancestors {
            below.entry(ancestor).or_default().push(code);
        }
    }
    let several = below.into_iter().filter(|(_, codes)| codes.len() > 1);
    several.map(|(id, codes)| CodeGroup { label: format!("OMOP//{id}"), codes }).collect()
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let outcome = work();
    (outcome, start.elapsed().as_secs_f64())
}

/// A plan for the rules, or why there is none.
fn prove(set: &Arc<RuleSet>, max_visits: u16) -> Result<Plan, Error> {
    let options = CompileOptions { max_visits, ..CompileOptions::default() };
    compile(Arc::clone(set), &options).map_err(|error| cannot_be_kept(set, error))
}

/// Every record of the train split obeys the hard rules, so this is about their number, about soft
/// rules, or a defect; the reader should know that it is not about a rule of theirs.
fn cannot_be_kept(set: &RuleSet, error: CompileError) -> Error {
    match Error::compile(set, error) {
        Error::Compile { what, rules, .. } => Error::Compile {
            what: format!("the mined rules cannot be kept together, and were not written: {what}"),
            rules,
            advice: Advice::new("mine with {no_soft}, or ask for more evidence with {min_support}"),
        },
        other => other,
    }
}

fn refused(cohort: &CohortInput, error: MineError) -> Error {
    let help = match &error {
        MineError::NoTrain => {
            "a record without a split of its own gets one by its id, eight in ten train; bring more \
             records, or name `train` in metadata/subject_splits.parquet"
        }
        _ => "give a part of the cohort",
    };
    match error {
        MineError::Paused(paused) => paused.into(),
        other => Error::refused_at(cohort, other.to_string(), help),
    }
}

fn classes(mined: &Mined, counts: impl Fn(&MinedRule) -> bool) -> ClassCounts {
    let left =
        mined.dropped.iter().filter(|one| matches!(one.reason, Reason::Left | Reason::Doubted));
    let all: Vec<&MinedRule> = mined.rules.iter().chain(left.map(|one| &one.rule)).collect();
    let of = |class: Class| all.iter().filter(|rule| rule.class == class && counts(rule)).count();
    ClassCounts {
        certain: of(Class::Certain),
        likely: of(Class::Likely),
        frequent: of(Class::Frequent),
        doubted: of(Class::Doubted),
    }
}

fn counts(mined: &Mined, template: Template) -> TemplateCount {
    let rules = || mined.rules.iter().filter(|rule| rule.template == template);
    let soft = rules().filter(|rule| rule.probability.is_some()).count();
    let dropped = |reason: Reason| {
        let of = |one: &&Dropped| one.rule.template == template && one.reason == reason;
        mined.dropped.iter().filter(of).count()
    };
    TemplateCount {
        template,
        classes: classes(mined, |rule| rule.template == template),
        hard: rules().count() - soft,
        soft,
        contradicted: dropped(Reason::Contradicted),
        covered: dropped(Reason::Covered),
        crowded: dropped(Reason::Crowded),
    }
}

/// Contradicted rules listed in the text; the rest are counted.
const SHOWN: usize = 10;

impl Display for MineReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mined = &self.mined;
        if let Some(file) = &self.out {
            write!(out, "{file}: ")?;
        }
        writeln!(
            out,
            "{} found in {} ({} hard, {} soft)",
            count(mined.rules.len() as u64, "rule"),
            self.cohort,
            number(self.hard_rules as u64),
            number(self.soft_rules as u64)
        )?;
        writeln!(
            out,
            "  mined in the train split: {}, {}",
            count(mined.train_records, "record"),
            count(mined.train_visits, "encounter")
        )?;
        match mined.tuning_records {
            0 => writeln!(out, "  no record is in the tuning split, so nothing contradicted them")?,
            records => {
                writeln!(out, "  held against the tuning split: {}", count(records, "record"))?;
            }
        }
        match mined.rules.is_empty() {
            true => writeln!(
                out,
                "\nno rules: nothing here shows the evidence that a rule needs\n  \
                 more records would show more, and so would a lower minimum of support"
            )?,
            false => {
                writeln!(
                    out,
                    "  proved: no input can end in a violation ({} shown, for up to {})",
                    count(self.proof.statements as u64, "statement"),
                    count(self.proof.max_visits.into(), "encounter")
                )?;
                self.table(out)?;
            }
        }
        for class in Class::OF_RULES {
            self.listed(out, class)?;
        }
        self.left_out(out)?;
        if let Some(review) = &self.review {
            writeln!(out, "\nto choose from them: open {review} in a browser")?;
        }
        let tried: u64 = mined.tried.iter().map(|tried| tried.candidates).sum();
        let without: u64 = mined.tried.iter().map(|tried| tried.without_exception).sum();
        let probability: u64 = mined.tried.iter().map(|tried| tried.by_chance).sum();
        writeln!(
            out,
            "\n{} tried: {} without an exception, {} of which are no more than chance would show",
            count(tried, "candidate"),
            number(without),
            number(probability)
        )?;
        let times = &self.seconds;
        writeln!(
            out,
            "{:.1} seconds reading, {:.1} mining, {:.1} proving",
            times.reading, times.mining, times.proving
        )
    }
}

impl MineReport {
    fn table(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let width = self.templates.iter().map(|row| row.template.heading().len()).max();
        let width = width.unwrap_or(0);
        writeln!(out, "\n  {:width$}  {:>8}{:>8}{:>10}", "", "certain", "likely", "frequent")?;
        let found = |row: &&TemplateCount| {
            let ClassCounts { certain, likely, frequent, .. } = row.classes;
            certain + likely + frequent > 0
        };
        for row in self.templates.iter().filter(found) {
            let ClassCounts { certain, likely, frequent, .. } = row.classes;
            let [certain, likely, frequent] =
                [certain, likely, frequent].map(|count| number(count as u64));
            let heading = row.template.heading();
            writeln!(out, "  {heading:width$}  {certain:>8}{likely:>8}{frequent:>10}")?;
        }
        Ok(())
    }

    /// The rules of a class, each with its evidence.
    fn listed(&self, out: &mut Formatter<'_>, class: Class) -> fmt::Result {
        let left = self.mined.dropped.iter().filter(|one| one.reason == Reason::Left);
        let left = left.map(|one| &one.rule).filter(|rule| rule.class == class);
        let rules = self.mined.rules.iter().filter(|rule| rule.class == class);
        let (rules, left): (Vec<&MinedRule>, Vec<&MinedRule>) = (rules.collect(), left.collect());
        for (rules, left_out) in [(rules, ""), (left, ", left out of the rules")] {
            if !rules.is_empty() {
                writeln!(out, "\n{}{left_out}", class.name())?;
            }
            for rule in rules {
                writeln!(out, "  {}", on_screen(&rule.statement))?;
                writeln!(out, "    {}", rule.evidence())?;
            }
        }
        Ok(())
    }

    fn left_out(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let dropped = &self.mined.dropped;
        let of = |reason: Reason| -> Vec<&Dropped> {
            dropped.iter().filter(|one| one.reason == reason).collect()
        };
        let contradicted = of(Reason::Contradicted);
        let (doubted, crowded) = (of(Reason::Doubted).len(), of(Reason::Crowded).len());
        let covered = of(Reason::Covered).len();
        if [&contradicted.len(), &doubted, &crowded, &covered].into_iter().all(|&count| count == 0)
        {
            return Ok(());
        }
        writeln!(out, "\nleft out, though they looked like rules:")?;
        if doubted > 0 {
            let doubted = number(doubted as u64);
            writeln!(out, "  {doubted} doubted: rare exceptions are too likely")?;
        }
        if covered > 0 {
            let covered = number(covered as u64);
            writeln!(out, "  {covered} that another rule says too")?;
        }
        if crowded > 0 {
            let crowded = number(crowded as u64);
            writeln!(out, "  {crowded} soft ones whose code a stronger soft rule decides")?;
        }
        if contradicted.is_empty() {
            return Ok(());
        }
        let all = number(contradicted.len() as u64);
        writeln!(out, "  {all} contradicted by the tuning split:")?;
        for Dropped { rule, .. } in contradicted.iter().take(SHOWN) {
            let (failed, all) = (number(rule.tuning.exceptions), number(rule.tuning.support));
            let statement = on_screen(&rule.statement);
            writeln!(out, "    {statement} (broken {failed} times of {all})")?;
        }
        match contradicted.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => writeln!(
                out,
                "    and {} more (all in the comments of the file)",
                number(more as u64)
            ),
        }
    }
}

/// The most letters of a rule on a screen.
const LETTERS: usize = 500;

/// A rule that fits on a screen: one of a hundred codes is cut, and whole in the file.
fn on_screen(statement: &str) -> Cow<'_, str> {
    let Some((end, _)) = statement.char_indices().nth(LETTERS) else {
        return Cow::Borrowed(statement);
    };
    let Some(end) = statement[..end].rfind(", ") else {
        return Cow::Owned(format!("{} ...", &statement[..end]));
    };
    let left = statement[end..].matches(", ").count();
    Cow::Owned(format!("{}, and {left} more", &statement[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rules_are_cut_between_codes() {
        assert_eq!(on_screen("rule a: B => C"), "rule a: B => C");
        let codes: Vec<String> = (100..300).map(|number| format!("é{number}")).collect();
        let statement = format!("rule a: at most one of {}", codes.join(", "));
        let shown = on_screen(&statement);
        let (start, left) = shown.split_once(", and ").unwrap();
        assert!(statement.starts_with(start) && shown.chars().count() < 520, "{shown}");
        assert_eq!(left, format!("{} more", 200 - start.matches('é').count()));
        let word = "é".repeat(600);
        assert_eq!(on_screen(&word), format!("{} ...", "é".repeat(500)));
    }

    #[test]
    fn rules_that_exclude_each_other_are_named() {
        let rules = RuleSet::parse("rule one: A\nrule two: not A\nrule other: B => C", None);
        let set = Arc::new(rules.expect("rules"));
        let error = prove(&set, 10).expect_err("no plan");
        let message = error.to_string();
        assert!(message.starts_with("the mined rules cannot be kept together"), "{message}");
        for part in ["rule one: A", "rule two: not A"] {
            assert!(message.contains(part), "no `{part}` in {message}");
        }
        assert!(!message.contains("rule other"));
        let advice = error.advice().expect("advice").worded(|setting| setting.name.to_owned());
        assert!(advice.contains("no_soft"), "{advice}");
    }
}
