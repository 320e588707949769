//! Criteria of OHDSI cohort definitions as formulas about the visit at hand.

use std::collections::BTreeMap;

use consequence_record::DEATH;
use consequence_rules::language::{Bound, Expression, ExpressionKind, LookBack, Quantifier, Times};
use consequence_rules::{Days, Fact, ValueRange, Window};

use crate::error::{PackError, shown};
use crate::names::{any_of, named};
use crate::part::Part;

/// Why a part has no formula, or what is wrong with it.
#[derive(Debug)]
pub(crate) enum Failed {
    Unsaid(String),
    Wrong(PackError),
}

impl From<PackError> for Failed {
    fn from(error: PackError) -> Self {
        Self::Wrong(error)
    }
}

fn unsaid<T>(why: impl Into<String>) -> Result<T, Failed> {
    Err(Failed::Unsaid(why.into()))
}

/// The tables whose rows are codes of visits.
const TABLES: [&str; 6] = [
    "ConditionOccurrence",
    "DrugExposure",
    "ProcedureOccurrence",
    "Measurement",
    "Observation",
    "DeviceExposure",
];

/// The concepts of the sexes, and their codes.
const SEXES: [(i64, &str); 2] = [(8507, "SEX//M"), (8532, "SEX//F")];

/// The oldest age that can be compared with.
const OLDEST: f32 = 150.0;

/// What a criterion asks of one event.
pub(crate) struct Criterion<'a> {
    /// The codes, by the name of their set.
    pub codes: Expression,
    /// Whether it must be the first event of these codes.
    pub first: bool,
    value: Option<ValueRange>,
    ages: Vec<Expression>,
    /// What holds for all of a record.
    fixed: Vec<Expression>,
    /// Criteria around the event itself.
    around: Option<Part<'a>>,
}

impl Criterion<'_> {
    /// Whether it asks for nothing but codes.
    pub fn is_plain(&self) -> bool {
        !self.first && self.fixed.is_empty() && !self.asks_of_the_event()
    }

    /// Whether it asks for more than a visit before can show.
    fn asks_of_the_event(&self) -> bool {
        self.value.is_some() || !self.ages.is_empty() || self.around.is_some()
    }

    /// The codes, with their values where those matter.
    fn valued(&self) -> Expression {
        match self.value {
            Some(range) => self.codes.clone().compared(range),
            None => self.codes.clone(),
        }
    }
}

/// The days around an index event, it being day 0; none: without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub from: Option<i64>,
    pub to: Option<i64>,
    /// Only in the visit of the index event.
    pub same_visit: bool,
}

/// Formulas of criteria.
pub(crate) struct Criteria<'a> {
    /// The names of the concept sets.
    pub sets: &'a BTreeMap<i64, String>,
    /// What is not looked at, though the formula was made.
    pub remarks: Vec<String>,
}

