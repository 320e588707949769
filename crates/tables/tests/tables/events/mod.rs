//! Files of events as other tools write them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use parquet::arrow::ArrowWriter;

pub const DAY: i64 = 86_400_000_000;

/// A table of events, column by column.
#[derive(Clone)]
pub struct Events {
    columns: Vec<(String, ArrayRef)>,
}

impl Events {
    /// Events by subject, time and code.
    pub fn new(events: &[(i64, Option<i64>, &str)]) -> Self {
        let subjects = Int64Array::from_iter_values(events.iter().map(|event| event.0));
        let times: TimestampMicrosecondArray = events.iter().map(|event| event.1).collect();
        let codes = StringArray::from_iter_values(events.iter().map(|event| event.2));
        let columns: [(&str, ArrayRef); 3] = [
            ("subject_id", Arc::new(subjects)),
            ("time", Arc::new(times)),
            ("code", Arc::new(codes)),
        ];
        Self { columns: columns.map(|(name, column)| (name.to_owned(), column)).into() }
    }

    /// With a column of numbers more, or in place of the one of that name.
    pub fn with_numbers(self, name: &str, numbers: &[Option<i64>]) -> Self {
        self.with(name, Arc::new(Int64Array::from(numbers.to_vec())))
    }

    /// The same, as the floating-point numbers that some programs make of missing values.
    pub fn with_floats(self, name: &str, numbers: &[Option<i64>]) -> Self {
        let floats = numbers.iter().map(|number| number.map(|number| number as f64));
        self.with(name, Arc::new(floats.collect::<Float64Array>()))
    }

    /// With a column of values.
    pub fn with_values(self, name: &str, values: &[Option<f64>]) -> Self {
        self.with(name, Arc::new(Float64Array::from(values.to_vec())))
    }

    /// The same with strings.
    pub fn with_texts(self, name: &str, texts: &[&str]) -> Self {
        self.with(name, Arc::new(StringArray::from(texts.to_vec())))
    }

    fn with(mut self, name: &str, column: ArrayRef) -> Self {
        match self.columns.iter_mut().find(|(known, _)| known == name) {
            Some(known) => known.1 = column,
            None => self.columns.push((name.to_owned(), column)),
        }
        self
    }

    /// With another name for a column.
    pub fn renamed(mut self, name: &str, new: &str) -> Self {
        for (known, _) in &mut self.columns {
            if known == name {
                new.clone_into(known);
            }
        }
        self
    }

    pub fn write(&self, path: &Path) {
        write(
            path,
            RecordBatch::try_from_iter_with_nullable(
                self.columns.iter().map(|(name, column)| (name, Arc::clone(column), true)),
            )
            .unwrap(),
        );
    }
}

fn write(path: &Path, batch: RecordBatch) {
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A dataset of these data files in a folder of its own.
pub fn folder_of(directory: &Path, files: &[(&str, &Events)]) -> PathBuf {
    let path = directory.join("dataset");
    fs::create_dir_all(path.join("metadata")).unwrap();
    for (name, events) in files {
        let file = path.join("data").join(format!("{name}.parquet"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        events.write(&file);
    }
    path
}

/// Lists codes with their titles.
pub fn write_codes(dataset: &Path, codes: &[(&str, Option<&str>)]) {
    let names = StringArray::from_iter_values(codes.iter().map(|code| code.0));
    let titles: StringArray = codes.iter().map(|code| code.1).collect();
    let columns: [(&str, ArrayRef); 2] =
        [("code", Arc::new(names)), ("description", Arc::new(titles))];
    write(&dataset.join("metadata/codes.parquet"), RecordBatch::try_from_iter(columns).unwrap());
}

/// Lists subjects with their splits.
pub fn write_splits(dataset: &Path, splits: &[(i64, &str)]) {
    let subjects = Int64Array::from_iter_values(splits.iter().map(|split| split.0));
    let names = StringArray::from_iter_values(splits.iter().map(|split| split.1));
    let columns: [(&str, ArrayRef); 2] =
        [("subject_id", Arc::new(subjects)), ("split", Arc::new(names))];
    let path = dataset.join("metadata/subject_splits.parquet");
    write(&path, RecordBatch::try_from_iter(columns).unwrap());
}
