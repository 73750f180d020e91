//! `raw`: frames on tokio's sockets and no calls at all. What is in flight is a number, a task has a whole connection, and whatever is
//! ready is written and read at once. No framework that has a task for a call can be as fast; it shows what is left to gain.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::{LISTEN, Served, frame, runtime};
use crate::load::{Load, Measured, Session};
use crate::payload;
use crate::recorder::Recorder;
use crate::serve::announce;

/// Room for one read.
const READ: usize = 256 << 10;

pub(super) async fn serve() -> Served {
    let listener = TcpListener::bind(LISTEN).await?;
    announce(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            if let Err(error) = echo(stream).await {
                eprintln!("error: {error:#}");
            }
        });
    }
}

/// Answers all frames of a read in one write: of an echo, they are the answer.
async fn echo(mut stream: TcpStream) -> anyhow::Result<()> {
    let mut input = BytesMut::new();
    loop {
        input.reserve(READ);
        if stream.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        let whole = frame::whole(&input)?;
        stream.write_all(&input[..whole]).await?;
        input.advance(whole);
    }
}

pub(super) fn closed(load: &Load) -> anyhow::Result<Measured> {
    let runtime = runtime()?;
    let streams = runtime.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..load.cell.clients {
            let stream = TcpStream::connect(&load.address).await;
            let stream = stream.with_context(|| format!("cannot connect to {}", load.address))?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        anyhow::Ok(streams)
    })?;
    let payloads = load.payloads();
    let session = Session::begin(load);
    let in_flight = load.cell.in_flight / load.cell.clients;
    let pumps = streams.into_iter().enumerate().map(|(number, stream)| {
        let pump = Pump {
            stream,
            frame: frame::of(&payloads.of(number)),
            in_flight,
            begun: VecDeque::with_capacity(in_flight),
            input: BytesMut::new(),
            output: BytesMut::new(),
            recorder: session.recorder(),
        };
        pump.run()
    });
    session.run(&runtime, pumps)
}

/// Keeps so many frames in flight on a connection.
struct Pump {
    stream: TcpStream,
    frame: Bytes,
    in_flight: usize,
    /// When each of the frames in flight was begun; they are answered in order.
    begun: VecDeque<Instant>,
    input: BytesMut,
    output: BytesMut,
    recorder: Recorder,
}

impl Pump {
    async fn run(mut self) -> anyhow::Result<()> {
        loop {
            let now = Instant::now();
            if !self.recorder.is_over(now) {
                self.begin(now);
            } else if self.begun.is_empty() {
                return Ok(());
            }
            self.exchange().await?;
            self.end()?;
        }
    }

    /// Begins as many frames as were answered.
    fn begin(&mut self, now: Instant) {
        while self.begun.len() < self.in_flight {
            self.output.extend_from_slice(&self.frame);
            self.begun.push_back(now);
        }
    }

    /// Writes what the socket takes until there is something to read. It never waits for the one alone: the server may be doing the same.
    async fn exchange(&mut self) -> anyhow::Result<()> {
        let Self { stream, input, output, .. } = self;
        input.reserve(READ);
        let read = poll_fn(|cx| {
            while !output.is_empty() {
                match Pin::new(&mut *stream).poll_write(cx, output)? {
                    Poll::Ready(written) => output.advance(written),
                    Poll::Pending => break,
                }
            }
            pin!(stream.read_buf(input)).poll(cx)
        });
        ensure!(read.await? > 0, "the server closed the connection");
        Ok(())
    }

    /// Checks and records the answers that are there.
    fn end(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        while let Some(length) = frame::first(&self.input)? {
            payload::check(&self.frame[frame::HEADER..], &self.input[frame::HEADER..length])?;
            self.input.advance(length);
            let begun = self.begun.pop_front().context("there are more answers than calls")?;
            self.recorder.record(begun, now);
        }
        Ok(())
    }
}
