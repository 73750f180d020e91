//! The speed of the framework beside that of its peers, as ratios. `README.md` tells what is measured, and how.
//!
//! ```text
//! run, open, idle  the orchestrating process: starts the others, asks them, reports
//!   |
//!   +-- serve      a server of one stack
//!   +-- load       a load generator of the same stack, in a closed or an open loop
//! ```

mod cell;
mod child;
mod files;
mod idle;
mod load;
mod open;
mod payload;
mod recorder;
mod report;
mod run;
mod serve;
mod stack;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Measures the speed of the framework beside that of its peers.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures stacks in turn: as many calls as they can, with a fixed number in flight.
    Run(run::Run),
    /// Measures latencies at a fixed rate, counted from when each call was due.
    Open(open::Open),
    /// Measures what connections that wait hold.
    Idle(idle::Idle),
    /// Serves one stack; prints its address, then its usage for each line of input, until the input ends.
    Serve(serve::Serve),
    /// Calls one stack and prints what it measured as one line of JSON.
    Load(load::Load),
}

impl Command {
    fn main(self) -> anyhow::Result<()> {
        // What is wrong with it is told before anything is measured, and by the process that was called.
        stack::workers()?;
        match self {
            Self::Run(run) => run.main(),
            Self::Open(open) => open.main(),
            Self::Idle(idle) => idle.main(),
            Self::Serve(serve) => serve.main(),
            Self::Load(load) => load.main(),
        }
    }
}

fn main() -> ExitCode {
    match Arguments::parse().command.main() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split(' '))
    }

    #[test]
    fn stacks_that_a_command_does_not_measure_are_not_offered() {
        parse("rpc-bench idle voloThrift").map(drop).unwrap();
        parse("rpc-bench open --stacks oursFull,tonic").map(drop).unwrap();
        for line in ["rpc-bench idle oursFull", "rpc-bench idle raw", "rpc-bench open --stacks ours,pingPong"] {
            let error = parse(line).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidValue, "{line}");
        }
    }
}