impl<'a> Criteria<'a> {
    /// What a criterion asks for: an object with one key, the table.
    pub fn criterion<'p>(&mut self, part: &Part<'p>) -> Result<Criterion<'p>, Failed> {
        let keys = part.value.as_object().map(|entries| entries.keys().collect::<Vec<_>>());
        let Some([table]) = keys.as_deref() else {
            return Err(part.wrong("expected one kind of event").into());
        };
        let inner = part.need(table)?;
        if *table != "Death" && !TABLES.contains(&table.as_str()) {
            return unsaid(format!("`{}` is no code of a visit", shown(table)));
        }
        let codes = match inner.get("CodesetId") {
            Some(id) => match self.sets.get(&id.whole()?) {
                Some(name) => named(name),
                None => return Err(id.wrong("no concept set has this number").into()),
            },
            None if *table == "Death" => Expression::literal(DEATH),
            None => return unsaid(format!("any `{}`, whatever its concept", shown(table))),
        };
        let mut criterion = Criterion {
            codes,
            first: inner.truth("First")?,
            value: None,
            ages: Vec::new(),
            fixed: Vec::new(),
            around: None,
        };
        if *table == "Death" && inner.get("CodesetId").is_some() {
            return unsaid("causes of death are not kept");
        }
        for (key, asked) in inner.keys()? {
            match key {
                "CodesetId" | "First" | "CriteriaType" => {}
                "Age" => criterion.ages.push(age(&asked)?),
                "Gender" => criterion.fixed.push(sex(&inner)?),
                "ValueAsNumber" => criterion.value = Some(range(&asked)?),
                "Unit" => {
                    self.remarks.push(format!("the unit at `{}` is not looked at", asked.place));
                }
                "CorrelatedCriteria" if is_empty(&asked)? => {}
                "CorrelatedCriteria" => criterion.around = Some(asked),
                other => return unsaid(format!("`{}` is not kept of events", shown(other))),
            }
        }
        Ok(criterion)
    }

    /// A criterion of the visit at hand.
    pub fn now(&mut self, criterion: &Criterion<'_>) -> Result<Expression, Failed> {
        let mut parts = vec![criterion.valued()];
        if criterion.first {
            parts.push(criterion.codes.clone().within(Window::past()).not());
        }
        parts.extend(criterion.ages.iter().chain(&criterion.fixed).cloned());
        if let Some(around) = &criterion.around {
            parts.push(self.group(around)?);
        }
        Ok(Expression::all(parts))
    }

    /// A group of criteria around the visit at hand.
    pub fn group(&mut self, part: &Part<'_>) -> Result<Expression, Failed> {
        let mut parts = Vec::new();
        for one in part.list("CriteriaList")? {
            parts.push(self.counted(&one)?);
        }
        for one in part.list("DemographicCriteriaList")? {
            parts.push(demographic(&one)?);
        }
        for one in part.list("Groups")? {
            parts.push(self.group(&one)?);
        }
        let count = || part.need("Count").and_then(|count| count.whole());
        match part.need("Type")?.text()? {
            "ALL" => Ok(Expression::all(parts)),
            _ if parts.is_empty() => Ok(ExpressionKind::Constant(true).into()),
            "ANY" => Ok(Expression::any(parts)),
            "AT_LEAST" => match count()? {
                0 => Ok(ExpressionKind::Constant(true).into()),
                1 => Ok(Expression::any(parts)),
                all if all == parts.len() as i64 => Ok(Expression::all(parts)),
                some => unsaid(format!("at least {some} of {} criteria", parts.len())),
            },
            "AT_MOST" => match count()? {
                0 => Ok(Expression::any(parts).not()),
                1 => Ok(ExpressionKind::Group(Quantifier::AtMostOne, parts).into()),
                some => unsaid(format!("at most {some} of {} criteria", parts.len())),
            },
            _ => Err(part
                .need("Type")?
                .wrong("expected `ALL`, `ANY`, `AT_LEAST` or `AT_MOST`")
                .into()),
        }
    }

    /// A criterion with its window and its count.
    fn counted(&mut self, part: &Part<'_>) -> Result<Expression, Failed> {
        let criterion = self.criterion(&part.need("Criteria")?)?;
        let around = window(part)?;
        let (least, most) = occurrence(part)?;
        if around.to.is_none_or(|to| to > 0) && !around.same_visit {
            return unsaid("it looks at days after the index event");
        }
        let reached = |this: &mut Self, count| this.at_least(&criterion, around, count);
        let mut parts = Vec::new();
        if least > 0 {
            parts.push(reached(self, least)?);
        }
        if let Some(most) = most {
            parts.push(reached(self, most + 1)?.not());
        }
        Ok(Expression::all(parts))
    }

    /// At least so many visits have it, this one or earlier ones.
    fn at_least(
        &mut self,
        criterion: &Criterion<'_>,
        around: Around,
        count: u16,
    ) -> Result<Expression, Failed> {
        if around.same_visit {
            return match count {
                1 => self.now(criterion),
                _ => unsaid("it counts events of one visit, which has a code once"),
            };
        }
        if criterion.asks_of_the_event() {
            return unsaid(
                "values, ages and criteria around it are those of the visit at hand, not of earlier ones",
            );
        }
        if criterion.first && count > 1 {
            return unsaid("it counts a first event");
        }
        if count > Fact::MAX_COUNT {
            return unsaid(format!("it counts more than {} events", Fact::MAX_COUNT));
        }
        if count > 1 {
            self.remarks.push("events of one visit count once".to_owned());
        }
        let codes = &criterion.codes;
        let back = look_back(around);
        let before = |count| match count {
            1 => codes.clone().within(back.clone()),
            count => {
                let within = Some(back.clone());
                codes.clone().times(Times { bound: Bound::AtLeast, count, within })
            }
        };
        let mut parts = match (around.to, count) {
            (Some(0), 1) => vec![Expression::any(vec![codes.clone(), before(1)])],
            (Some(0), count) => {
                let with_this = Expression::all(vec![codes.clone(), before(count - 1)]);
                vec![Expression::any(vec![before(count), with_this])]
            }
            (_, count) => vec![before(count)],
        };
        if let Some(from) = around.from.filter(|_| criterion.first) {
            // The first event lies in the window if none lies before it.
            let earlier = clamped(1 - from);
            parts.push(codes.clone().within(Days { from: earlier, to: Days::MAX }).not());
        }
        parts.extend(criterion.fixed.iter().cloned());
        Ok(Expression::all(parts))
    }

    /// An event around an index event, both known once the later of them is there; none where it does not
    /// look ahead.
    pub fn ahead(
        &mut self,
        part: &Part<'_>,
        index: &Expression,
    ) -> Result<Option<Expression>, Failed> {
        let around = window(part)?;
        let (None | Some(1..)) = around.to else { return Ok(None) };
        if around.same_visit {
            return Ok(None);
        }
        let criterion = self.criterion(&part.need("Criteria")?)?;
        if occurrence(part)? != (1, None) {
            return unsaid(
                "only that there is an event after the index event can be told at that event",
            );
        }
        if criterion.first {
            return unsaid("a first event after the index event");
        }
        // Seen from the event, the index event lies as many days before.
        let behind = Around {
            from: around.to.map(|to| -to),
            to: around.from.map(|from| -from.max(0)),
            same_visit: false,
        };
        let behind = Around { to: behind.to.or(Some(0)), ..behind };
        let mut before = vec![index.clone().within(look_back(behind))];
        if behind.to == Some(0) {
            before.insert(0, index.clone());
        }
        let at_event = Expression::all(vec![self.now(&criterion)?, Expression::any(before)]);
        if around.from.is_some_and(|from| from > 0) {
            return Ok(Some(at_event));
        }
        if around.from == Some(0) && criterion.asks_of_the_event() {
            self.remarks.push("earlier encounters of the index day are not looked at".to_owned());
            return Ok(Some(at_event));
        }
        if criterion.asks_of_the_event() {
            return unsaid(
                "values, ages and criteria around it are those of the visit at hand, not of earlier ones",
            );
        }
        let until_now = Around { to: Some(0), ..around };
        let mut at_index =
            vec![index.clone(), criterion.codes.clone().within(look_back(until_now))];
        at_index.extend(criterion.fixed.iter().cloned());
        Ok(Some(Expression::any(vec![at_event, Expression::all(at_index)])))
    }
}

