//! `consequence import`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use consequence::import::{
    CodeColumns, CodeMap, CsvColumns, ImportOptions, ImportTask, Source, UnitTable,
};
use consequence::{Error, Out, given_titles};

use super::Outcome;
use crate::args::number;

/// A kind of source, each with the options that mean something for it.
#[derive(Debug, Subcommand)]
pub enum ImportCommand {
    /// MIMIC-III: a folder with PATIENTS, ADMISSIONS, DIAGNOSES_ICD
    ///
    /// PROCEDURES_ICD, PRESCRIPTIONS and LABEVENTS are read too where they are there. Tables are
    /// .csv, .csv.gz or .parquet, in any letter case.
    Mimic3(TableArguments),
    /// MIMIC-IV: its folder hosp, or the one above it
    ///
    /// It needs patients, admissions and diagnoses_icd. procedures_icd, prescriptions and labevents
    /// are read too where they are there.
    Mimic4(TableArguments),
    /// OMOP common data model 5.3 or 5.4: a folder with PERSON, VISIT_OCCURRENCE
    ///
    /// CONDITION_OCCURRENCE, PROCEDURE_OCCURRENCE, DRUG_EXPOSURE, DEVICE_EXPOSURE, OBSERVATION, MEASUREMENT,
    /// DEATH and CONCEPT are read too where they are there. Tables are .csv, .csv.gz or .parquet, in any
    /// letter case; without a line of names their columns are in the order of the standard. What
    /// `consequence export` wrote comes back as it was.
    Omop(TableArguments),
    /// Synthea: its folder of CSV files
    ///
    /// It needs patients and encounters. conditions, procedures, medications and observations are
    /// read too where they are there.
    Synthea(TableArguments),
    /// The diabetes data of 130 US hospitals: diabetic_data.csv, or its zip archive
    ///
    /// Diagnoses are cut to their categories unless --truncate says otherwise.
    UciDiabetes(PeopleArguments),
    /// A table with one code a row, as .csv, .csv.gz or .parquet
    ///
    /// Rows of one visit are one encounter; rows without a visit are one encounter a day. A row with
    /// neither visit nor time is a static code.
    Csv(Box<CsvArguments>),
    /// Records as JSON lines, compressed by gzip or not
    Jsonl(Common),
    /// A MEDS dataset, or one Parquet file of its events
    ///
    /// One of ours comes back as it is. In one of another tool, events of a visit_id, a hadm_id or a
    /// day are an encounter.
    Meds(MedsArguments),
}

/// What every kind of source takes.
#[derive(Debug, Args)]
pub struct Common {
    /// The folder or file to read; - is standard input, for csv and jsonl
    pub source: PathBuf,
    /// The folder to write (MEDS), or the file if its name ends in .jsonl
    #[arg(long, value_name = "COHORT")]
    pub out: PathBuf,
    /// Replace the cohort if it is there
    #[arg(long)]
    pub force: bool,
    /// Characters of ICD codes to keep; 3 gives categories
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    pub truncate: Option<usize>,
    /// Turn codes into others: a table of two columns, or one with a column phecode
    #[arg(long, value_name = "FILE")]
    pub map: Option<PathBuf>,
    /// The column of the map that has the codes of the source
    #[arg(long, value_name = "COLUMN", requires = "map", requires = "map_to")]
    pub map_from: Option<String>,
    /// The column of the map that has what they are turned into
    #[arg(long, value_name = "COLUMN", requires = "map", requires = "map_from")]
    pub map_to: Option<String>,
    /// Leave out codes that the map does not have, if it has others of their system
    #[arg(long, requires = "map")]
    pub drop_unmapped: bool,
    /// What codes mean, before what the source tells: a table of code and title, or a list of ICD codes
    /// such as icd9dx2015.csv
    #[arg(long, value_name = "FILE")]
    pub titles: Option<PathBuf>,
    /// Another division into train, tuning and held-out records for each number
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = consequence::parse_count)]
    pub split_seed: u64,
    /// Leave out codes of encounters that fewer patients have
    #[arg(long, value_name = "NUMBER", default_value = "0", value_parser = number)]
    pub min_patients: usize,
    /// Encounters to keep of each patient, the first ones; a record that is cut has no END
    #[arg(long, value_name = "NUMBER", value_parser = number)]
    pub max_visits: Option<usize>,
    /// Leave out encounters without a code
    #[arg(long)]
    pub drop_empty: bool,
    /// No codes for the days since the encounter before, such as GAP//7-14d
    #[arg(long)]
    pub no_gaps: bool,
    /// Where rows wait while they are sorted [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Write the report as JSON
    #[arg(long)]
    pub json: bool,
}

