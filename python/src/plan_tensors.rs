//! A plan as arrays of numbers, and what it says of visits that are arrays: for layers of a network.
//!
//! Arrays go both ways as bytes, in the machine's order: codes of visits as one byte each, visit after
//! visit, codes as the vocabulary numbers them and `END` last.

use std::sync::Arc;

use consequence::{Code, Draws, Enforcer, Program, Purpose, Ruling, Writer};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rayon::prelude::*;

use crate::errors;
use crate::plan::Plan;

/// A plan as arrays of numbers.
#[pyclass(frozen, module = "conseq._native")]
pub struct PlanTensors {
    program: Arc<Program>,
    enforcer: Arc<Enforcer>,
}

/// The random words of a visit of each record, for codes or for soft rules: those with numbers from `first`
/// on, as 32-bit numbers, record after record.
#[pyfunction]
pub fn random_words<'py>(
    py: Python<'py>,
    seed: u64,
    records: Vec<u64>,
    visits: Vec<u16>,
    of_rules: bool,
    first: u32,
    count: usize,
) -> Bound<'py, PyBytes> {
    let (draws, row) = (Draws::new(seed), count * size_of::<u32>());
    let mut words = vec![0; records.len().min(visits.len()) * row];
    py.detach(|| {
        let keys = records.par_iter().zip(&visits);
        words.par_chunks_mut(row.max(1)).zip(keys).for_each(|(into, (&record, &visit))| {
            let purpose = if of_rules { Purpose::Rule } else { Purpose::Code };
            let mut drawn = draws.visit(record, 0, visit, purpose);
            for (into, index) in into.chunks_exact_mut(size_of::<u32>()).zip(first..) {
                into.copy_from_slice(&drawn.word(index).to_ne_bytes());
            }
        });
    });
    PyBytes::new(py, &words)
}

/// What rules decide of a code, as one byte.
const OFF: i8 = -1;
const FREE: i8 = 0;
const ON: i8 = 1;
const SOFT: i8 = 2;

#[pymethods]
impl PlanTensors {
    #[new]
    fn new(py: Python<'_>, plan: &Plan) -> PyResult<Self> {
        let plan = Arc::clone(plan.plan());
        let made = py.detach(|| {
            let (program, enforcer) = (Program::new(&plan)?, Enforcer::new(&plan));
            Some(Self { program: Arc::new(program), enforcer: Arc::new(enforcer) })
        });
        made.ok_or_else(|| {
            errors::unusable(
                py,
                "rules about days, counts, ages or values cannot be kept by a layer of tensors",
                "leave them out of the plan of the layer, and repair what it writes with plan.enforce",
            )
        })
    }

    /// Single numbers: codes, static codes, the column of `END`, the most encounters, whether the end is
    /// given, whether there is a decision diagram.
    fn shape(&self) -> (usize, usize, usize, usize, bool, bool) {
        let plan = self.program.plan();
        let end = plan.rules().vocabulary().end().index();
        let (codes, statics) = (self.program.codes(), plan.order().statics());
        (codes, statics, end, plan.max_visits(), plan.end_given(), self.program.diagram())
    }

