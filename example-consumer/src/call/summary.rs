//! The sum of the calls, for people and for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use super::tally::{Kind, Tally};

/// What is printed as JSON. Each call is counted once in `ok`, `failed` or `degraded`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    requests: u64,
    ok: u64,
    failed: u64,
    degraded: u64,
    by_instance: BTreeMap<String, u64>,
    errors: BTreeMap<Kind, u64>,
    attempts: u64,
    elapsed_ms: u64,
    latency_us: Latency,
}

#[derive(Debug, Serialize)]
struct Latency {
    p50: u64,
    p99: u64,
    max: u64,
}

impl Summary {
    fn new(tally: &Tally, elapsed: Duration) -> Self {
        let calls = |kind| tally.failed.get(&kind).map_or(0, |(calls, _)| *calls);
        let errors = BTreeMap::from(Kind::ALL.map(|kind| (kind, calls(kind))));
        let failed = errors.values().sum();
        Self {
            requests: tally.ok + failed + tally.degraded,
            ok: tally.ok,
            failed,
            degraded: tally.degraded,
            by_instance: tally.by_instance.clone(),
            errors,
            attempts: tally.attempts,
            elapsed_ms: elapsed.as_millis() as u64,
            latency_us: Latency { p50: tally.latency_of(0.5), p99: tally.latency_of(0.99), max: tally.longest },
        }
    }
}

/// For people, with the first error of each kind.
pub(super) fn print(tally: &Tally, elapsed: Duration) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let Summary { requests, ok, failed, degraded, by_instance, attempts, latency_us: latency, .. } =
        Summary::new(tally, elapsed);
    let calls = if requests == 1 { "call" } else { "calls" };
    let rate = requests as f64 / elapsed.as_secs_f64();
    writeln!(
        out,
        "{requests} {calls} in {elapsed:.2?}, {rate:.0} in a second: {ok} ok, {failed} failed, {degraded} degraded"
    )?;
    writeln!(out, "{attempts} {}", if attempts == 1 { "request was sent" } else { "requests were sent" })?;
    let [p50, p99, max] = [latency.p50, latency.p99, latency.max].map(Duration::from_micros);
    writeln!(out, "half of the calls took up to {p50:.1?}, 99 % up to {p99:.1?}, the longest {max:.1?}")?;
    if !by_instance.is_empty() {
        writeln!(out, "\nanswers  instance")?;
    }
    for (instance, answers) in by_instance {
        writeln!(out, "{answers:>7}  {instance}")?;
    }
    if failed > 0 {
        writeln!(out, "\n failed  first error of the kind")?;
    }
    for (calls, error) in tally.failed.values() {
        writeln!(out, "{calls:>7}  {error}")?;
    }
    Ok(())
}

/// For programs, in one line.
pub(super) fn print_json(tally: &Tally, elapsed: Duration) -> io::Result<()> {
    let summary = serde_json::to_string(&Summary::new(tally, elapsed))?;
    writeln!(io::stdout(), "{summary}")
}
