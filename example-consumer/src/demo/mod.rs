//! The demo: providers, a registry and clients in one process, over real sockets.

#[macro_use]
mod print;

mod calls;
mod instances;
mod keys;
mod load;
mod stage;
mod without;

use std::time::{Duration, Instant};

use anyhow::Context as _;

use self::stage::Stage;

/// All scenes together; they take a few seconds.
const WITHIN: Duration = Duration::from_secs(20);

/// Plays all scenes. An error says which of them did not show what it should.
pub(crate) async fn run() -> anyhow::Result<()> {
    let started = Instant::now();
    let played = tokio::time::timeout(WITHIN, play()).await;
    played.with_context(|| format!("the demo did not end within {WITHIN:?}"))??;
    say!("\nEverything was as expected.")?;
    say!("It took {:?}. The code of each scene is in example-consumer/src/demo/.", print::rounded(started.elapsed()))?;
    Ok(())
}

async fn play() -> anyhow::Result<()> {
    let mut stage = Stage::set().await.context("the stage")?;
    calls::spread().await.context("scene 1, many calls")?;
    calls::own_errors().await.context("scene 2, errors of the service's own")?;
    calls::deadline().await.context("scene 3, a deadline")?;
    calls::report().await.context("scene 4, a report")?;
    keys::stick(&mut stage).await.context("scene 5, keys")?;
    instances::join(&mut stage).await.context("scene 6, a provider joins")?;
    instances::leave(&mut stage).await.context("scene 7, a provider leaves")?;
    instances::die(&mut stage).await.context("scene 8, a provider is killed")?;
    stage.clear().await;
    without::fail_safe().await.context("scene 9, going on without")?;
    without::fail_back(&mut stage).await.context("scene 10, making up for it")
}
