//! `tarpc`: with bincode, and the payload as `Bytes`, which serde moves as one block.

use std::pin::pin;

use anyhow::bail;
use bytes::Bytes;
use tarpc::context::{self, Context};
use tarpc::serde_transport::tcp;
use tarpc::server::{BaseChannel, Channel as _};
use tarpc::tokio_serde::formats::Bincode;
use tokio_stream::StreamExt as _;

use super::{LISTEN, Served};
use crate::serve::announce;

#[tarpc::service]
trait Echo {
    async fn echo(payload: Bytes) -> Bytes;
}

#[derive(Clone)]
struct Echoing;

impl Echo for Echoing {
    async fn echo(self, _context: Context, payload: Bytes) -> Bytes {
        payload
    }
}

pub(super) async fn serve() -> Served {
    let mut incoming = pin!(tcp::listen(LISTEN, Bincode::default).await?);
    announce(incoming.local_addr());
    while let Some(transport) = incoming.next().await {
        let transport = transport?;
        transport.get_ref().set_nodelay(true)?;
        tokio::spawn(async move {
            let mut requests = pin!(BaseChannel::with_defaults(transport).execute(Echoing.serve()));
            while let Some(request) = requests.next().await {
                tokio::spawn(request);
            }
        });
    }
    bail!("the listener has ended");
}

/// A client of tarpc.
#[derive(Debug, Clone)]
pub(crate) struct Tarpc(EchoClient);

impl super::Client for Tarpc {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        let transport = tcp::connect(address, Bincode::default).await?;
        transport.get_ref().set_nodelay(true)?;
        Ok(Self(EchoClient::new(tarpc::client::Config::default(), transport).spawn()))
    }

    async fn echo(&mut self, payload: Bytes) -> anyhow::Result<Bytes> {
        Ok(self.0.echo(context::current(), payload).await?)
    }
}
