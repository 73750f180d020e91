//! How the demo looks.

use std::collections::BTreeMap;
use std::time::Duration;

use rpc::{CallReport, Executed};

/// Opens a scene, with what it shows in a sentence or two.
pub(crate) fn scene(title: &str, what: &str) {
    println!("\n{title}\n{}\n{what}\n", "-".repeat(title.len()));
}

/// A table of numbers by provider, a column for each name.
pub(crate) fn table<const COLUMNS: usize>(names: [&str; COLUMNS], rows: &BTreeMap<&str, [usize; COLUMNS]>) {
    print!("    provider  ");
    names.iter().for_each(|name| print!("  {name}"));
    println!();
    for (provider, numbers) in rows {
        print!("    {provider:<10}");
        names.iter().zip(numbers).for_each(|(name, number)| print!("  {number:>width$}", width = name.len()));
        println!();
    }
}

/// Each instance's part in a call.
pub(crate) fn steps(report: &CallReport) {
    for step in &report.steps {
        let executed = match step.executed {
            Executed::No => "has not run",
            Executed::Maybe => "may have run",
            Executed::Yes => "has run",
        };
        let outcome = step.error.as_deref().unwrap_or("answered");
        println!("    {}  {executed:<12}  {outcome}", step.instance);
    }
}

/// A time in whole milliseconds.
pub(crate) fn rounded(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