    /// The tables of the plan by name: 32-bit numbers, but for `drawn.probability`, which has 64-bit ones.
    /// `*.starts` says where each list of `*` begins, and where the last ends.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let program = &*self.program;
        let made = PyDict::new(py);
        let set = |name: &str, numbers: Vec<i32>| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
            made.set_item(name, PyBytes::new(py, &bytes))
        };
        let lists = |name: &str, lists: &mut dyn Iterator<Item = &[u32]>| {
            let (mut starts, mut values) = (vec![0], Vec::new());
            for list in lists {
                values.extend(list.iter().map(|&value| value as i32));
                starts.push(values.len() as i32);
            }
            set(&format!("{name}.starts"), starts)?;
            set(name, values)
        };
        let order = program.plan().order().codes();
        set("order", order.iter().map(|code| code.0 as i32).collect())?;
        set("levels", program.levels().iter().map(|&level| level as i32).collect())?;
        let (windows, past) = (program.windows(), program.past());
        set("window.past", windows.iter().map(|one| one.is_past().into()).collect())?;
        let numbers = |list: &[u16]| list.iter().map(|&one| u32::from(one)).collect::<Vec<_>>();
        let at: Vec<Vec<u32>> = windows.iter().map(|one| numbers(one.visits())).collect();
        let back: Vec<Vec<u32>> = windows.iter().map(|one| numbers(one.distances())).collect();
        lists("window.visits", &mut at.iter().map(Vec::as_slice))?;
        lists("window.distances", &mut back.iter().map(Vec::as_slice))?;
        set("past.window", past.iter().map(|one| one.window as i32).collect())?;
        set("past.position", past.iter().map(|one| one.position as i32).collect())?;
        let conjunctions = [
            ("forcing", program.forcing()),
            ("drawing", program.drawing()),
            ("due", program.due()),
        ];
        for (name, table) in conjunctions {
            lists(&format!("{name}.conditions"), &mut table.conditions.iter())?;
            let visits = || table.visits.iter();
            set(&format!("{name}.first"), visits().map(|one| one.first.into()).collect())?;
            set(&format!("{name}.last"), visits().map(|one| one.last.into()).collect())?;
        }
        let (forced, drawn) = (program.forced(), program.drawn());
        set("forced.output", forced.iter().map(|one| one.output as i32).collect())?;
        set("forced.present", forced.iter().map(|one| one.present.into()).collect())?;
        set("drawn.output", drawn.iter().map(|one| one.output as i32).collect())?;
        set("drawn.rule", drawn.iter().map(|one| one.rule as i32).collect())?;
        let probabilities = drawn.iter().flat_map(|one| one.probability.to_ne_bytes());
        let probabilities: Vec<u8> = probabilities.collect();
        made.set_item("drawn.probability", PyBytes::new(py, &probabilities))?;
        lists("due.codes", &mut program.due_codes().iter())?;
        set("due.lasting", program.lasting().iter().map(|&one| one.into()).collect())?;
        set("wait.clause", program.waits().iter().map(|one| one.clause as i32).collect())?;
        set("wait.code", program.waits().iter().map(|one| one.code as i32).collect())?;
        let off = program.kept_off();
        set("kept_off.wait", off.iter().map(|one| one.wait as i32).collect())?;
        set("kept_off.code", off.iter().map(|one| one.code as i32).collect())?;
        set("kept_off.by", off.iter().map(|one| one.by as i32).collect())?;
        Ok(made)
    }

    /// What holds of the past before each visit of each record: one byte for each of the plan's codes in
    /// windows.
    fn past<'py>(
        &self,
        py: Python<'py>,
        visits: &[u8],
        records: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (width, each) = (self.program.past().len(), self.visits_each(py, visits, records)?);
        let mut found = vec![0; records * each * width];
        py.detach(|| {
            let all = found.par_chunks_mut((each * width).max(1)).zip(self.by_record(visits, each));
            all.for_each(|(found, record)| {
                let mut reader = self.program.reader();
                for (visit, found) in
                    record.chunks(self.codes()).zip(found.chunks_mut(width.max(1)))
                {
                    let past = reader.past();
                    found.iter_mut().zip(past).for_each(|(into, holds)| *into = holds.into());
                    reader.advance(&self.positions(visit));
                }
            });
        });
        Ok(PyBytes::new(py, &found))
    }

    /// What the rules say of every code of every visit, from the visits before and the codes that are
    /// decided before it: -1 is off, 0 free, 1 on, 2 drawn by a soft rule, whose probabilities come
    /// beside it as 64-bit numbers. A code of the other kind of visit is off, and so is all of what
    /// follows the end.
    fn rulings<'py>(
        &self,
        py: Python<'py>,
        visits: &[u8],
        records: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let (codes, each) = (self.codes(), self.visits_each(py, visits, records)?);
        let mut said = vec![OFF; visits.len()];
        let mut soft = vec![0.0; visits.len()];
        py.detach(|| {
            let row = each * codes;
            let (said, soft) = (said.par_chunks_mut(row.max(1)), soft.par_chunks_mut(row.max(1)));
            said.zip(soft).zip(self.by_record(visits, each)).for_each_init(
                || self.enforcer.writer(),
                |writer, ((said, soft), record)| self.rule(writer, record, said, soft),
            );
        });
        let bytes = said.iter().map(|&one| one as u8).collect::<Vec<_>>();
        let soft = soft.iter().flat_map(|one: &f64| one.to_ne_bytes()).collect::<Vec<_>>();
        Ok((PyBytes::new(py, &bytes), PyBytes::new(py, &soft)))
    }

    /// Decides the next visit of each record, given the visits before it and the probability of each
    /// code as 64-bit numbers. A record that has ended gets an empty one.
    fn decide<'py>(
        &self,
        py: Python<'py>,
        probabilities: &[u8],
        before: &[u8],
        seed: u64,
        records: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (codes, count) = (self.codes(), records.len());
        let each = self.visits_each(py, before, count)?;
        if probabilities.len() != count * codes * size_of::<f64>() {
            return Err(wrong_size(py));
        }
        let draws = Draws::new(seed);
        let mut decided = vec![0; count * codes];
        let outcome: Result<(), consequence::BadProbability> = py.detach(|| {
            let rows = probabilities.par_chunks(codes * size_of::<f64>());
            let given = records.par_iter().zip(rows).zip(self.by_record(before, each));
            decided.par_chunks_mut(codes).zip(given).try_for_each_init(
                || self.enforcer.writer(),
                |writer, (into, ((&record, row), before))| {
                    self.replay(writer, before);
                    if writer.record().ended {
                        return Ok(());
                    }
                    let probability = |code: Code, _: &[Code]| {
                        let bytes = row.chunks_exact(size_of::<f64>()).nth(code.index());
                        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
                        bytes.map_or(f64::NAN, f64::from_ne_bytes)
                    };
                    for code in writer.guided(&draws, record, probability)? {
                        into[code.index()] = 1;
                    }
                    into[writer.end().index()] = writer.record().ended.into();
                    Ok(())
                },
            )
        });
        match outcome {
            Ok(()) => Ok(PyBytes::new(py, &decided)),
            Err(bad) => {
                let advice = "give each code a probability from 0 to 1";
                Err(errors::unusable(py, &bad.to_string(), advice))
            }
        }
    }
}

