//! Scenes of calls. Each says what is shown, shows it, and fails if it did not hold.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use example_api::{NewUser, UserError, UserService, UserServiceStub};
use rpc::{CallOptions, Code, RpcError};
use tokio::task::JoinSet;

use super::print::{self, rounded, scene};
use super::stage::{PROVIDERS, client, observed};

/// The load balancer gives every provider the same number of calls.
pub(crate) async fn spread() -> anyhow::Result<()> {
    const CALLS: usize = 3_000;
    const CALLERS: usize = 64;
    scene("1. Many calls", "The load balancer `roundRobin`, the default, takes the providers in turn.")?;
    let users = client().build()?.stub()?;
    let started = Instant::now();
    let answers = ask_who(&users, CALLS, CALLERS).await?;
    let elapsed = rounded(started.elapsed());
    say!("{CALLERS} tasks made {CALLS} calls of `whoami` in {elapsed:?}. Look for equal shares:\n")?;
    let count = |id| answers.iter().filter(|answer| *answer == id).count();
    let counts = BTreeMap::from(PROVIDERS.map(|id| (id, [count(id)])));
    print::table(["answers"], &counts)?;
    for (id, [answers]) in counts {
        ensure!(answers.abs_diff(CALLS / 3) <= 1, "{id} answered {answers} calls instead of {}", CALLS / 3);
    }
    Ok(())
}

/// The answers of so many calls of `whoami`, made by so many tasks.
async fn ask_who(users: &UserServiceStub, calls: usize, callers: usize) -> Result<Vec<String>, RpcError> {
    let mut asking = JoinSet::new();
    for caller in 0..callers {
        let users = users.clone();
        asking.spawn(async move {
            let mut answers = Vec::new();
            for _ in (caller..calls).step_by(callers) {
                answers.push(users.whoami().await?);
            }
            Ok::<_, RpcError>(answers)
        });
    }
    let answers: Result<Vec<_>, _> = asking.join_all().await.into_iter().collect();
    Ok(answers?.concat())
}

/// The error type of a method crosses the wire as what it is.
pub(crate) async fn own_errors() -> anyhow::Result<()> {
    scene("2. Errors of the service's own", "What a method answers arrives as the type that it returns, errors too.")?;
    let users: UserServiceStub = client().build()?.stub()?;
    let ada = users.create_user(NewUser { name: "Ada".into() }).await?;
    say!("    create_user(\"Ada\")  {ada:?}")?;
    let found = users.get_user(ada.id).await?;
    say!("    get_user({})         {found:?}", ada.id)?;
    let result = users.get_user(404).await;
    say!("    get_user(404)       {result:?}")?;
    ensure!(found == ada, "another user was found than was stored");
    ensure!(matches!(result, Err(UserError::Unknown { id: 404 })), "`UserError::Unknown` was expected, not {result:?}");
    Ok(())
}

/// A call ends at its deadline, and its handler with it.
pub(crate) async fn deadline() -> anyhow::Result<()> {
    const TIMEOUT: Duration = Duration::from_millis(300);
    scene("3. A deadline", "A call ends when its time is over, here and at the provider. The default is 3 s.")?;
    let users: UserServiceStub = client().build()?.stub()?;
    let started = Instant::now();
    let result = users.with(CallOptions::new().timeout(TIMEOUT)).nap(10_000).await;
    let elapsed = started.elapsed();
    let Err(error) = result else { bail!("a nap of 10 s was answered after {elapsed:?}") };
    say!("A nap of 10 s with a timeout of {TIMEOUT:?} ended after {:?}:\n\n    {error}", rounded(elapsed))?;
    say!("\nWhether the method has run: {:?}, as it was sent and not answered.", error.executed())?;
    ensure!(error.code() == Code::DeadlineExceeded, "`DeadlineExceeded` was expected, not {error:?}");
    // Ten times, for a machine that is busy.
    ensure!((TIMEOUT..TIMEOUT * 10).contains(&elapsed), "it ended after {elapsed:?}");
    Ok(())
}

/// Whoever asks is told what happened to a call.
pub(crate) async fn report() -> anyhow::Result<()> {
    scene("4. A report", "An observer is told of every call which provider had which part in it.")?;
    let (client, mut reports) = observed();
    let users: UserServiceStub = client.build()?.stub()?;
    let answered_by = users.whoami().await?;
    let report = reports.try_recv().context("no report came")?;
    say!("{}.{} took {:?}:\n", report.service, report.method, report.elapsed)?;
    print::steps(&report)?;
    let told: Vec<_> = report.steps.iter().map(|step| &step.instance).collect();
    ensure!(report.error.is_none(), "the report tells of {:?}", report.error);
    ensure!(told == [&answered_by], "{answered_by} answered, but the report tells of {told:?}");
    Ok(())
}