/// Sex and age, for sources that tell them.
#[derive(Debug, Args)]
pub struct People {
    /// Where age bands begin, in years [default: 0,1,5,12,18,40,60,80,100; 0,20,40,60,80,100 of uci-diabetes]
    #[arg(long, value_name = "YEARS", value_delimiter = ',', conflicts_with = "no_ages")]
    pub ages: Option<Vec<u16>>,
    /// No codes for age; otherwise patients of unknown age are left out
    #[arg(long)]
    pub no_ages: bool,
    /// No codes for sex; otherwise patients of unknown sex are left out
    #[arg(long)]
    pub no_sex: bool,
}

/// Values, for sources that have measurements.
#[derive(Debug, Args)]
pub struct Values {
    /// Put the values of each measurement into so many parts of equal size, as in LAB//50912//q4; 0
    /// leaves measurements out
    #[arg(long, value_name = "NUMBER", default_value = "4", value_parser = consequence::parse_count)]
    pub quantiles: u64,
    /// Turn values into other units: a table of code, from, to, factor, offset
    #[arg(long, value_name = "FILE")]
    pub units: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct MedsArguments {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub values: Values,
}

#[derive(Debug, Args)]
pub struct TableArguments {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub people: People,
    #[command(flatten)]
    pub traits: Traits,
    #[command(flatten)]
    pub values: Values,
}

/// What else is known of people and encounters, on request.
#[derive(Debug, Args)]
pub struct Traits {
    /// A static code for race, such as RACE//WHITE
    #[arg(long)]
    pub race: bool,
    /// A static code for ethnicity, such as ETHNICITY//HISPANIC OR LATINO
    #[arg(long)]
    pub ethnicity: bool,
    /// A code for the kind of each visit, such as VISIT_TYPE//INPATIENT VISIT
    #[arg(long)]
    pub visit_types: bool,
}

#[derive(Debug, Args)]
pub struct PeopleArguments {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub people: People,
}

#[derive(Debug, Args)]
pub struct CsvArguments {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub values: Values,
    /// The column that says who
    #[arg(long, value_name = "COLUMN", default_value = "subject_id")]
    pub subject: String,
    /// The column that says when [default: time; none if --visit is given]
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// The column of codes
    #[arg(long, value_name = "COLUMN", default_value = "code")]
    pub code: String,
    /// Columns that each hold a code, as claims have them, and what comes before their codes:
    /// ICD9_DGNS_CD_*=ICD9CM. May be given several times
    #[arg(long, value_name = "COLUMNS=SYSTEM", value_parser = str::parse::<CodeColumns>)]
    pub code_columns: Vec<CodeColumns>,
    /// The column that says in which encounter
    #[arg(long, value_name = "COLUMN")]
    pub visit: Option<String>,
    /// The column that says when the encounter ended
    #[arg(long, value_name = "COLUMN")]
    pub end: Option<String>,
    /// The column with the values of measurements
    #[arg(long, value_name = "COLUMN")]
    pub value: Option<String>,
    /// The column with the units of those values
    #[arg(long, value_name = "COLUMN", requires = "value")]
    pub unit: Option<String>,
    /// Columns whose values are static codes: sex gives SEX//F
    #[arg(long = "static", value_name = "COLUMN", value_delimiter = ',')]
    pub statics: Vec<String>,
    /// The column that is 1 or true where the code is a static one
    #[arg(long, value_name = "COLUMN")]
    pub static_flag: Option<String>,
    /// The column that is 0 or false in the rows of a record that was cut before its real end
    #[arg(long, value_name = "COLUMN")]
    pub ended: Option<String>,
}

pub fn run(command: &ImportCommand) -> Result<Outcome, Error> {
    let (source, common) = match command {
        ImportCommand::Mimic3(arguments) => (Source::Mimic3, &arguments.common),
        ImportCommand::Mimic4(arguments) => (Source::Mimic4, &arguments.common),
        ImportCommand::Omop(arguments) => (Source::Omop, &arguments.common),
        ImportCommand::Synthea(arguments) => (Source::Synthea, &arguments.common),
        ImportCommand::UciDiabetes(arguments) => (Source::UciDiabetes, &arguments.common),
        ImportCommand::Csv(arguments) => (Source::Csv(arguments.columns()), &arguments.common),
        ImportCommand::Jsonl(common) => (Source::Jsonl, common),
        ImportCommand::Meds(arguments) => (Source::Meds, &arguments.common),
    };
    let mut options = common.options()?;
    match command {
        ImportCommand::Mimic3(arguments)
        | ImportCommand::Mimic4(arguments)
        | ImportCommand::Omop(arguments)
        | ImportCommand::Synthea(arguments) => {
            arguments.people.put_into(&mut options);
            arguments.values.put_into(&mut options)?;
            let Traits { race, ethnicity, visit_types } = arguments.traits;
            (options.race, options.ethnicity) = (race, ethnicity);
            options.visit_types = visit_types;
        }
        ImportCommand::UciDiabetes(arguments) => arguments.people.put_into(&mut options),
        ImportCommand::Csv(arguments) => arguments.values.put_into(&mut options)?,
        ImportCommand::Meds(arguments) => arguments.values.put_into(&mut options)?,
        ImportCommand::Jsonl(_) => {}
    }
    let task = ImportTask {
        source,
        path: common.source.clone(),
        options,
        out: Some(Out::new(&common.out).replacing(common.force)),
    };
    super::run(&task, common.json)
}

impl Common {
    fn options(&self) -> Result<ImportOptions, Error> {
        let mut options = ImportOptions {
            truncate: self.truncate,
            split_seed: self.split_seed,
            min_patients: self.min_patients as u64,
            max_visits: self.max_visits,
            drop_empty: self.drop_empty,
            gaps: !self.no_gaps,
            scratch: self.scratch.clone(),
            ..ImportOptions::default()
        };
        if let Some(path) = &self.map {
            let columns = self.map_from.as_deref().zip(self.map_to.as_deref());
            let mut map = CodeMap::read(path, columns, &options.limits)?;
            map.drop_unmapped = self.drop_unmapped;
            options.map = Some(map);
        }
        if let Some(path) = &self.titles {
            options.titles = Some(given_titles(path, &options.limits)?);
        }
        Ok(options)
    }
}

impl People {
    fn put_into(&self, options: &mut ImportOptions) {
        options.sex = !self.no_sex;
        options.age_bands = if self.no_ages { Some(Vec::new()) } else { self.ages.clone() };
    }
}

impl Values {
    fn put_into(&self, options: &mut ImportOptions) -> Result<(), Error> {
        options.quantiles = self.quantiles as usize;
        if let Some(path) = &self.units {
            options.units = Some(UnitTable::read(path, &options.limits)?);
        }
        Ok(())
    }
}

impl CsvArguments {
    fn columns(&self) -> CsvColumns {
        let time = self.time.clone().or_else(|| match self.visit {
            Some(_) => None,
            None => CsvColumns::default().time,
        });
        CsvColumns {
            subject: self.subject.clone(),
            time,
            code: self.code.clone(),
            code_columns: self.code_columns.clone(),
            visit: self.visit.clone(),
            end: self.end.clone(),
            value: self.value.clone(),
            unit: self.unit.clone(),
            static_flag: self.static_flag.clone(),
            ended: self.ended.clone(),
            statics: self.statics.clone(),
        }
    }
}
