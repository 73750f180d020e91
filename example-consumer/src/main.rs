//! A consumer of the example service.
//!
//! ```text
//! example-consumer call --registry etcd://127.0.0.1:2379/demo --requests 3000 --concurrency 64
//! example-consumer demo
//! ```

mod call;
mod demo;

use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

/// A consumer of the example service.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true)]
enum Command {
    /// Calls the providers that the registry knows, and sums up what became of it
    Call(Box<call::Arguments>),
    /// Shows what the framework does, and checks it: providers, a registry and clients in this process
    Demo,
}

/// Why it ends early.
enum Failure {
    /// What was asked for cannot be.
    Mistake(anyhow::Error),
    /// What was asked for is not to be had now.
    Trouble(anyhow::Error),
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = Command::parse();
    let result = match command {
        Command::Call(arguments) => {
            tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::WARN).init();
            call::run(*arguments).await
        }
        // Without logs: what goes wrong there is meant to, and explained.
        Command::Demo => demo::run().await.map_err(Failure::Trouble),
    };
    let (code, error) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Mistake(error)) => (2, error),
        Err(Failure::Trouble(error)) => (1, error),
    };
    eprintln!("error: {error:#}");
    ExitCode::from(code)
}
