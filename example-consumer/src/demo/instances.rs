//! Scenes of providers that come and go.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use example_api::{UserService, UserServiceStub};
use rpc::{CallReport, Executed};

use super::load::Naps;
use super::print::{self, rounded, scene};
use super::stage::{Stage, client, observed};

/// A provider that starts gets calls at once.
pub(crate) async fn join(stage: &mut Stage) -> anyhow::Result<()> {
    const WITHIN: Duration = Duration::from_secs(1);
    scene("6. A provider joins", "The registry tells clients of every change; nobody asks, and nobody is restarted.")?;
    let users: UserServiceStub = client().build()?.stub()?;
    let before = users.whoami().await?;
    let started = Instant::now();
    stage.start("provider-4").await?;
    let mut calls = 1;
    while users.whoami().await? != "provider-4" {
        calls += 1;
        ensure!(started.elapsed() < WITHIN, "provider-4 got none of {calls} calls within {WITHIN:?}");
    }
    let elapsed = started.elapsed();
    say!("A client at work (the last answer was {before}'s) goes on calling while provider-4 starts.")?;
    say!("It answered call {calls} after that, {elapsed:?} after its start began. Look for less than {WITHIN:?}.")?;
    ensure!(elapsed < WITHIN, "it took {elapsed:?}");
    Ok(())
}

/// A provider that leaves answers what it was asked before.
pub(crate) async fn leave(stage: &mut Stage) -> anyhow::Result<()> {
    scene(
        "7. A provider leaves",
        "provider-1 shuts down while slow calls are under way, and no call is made twice (`failFast`, the default).\n\
         It takes its registration back, tells its clients to go elsewhere, and answers what it has.",
    )?;
    let leaving = stage.take("provider-1")?;
    let mut naps = Naps::begin(observed())?;
    let before = naps.next(Naps::ALL / 4).await?;
    let started = Instant::now();
    let cut = leaving.shutdown().await;
    let left = rounded(started.elapsed());
    let after = naps.next(Naps::ALL - before.len()).await?;
    let answered = after.iter().filter(|report| part(report, "provider-1") == Some(Executed::Yes)).count();
    none_failed(before.iter().chain(&after))?;
    say!("Calls made: {}, all were answered. {answered} of them were under way at provider-1 when it", Naps::ALL)?;
    say!("began to leave, which took {left:?}. Look for calls that were cut: {cut}.")?;
    ensure!(cut == 0, "{cut} calls were cut");
    ensure!(answered > 0, "no call was under way at provider-1");
    stage.start("provider-1").await
}

/// Calls that a killed provider had are made again elsewhere, if that is allowed.
pub(crate) async fn die(stage: &mut Stage) -> anyhow::Result<()> {
    scene(
        "8. A provider is killed",
        "provider-3 goes down in the middle of calls; its connections just end, as when a process dies. `nap` is marked as\n\
         idempotent, so it may run twice: the fault strategy `failOver` makes the calls that were there again, elsewhere.",
    )?;
    let killed = stage.take("provider-3")?;
    let (client, reports) = observed();
    let mut naps = Naps::begin((client.fault("failOver"), reports))?;
    let before = naps.next(Naps::ALL / 4).await?;
    drop(killed);
    let after = naps.next(Naps::ALL - before.len()).await?;
    none_failed(before.iter().chain(&after))?;
    let again: Vec<_> = after.iter().filter(|report| part(report, "provider-3") == Some(Executed::Maybe)).collect();
    let example = again.first().context("no call was under way at provider-3")?;
    say!("Calls made: {}, all were answered. {} of them were under way at provider-3 when it", Naps::ALL, again.len())?;
    say!("died, and were made again. Look for both attempts in the report of one of those:\n")?;
    print::steps(example)?;
    Ok(())
}

fn none_failed<'a>(reports: impl Iterator<Item = &'a CallReport>) -> anyhow::Result<()> {
    let failed: Vec<_> = reports.filter(|report| report.error.is_some()).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let why = first.steps.iter().find_map(|step| step.error.as_deref()).unwrap_or("no instance was found");
    bail!("{} calls failed, one of them with: {why}", failed.len())
}

/// How far a call got at an instance, if it came there.
fn part(report: &CallReport, instance: &str) -> Option<Executed> {
    report.steps.iter().find(|step| step.instance == instance).map(|step| step.executed)
}
