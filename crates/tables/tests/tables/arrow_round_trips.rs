//! Cohorts come back the same through record batches, whatever the types of their columns, the borders of
//! batches and the order of rows.

use std::collections::BTreeMap;
use std::fs::File;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use consequence_record::Record;
use consequence_record::calendar::Moment;
use consequence_tables::arrow::{
    self, CodeType, Column, Columns, EventBatches, ReadOptions, RecordStream, RowOrder,
    TableOptions, Tables,
};
use consequence_tables::export::{self, ExportOptions};
use consequence_tables::meds::{self, MedsOptions, WriterOptions};
use consequence_tables::{Dataset, TableError};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use crate::cohorts::{assert_same, dataset};
use crate::tables_of_rows::{Row, Style, Unit, batch_of, cut, rows_of, style, subjects_of};

/// The rows of a long table as they are written into a file.
fn written(table: &RecordBatch) -> Vec<Vec<String>> {
    let text = |column: &ArrayRef, row: usize| {
        if column.is_null(row) {
            return String::new();
        }
        match column.data_type() {
            DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
            DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
            DataType::Float32 => column.as_primitive::<Float32Type>().value(row).to_string(),
            DataType::Boolean => u8::from(column.as_boolean().value(row)).to_string(),
            DataType::Timestamp(..) => {
                Moment(column.as_primitive::<TimestampMicrosecondType>().value(row)).to_string()
            }
            _ => {
                let texts = column.as_dictionary::<Int32Type>();
                let key = texts.keys().value(row) as usize;
                texts.values().as_string::<i32>().value(key).to_owned()
            }
        }
    };
    let row = |row: usize| table.columns().iter().map(|column| text(column, row)).collect();
    (0..table.num_rows()).map(row).collect()
}

/// What is known of each record, by its id.
fn by_id(dataset: &Dataset) -> BTreeMap<&str, (Record, String)> {
    let one = |index: usize| {
        let said = format!("{:?} {:?}", dataset.splits[index], dataset.details_of(index));
        (dataset.cohort.id(index), (dataset.cohort.record(index).to_record(), said))
    };
    (0..dataset.cohort.len()).map(one).collect()
}

/// The rows in an order that draws give; those of one subject and time stay in theirs.
fn shuffled(rows: &[Row], draws: &[u32]) -> Vec<Row> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&row| (draws[row % draws.len()] ^ (row / draws.len()) as u32, row));
    let mut together: BTreeMap<(i64, Option<i64>), Vec<usize>> = BTreeMap::new();
    for (row, Row { subject, time, .. }) in rows.iter().enumerate() {
        together.entry((*subject, *time)).or_default().push(row);
    }
    together.values_mut().for_each(|rows| rows.reverse());
    let next = |row: usize| {
        let Row { subject, time, .. } = rows[row];
        let same = together.get_mut(&(subject, time)).unwrap();
        rows[same.pop().unwrap()].clone()
    };
    order.into_iter().map(next).collect()
}

/// The records of a stream of batches.
fn streamed(mut stream: RecordStream, batches: &[RecordBatch]) -> Vec<(String, Record, String)> {
    let mut records = Vec::new();
    let mut take = |record: meds::Streamed<'_>| -> Result<(), TableError> {
        let said = format!("{:?}", record.details);
        records.push((record.id.to_owned(), record.record.to_record(), said));
        Ok(())
    };
    for batch in batches {
        stream.push(batch, &mut take).unwrap();
    }
    stream.finish(&mut take).unwrap();
    records
}

