//! A consumer of the example service.
//!
//! ```text
//! example-consumer demo
//! ```

mod demo;

use std::process::ExitCode;

const USAGE: &str = "\
usage: example-consumer demo

  demo    providers, a registry and clients in this process; shows what the framework does and checks it";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments[..] {
        ["demo"] => demo::run().await,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
