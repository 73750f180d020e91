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

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(run) => run.main(),
        Command::Open(open) => open.main(),
        Command::Idle(idle) => idle.main(),
        Command::Serve(serve) => serve.main(),
        Command::Load(load) => load.main(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
