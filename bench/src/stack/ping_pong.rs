//! `pingPong`: frames on sockets of the standard library, one at a time, without a runtime: two system calls on each side, and the
//! shortest way that a lone caller can have.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{LISTEN, Served, frame, runtime};
use crate::load::{Load, Measured, Session};
use crate::payload;
use crate::recorder::Recorder;
use crate::serve::announce;

/// Room for one read: a frame of the largest payload of a report.
const READ: usize = 128 << 10;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) fn serve() -> Served {
    let listener = TcpListener::bind(LISTEN)?;
    announce(listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        thread::spawn(move || {
            if let Err(error) = echo(stream) {
                eprintln!("error: {error:#}");
            }
        });
    }
}

fn echo(mut stream: TcpStream) -> anyhow::Result<()> {
    let mut input = vec![0; READ];
    let mut filled = 0;
    loop {
        if filled == input.len() {
            input.resize(2 * filled, 0);
        }
        match stream.read(&mut input[filled..])? {
            0 => return Ok(()),
            read => filled += read,
        }
        let whole = frame::whole(&input[..filled])?;
        stream.write_all(&input[..whole])?;
        input.copy_within(whole..filled, 0);
        filled -= whole;
    }
}

pub(super) fn closed(load: &Load) -> anyhow::Result<Measured> {
    let stream = TcpStream::connect(&load.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let payload = load.payloads().of(0);
    let session = Session::begin(load);
    let recorder = session.recorder();
    // The runtime is idle: this has a thread of its own.
    let caller = async { tokio::task::spawn_blocking(move || call(stream, &payload, recorder)).await? };
    session.run(&runtime()?, std::iter::once(caller))
}

fn call(mut stream: TcpStream, payload: &Bytes, mut recorder: Recorder) -> anyhow::Result<()> {
    let frame = frame::of(payload);
    let mut answer = vec![0; frame.len()];
    let mut begun = Instant::now();
    while !recorder.is_over(begun) {
        exchange(&mut stream, &frame, &mut answer)?;
        payload::check(payload, &answer[frame::HEADER..])?;
        let ended = Instant::now();
        recorder.record(begun, ended);
        begun = ended;
    }
    Ok(())
}

fn exchange(stream: &mut TcpStream, frame: &[u8], answer: &mut [u8]) -> io::Result<()> {
    stream.write_all(frame)?;
    stream.read_exact(answer)
}