fn read(tables: &Tables) -> Dataset {
    arrow::read(tables, &ReadOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_dataset_comes_back_the_same(
        dataset in dataset(),
        batch_rows in 1..60_usize,
        text in any::<bool>(),
        style in style(),
        draws in proptest::collection::vec(any::<u32>(), 50),
        borders in proptest::collection::vec(0..40_usize, 1..10),
    ) {
        let codes = if text { CodeType::Text } else { CodeType::Dictionary };
        let options = TableOptions { batch_rows, codes, ..TableOptions::default() };
        let tables = arrow::tables(&dataset, &options).unwrap();
        assert_same(&read(&tables), &dataset);
        // With ids in the place of numbers, no table of subjects is needed.
        let options = TableOptions { text_subjects: true, ..options };
        let named = arrow::tables(&dataset, &options).unwrap();
        let named = read(&Tables { subjects: None, ..named });
        assert!(named.cohort == dataset.cohort && named.details == dataset.details);
        let sorted = ReadOptions { order: RowOrder::Sorted, ..ReadOptions::default() };
        assert_same(&arrow::read(&tables, &sorted).unwrap(), &dataset);
        // Codes alone are the same codes, and over a vocabulary that is given too.
        let options = ReadOptions {
            details: false,
            vocabulary: Some(dataset.vocabulary.clone()),
            ..ReadOptions::default()
        };
        let codes = arrow::read(&tables, &options).unwrap();
        assert_eq!((&codes.cohort, codes.details), (&dataset.cohort, None));

        // The same rows in columns of other types and cut elsewhere; times as coarse as their unit.
        let rows = rows_of(&tables.events);
        let coarse: Vec<Row> = rows.iter().map(|row| row.floored(style.unit)).collect();
        let ordinal = Some(dataset.ordinal_time());
        let options = ReadOptions { ordinal, ..ReadOptions::default() };
        let plain = Tables { events: vec![batch_of(&coarse, &Style::PLAIN, &dataset)], ..tables.clone() };
        let expected = arrow::read(&plain, &options).unwrap();
        if style.unit == Unit::Microsecond || style.unit == Unit::Nanosecond {
            assert_same(&expected, &dataset);
        }
        let batch = batch_of(&coarse, &style, &dataset);
        let subjects = Some(subjects_of(&dataset, &style));
        let styled = Tables { events: cut(&batch, &borders), subjects, ..tables.clone() };
        assert_same(&arrow::read(&styled, &options).unwrap(), &expected);

        // As a stream.
        let stream = RecordStream::with_codes(tables.codes.clone().unwrap(), &options).unwrap();
        let mut numbers: Vec<i64> = rows.iter().map(|row| row.subject).collect();
        numbers.dedup();
        let of = |index: usize| {
            let id = match style.by_number() {
                true => numbers[index].to_string(),
                false => expected.cohort.id(index).to_owned(),
            };
            let said = format!("{:?}", expected.details_of(index));
            (id, expected.cohort.record(index).to_record(), said)
        };
        let records: Vec<_> = (0..expected.cohort.len()).map(of).collect();
        assert_eq!(streamed(stream, &styled.events), records);

        // In any order.
        let batch = batch_of(&shuffled(&coarse, &draws), &style, &dataset);
        let scattered = Tables { events: cut(&batch, &borders), ..styled };
        let back = arrow::read(&scattered, &options).unwrap();
        assert_eq!(by_id(&back), by_id(&expected));
        assert_eq!((&back.titles, &back.scales), (&expected.titles, &expected.scales));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn events_are_read_as_from_a_file(
        dataset in dataset(),
        style in style(),
        borders in proptest::collection::vec(0..40_usize, 1..10),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cohort");
        meds::write_with(&path, &dataset, &WriterOptions::default()).unwrap();
        let path = path.join("data/000000.parquet");
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        // A file alone is read as another tool's, and so is a table without a list of codes.
        let expected = meds::read(&path, &MedsOptions::default()).unwrap();
        assert_same(&read(&batches.clone().into()), &expected);
        let rows = rows_of(&batches);
        assert_eq!(&rows_of(&arrow::tables(&dataset, &TableOptions::default()).unwrap().events), &rows);
        if style.by_number() && style.unit == Unit::Nanosecond {
            let styled = cut(&batch_of(&rows, &style, &dataset), &borders);
            assert_same(&read(&styled.clone().into()), &expected);
            let stream = RecordStream::new(expected.vocabulary.clone(), &ReadOptions::default());
            assert_eq!(streamed(stream, &styled).len(), expected.cohort.len());
        }
        // Without its visits, they are days.
        let columns = Columns { visit: Column::Unused, ..Columns::default() };
        let days = ReadOptions { columns, ..ReadOptions::default() };
        let days = arrow::read(&batches.into(), &days).unwrap();
        assert_eq!(days.cohort.len(), expected.cohort.len());
    }

    #[test]
    fn a_long_table_is_that_of_a_file(dataset in dataset(), start in 0..20_usize) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cohort.csv");
        export::csv(&path, &dataset, &ExportOptions::default()).unwrap();
        let mut file = csv::ReaderBuilder::new().has_headers(false).from_path(&path).unwrap();
        let fields = |row: csv::StringRecord| row.iter().map(str::to_owned).collect::<Vec<_>>();
        let expected: Vec<_> = file.records().map(|row| fields(row.unwrap())).collect();
        let parts = [0..start, start..usize::MAX];
        let parts = parts.map(|records| arrow::long_table(&dataset, records).unwrap());
        let schema = parts[0].schema();
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        let rows = std::iter::once(names).chain(parts.iter().flat_map(written));
        assert_eq!(rows.collect::<Vec<Vec<String>>>(), expected);
    }

    #[test]
    fn some_of_the_records_are_those_of_all(dataset in dataset(), start in 0..20_usize) {
        let options = TableOptions { batch_rows: 5, ..TableOptions::default() };
        let batches = EventBatches::new(&dataset, &options).unwrap();
        let count = dataset.cohort.len();
        let start = start.min(count);
        let of = |records| -> Vec<Row> {
            let batches: Result<Vec<_>, _> = batches.of_records(records).collect();
            rows_of(&batches.unwrap())
        };
        let mut parts = of(0..start);
        parts.extend(of(start..usize::MAX));
        assert_eq!(parts, of(0..count));
    }
}