/// The visits before the one at hand.
fn look_back(around: Around) -> LookBack {
    let nearest = clamped(-around.to.unwrap_or(0));
    match around.from {
        None if nearest == 0 => Window::past().into(),
        None => Days { from: nearest, to: Days::MAX }.into(),
        Some(from) => Days { from: nearest, to: clamped(-from) }.into(),
    }
}

/// Days as the language counts them; more than it can count are more than anyone lives.
fn clamped(days: i64) -> u32 {
    u32::try_from(days.max(0)).unwrap_or(u32::MAX).min(Days::MAX)
}

/// Whether a group asks for nothing.
pub(crate) fn is_empty(part: &Part<'_>) -> Result<bool, PackError> {
    let mut empty = true;
    for key in ["CriteriaList", "DemographicCriteriaList", "Groups"] {
        empty &= part.list(key)?.is_empty();
    }
    Ok(empty)
}

/// The days that a criterion looks at.
pub(crate) fn window(part: &Part<'_>) -> Result<Around, Failed> {
    if part.get("EndWindow").is_some() {
        return unsaid("it looks at when an event ends");
    }
    let same_visit = part.truth("RestrictVisit")?;
    let Some(days) = part.get("StartWindow") else {
        return Ok(Around { from: None, to: None, same_visit });
    };
    if days.truth("UseIndexEnd")? || days.truth("UseEventEnd")? {
        return unsaid("it looks at when an event ends");
    }
    let side = |key: &str| -> Result<Option<i64>, Failed> {
        let side = days.need(key)?;
        if let Some(unit) = side.get("TimeUnit").filter(|unit| unit.value != "day") {
            return unsaid(format!("it counts `{}`, not days", shown(unit.text()?)));
        }
        let sign = side.need("Coeff")?;
        let sign = match sign.whole()? {
            sign @ (-1 | 1) => sign,
            _ => return Err(sign.wrong("expected -1 or 1").into()),
        };
        let Some(count) = side.get("Days") else {
            // All days before at the beginning, all days after at the end; anything else holds none.
            return match (key, sign) {
                ("Start", -1) | ("End", 1) => Ok(None),
                _ => unsaid("its window holds no day"),
            };
        };
        match count.whole()? {
            count @ 0..=1_000_000 => Ok(Some(count * sign)),
            _ => Err(count.wrong("expected a number of days").into()),
        }
    };
    let (from, to) = (side("Start")?, side("End")?);
    if from.zip(to).is_some_and(|(from, to)| from > to) {
        return unsaid("its window ends before it begins");
    }
    if same_visit && (from.is_some_and(|from| from > 0) || to.is_some_and(|to| to < 0)) {
        return unsaid("it looks at other days of the same visit");
    }
    Ok(Around { from, to, same_visit })
}

