//! Many calls at a time, and what became of each.

use example_api::{UserService, UserServiceStub};
use rpc::{CallReport, ClientBuilder};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;

use anyhow::Context as _;

/// Callers, each with a call under way all the time.
const CALLERS: u64 = 32;
/// Calls that each of them makes.
const EACH: usize = 4;

/// Calls of `nap` that are being made.
pub(crate) struct Naps {
    reports: Receiver<CallReport>,
    #[expect(dead_code, reason = "held so that the callers end with the scene")]
    callers: JoinSet<()>,
}

impl Naps {
    /// How many are made.
    pub(crate) const ALL: usize = CALLERS as usize * EACH;

    /// Begins, with a client and the reports of its calls.
    pub(crate) fn begin((client, reports): (ClientBuilder, Receiver<CallReport>)) -> anyhow::Result<Self> {
        let users: UserServiceStub = client.build()?.stub()?;
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let users = users.clone();
            callers.spawn(async move {
                for _ in 0..EACH {
                    // What came of it is in the report.
                    let _ = users.nap(100 + 5 * caller).await;
                }
            });
        }
        Ok(Self { reports, callers })
    }

    /// The reports of the next so many calls that end.
    pub(crate) async fn next(&mut self, calls: usize) -> anyhow::Result<Vec<CallReport>> {
        let mut ended = Vec::new();
        while ended.len() < calls {
            ended.push(self.reports.recv().await.context("a caller ended before its time")?);
        }
        Ok(ended)
    }
}
