//! How a client reaches an address.

use std::fmt::Debug;
use std::io;

use tokio::net::TcpStream;

use super::Io;
use crate::BoxFuture;

/// Opens byte streams; the tests have one without sockets.
pub(crate) trait Connect: Debug + Send + Sync + 'static {
    /// A stream to `address`, which is `host:port`. The caller bounds the time.
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Io>>;
}

/// TCP without Nagle's delay: frames are already gathered before they are written.
#[derive(Debug)]
pub(crate) struct Tcp;

impl Connect for Tcp {
    fn connect<'a>(&'a self, address: &'a str) -> BoxFuture<'a, io::Result<Io>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream.into())
        })
    }
}