/// The least and the most events that a criterion asks for.
fn occurrence(part: &Part<'_>) -> Result<(u16, Option<u16>), Failed> {
    let asked = part.need("Occurrence")?;
    let (kind, count) = (asked.need("Type")?, asked.need("Count")?);
    let Ok(number) = u16::try_from(count.whole()?) else {
        return Err(count.wrong("expected a number of events").into());
    };
    if number >= Fact::MAX_COUNT {
        return unsaid(format!("it counts more than {} events", Fact::MAX_COUNT - 1));
    }
    if number > 1 && asked.truth("IsDistinct")? {
        return unsaid("it counts events that differ");
    }
    match kind.whole()? {
        0 => Ok((number, Some(number))),
        1 => Ok((0, Some(number))),
        2 => Ok((number, None)),
        _ => Err(kind.wrong("expected 0, 1 or 2").into()),
    }
}

/// Ages and sexes.
fn demographic(part: &Part<'_>) -> Result<Expression, Failed> {
    let mut parts = Vec::new();
    for (key, asked) in part.keys()? {
        parts.push(match key {
            "Age" => age(&asked)?,
            "Gender" => sex(part)?,
            other => return unsaid(format!("`{}` is not kept of visits", shown(other))),
        });
    }
    Ok(Expression::all(parts))
}

fn sex(part: &Part<'_>) -> Result<Expression, Failed> {
    let mut codes = Vec::new();
    for concept in part.list("Gender")? {
        let id = concept.need("CONCEPT_ID")?.whole()?;
        match SEXES.iter().find(|(concept, _)| *concept == id) {
            Some((_, code)) => codes.push(Expression::literal(code)),
            None => return unsaid("a gender other than male and female"),
        }
    }
    Ok(any_of(codes).within(Window::static_visit()))
}

fn age(part: &Part<'_>) -> Result<Expression, Failed> {
    let years = range(part)?;
    let is_year = |number: f32| number.fract() == 0.0 && (0.0..=OLDEST).contains(&number);
    match [years.least, years.most].iter().flatten().all(|limit| is_year(limit.number)) {
        true => Ok(named("AGE").compared(years)),
        false => unsaid(format!("an age that is no whole number from 0 to {OLDEST}")),
    }
}

/// A range of numbers.
fn range(part: &Part<'_>) -> Result<ValueRange, Failed> {
    let (operator, number) = (part.need("Op")?, part.need("Value")?.number()?);
    Ok(match operator.text()? {
        "gt" => ValueRange::above(number),
        "gte" => ValueRange::at_least(number),
        "lt" => ValueRange::below(number),
        "lte" => ValueRange::at_most(number),
        "eq" => ValueRange::between(number, number),
        "bt" => {
            let extent = part.need("Extent")?;
            match extent.number()? {
                most if most >= number => ValueRange::between(number, most),
                _ => return Err(extent.wrong("a range that ends before it begins").into()),
            }
        }
        "!bt" | "!eq" => return unsaid("a number outside a range"),
        _ => return Err(operator.wrong("expected `gt`, `gte`, `lt`, `lte`, `eq` or `bt`").into()),
    })
}
