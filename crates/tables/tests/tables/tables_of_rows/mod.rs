//! Rows of events as batches whose columns are of any type that can be read.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, Float32Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, DictionaryArray, Float32Array, Float64Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use consequence_tables::Dataset;
use proptest::prelude::*;

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub subject: i64,
    pub time: Option<i64>,
    pub code: String,
    pub value: Option<f32>,
    pub visit: Option<i64>,
}

impl Row {
    /// With a time of whole units.
    pub fn floored(&self, unit: Unit) -> Self {
        let micros = unit.micros().max(1);
        let time = self.time.map(|time| time.div_euclid(micros) * micros);
        Self { time, ..self.clone() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Day,
    DayOfMilliseconds,
}

impl Unit {
    /// Its microseconds; none of a nanosecond.
    fn micros(self) -> i64 {
        match self {
            Self::Second => 1_000_000,
            Self::Millisecond => 1000,
            Self::Microsecond => 1,
            Self::Nanosecond => 0,
            Self::Day | Self::DayOfMilliseconds => 86_400_000_000,
        }
    }
}

/// The types of strings: three, and dictionaries of each by keys of eight types.
const TEXTS: usize = 3 + 8 + 2;

/// The types of the columns of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub unit: Unit,
    code: usize,
    /// Whether subjects are numbers, without a sign or with, or the strings of their ids.
    subject: Result<bool, usize>,
    visit: Result<bool, usize>,
    wide_values: bool,
}

impl Style {
    /// As we write them.
    pub const PLAIN: Self = Self {
        unit: Unit::Microsecond,
        code: 0,
        subject: Ok(false),
        visit: Ok(false),
        wide_values: false,
    };

