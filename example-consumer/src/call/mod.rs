//! Calls of the example service, and what became of them.

mod arguments;
mod calls;
mod load;
mod progress;
mod summary;
mod tally;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use example_api::UserServiceStub;
use rpc::Signals;
use tokio_util::sync::CancellationToken;

pub(crate) use self::arguments::Arguments;

use self::calls::Calls;
use crate::Failure;

/// How long the registry may take to answer.
const REGISTRY_WITHIN: Duration = Duration::from_secs(5);

/// Makes the calls and sums up. They may fail, each of them; an error is that none could be made.
pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    // Mistakes are found before anybody is asked.
    let client = arguments.client().map_err(Failure::Mistake)?;
    let users: UserServiceStub = client.stub().map_err(|error| Failure::Mistake(error.into()))?;
    let listed = client.ready::<UserServiceStub>(REGISTRY_WITHIN).await;
    listed.context("no calls can be made (`example-consumer demo` needs no registry)").map_err(Failure::Trouble)?;

    let mut signals = Signals::new().context("signals cannot be looked for").map_err(Failure::Trouble)?;
    let calls = Arc::new(Calls::new(users, arguments));
    let (began, stop) = (Instant::now(), CancellationToken::new());
    let mut load = pin!(load::run(&calls, &stop));
    let tally = tokio::select! {
        tally = &mut load => tally,
        never = progress::show(&calls) => match never {},
        // Who does not want to wait any longer still wants to know.
        () = signals.next() => {
            stop.cancel();
            load.await
        }
    };
    // All that is left takes little time, but where it does not, a signal still ends it.
    tokio::spawn(async move {
        signals.next().await;
        std::process::exit(1)
    });
    let elapsed = began.elapsed();
    let undone = client.shutdown().await;
    if undone > 0 {
        tracing::warn!(undone, "calls that were to be made again are lost");
    }
    let printed = match calls.arguments.json {
        true => summary::print_json(&tally, elapsed),
        false => summary::print(&tally, elapsed),
    };
    printed.context("the sum cannot be printed").map_err(Failure::Trouble)
}
