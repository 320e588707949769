//! Prints what a cohort of full size costs: to simulate, write, read, mine, prove and audit it, and
//! to import tables of growing size.
//!
//! `cargo run --release -p consequence-benches --bin scale -- [RECORDS]`; as many outpatients as the
//! paper has, 1,006,321, if no number is given. Writing, reading with all that follows, and each
//! import have a process of their own, so that none is seen to hold the memory of another.

use std::path::Path;
use std::process::Command;

use consequence_benches::{scale, streaming};
use consequence_simulate::Preset;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The sizes of the tables that are imported, in bytes.
const TABLES: [u64; 3] = [100_000_000, 400_000_000, 1_600_000_000];

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => all(Preset::Outpatient.figures().records),
        ["write", folder, records] => scale::write(Path::new(folder), records.parse()?),
        ["use", folder] => scale::read_mine_audit(Path::new(folder)),
        ["import", table, folder] => streaming::import(Path::new(table), Path::new(folder)),
        [records] => all(records.replace('_', "").parse()?),
        _ => Err("usage: scale [RECORDS]".into()),
    }
}

fn all(records: usize) -> Fallible<()> {
    let place = tempfile::tempdir()?;
    let path = |name: &str| place.path().join(name).display().to_string();
    let cohort = path("cohort");
    println!("{records} outpatients, {} threads", std::thread::available_parallelism()?);
    apart(&["write", &cohort, &records.to_string()])?;
    apart(&["use", &cohort])?;
    std::fs::remove_dir_all(&cohort)?;

    println!("\nimport of a long table, rows in no order");
    let (table, imported) = (path("table.csv"), path("imported"));
    for bytes in TABLES {
        streaming::table(Path::new(&table), bytes)?;
        apart(&["import", &table, &imported])?;
        std::fs::remove_dir_all(&imported)?;
    }
    Ok(())
}

/// Runs a part of this program in a process of its own.
fn apart(arguments: &[&str]) -> Fallible<()> {
    let status = Command::new(std::env::current_exe()?).args(arguments).status()?;
    if status.success() { Ok(()) } else { Err(format!("{arguments:?}: {status}").into()) }
}
