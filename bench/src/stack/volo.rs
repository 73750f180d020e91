//! `voloThrift`: Thrift, with many calls on a connection. What volo's generator would write is written by hand.

use std::net::SocketAddr;

use anyhow::{Context as _, anyhow, bail};
use bytes::Bytes;
use pilota::thrift::{
    ProtocolExceptionKind, TAsyncInputProtocol, TInputProtocol, TLengthProtocol, TLengthProtocolExt as _,
    TMessageIdentifier, TOutputProtocol, TOutputProtocolExt as _, TStructIdentifier, TType, ThriftException,
    new_protocol_exception,
};
use tokio::net::TcpListener;
use volo::Service;
use volo::client::MkClient;
use volo::net::incoming::DefaultIncoming;
use volo::service::BoxCloneService;
use volo_thrift::client::ClientBuilder;
use volo_thrift::context::{CLIENT_CONTEXT_CACHE, ClientContext, ServerContext};
use volo_thrift::server::Server;
use volo_thrift::{ClientError, EntryMessage, ServerError};

use super::{LISTEN, Served};
use crate::serve::announce;

/// Arguments and result alike: a struct whose field 1 is the payload.
#[derive(Debug, Clone)]
struct Message(Bytes);

const FIELD: i16 = 1;
const STRUCT: TStructIdentifier = TStructIdentifier { name: "Message" };

impl EntryMessage for Message {
    fn encode<T: TOutputProtocol>(&self, protocol: &mut T) -> Result<(), ThriftException> {
        protocol.write_struct_begin(&STRUCT)?;
        protocol.write_bytes_field(FIELD, self.0.clone())?;
        protocol.write_field_stop()?;
        protocol.write_struct_end()
    }

    fn decode<T: TInputProtocol>(protocol: &mut T, _: &TMessageIdentifier) -> Result<Self, ThriftException> {
        let mut payload = None;
        protocol.read_struct_begin()?;
        loop {
            let field = protocol.read_field_begin()?;
            match field.field_type {
                TType::Stop => break,
                TType::Binary if field.id == Some(FIELD) => payload = Some(protocol.read_bytes()?),
                other => drop(protocol.skip(other)?),
            }
            protocol.read_field_end()?;
        }
        protocol.read_struct_end()?;
        payload.map(Self).ok_or_else(no_payload)
    }

    async fn decode_async<T: TAsyncInputProtocol>(
        protocol: &mut T,
        _: &TMessageIdentifier,
    ) -> Result<Self, ThriftException> {
        let mut payload = None;
        protocol.read_struct_begin().await?;
        loop {
            let field = protocol.read_field_begin().await?;
            match field.field_type {
                TType::Stop => break,
                TType::Binary if field.id == Some(FIELD) => payload = Some(protocol.read_bytes().await?),
                other => protocol.skip(other).await?,
            }
            protocol.read_field_end().await?;
        }
        protocol.read_struct_end().await?;
        payload.map(Self).ok_or_else(no_payload)
    }

    fn size<T: TLengthProtocol>(&self, protocol: &mut T) -> usize {
        protocol.struct_begin_len(&STRUCT)
            + protocol.bytes_field_len(Some(FIELD), &self.0)
            + protocol.field_stop_len()
            + protocol.struct_end_len()
    }
}

fn no_payload() -> ThriftException {
    new_protocol_exception(ProtocolExceptionKind::InvalidData, "the payload is missing")
}

struct Echoing;

impl Service<ServerContext, Message> for Echoing {
    type Response = Message;
    type Error = ServerError;

    async fn call(&self, _: &mut ServerContext, request: Message) -> Result<Message, ServerError> {
        Ok(request)
    }
}

pub(super) async fn serve() -> Served {
    let listener = TcpListener::bind(LISTEN).await?;
    announce(listener.local_addr()?);
    let server = Server::new(Echoing).multiplex(true);
    server.run(DefaultIncoming::from(listener)).await.map_err(|error| anyhow!(error))?;
    bail!("the listener has ended");
}

type Calls = volo_thrift::Client<BoxCloneService<ClientContext, Message, Option<Message>, ClientError>>;

/// A client of volo.
#[derive(Clone)]
pub(crate) struct Volo(Calls);

struct AsItIs;

impl MkClient<Calls> for AsItIs {
    type Target = Calls;

    fn mk_client(&self, client: Calls) -> Calls {
        client
    }
}

impl super::Client for Volo {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        let address: SocketAddr = address.parse()?;
        Ok(Self(ClientBuilder::new("echo", AsItIs).address(address).multiplex(true).build()))
    }

    async fn echo(&mut self, payload: Bytes) -> anyhow::Result<Bytes> {
        let mut context = self.0.make_cx("echo", false);
        let answer = self.0.call(&mut context, Message(payload)).await;
        CLIENT_CONTEXT_CACHE.with_borrow_mut(|cache| cache.push(context));
        Ok(answer?.context("the call has no answer")?.0)
    }
}
