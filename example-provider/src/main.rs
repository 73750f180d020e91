//! A provider of the example service: serves until it is told to end, then leaves gracefully.
//!
//! ```text
//! example-provider [ADDRESS]
//! ```

use std::process::ExitCode;

use example_api::{UserServiceDispatcher, Users};
use rpc::{Server, Signals};

const DEFAULT_ADDRESS: &str = "127.0.0.1:9000";

const USAGE: &str = "\
usage: example-provider [ADDRESS]

Serves UserService on ADDRESS (host:port, 127.0.0.1:9000 if not given; port 0 takes a free one)
until ctrl-c or SIGTERM, and then answers what is on its way; a second one stops it at once.";

#[tokio::main]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| DEFAULT_ADDRESS.into());
    if arguments.next().is_some() || address.starts_with('-') {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    match serve(&address).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(address: &str) -> anyhow::Result<()> {
    // From here on a signal ends it in order, even one that comes while it starts.
    let signals = Signals::new()?;
    let users = UserServiceDispatcher::new(Users::default());
    let server = Server::builder().service(users).listen(address).start().await?;
    println!("serving UserService on {}; ctrl-c ends it", server.address());
    let cut = server.run_until(signals).await;
    anyhow::ensure!(cut == 0, "{cut} calls were cut, they took longer than leaving waits for");
    Ok(())
}
