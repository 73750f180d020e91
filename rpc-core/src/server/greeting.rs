//! The first words of a server's connection.

use std::net::SocketAddr;
use std::time::Duration;

use super::Shared as Server;
use super::connection::{CLOSE_WITHIN, ECHO_WITHIN, Ended};
use crate::protocol::frame::{Header, Kind};
use crate::protocol::hello::{ClientHello, MAX_CLIENT_HELLO, ServerHello, Welcome};
use crate::transport::Io;
use crate::transport::input::Input;
use crate::transport::output::Output;

/// How long a client may take to say hello.
pub(super) const HELLO_WITHIN: Duration = Duration::from_secs(5);

/// A stream on which hellos were exchanged.
pub(super) struct Greeted {
    pub(super) output: Output,
    pub(super) input: Input,
    pub(super) peer: Option<SocketAddr>,
    /// The longest payload that the client accepts.
    pub(super) client_max_frame: u32,
}

/// Exchanges hellos.
pub(super) async fn greet(io: Io, server: &Server) -> Result<Greeted, Ended> {
    let Io { reader, writer, peer } = io;
    let mut input = Input::new(reader, MAX_CLIENT_HELLO);
    let hello = tokio::select! {
        hello = read_hello(&mut input) => hello?,
        () = tokio::time::sleep(HELLO_WITHIN) => return Err(Ended::NoHelloInTime),
        () = left_for(ECHO_WITHIN, server) => return Err(Ended::Drained),
    };
    let output = Output::new(writer);
    let answer = |hello: &ServerHello| output.lock().push(Header::plain(Kind::Hello, 0), &[hello.encode()]);
    if !hello.speaks_our_version() {
        answer(&ServerHello::refused());
        tokio::time::timeout(CLOSE_WITHIN, output.shutdown()).await.map_err(|_| Ended::Silent)??;
        return Err(Ended::NoCommonVersion { lowest: hello.lowest, highest: hello.highest });
    }
    answer(&ServerHello::Welcome(Welcome {
        leaving: server.leaving.is_cancelled(),
        max_frame: server.max_frame,
        max_in_flight: server.max_in_flight,
        incarnation: server.incarnation,
        instance: server.instance.clone(),
        methods: server.table.hello(),
    }));
    output.wake();
    input.set_max_frame(server.max_frame);
    Ok(Greeted { output, input, peer, client_max_frame: hello.max_frame })
}

/// Waits until the server has been leaving for this long.
async fn left_for(time: Duration, server: &Server) {
    server.leaving.cancelled().await;
    tokio::time::sleep(time).await;
}

async fn read_hello(input: &mut Input) -> Result<ClientHello, Ended> {
    loop {
        if let Some(frame) = input.next()? {
            return match frame.header.kind {
                Kind::Hello => Ok(ClientHello::decode(frame.payload)?),
                kind => Err(Ended::NoHello(kind)),
            };
        }
        if input.read().await? == 0 {
            return Err(Ended::Closed);
        }
    }
}
