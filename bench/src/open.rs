//! The open loop: calls at a fixed rate, whether or not earlier ones are answered. A latency begins when the call was due, not when it
//! could be made, so that a stack that stalls cannot hide it by being called less.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::ensure;
use clap::Args;
use nix::sys::prctl;

use crate::cell::Cell;
use crate::child::Server;
use crate::load::{Load, Measured, WARM_UP, connect, seconds, wait};
use crate::payload;
use crate::recorder::{Latencies, Window};
use crate::report;
use crate::stack::{Client, Stack, only, runtime};
use crate::usage::Usage;

/// How long calls may take to be answered when no more are made; those that take longer are reported as unanswered.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Calls that are due within this time are made together, at its end: to wake for each would cost more than most calls do.
const TOGETHER: Duration = Duration::from_micros(100);

/// How long the peak of tarpc is measured, for the default rate.
const PEAK_SECONDS: f64 = 1.0;

/// What is measured in an open loop.
#[derive(Debug, Args)]
pub(crate) struct Open {
    /// Calls per second; half of what tarpc answers at most, unless given.
    #[arg(long, value_name = "PER_S", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    rate: Option<u32>,
    /// The stacks, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = only(Stack::has_calls))]
    #[arg(default_values_t = [Stack::Ours, Stack::OursFull, Stack::Tarpc])]
    stacks: Vec<Stack>,
    /// How often each is measured, in turn.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each measurement takes.
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
}

impl Open {
    /// Measures and reports.
    pub(crate) fn main(&self) -> anyhow::Result<()> {
        let rate = match self.rate {
            Some(rate) => rate,
            None => half_of_tarpc()?,
        };
        let mut measured = Vec::new();
        let mut stacks = self.stacks.clone();
        for round in 1..=self.rounds {
            eprintln!("{rate} calls/s, round {round} of {}", self.rounds);
            for stack in &stacks {
                let server = Server::start(*stack)?;
                let load = server.load(Cell::SMALL, self.seconds, Some(rate))?;
                ensure_answered(*stack, rate, &load)?;
                measured.push((*stack, load));
            }
            // Whoever is first is somebody else in the next round.
            stacks.rotate_left(1);
        }
        print!("{}", report::open(rate, &self.stacks, &measured));
        Ok(())
    }
}

/// Where nothing was answered, there are no latencies to report.
fn ensure_answered(stack: Stack, rate: u32, measured: &Measured) -> anyhow::Result<()> {
    ensure!(
        measured.latency.calls > 0,
        "{stack} answered none of {} calls at {rate} calls/s; give another `--rate` or more `--seconds`",
        measured.unanswered
    );
    Ok(())
}

fn half_of_tarpc() -> anyhow::Result<u32> {
    let stack = Stack::Tarpc;
    eprintln!("{stack}, {}, for the rate", Cell::SMALL);
    let peak = Server::start(stack)?.load(Cell::SMALL, PEAK_SECONDS, None)?;
    Ok((peak.per_second / 2.0).max(1.0) as u32)
}

/// The open loop, on one connection.
pub(crate) fn open<C: Client>(load: &Load, rate: u32) -> anyhow::Result<Measured> {
    // Wake this thread when it asks for, not up to 50 us later.
    prctl::set_timerslack(1)?;
    let runtime = runtime()?;
    let payload = load.payloads().of(0);
    let client: C = runtime.block_on(connect(&load.address, payload.clone()))?;

    let begun = Instant::now();
    let window = Window::after(WARM_UP, load.seconds);
    let latencies = Latencies::new(window);
    let (sender, failures) = mpsc::channel();
    let (mut made, mut before) = (0, Usage::now()?);
    let due = (0_u64..).map(|number| begun + Duration::from_secs_f64(number as f64 / f64::from(rate)));
    let mut due = due.take_while(|due| *due < window.end).peekable();
    while let Some(first) = due.peek() {
        let together = *first + TOGETHER;
        thread::sleep(together.saturating_duration_since(Instant::now()));
        let calls: Vec<_> = std::iter::from_fn(|| due.next_if(|due| *due < together)).collect();
        let counting = calls.iter().filter(|due| **due >= window.start).count() as u64;
        if counting > 0 && made == 0 {
            before = Usage::now()?;
        }
        made += counting;
        let (client, payload) = (client.clone(), payload.clone());
        let (latencies, sender) = (Arc::clone(&latencies), sender.clone());
        runtime.spawn(async move {
            for due in calls {
                let (mut client, payload) = (client.clone(), payload.clone());
                let (latencies, sender) = (Arc::clone(&latencies), sender.clone());
                tokio::spawn(async move {
                    let answer = client.echo(payload.clone()).await;
                    match answer.and_then(|answer| payload::check(&payload, &answer)) {
                        Ok(()) if due >= window.start => latencies.add(&[due.elapsed()], 1),
                        Ok(()) => latencies.add(&[], 1),
                        // The first one ends the process; nobody asks for a second.
                        Err(error) => drop(sender.send(error)),
                    }
                });
            }
        });
    }
    let usage = Usage::now()?.since(before);
    drop(sender);
    wait(ANSWER_WITHIN, &failures)?;
    let latency = latencies.summary();
    // What is still on its way would take its time to be told that nobody waits.
    runtime.shutdown_background();
    let per_second = latency.calls as f64 / load.seconds;
    Ok(Measured { per_second, unanswered: made - latency.calls, latency, usage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_that_answers_nothing_is_named_with_the_rate() {
        let mut measured = Measured { unanswered: 7, ..Measured::default() };
        let error = ensure_answered(Stack::Ours, 9_000, &measured).unwrap_err().to_string();
        assert!(error.starts_with("ours answered none of 7 calls at 9000 calls/s; "), "{error}");
        measured.latency.calls = 1;
        ensure_answered(Stack::Ours, 9_000, &measured).unwrap();
    }
}
