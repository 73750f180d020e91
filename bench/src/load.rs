//! The load generator's process, and the closed loop: a fixed number of callers, each of which waits for its answer and calls again.

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::Args;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::cell::Cell;
use crate::child;
use crate::payload::{self, Payloads};
use crate::recorder::{Latencies, Recorder, Summary, Window};
use crate::stack::{Client, Stack, runtime};
use crate::usage::Usage;

/// Calls of the connections that are there already, before any counts.
pub(crate) const WARM_UP: Duration = Duration::from_millis(200);

/// How long calls may take to end when no more are made.
const END_WITHIN: Duration = Duration::from_secs(10);

/// What a load generator is told.
#[derive(Debug, Args)]
pub(crate) struct Load {
    /// What to call.
    pub(crate) stack: Stack,
    /// Payload, calls in flight and clients.
    pub(crate) cell: Cell,
    /// Where it is served.
    pub(crate) address: String,
    /// How long to measure.
    #[arg(value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Calls per second, in an open loop.
    #[arg(long)]
    pub(crate) rate: Option<u32>,
}

/// Reads how long a measurement takes.
pub(crate) fn seconds(text: &str) -> anyhow::Result<f64> {
    let seconds = text.parse().ok().filter(|seconds| (0.01..=3_600.0).contains(seconds));
    seconds.with_context(|| format!("`{text}` is no time to measure for; give it 0.01 to 3600 seconds"))
}

/// What a load generator measured.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    /// Calls that were made and not answered; an open loop alone leaves any.
    pub(crate) unanswered: u64,
    #[serde(flatten)]
    pub(crate) latency: Summary,
    /// What it used itself while the calls counted.
    pub(crate) usage: Usage,
}

impl Load {
    /// The process of a load generator.
    pub(crate) fn main(&self) -> anyhow::Result<()> {
        child::end_with_parent()?;
        let measured = match self.rate {
            None => self.stack.closed(self)?,
            Some(rate) => self.stack.open(self, rate)?,
        };
        println!("{}", serde_json::to_string(&measured)?);
        Ok(())
    }

    /// The payloads of all callers.
    pub(crate) fn payloads(&self) -> Payloads {
        Payloads::new(self.cell.size, self.cell.in_flight)
    }
}

/// The closed loop of a stack whose client makes one call at a time for each of its callers.
pub(crate) fn closed<C: Client>(load: &Load) -> anyhow::Result<Measured> {
    let runtime = runtime()?;
    let payloads = load.payloads();
    let clients = runtime.block_on(async {
        let mut clients = Vec::new();
        for _ in 0..load.cell.clients {
            clients.push(connect::<C>(&load.address, payloads.of(0)).await?);
        }
        anyhow::Ok(clients)
    })?;
    let session = Session::begin(load);
    let callers = clients.iter().cycle().take(load.cell.in_flight).enumerate();
    let callers = callers.map(|(caller, client)| call(client.clone(), payloads.of(caller), session.recorder()));
    session.run(&runtime, callers)
}

/// A client that has made its first call.
pub(crate) async fn connect<C: Client>(address: &str, payload: Bytes) -> anyhow::Result<C> {
    let mut client = C::connect(address).await.with_context(|| format!("cannot connect to {address}"))?;
    let answer = client.echo(payload.clone()).await.context("the first call failed")?;
    payload::check(&payload, &answer)?;
    Ok(client)
}

async fn call<C: Client>(mut client: C, payload: Bytes, mut recorder: Recorder) -> anyhow::Result<()> {
    let mut begun = Instant::now();
    while !recorder.is_over(begun) {
        let answer = client.echo(payload.clone()).await?;
        payload::check(&payload, &answer)?;
        let ended = Instant::now();
        recorder.record(begun, ended);
        begun = ended;
    }
    Ok(())
}

/// A measurement under way.
#[derive(Debug)]
pub(crate) struct Session {
    window: Window,
    seconds: f64,
    latencies: Arc<Latencies>,
}

impl Session {
    /// Begins the warm-up.
    pub(crate) fn begin(load: &Load) -> Self {
        let window = Window::after(WARM_UP, load.seconds);
        Self { window, seconds: load.seconds, latencies: Latencies::new(window) }
    }

    /// For one of the callers.
    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(&self.latencies)
    }

    /// Runs all callers to their end. This thread is none of the runtime's: it looks at the usage when it is time, however busy they are.
    pub(crate) fn run<F>(&self, runtime: &Runtime, callers: impl Iterator<Item = F>) -> anyhow::Result<Measured>
    where
        F: Future<Output = anyhow::Result<()>> + Send + 'static,
    {
        let (sender, failures) = mpsc::channel();
        for caller in callers {
            let sender = sender.clone();
            runtime.spawn(async move {
                if let Err(error) = caller.await {
                    // The first one ends the process; nobody asks for a second.
                    let _ = sender.send(error);
                }
            });
        }
        drop(sender);
        wait_until(self.window.start, &failures)?;
        let before = Usage::now()?;
        wait_until(self.window.end, &failures)?;
        let usage = Usage::now()?.since(before);
        if let Waited::InVain = wait(END_WITHIN, &failures)? {
            bail!("calls are not answered {END_WITHIN:?} after the last was made");
        }
        let latency = self.latencies.summary();
        Ok(Measured { per_second: latency.calls as f64 / self.seconds, unanswered: 0, latency, usage })
    }
}

/// Waits until the time has come, or a caller fails.
fn wait_until(time: Instant, failures: &Receiver<anyhow::Error>) -> anyhow::Result<()> {
    match wait(time.saturating_duration_since(Instant::now()), failures)? {
        Waited::InVain => Ok(()),
        Waited::AllEnded if Instant::now() >= time => Ok(()),
        Waited::AllEnded => bail!("the callers ended before their time"),
    }
}

/// How waiting for all callers ends.
#[derive(Debug)]
pub(crate) enum Waited {
    /// All have ended.
    AllEnded,
    /// There still are some.
    InVain,
}

/// Waits until all callers have ended, each of which holds a sender, or one fails.
pub(crate) fn wait(time: Duration, failures: &Receiver<anyhow::Error>) -> anyhow::Result<Waited> {
    match failures.recv_timeout(time) {
        Ok(error) => Err(error),
        Err(RecvTimeoutError::Disconnected) => Ok(Waited::AllEnded),
        Err(RecvTimeoutError::Timeout) => Ok(Waited::InVain),
    }
}
