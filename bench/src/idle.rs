//! Connections that wait: what each holds, on either side.

use anyhow::bail;
use bytes::Bytes;
use clap::Args;

use crate::child::Server;
use crate::files;
use crate::load::connect;
use crate::stack::{Client, Stack, only, ours, runtime, tarpc, tonic, volo};
use crate::usage::Usage;

/// What is measured of connections that wait.
#[derive(Debug, Args)]
pub(crate) struct Idle {
    /// The stack.
    #[arg(value_parser = only(is_measured))]
    stack: Stack,
    /// How many clients connect, each by a connection of its own, and make one call.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
}

/// Whether it has clients that wait.
fn is_measured(stack: Stack) -> bool {
    !matches!(stack, Stack::OursFull | Stack::Raw | Stack::PingPong)
}

impl Idle {
    /// Measures and reports.
    pub(crate) fn main(&self) -> anyhow::Result<()> {
        files::allow(self.connections)?;
        let mut server = Server::start(self.stack)?;
        match self.stack {
            Stack::Ours => self.measure::<ours::Fixed>(&mut server),
            Stack::Tarpc => self.measure::<tarpc::Tarpc>(&mut server),
            Stack::Tonic => self.measure::<tonic::Tonic>(&mut server),
            Stack::VoloThrift => self.measure::<volo::Volo>(&mut server),
            Stack::OursFull | Stack::Raw | Stack::PingPong => bail!("{} is not measured so", self.stack),
        }
    }

    fn measure<C: Client>(&self, server: &mut Server) -> anyhow::Result<()> {
        let runtime = runtime()?;
        let payload = Bytes::from_static(&[7; 16]);
        let first = runtime.block_on(connect::<C>(server.address(), payload.clone()))?;
        let before = (Usage::now()?.resident_kib, server.usage()?.resident_kib);
        let mut clients = vec![first];
        for _ in 0..self.connections {
            clients.push(runtime.block_on(connect::<C>(server.address(), payload.clone()))?);
        }
        let after = (Usage::now()?.resident_kib, server.usage()?.resident_kib);
        let each = |before: u64, after: u64| after.saturating_sub(before) as f64 / f64::from(self.connections);
        let (client, served) = (each(before.0, after.0), each(before.1, after.1));
        println!(
            "{}, {} connections: {client:.1} KiB each in the client, {served:.1} in the server",
            self.stack, self.connections
        );
        Ok(())
    }
}
