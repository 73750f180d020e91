//! What is measured, in which order: in each round all stacks of a cell one after the other, so that a busy minute of the machine hits
//! all of them, and a ratio within a round means more than either number.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::{Args, ValueEnum as _};
use serde::Serialize;

use crate::cell::Cell;
use crate::child::Server;
use crate::load::{Measured, seconds};
use crate::report::{self, Ratios};
use crate::stack::Stack;
use crate::usage::Usage;

/// What is measured in a closed loop.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// Less of everything, within 45 seconds.
    #[arg(long, conflicts_with_all = ["cells", "stacks", "rounds", "seconds"])]
    quick: bool,
    /// The cells, separated by commas, as in `16 B 1x1,64 KiB 512x4`; all nine unless given.
    #[arg(long, value_delimiter = ',', default_values_t = Cell::ALL)]
    cells: Vec<Cell>,
    /// The stacks, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = Stack::value_variants().iter().copied())]
    stacks: Vec<Stack>,
    /// How often everything is measured.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each measurement takes.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Where to write everything that was measured.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One measurement of one stack.
#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    pub(crate) cell: Cell,
    pub(crate) stack: Stack,
    pub(crate) round: u32,
    pub(crate) client: Measured,
    /// What the server used for all calls, those that warmed up included.
    pub(crate) server: Usage,
}

#[derive(Serialize)]
struct Everything<'a> {
    seconds: f64,
    ratios: &'a Ratios,
    samples: &'a [Sample],
}

impl Run {
    /// Measures and reports.
    pub(crate) fn main(mut self) -> anyhow::Result<()> {
        if self.quick {
            self.cells = Cell::QUICK.into();
            self.stacks = vec![Stack::Ours, Stack::OursFull, Stack::Raw, Stack::Tarpc];
            (self.rounds, self.seconds) = (3, 0.6);
        }
        ensure_any(&self.cells, &self.stacks)?;
        // What cannot be written is known before minutes of measuring.
        let json = self.json.as_deref().map(|path| {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()));
            file.map(|file| (path, file))
        });
        let json = json.transpose()?;
        let samples = self.measure()?;
        let ratios = report::ratios(&samples);
        println!("{}\n{}", report::table(&samples), serde_json::to_string(&ratios)?);
        if let Some((path, mut file)) = json {
            let everything = Everything { seconds: self.seconds, ratios: &ratios, samples: &samples };
            let text = serde_json::to_string_pretty(&everything)?;
            file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn measure(&self) -> anyhow::Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for cell in &self.cells {
            let mut stacks: Vec<_> = self.stacks.iter().copied().filter(|stack| stack.takes(*cell)).collect();
            for round in 0..self.rounds {
                eprintln!("{cell}, round {} of {}", round + 1, self.rounds);
                for stack in &stacks {
                    samples.push(sample(*cell, *stack, round, self.seconds)?);
                }
                // Whoever is first is somebody else in the next round.
                if !stacks.is_empty() {
                    stacks.rotate_left(1);
                }
            }
        }
        Ok(samples)
    }
}

/// There is something to measure.
fn ensure_any(cells: &[Cell], stacks: &[Stack]) -> anyhow::Result<()> {
    let list = |names: Vec<String>| names.join(", ");
    ensure!(
        cells.iter().any(|cell| stacks.iter().any(|stack| stack.takes(*cell))),
        "no stack of `{}` takes any cell of `{}`; {} takes one call in flight alone",
        list(stacks.iter().map(Stack::to_string).collect()),
        list(cells.iter().map(Cell::to_string).collect()),
        Stack::PingPong
    );
    Ok(())
}

/// Processes are new for each, so that their peaks are those of this cell.
fn sample(cell: Cell, stack: Stack, round: u32, seconds: f64) -> anyhow::Result<Sample> {
    let mut server = Server::start(stack)?;
    let before = server.usage()?;
    let client = server.load(cell, seconds, None)?;
    let server = server.usage()?.since(before);
    Ok(Sample { cell, stack, round, client, server })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_no_stack_takes_are_refused() {
        let cells = [Cell::SMALL, Cell::ALL[2]];
        let error = ensure_any(&cells, &[Stack::PingPong]).unwrap_err().to_string();
        assert!(error.starts_with("no stack of `pingPong` takes any cell of `16 B 64x1, 16 B 512x4`; "), "{error}");
        ensure_any(&cells, &[Stack::PingPong, Stack::Raw]).unwrap();
        ensure_any(&Cell::ALL, &[Stack::PingPong]).unwrap();
    }
}
