//! What is compared: each stack echoes payloads, over TCP without delay, between two processes.

mod frame;
mod full;
pub(crate) mod ours;
mod ping_pong;
mod raw;
pub(crate) mod tarpc;
pub(crate) mod tonic;
pub(crate) mod volo;

use std::convert::Infallible;
use std::fmt;
use std::ops::RangeInclusive;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::cell::Cell;
use crate::load::{self, Load, Measured};
use crate::open;

/// Where servers listen.
const LISTEN: &str = "127.0.0.1:0";

/// Threads of each process that run tasks.
const DEFAULT_WORKERS: usize = 2;
/// How many there may be; tokio gives up where the system has no thread left.
const POSSIBLE_WORKERS: RangeInclusive<usize> = 1..=1_024;
/// The variable of the environment that says otherwise; the processes of servers and load inherit it.
const WORKERS: &str = "RPC_BENCH_WORKERS";

/// One way to echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[value(rename_all = "camelCase")]
#[serde(rename_all = "camelCase")]
pub(crate) enum Stack {
    /// This framework: a stub of one fixed address.
    Ours,
    /// This framework with all that is on a call's way: three instances to choose from, and a fault strategy around the call.
    OursFull,
    /// Frames on sockets, without calls: what the transport can do.
    Raw,
    /// A blocking exchange of frames, one at a time: what a lone caller can have at best.
    PingPong,
    Tarpc,
    Tonic,
    VoloThrift,
}

/// The client of a stack. Its clones share the connection; a loop is compiled for each, and calls go through nothing in between.
pub(crate) trait Client: Clone + Send + 'static {
    /// Makes a client with a connection of its own.
    fn connect(address: &str) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// Makes one call.
    fn echo(&mut self, payload: Bytes) -> impl Future<Output = anyhow::Result<Bytes>> + Send;
}

/// What serving comes to: it ends by failing alone.
type Served = anyhow::Result<Infallible>;

impl Stack {
    /// Serves it, after saying where.
    pub(crate) async fn serve(self) -> Served {
        match self {
            Self::Ours | Self::OursFull => ours::serve().await,
            Self::Raw => raw::serve().await,
            Self::PingPong => ping_pong::serve(),
            Self::Tarpc => tarpc::serve().await,
            Self::Tonic => tonic::serve().await,
            Self::VoloThrift => volo::serve().await,
        }
    }

    /// Calls it in a closed loop.
    pub(crate) fn closed(self, load: &Load) -> anyhow::Result<Measured> {
        match self {
            Self::Ours => load::closed::<ours::Fixed>(load),
            Self::OursFull => load::closed::<full::Full>(load),
            Self::Raw => raw::closed(load),
            Self::PingPong => ping_pong::closed(load),
            Self::Tarpc => load::closed::<tarpc::Tarpc>(load),
            Self::Tonic => load::closed::<tonic::Tonic>(load),
            Self::VoloThrift => load::closed::<volo::Volo>(load),
        }
    }

    /// Calls it in an open loop.
    pub(crate) fn open(self, load: &Load, rate: u32) -> anyhow::Result<Measured> {
        match self {
            Self::Ours => open::open::<ours::Fixed>(load, rate),
            Self::OursFull => open::open::<full::Full>(load, rate),
            Self::Tarpc => open::open::<tarpc::Tarpc>(load, rate),
            Self::Tonic => open::open::<tonic::Tonic>(load, rate),
            Self::VoloThrift => open::open::<volo::Volo>(load, rate),
            Self::Raw | Self::PingPong => bail!("{self} has no single calls"),
        }
    }

    /// Whether it has calls that can be made one by one.
    pub(crate) fn has_calls(self) -> bool {
        !matches!(self, Self::Raw | Self::PingPong)
    }

    /// Whether it can be asked for this.
    pub(crate) fn takes(self, cell: Cell) -> bool {
        self != Self::PingPong || cell.in_flight == 1
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().expect("no stack is skipped").get_name())
    }
}

/// Reads a stack for which this holds; others are not offered.
pub(crate) fn only(holds: fn(Stack) -> bool) -> impl TypedValueParser<Value = Stack> {
    let stacks = Stack::value_variants().iter().filter(move |stack| holds(**stack));
    PossibleValuesParser::new(stacks.filter_map(Stack::to_possible_value))
        .map(|name| Stack::from_str(&name, false).expect("it is one of those offered"))
}

/// How many threads run tasks in each process.
pub(crate) fn workers() -> anyhow::Result<usize> {
    std::env::var_os(WORKERS).map_or(Ok(DEFAULT_WORKERS), |text| workers_of(&text.to_string_lossy()))
}

fn workers_of(text: &str) -> anyhow::Result<usize> {
    let workers = text.parse().ok().filter(|workers| POSSIBLE_WORKERS.contains(workers));
    let (least, most) = POSSIBLE_WORKERS.into_inner();
    workers.with_context(|| format!("`{WORKERS}` is `{text}`; set it to {least} to {most} threads"))
}

/// The runtime that all stacks get, on both sides.
pub(crate) fn runtime() -> anyhow::Result<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(workers()?).enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_1_to_1024_workers() {
        assert_eq!(["1", "1024"].map(|text| workers_of(text).unwrap()), [1, 1_024]);
        for text in ["", "0", "1025", "-1", "two"] {
            let error = workers_of(text).unwrap_err().to_string();
            let expected = format!("`RPC_BENCH_WORKERS` is `{text}`; set it to 1 to 1024 threads");
            assert_eq!(error, expected);
        }
    }
}