impl PlanTensors {
    fn codes(&self) -> usize {
        self.program.codes()
    }

    /// The number of visits of each record, if there are as many bytes as it takes.
    fn visits_each(&self, py: Python<'_>, visits: &[u8], records: usize) -> PyResult<usize> {
        let row = records * self.codes();
        match visits.len().checked_div(row) {
            Some(each) if each * row == visits.len() && each <= usize::from(u16::MAX) => Ok(each),
            None if visits.is_empty() => Ok(0),
            _ => Err(wrong_size(py)),
        }
    }

    /// The visits of each record; empty ones where there are none.
    fn by_record<'a>(
        &self,
        visits: &'a [u8],
        each: usize,
    ) -> impl IndexedParallelIterator<Item = &'a [u8]> {
        let row = each * self.codes();
        let records = visits.len().checked_div(row).unwrap_or(usize::MAX >> 1);
        (0..records).into_par_iter().map(move |record| &visits[record * row..(record + 1) * row])
    }

    /// The positions of the codes of a visit, ascending.
    fn positions(&self, visit: &[u8]) -> Vec<u32> {
        let order = self.program.plan().order();
        let on = visit.iter().zip(0u32..).filter(|(on, _)| **on != 0);
        let mut positions: Vec<u32> = on.map(|(_, code)| order.position(Code(code))).collect();
        positions.sort_unstable();
        positions
    }

    /// Says what the rules say of the codes of a record.
    fn rule(&self, writer: &mut Writer<'_>, record: &[u8], said: &mut [i8], soft: &mut [f64]) {
        let order = self.program.plan().order();
        writer.take();
        let rows = said.chunks_mut(self.codes()).zip(soft.chunks_mut(self.codes()));
        for (visit, (said, soft)) in record.chunks(self.codes()).zip(rows) {
            if writer.record().ended {
                break;
            }
            for position in writer.open() {
                let code = order.code(position).index();
                said[code] = match writer.ruling(position) {
                    Ruling::Free => FREE,
                    Ruling::Forced(true) => ON,
                    Ruling::Forced(false) => OFF,
                    Ruling::Soft { probability, .. } => {
                        soft[code] = probability;
                        SOFT
                    }
                };
                writer.place(position, visit[code] != 0);
            }
            writer.close();
        }
    }

    /// Writes the visits of a record as they are.
    fn replay(&self, writer: &mut Writer<'_>, record: &[u8]) {
        writer.take();
        for visit in record.chunks(self.codes()) {
            if writer.record().ended {
                break;
            }
            writer.open();
            let range = self.program.plan().order().range(writer.visit());
            for position in self.positions(visit) {
                if range.contains(&position) {
                    writer.place(position, true);
                }
            }
            writer.close();
        }
    }
}

fn wrong_size(py: Python<'_>) -> PyErr {
    let what = "the visits are not as many bytes as records, visits and codes make";
    errors::unusable(py, what, "give whole visits of all codes, END last")
}
