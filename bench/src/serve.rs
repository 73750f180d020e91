//! The server's process.

use std::io::BufRead as _;
use std::net::SocketAddr;
use std::process;

use clap::Args;

use crate::child;
use crate::stack::{Stack, runtime};
use crate::usage::Usage;

/// What a server is told.
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// What to serve.
    stack: Stack,
}

impl Serve {
    /// The process of a server.
    pub(crate) fn main(&self) -> anyhow::Result<()> {
        child::end_with_parent()?;
        let runtime = runtime()?;
        let stack = self.stack;
        runtime.spawn(async move {
            let Err(error) = stack.serve().await;
            eprintln!("error: {error:#}");
            process::exit(1);
        });
        for line in std::io::stdin().lock().lines() {
            line?;
            println!("{}", serde_json::to_string(&Usage::now()?)?);
        }
        Ok(())
    }
}

/// Tells whoever started this process where it serves.
pub(crate) fn announce(address: SocketAddr) {
    println!("{address}");
}
