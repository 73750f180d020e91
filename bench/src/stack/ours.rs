//! `ours`: this framework, with a stub of one fixed address.

use std::future;

use bytes::Bytes;
use rpc::{Client, RpcError, Server, rpc_service};

use super::{LISTEN, Served};
use crate::serve::announce;

/// Queued rather than refused, as by the peers, where calls come at a rate and a server falls behind.
const MAX_IN_FLIGHT: u32 = 1_000_000;

/// What is called, here and in `oursFull`.
#[rpc_service(name = "bench.Echo")]
pub(super) trait Echo {
    /// Returns what it is given.
    async fn echo(&self, payload: Bytes) -> Result<Bytes, RpcError>;
}

struct Echoing;

impl Echo for Echoing {
    async fn echo(&self, payload: Bytes) -> Result<Bytes, RpcError> {
        Ok(payload)
    }
}

pub(super) async fn serve() -> Served {
    let server = Server::builder().service(EchoDispatcher::new(Echoing)).listen(LISTEN).max_in_flight(MAX_IN_FLIGHT);
    let server = server.start().await?;
    announce(server.address());
    future::pending().await
}

/// A stub of a fixed address.
#[derive(Debug, Clone)]
pub(crate) struct Fixed(EchoStub);

impl super::Client for Fixed {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        Ok(Self(Client::builder().registry(format!("direct://{address}")).build()?.stub()?))
    }

    async fn echo(&mut self, payload: Bytes) -> anyhow::Result<Bytes> {
        Ok(self.0.echo(payload).await?)
    }
}