    /// Whether subjects are numbers.
    pub fn by_number(&self) -> bool {
        self.subject.is_ok()
    }
}

pub fn style() -> impl Strategy<Value = Style> {
    let unit = prop_oneof![
        Just(Unit::Second),
        Just(Unit::Millisecond),
        Just(Unit::Microsecond),
        Just(Unit::Nanosecond),
        Just(Unit::Day),
        Just(Unit::DayOfMilliseconds),
    ];
    let kind = || prop_oneof![any::<bool>().prop_map(Ok), (0..TEXTS).prop_map(Err)];
    (unit, 0..TEXTS, kind(), kind(), any::<bool>()).prop_map(
        |(unit, code, subject, visit, wide_values)| Style {
            unit,
            code,
            subject,
            visit,
            wide_values,
        },
    )
}

/// Strings as a column of some type.
fn texts(kind: usize, texts: &[Option<String>]) -> ArrayRef {
    fn dictionary<K: ArrowDictionaryKeyType>(texts: &[Option<String>]) -> Option<ArrayRef> {
        let mut builder = StringDictionaryBuilder::<K>::new();
        for text in texts {
            match text {
                // Keys of 8 bits may be too few.
                Some(text) => drop(builder.append(text).ok()?),
                None => builder.append_null(),
            }
        }
        Some(Arc::new(builder.finish()))
    }
    let plain = || Arc::new(StringArray::from(texts.to_vec())) as ArrayRef;
    match kind {
        0 => Some(plain()),
        1 => Some(Arc::new(LargeStringArray::from(texts.to_vec())) as ArrayRef),
        2 => {
            Some(Arc::new(texts.iter().map(Option::as_deref).collect::<StringViewArray>())
                as ArrayRef)
        }
        3 => dictionary::<Int8Type>(texts),
        4 => dictionary::<Int16Type>(texts),
        5 => dictionary::<Int32Type>(texts),
        6 => dictionary::<Int64Type>(texts),
        7 => dictionary::<UInt8Type>(texts),
        8 => dictionary::<UInt16Type>(texts),
        9 => dictionary::<UInt32Type>(texts),
        10 => dictionary::<UInt64Type>(texts),
        // Dictionaries whose strings are of the other two types, each row its own entry.
        kind => {
            let keys = (0..texts.len() as u32).map(|key| texts[key as usize].as_ref().map(|_| key));
            let keys = arrow_array::UInt32Array::from_iter(keys);
            let values: ArrayRef = match kind {
                11 => Arc::new(LargeStringArray::from(texts.to_vec())),
                _ => Arc::new(texts.iter().map(Option::as_deref).collect::<StringViewArray>()),
            };
            Some(Arc::new(DictionaryArray::new(keys, values)) as ArrayRef)
        }
    }
    .unwrap_or_else(plain)
}

/// Rows as a batch; times are of whole units.
pub fn batch_of(rows: &[Row], style: &Style, dataset: &Dataset) -> RecordBatch {
    let times = |micros: i64| rows.iter().map(move |row| row.time.map(|time| time / micros));
    let micros = style.unit.micros();
    let time: ArrayRef = match style.unit {
        Unit::Second => Arc::new(times(micros).collect::<TimestampSecondArray>()),
        Unit::Millisecond => Arc::new(times(micros).collect::<TimestampMillisecondArray>()),
        Unit::Microsecond => Arc::new(times(micros).collect::<TimestampMicrosecondArray>()),
        Unit::Nanosecond => {
            let nanos = rows.iter().map(|row| row.time.map(|time| time * 1000));
            Arc::new(nanos.collect::<TimestampNanosecondArray>())
        }
        Unit::Day => {
            let days = times(micros).map(|time| time.map(|time| time as i32));
            Arc::new(days.collect::<Date32Array>())
        }
        Unit::DayOfMilliseconds => Arc::new(times(1000).collect::<Date64Array>()),
    };
    let numbers = |unsigned: bool, numbers: &mut dyn Iterator<Item = Option<i64>>| -> ArrayRef {
        match unsigned {
            true => Arc::new(numbers.map(|it| it.map(|it| it as u64)).collect::<UInt64Array>()),
            false => Arc::new(numbers.collect::<Int64Array>()),
        }
    };
    let ids = ids(dataset);
    let subject = match style.subject {
        Ok(unsigned) => numbers(unsigned, &mut rows.iter().map(|row| Some(row.subject))),
        Err(kind) => {
            texts(kind, &rows.iter().map(|row| Some(ids[&row.subject].clone())).collect::<Vec<_>>())
        }
    };
    let visit = match style.visit {
        Ok(unsigned) => numbers(unsigned, &mut rows.iter().map(|row| row.visit)),
        Err(kind) => {
            let names = rows.iter().map(|row| row.visit.map(|visit| format!("v{visit}")));
            texts(kind, &names.collect::<Vec<_>>())
        }
    };
    let codes: Vec<_> = rows.iter().map(|row| Some(row.code.clone())).collect();
    let values = rows.iter().map(|row| row.value);
    let value: ArrayRef = match style.wide_values {
        // What is not a number is no value.
        true => Arc::new(Float64Array::from_iter_values(
            values.map(|value| value.map_or(f64::NAN, f64::from)),
        )),
        false => Arc::new(values.collect::<Float32Array>()),
    };
    let columns = [
        ("numeric_value", value),
        ("code", texts(style.code, &codes)),
        ("visit_id", visit),
        ("time", time),
        ("subject_id", subject),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// The ids of subjects by their numbers.
fn ids(dataset: &Dataset) -> BTreeMap<i64, String> {
    let tables = consequence_tables::arrow::tables(dataset, &Default::default()).unwrap();
    let subjects = tables.subjects.unwrap();
    let originals = subjects.column_by_name("original_id").unwrap().as_string::<i32>().clone();
    let numbers = subjects.column_by_name("subject_id").unwrap().as_primitive::<Int64Type>();
    let pairs = numbers.values().iter().zip(originals.iter().flatten());
    pairs.map(|(&number, id)| (number, id.to_owned())).collect()
}

/// The table of subjects that goes with rows of a style.
pub fn subjects_of(dataset: &Dataset, style: &Style) -> RecordBatch {
    let tables = consequence_tables::arrow::tables(dataset, &Default::default()).unwrap();
    let subjects = tables.subjects.unwrap();
    let column = |name: &str| subjects.column_by_name(name).unwrap().clone();
    match style.subject {
        Ok(_) => subjects.clone(),
        Err(_) => RecordBatch::try_from_iter([
            ("subject_id", column("original_id")),
            ("split", column("split")),
        ])
        .unwrap(),
    }
}

/// A batch cut into pieces of these sizes, over and over; some may be empty.
pub fn cut(batch: &RecordBatch, sizes: &[usize]) -> Vec<RecordBatch> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for &size in sizes.iter().chain([&7]).cycle() {
        let size = size.min(batch.num_rows() - start);
        pieces.push(batch.slice(start, size));
        start += size;
        if start == batch.num_rows() {
            return pieces;
        }
    }
    pieces
}

/// The rows of batches as we write them.
pub fn rows_of(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        let column = |name| batch.column_by_name(name).unwrap();
        let subjects = column("subject_id").as_primitive::<Int64Type>();
        let times = column("time").as_primitive::<TimestampMicrosecondType>();
        let visits = column("visit_id").as_primitive::<Int64Type>();
        let values = column("numeric_value").as_primitive::<Float32Type>();
        let codes: Vec<&str> = match column("code").as_dictionary_opt::<Int32Type>() {
            Some(codes) => {
                codes.downcast_dict::<StringArray>().unwrap().into_iter().flatten().collect()
            }
            None => column("code").as_string::<i32>().iter().flatten().collect(),
        };
        for (row, &code) in codes.iter().enumerate() {
            rows.push(Row {
                subject: subjects.value(row),
                time: times.is_valid(row).then(|| times.value(row)),
                code: code.to_owned(),
                value: values.is_valid(row).then(|| values.value(row)),
                visit: visits.is_valid(row).then(|| visits.value(row)),
            });
        }
    }
    rows
}
