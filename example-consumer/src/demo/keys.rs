//! The scene of the keys: which calls belong together.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use anyhow::{Context as _, ensure};
use example_api::{UserError, UserService, UserServiceStub};
use rpc::{CallReport, Change, Changes, Client};
use tokio::sync::mpsc::Receiver;

use super::print::{self, scene};
use super::stage::{PROVIDERS, Stage, observed};

const LEAVING: &str = "provider-2";
/// Not a multiple of the providers' number: going round by turns would not look like keys.
const IDS: RangeInclusive<u64> = 1..=400;

/// Which provider answers for each id.
type Homes = BTreeMap<u64, String>;

/// The same id goes to the same provider, and only the ids of one that leaves move.
pub(crate) async fn stick(stage: &mut Stage) -> anyhow::Result<()> {
    scene(
        "5. The same key, the same provider",
        "The argument of `get_user` is marked as its key, and the load balancer `consistentHash` goes by keys.\n\
         So each id has its provider, whichever client asks; providers may keep in memory what belongs to an id.",
    )?;
    let (mut asker, mut other) = (Asker::new()?, Asker::new()?);
    let before = asker.homes().await?;
    ensure!(before == asker.homes().await?, "an id was answered elsewhere the second time");
    ensure!(before == other.homes().await?, "an id was answered elsewhere when another client asked");

    let mut changes = asker.client.changes::<UserServiceStub>()?;
    stage.take(LEAVING)?.shutdown().await;
    seen(&mut changes, |change| change.removed.iter().any(|gone| gone.id == LEAVING)).await?;
    let without = asker.homes().await?;
    stage.start(LEAVING).await?;
    seen(&mut changes, |change| change.added.iter().any(|new| new.id == LEAVING)).await?;
    let after = asker.homes().await?;

    say!("Ids {} to {} by the provider that answered, while {LEAVING} leaves and comes back", IDS.start(), IDS.end())?;
    say!("(under its id, at another port):\n")?;
    let count = |homes: &Homes, id| homes.values().filter(|home| *home == id).count();
    let counts = BTreeMap::from(PROVIDERS.map(|id| (id, [&before, &without, &after].map(|homes| count(homes, id)))));
    print::table(["all there", "without provider-2", "back again"], &counts)?;
    let moved: Vec<_> = IDS.filter(|id| before[id] != without[id]).collect();
    say!("\nLook for what moved: {} ids, all of them of {LEAVING}; and they went back.", moved.len())?;
    ensure!(counts.values().all(|[before, ..]| *before > 0), "the ids are not spread over all providers");
    ensure!(counts[LEAVING][1] == 0, "{LEAVING} still answered");
    ensure!(moved.iter().all(|id| before[id] == LEAVING), "ids of providers that stayed moved too");
    ensure!(before == after, "ids did not go back to {LEAVING}");
    Ok(())
}

/// A client that goes by keys, and the reports of its calls.
struct Asker {
    client: Client,
    users: UserServiceStub,
    reports: Receiver<CallReport>,
}

impl Asker {
    fn new() -> anyhow::Result<Self> {
        let (client, reports) = observed();
        let client = client.load_balancer("consistentHash").build()?;
        Ok(Self { users: client.stub()?, client, reports })
    }

    /// Asks for every id.
    async fn homes(&mut self) -> anyhow::Result<Homes> {
        let mut homes = Homes::new();
        for id in IDS {
            match self.users.get_user(id).await {
                Ok(_) | Err(UserError::Unknown { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let report = self.reports.try_recv().context("no report came")?;
            let answered = report.steps.last().context("a report tells of no attempt")?;
            homes.insert(id, answered.instance.clone());
        }
        Ok(homes)
    }
}

/// Waits until a client has heard of a change.
async fn seen(changes: &mut Changes, is_it: impl Fn(&Change) -> bool) -> anyhow::Result<()> {
    while !is_it(&changes.next().await.context("the client is gone")?) {}
    Ok(())
}
