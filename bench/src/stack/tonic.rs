//! `tonic`: gRPC, with the payload as `Bytes` in a message of one field.

use anyhow::bail;
use bytes::Bytes;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};

use super::{LISTEN, Served};
use crate::serve::announce;

use generated::echo_client::EchoClient;
use generated::echo_server::{Echo, EchoServer};

/// What the build script has written.
mod generated {
    #![allow(missing_docs, missing_debug_implementations, unreachable_pub, reason = "it is generated")]
    tonic::include_proto!("bench.Echo");
}

/// As `message Message { bytes payload = 1; }`.
#[derive(Clone, PartialEq, prost::Message)]
struct Message {
    #[prost(bytes = "bytes", tag = "1")]
    payload: Bytes,
}

struct Echoing;

#[tonic::async_trait]
impl Echo for Echoing {
    async fn echo(&self, request: Request<Message>) -> Result<Response<Message>, Status> {
        Ok(Response::new(request.into_inner()))
    }
}

pub(super) async fn serve() -> Served {
    let listener = TcpListener::bind(LISTEN).await?;
    announce(listener.local_addr()?);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder().serve_with_incoming(EchoServer::new(Echoing), incoming).await?;
    bail!("the listener has ended");
}

/// A client of tonic.
#[derive(Debug, Clone)]
pub(crate) struct Tonic(EchoClient<Channel>);

impl super::Client for Tonic {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
        Ok(Self(EchoClient::new(endpoint.connect().await?)))
    }

    async fn echo(&mut self, payload: Bytes) -> anyhow::Result<Bytes> {
        Ok(self.0.echo(Message { payload }).await?.into_inner().payload)
    }
}
