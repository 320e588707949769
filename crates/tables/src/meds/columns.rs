//! Columns of tables, whatever their exact type.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use rustc_hash::FxHashMap;

use super::MedsProblem;

/// A column of whole numbers, or of times.
pub(crate) struct Integers<'a> {
    pub values: Cow<'a, [i64]>,
    pub nulls: Option<&'a NullBuffer>,
}

impl Integers<'_> {
    /// The value of a row, if it has one.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        match self.nulls {
            Some(nulls) if nulls.is_null(row) => None,
            _ => self.values.get(row).copied(),
        }
    }
}

/// A column that numbers subjects or visits. Floating-point numbers, as some programs write where
/// values are missing, are told apart by their bits.
pub(crate) fn integers<'a>(
    column: &str,
    array: &'a dyn Array,
) -> Result<Integers<'a>, MedsProblem> {
    let values = match array.data_type() {
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().map(|value| value.to_bits() as i64).collect()
        }
        other => match whole(array) {
            Some(values) => values,
            None => return Err(wrong_type(column, "whole numbers of 64 bits", other)),
        },
    };
    Ok(Integers { values, nulls: array.nulls() })
}

/// The numbers of a column of integers of any width. Those of 64 bits without a sign keep their bits.
pub(crate) fn whole(array: &dyn Array) -> Option<Cow<'_, [i64]>> {
    fn wide<T: ArrowPrimitiveType>(array: &dyn Array) -> Cow<'static, [i64]>
    where
        T::Native: Into<i64>,
    {
        array.as_primitive::<T>().values().iter().map(|&value| value.into()).collect()
    }
    Some(match array.data_type() {
        DataType::Int64 => Cow::Borrowed(&array.as_primitive::<Int64Type>().values()[..]),
        DataType::Int32 => wide::<Int32Type>(array),
        DataType::Int16 => wide::<Int16Type>(array),
        DataType::Int8 => wide::<Int8Type>(array),
        DataType::UInt32 => wide::<UInt32Type>(array),
        DataType::UInt16 => wide::<UInt16Type>(array),
        DataType::UInt8 => wide::<UInt8Type>(array),
        DataType::UInt64 => {
            array.as_primitive::<UInt64Type>().values().iter().map(|&value| value as i64).collect()
        }
        _ => return None,
    })
}

/// A column of values.
pub(crate) struct Numbers<'a> {
    values: Cow<'a, [f32]>,
    nulls: Option<&'a NullBuffer>,
}

impl Numbers<'_> {
    /// The value of a row, if it has one; what is not a number is none. One without bounds is refused.
    pub fn get(&self, row: usize) -> Result<Option<f32>, MedsProblem> {
        match self.values.get(row) {
            Some(_) if self.nulls.is_some_and(|nulls| nulls.is_null(row)) => Ok(None),
            Some(value) if value.is_infinite() => Err(MedsProblem::InfiniteValue),
            Some(&value) => Ok((!value.is_nan()).then_some(value)),
            None => Ok(None),
        }
    }
}

/// A column of values, as numbers of 32 bits.
pub(crate) fn numbers<'a>(column: &str, array: &'a dyn Array) -> Result<Numbers<'a>, MedsProblem> {
    let values = match array.data_type() {
        DataType::Float32 => Cow::Borrowed(&array.as_primitive::<Float32Type>().values()[..]),
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            values.iter().map(|&value| value as f32).collect()
        }
        DataType::Float16 => {
            let values = array.as_primitive::<Float16Type>().values();
            values.iter().map(|value| value.to_f32()).collect()
        }
        DataType::UInt64 => {
            let values = array.as_primitive::<UInt64Type>().values();
            values.iter().map(|&value| value as f32).collect()
        }
        // A column without any value has no type.
        DataType::Null => Cow::Borrowed(&[][..]),
        other => match whole(array) {
            Some(values) => values.iter().map(|&value| value as f32).collect(),
            None => return Err(wrong_type(column, "numbers, as float32,", other)),
        },
    };
    Ok(Numbers { values, nulls: array.nulls() })
}

/// A column of strings: those there are, and which of them each row holds. Rows that hold the same
/// string may do so by several keys where the column is a dictionary that lists it twice.
pub(crate) struct Strings<'a> {
    values: Values<'a>,
    keys: Keys<'a>,
}

