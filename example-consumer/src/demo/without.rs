//! Scenes without any provider.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use example_api::{NewUser, User, UserService, UserServiceDispatcher, UserServiceStub, Users};
use rpc::PluginConfig;

use super::print::{rounded, scene};
use super::stage::{Stage, client, observed};

/// Calls that are nice to have do not fail when nobody answers.
pub(crate) async fn fail_safe() -> anyhow::Result<()> {
    scene(
        "9. Going on without",
        "All providers are gone. With the fault strategy `failSafe` a caller then gets the `Default` of the result's type, or\n\
         the answer of a local implementation of the service, its fallback. The failure is logged, and its report tells of it.",
    )?;
    let (client, mut reports) = observed();
    let client = client.fault("failSafe").build()?;
    let users: UserServiceStub = client.stub()?;
    let default = users.get_user(7).await?;
    say!("    get_user(7)                   {default:?}")?;
    let users: UserServiceStub = client.stub_with_fallback(UserServiceDispatcher::new(Users::with_examples()))?;
    let fallback = users.get_user(7).await?;
    say!("    get_user(7), with a fallback  {fallback:?}")?;
    ensure!(default == User::default(), "another user was given than the default");
    ensure!(fallback.name == "user-7", "the fallback did not answer");
    for _ in 0..2 {
        let report = reports.try_recv().context("no report came")?;
        ensure!(report.degraded, "a report tells of no going on without: {report:?}");
    }
    Ok(())
}

/// Calls that must arrive, but not now, are made again until they do.
pub(crate) async fn fail_back(stage: &mut Stage) -> anyhow::Result<()> {
    const PAUSE_MS: u64 = 100;
    scene(
        "10. Making up for it",
        "With `failBack` too the caller goes on at once; the call is made again in the background until it is answered.\n\
         `create_user` is not idempotent, but where nobody was asked, it cannot have run.",
    )?;
    let fault = PluginConfig::new("failBack").with("pauseMs", PAUSE_MS);
    let started = Instant::now();
    // Held until the end: what the strategy does in the background ends with the client and its stubs.
    let patient: UserServiceStub = client().fault(fault).build()?.stub()?;
    let answer = patient.create_user(NewUser { name: "Grace".into() }).await?;
    say!("    create_user(\"Grace\")  {answer:?}, after {:?}", rounded(started.elapsed()))?;
    stage.start("provider-1").await?;
    say!("provider-1 starts. Look for Grace, whom nobody has sent again:")?;
    // Ada is there since scene 2.
    let users: UserServiceStub = client().build()?.stub()?;
    let grace = loop {
        match users.get_user(2).await {
            Ok(user) => break user,
            Err(error) => ensure!(started.elapsed() < Duration::from_secs(5), "Grace is not there: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    say!("    get_user(2)           {grace:?}, after {:?}", rounded(started.elapsed()))?;
    ensure!(grace.name == "Grace", "{} is there instead of Grace", grace.name);
    Ok(())
}
