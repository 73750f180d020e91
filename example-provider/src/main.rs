//! A provider of the example service: serves until it is told to end, then leaves gracefully.
//!
//! ```text
//! example-provider --registry etcd://127.0.0.1:2379/demo --id provider-1
//! ```

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Parser;
use example_api::{UserServiceDispatcher, Users};
use rpc::{Config, ConfigError, Server, ServerBuilder, Signals, StartError};
use tracing_subscriber::filter::LevelFilter;

/// Serves UserService until ctrl-c or SIGTERM, and then answers what is on its way; a second one stops it at once.
///
/// Once it serves and is registered it says so: `ready id=ID address=HOST:PORT`. Each argument wins over the configuration.
#[derive(Debug, Parser)]
struct Arguments {
    /// The configuration [default: the file that RPC_CONFIG names, if it does]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to register [default: `file:`, a directory of yours on this machine]
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// Where to listen, as host:port; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The address to register, as host:port [default: the one that it listens on]
    #[arg(long, value_name = "ADDR")]
    advertise: Option<String>,
    /// The id to register [default: the address to register]
    #[arg(long)]
    id: Option<String>,
    /// The share of the calls of load balancers that go by weight (consistentHash), relative to other providers; 0 for none with all
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    weight: Option<u32>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt().with_writer(io::stderr).with_max_level(LevelFilter::INFO).init();
    match serve(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(if is_mistake(&error) { 2 } else { 1 })
        }
    }
}

async fn serve(arguments: Arguments) -> anyhow::Result<()> {
    let server = configured(arguments)?.service(UserServiceDispatcher::new(Users::with_examples()));
    // From here on a signal ends it in order, even one that comes while it starts. Not before: a configuration may take for ever to read.
    let signals = Signals::new()?;
    let server = server.start().await?;
    if let Err(error) = say_ready(&server) {
        server.shutdown().await;
        return Err(error).context("cannot say that it is ready");
    }
    let cut = server.run_until(signals).await;
    match cut {
        0 => Ok(()),
        1 => bail!("1 call was cut before it was answered"),
        _ => bail!("{cut} calls were cut before they were answered"),
    }
}

fn say_ready(server: &Server) -> io::Result<()> {
    let mut stdout = io::stdout();
    writeln!(stdout, "ready id={} address={}", server.id(), server.advertised())?;
    stdout.flush()
}

fn configured(arguments: Arguments) -> Result<ServerBuilder, ConfigError> {
    let mut config = Config::load(arguments.config.as_deref())?;
    let mut listen = arguments.listen;
    if let Some(url) = arguments.registry {
        config.set_registry(url);
    } else if config.registry().is_none() {
        config.set_registry("file:");
        // All who look there are on this machine.
        listen = listen.or_else(|| config.listen().is_none().then(|| "127.0.0.1:0".to_owned()));
    }
    let mut server = config.server();
    if let Some(address) = listen {
        server = server.listen(address);
    }
    if let Some(address) = arguments.advertise {
        server = server.advertise(address);
    }
    if let Some(id) = arguments.id {
        server = server.id(id);
    }
    if let Some(weight) = arguments.weight {
        server = server.weight(weight);
    }
    Ok(server)
}

/// Whether what was asked for cannot be, or is just not to be had now.
fn is_mistake(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(StartError::Listen { .. } | StartError::Register { .. } | StartError::Advertise(_)) => false,
        Some(_) => true,
        None => error.is::<ConfigError>(),
    }
}