enum Values<'a> {
    Short(&'a StringArray),
    Long(&'a LargeStringArray),
    Views(&'a StringViewArray),
    /// Each string of a column that is no dictionary, once.
    Met(Vec<&'a str>),
}

enum Keys<'a> {
    Dictionary(&'a [i32], Option<&'a NullBuffer>),
    /// Those of rows without a string are [`NO_KEY`].
    Made(Vec<u32>),
}

const NO_KEY: u32 = u32::MAX;

impl<'a> Strings<'a> {
    /// Which value a row holds, if any.
    #[inline]
    pub fn key(&self, row: usize) -> Option<usize> {
        let key = match &self.keys {
            Keys::Dictionary(_, Some(nulls)) if nulls.is_null(row) => return None,
            Keys::Dictionary(keys, _) => keys[row] as usize,
            Keys::Made(keys) => keys[row] as usize,
        };
        let valid = match &self.values {
            Values::Short(values) => key < values.len() && values.is_valid(key),
            Values::Long(values) => key < values.len() && values.is_valid(key),
            Values::Views(values) => key < values.len() && values.is_valid(key),
            Values::Met(values) => key < values.len(),
        };
        valid.then_some(key)
    }

    /// The string of a row, if it has one.
    pub fn get(&self, row: usize) -> Option<&'a str> {
        self.key(row).map(|key| self.value(key))
    }

    /// How many values there are; keys are below it.
    pub fn count(&self) -> usize {
        match &self.values {
            Values::Short(values) => values.len(),
            Values::Long(values) => values.len(),
            Values::Views(values) => values.len(),
            Values::Met(values) => values.len(),
        }
    }

    /// The value of a key that a row has.
    pub fn value(&self, key: usize) -> &'a str {
        match &self.values {
            Values::Short(values) => values.value(key),
            Values::Long(values) => values.value(key),
            Values::Views(values) => values.value(key),
            Values::Met(values) => values[key],
        }
    }
}

/// A column of strings: of any width, by their bytes or by views, and dictionaries of them.
pub(crate) fn strings<'a>(column: &str, array: &'a dyn Array) -> Result<Strings<'a>, MedsProblem> {
    let wrong = || wrong_type(column, "strings", array.data_type());
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = listed(dictionary.values().as_ref()).ok_or_else(wrong)?;
        let keys = match array.as_dictionary_opt::<Int32Type>() {
            Some(typed) => Keys::Dictionary(&typed.keys().values()[..], array.nulls()),
            None => {
                let keys = whole(dictionary.keys()).ok_or_else(wrong)?;
                let key = |(row, &key): (usize, &i64)| match array.is_null(row) {
                    true => NO_KEY,
                    false => u32::try_from(key).unwrap_or(NO_KEY),
                };
                Keys::Made(keys.iter().enumerate().map(key).collect())
            }
        };
        return Ok(Strings { values, keys });
    }
    Ok(match listed(array).ok_or_else(wrong)? {
        Values::Short(values) => met_once(values.iter()),
        Values::Long(values) => met_once(values.iter()),
        Values::Views(values) => met_once(values.iter()),
        Values::Met(values) => met_once(values.into_iter().map(Some)),
    })
}

fn listed(array: &dyn Array) -> Option<Values<'_>> {
    match array.data_type() {
        DataType::Utf8 => array.as_string_opt::<i32>().map(Values::Short),
        DataType::LargeUtf8 => array.as_string_opt::<i64>().map(Values::Long),
        DataType::Utf8View => array.as_string_view_opt().map(Values::Views),
        _ => None,
    }
}

/// The strings of rows as a dictionary, so that what a string means is asked once.
fn met_once<'a>(rows: impl Iterator<Item = Option<&'a str>>) -> Strings<'a> {
    let (mut values, mut known): (_, FxHashMap<&str, u32>) = (Vec::new(), FxHashMap::default());
    let mut last: Option<(&str, u32)> = None;
    let key = |text: Option<&'a str>| {
        let Some(text) = text else { return NO_KEY };
        if let Some((before, key)) = last
            && before == text
        {
            return key;
        }
        let key = *known.entry(text).or_insert_with(|| {
            values.push(text);
            values.len() as u32 - 1
        });
        last = Some((text, key));
        key
    };
    let keys = rows.map(key).collect();
    Strings { values: Values::Met(values), keys: Keys::Made(keys) }
}

pub(super) fn wrong_type(column: &str, expected: &'static str, found: &DataType) -> MedsProblem {
    let found = match found {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "strings".to_owned(),
        DataType::Dictionary(_, values) => match values.as_ref() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "strings".to_owned(),
            other => format!("a dictionary of {other}"),
        },
        DataType::Struct(_)
        | DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Map(..) => "nested values".to_owned(),
        other => other.to_string(),
    };
    MedsProblem::ColumnType { column: column.into(), expected, found }
}
