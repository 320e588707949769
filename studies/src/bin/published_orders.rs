//! The published rules in 200 random orders, a million visits in each mode.

use std::process::ExitCode;

use consequence_studies::published::Published;
use consequence_studies::published_orders::try_orders;

fn main() -> ExitCode {
    let Some(published) = Published::load() else { return ExitCode::SUCCESS };
    let seen = try_orders(&published, 200, 1_000_000, 31);
    println!("{seen:#?}");
    let broken = seen.violations_overridden + seen.violations_guided;
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
