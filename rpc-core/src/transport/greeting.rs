//! The first words of a client's connection.

use super::Io;
use super::input::Input;
use super::output::Output;
use crate::protocol::Malformed;
use crate::protocol::frame::{FrameError, Header, Kind, VERSION};
use crate::protocol::hello::{ClientHello, MAX_SERVER_HELLO, ServerHello, Welcome};

/// Why no connection came about.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Frame(#[from] FrameError),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the server closed the connection before it said hello")]
    Closed,
    #[error("the server began with a {0:?} frame instead of a hello")]
    NoHello(Kind),
    #[error("no common protocol version: the server speaks {lowest} to {highest}, this client {ours}", ours = VERSION)]
    Refused { lowest: u8, highest: u8 },
    #[error("the server is leaving")]
    Leaving,
}

/// A stream on which hellos were exchanged.
pub(super) struct Greeted {
    pub(super) output: Output,
    pub(super) input: Input,
    pub(super) welcome: Welcome,
}

/// Exchanges hellos.
pub(super) async fn greet(io: Io, max_frame: u32) -> Result<Greeted, OpenError> {
    let Io { reader, writer, .. } = io;
    let output = Output::new(writer);
    output.lock().push(Header::plain(Kind::Hello, 0), &[ClientHello::new(max_frame).encode()]);
    output.flush_all().await?;

    let mut input = Input::new(reader, max_frame.max(MAX_SERVER_HELLO));
    let frame = loop {
        if let Some(frame) = input.next()? {
            break frame;
        }
        if input.read().await? == 0 {
            return Err(OpenError::Closed);
        }
    };
    if frame.header.kind != Kind::Hello {
        return Err(OpenError::NoHello(frame.header.kind));
    }
    let welcome = match ServerHello::decode(frame.payload)? {
        ServerHello::Refused { lowest, highest } => return Err(OpenError::Refused { lowest, highest }),
        ServerHello::Welcome(welcome) if welcome.leaving => return Err(OpenError::Leaving),
        ServerHello::Welcome(welcome) => welcome,
    };
    input.set_max_frame(max_frame);
    Ok(Greeted { output, input, welcome })
}
