//! Columns of times, of any unit and with or without a time zone.

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_datetime_with_timezone;
use arrow_array::timezone::Tz;
use arrow_array::types::{
    Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, TimeUnit};
use consequence_record::calendar::{DAY, UNDATED_START};

use super::MedsProblem;
use super::columns::{Integers, whole, wrong_type};

/// What is wrong with a column, and with which of its rows, if with one.
#[derive(Debug)]
pub(crate) struct ColumnError {
    pub row: Option<usize>,
    pub problem: MedsProblem,
}

impl From<MedsProblem> for ColumnError {
    fn from(problem: MedsProblem) -> Self {
        Self { row: None, problem }
    }
}

/// A column of times, in microseconds: what clocks on the wall showed, where it has a time zone.
pub(crate) fn times<'a>(column: &str, array: &'a dyn Array) -> Result<Integers<'a>, ColumnError> {
    let values = match array.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Cow::Borrowed(&array.as_primitive::<TimestampMicrosecondType>().values()[..])
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let values = array.as_primitive::<TimestampNanosecondType>().values();
            values.iter().map(|value| value.div_euclid(1000)).collect()
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            scaled(array, array.as_primitive::<TimestampMillisecondType>().values(), 1000)?
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            scaled(array, array.as_primitive::<TimestampSecondType>().values(), 1_000_000)?
        }
        DataType::Date64 => scaled(array, array.as_primitive::<Date64Type>().values(), 1000)?,
        DataType::Date32 => {
            let values = array.as_primitive::<Date32Type>().values();
            values.iter().map(|&value| i64::from(value) * DAY).collect()
        }
        other => return Err(wrong_type(column, "times, as timestamp[us]", other).into()),
    };
    let values = match array.data_type() {
        DataType::Timestamp(_, Some(zone)) => on_the_wall(column, array, values, zone)?,
        _ => values,
    };
    Ok(Integers { values, nulls: array.nulls() })
}

/// The numbers of visits as times a day apart, as an order without dates has them; none where the column
/// is not one of whole numbers.
pub(crate) fn visit_numbers(array: &dyn Array) -> Result<Option<Integers<'_>>, ColumnError> {
    let Some(numbers) = whole(array) else { return Ok(None) };
    let unsigned = array.data_type() == &DataType::UInt64;
    let time = |&number: &i64| {
        if unsigned && number < 0 {
            return None;
        }
        number.checked_sub(1)?.checked_mul(DAY)?.checked_add(UNDATED_START)
    };
    let values = converted(array, &numbers, time)?;
    Ok(Some(Integers { values, nulls: array.nulls() }))
}

fn scaled<'a>(
    array: &dyn Array,
    values: &[i64],
    factor: i64,
) -> Result<Cow<'a, [i64]>, ColumnError> {
    converted(array, values, |value| value.checked_mul(factor))
}

/// Converts each time that there is; one that cannot be is refused.
fn converted<'a>(
    array: &dyn Array,
    values: &[i64],
    convert: impl Fn(&i64) -> Option<i64>,
) -> Result<Cow<'a, [i64]>, ColumnError> {
    let convert = |(row, value): (usize, &i64)| match convert(value) {
        Some(value) => Ok(value),
        // Where there is no value, anything can stand.
        None if array.is_null(row) => Ok(0),
        None => Err(ColumnError { row: Some(row), problem: MedsProblem::FarTime }),
    };
    values.iter().enumerate().map(convert).collect::<Result<_, _>>().map(Cow::Owned)
}

/// What clocks on the wall of a zone showed; times are stored as those of UTC.
fn on_the_wall<'a>(
    column: &str,
    array: &dyn Array,
    values: Cow<'a, [i64]>,
    zone: &str,
) -> Result<Cow<'a, [i64]>, ColumnError> {
    if ["UTC", "Etc/UTC", "GMT", "Z", "+00:00", "-00:00"].contains(&zone) {
        return Ok(values);
    }
    let known: Tz = zone.parse().map_err(|_| MedsProblem::UnknownZone {
        column: column.into(),
        zone: zone.chars().take(40).collect(),
    })?;
    converted(array, &values, |&value| {
        let moment = as_datetime_with_timezone::<TimestampMicrosecondType>(value, known)?;
        Some(moment.naive_local().and_utc().timestamp_micros())
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::TimestampMillisecondArray;

    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn shown(zone: &str, hours: &[i64]) -> Result<Vec<i64>, String> {
        let millis: Vec<i64> = hours.iter().map(|hour| hour * 3_600_000).collect();
        let array = TimestampMillisecondArray::from(millis).with_timezone(zone);
        let times = times("time", &array).map_err(|error| error.problem.to_string())?;
        Ok(times.values.iter().map(|time| time / HOUR).collect())
    }

    #[test]
    fn a_zone_is_read_as_its_clocks_showed() {
        assert_eq!(shown("UTC", &[0, 5]).unwrap(), [0, 5]);
        assert_eq!(shown("+02:00", &[0, 5]).unwrap(), [2, 7]);
        assert_eq!(shown("-0500", &[0]).unwrap(), [-5]);
        // Winter, then summer.
        assert_eq!(shown("Europe/Berlin", &[0, 24 * 5000]).unwrap()[0], 1);
        let summer = 24 * (365 * 50 + 12 + 180);
        assert_eq!(shown("Europe/Berlin", &[summer]).unwrap(), [summer + 2]);
        let refused = shown("Middle/Earth", &[0]).unwrap_err();
        assert!(refused.contains("`time`") && refused.contains("`Middle/Earth`"), "{refused}");
    }

    #[test]
    fn times_out_of_range_are_refused_with_their_row() {
        let array = TimestampMillisecondArray::from(vec![Some(1), None, Some(i64::MAX)]);
        let error = times("time", &array).map(|_| ()).unwrap_err();
        assert_eq!((error.row, error.problem), (Some(2), MedsProblem::FarTime));
    }
}
