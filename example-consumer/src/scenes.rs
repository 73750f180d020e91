//! The scenes of the demo, one function each: it says what is shown, shows it, and fails if it did not hold.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use example_api::{NewUser, UserError, UserService};
use rpc::{CallOptions, Code, RpcError, Server};
use tokio::task::JoinSet;

use crate::demo::{PROVIDERS, Stage};

const CALLS: usize = 3_000;
const CALLERS: usize = 64;

/// The load balancer gives every provider the same number of calls.
pub(crate) async fn spread(stage: &Stage) -> anyhow::Result<()> {
    title("1. Many calls", "The load balancer `roundRobin`, the default, takes the providers in turn.");
    let started = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let users = stage.users.clone();
        callers.spawn(async move {
            let mut answers = Vec::new();
            for _ in (caller..CALLS).step_by(CALLERS) {
                answers.push(users.whoami().await?);
            }
            Ok::<_, RpcError>(answers)
        });
    }
    let mut answers_from = BTreeMap::<String, usize>::new();
    for answers in callers.join_all().await {
        for instance in answers? {
            *answers_from.entry(instance).or_insert(0) += 1;
        }
    }
    println!("{CALLERS} tasks made {CALLS} calls of `whoami` in {:?}:\n", rounded(started.elapsed()));
    println!("    answered by   answers");
    for (instance, answers) in &answers_from {
        println!("    {instance:<12}  {answers:>7}");
    }
    let share = CALLS / PROVIDERS.len();
    for id in PROVIDERS {
        let answers = answers_from.get(id).copied().unwrap_or(0);
        ensure!(answers.abs_diff(share) <= 1, "{id} answered {answers} calls instead of about {share}");
    }
    Ok(())
}

/// The error type of a method crosses the wire as what it is.
pub(crate) async fn own_errors(stage: &Stage) -> anyhow::Result<()> {
    title("2. Errors of the service's own", "What a method answers arrives as the type that it returns, errors too.");
    let ada = stage.users.create_user(NewUser { name: "Ada".into() }).await?;
    println!("create_user(\"Ada\")  {ada:?}");
    let found = stage.users.get_user(ada.id).await?;
    println!("get_user({})         {found:?}", ada.id);
    ensure!(found == ada, "another user was found than was stored");

    let result = stage.users.get_user(404).await;
    println!("get_user(404)       {result:?}");
    ensure!(matches!(result, Err(UserError::Unknown { id: 404 })), "`UserError::Unknown` was expected, not {result:?}");
    Ok(())
}

/// A call ends at its deadline, and its handler with it.
pub(crate) async fn deadline(stage: &Stage) -> anyhow::Result<()> {
    const TIMEOUT: Duration = Duration::from_millis(300);
    title("3. A deadline", "A call ends when its time is over, here and at the provider. The default is 3 s.");
    let started = Instant::now();
    let result = stage.users.with(CallOptions::new().timeout(TIMEOUT)).nap(10_000).await;
    let elapsed = started.elapsed();
    let Err(error) = result else { bail!("a nap of 10 s was answered after {elapsed:?}") };
    println!("A nap of 10 s with a timeout of {TIMEOUT:?} ended after {:?}:\n\n    {error}", rounded(elapsed));
    println!("\nWhether it has run: {:?}, as it was sent and not answered.", error.executed());
    ensure!(error.code() == Code::DeadlineExceeded, "`DeadlineExceeded` was expected, not {error:?}");
    // Ten times, for a machine that is busy.
    ensure!((TIMEOUT..TIMEOUT * 10).contains(&elapsed), "it ended after {elapsed:?}");
    Ok(())
}

/// Whoever asks is told what happened to a call.
pub(crate) async fn report(stage: &Stage) -> anyhow::Result<()> {
    title("4. A report", "An observer, of a client or of a single call, is told which provider had which part in it.");
    let (sender, reports) = mpsc::channel();
    let observed = CallOptions::new().observe(move |report| drop(sender.send(report.clone())));
    let answered_by = stage.users.with(observed).whoami().await?;
    let report = reports.try_recv().context("no report came")?;
    println!("{}.{} took {:?}, {} attempt(s):\n", report.service, report.method, report.elapsed, report.attempts.len());
    for attempt in &report.attempts {
        let error = attempt.error.as_deref().unwrap_or("none");
        println!("    instance {}  executed {:?}  error {error}", attempt.instance, attempt.executed);
    }
    println!("\nThe answer was {answered_by}. With `direct`, an instance is known by its address.");
    ensure!(report.error.is_none(), "the report tells of {:?}", report.error);
    let expected = address_of(&stage.servers, &answered_by).context("an unknown provider answered")?;
    let told: Vec<_> = report.attempts.iter().map(|attempt| attempt.instance.as_str()).collect();
    ensure!(told == [&expected], "{answered_by} at {expected} answered, but the report tells of {told:?}");
    Ok(())
}

/// Providers that shut down answer what they were asked before.
pub(crate) async fn leave(stage: Stage) -> anyhow::Result<()> {
    title("5. Leaving", "All providers shut down while a nap of 300 ms is under way; it is still answered.");
    let Stage { servers, users } = stage;
    // `join!` polls in order at first: the nap is sent before any provider leaves.
    let (nap, cut) = tokio::join!(users.nap(300), async {
        let mut leaving: JoinSet<usize> = servers.into_iter().map(Server::shutdown).collect();
        let mut cut = 0;
        while let Some(calls) = leaving.join_next().await {
            cut += calls?;
        }
        anyhow::Ok(cut)
    });
    nap.context("the nap was not answered")?;
    let cut = cut?;
    println!("The nap was answered. Calls cut: {cut}.");
    ensure!(cut == 0, "{cut} calls were cut");

    let Err(error) = users.whoami().await else { bail!("a call was answered though no provider is left") };
    println!("A call from now on fails at once, with what is known of each provider:\n\n    {error}");
    ensure!(error.code() == Code::Unavailable, "`Unavailable` was expected, not {error:?}");
    Ok(())
}

fn title(title: &str, what: &str) {
    println!("\n{title}\n{}\n{what}", "-".repeat(title.len()));
}

fn address_of(servers: &[Server], id: &str) -> Option<String> {
    let position = PROVIDERS.iter().position(|provider| *provider == id)?;
    Some(servers.get(position)?.address().to_string())
}

fn rounded(time: Duration) -> Duration {
    Duration::from_millis(time.as_millis() as u64)
}
