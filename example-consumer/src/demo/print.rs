//! How the demo looks.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use anyhow::Context as _;
use rpc::{CallReport, Executed};

/// Prints a line, as `println!` does. That it cannot is an error, which ends the demo.
macro_rules! say {
    ($($line:tt)*) => {
        $crate::demo::print::line(format_args!($($line)*))
    };
}

/// Prints a line; see `say!`.
pub(crate) fn line(line: fmt::Arguments<'_>) -> anyhow::Result<()> {
    writeln!(io::stdout(), "{line}").context("cannot print")
}

/// Opens a scene, with what it shows in a sentence or two.
pub(crate) fn scene(title: &str, what: &str) -> anyhow::Result<()> {
    say!("\n{title}\n{}\n{what}\n", "-".repeat(title.len()))
}

/// A table of numbers by provider, a column for each name.
pub(crate) fn table<const COLUMNS: usize>(
    names: [&str; COLUMNS],
    rows: &BTreeMap<&str, [usize; COLUMNS]>,
) -> anyhow::Result<()> {
    say!("    provider    {}", names.join("  "))?;
    for (provider, numbers) in rows {
        let columns = names.iter().zip(numbers);
        let columns: Vec<_> = columns.map(|(name, number)| format!("{number:>width$}", width = name.len())).collect();
        say!("    {provider:<10}  {}", columns.join("  "))?;
    }
    Ok(())
}

/// Each instance's part in a call.
pub(crate) fn steps(report: &CallReport) -> anyhow::Result<()> {
    for step in &report.steps {
        let executed = match step.executed {
            Executed::No => "has not run",
            Executed::Maybe => "may have run",
            Executed::Yes => "has run",
        };
        let outcome = step.error.as_deref().unwrap_or("answered");
        say!("    {}  {executed:<12}  {outcome}", step.instance)?;
    }
    Ok(())
}

/// A time in whole milliseconds.
pub(crate) fn rounded(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
