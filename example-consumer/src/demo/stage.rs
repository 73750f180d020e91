//! What the scenes play with: providers that come and go, a registry, and clients.

use std::collections::BTreeMap;

use anyhow::Context as _;
use example_api::{UserServiceDispatcher, Users};
use rpc::{CallReport, ClientBuilder, Config, Server};
use tokio::sync::mpsc;

/// The ids of the providers that are there from the beginning.
pub(crate) const PROVIDERS: [&str; 3] = ["provider-1", "provider-2", "provider-3"];

/// Providers announce themselves here, and clients look here for them.
const REGISTRY: &str = "memory:demo";

/// The running providers, by id.
pub(crate) struct Stage {
    servers: BTreeMap<&'static str, Server>,
    users: Users,
}

impl Stage {
    /// Starts the first providers.
    pub(crate) async fn set() -> anyhow::Result<Self> {
        say!("Three providers of UserService start, each on a TCP port of its own, and register in `{REGISTRY}`:\n")?;
        let mut stage = Self { servers: BTreeMap::new(), users: Users::default() };
        for id in PROVIDERS {
            stage.start(id).await?;
            say!("    {id}  {}", stage.servers[id].address())?;
        }
        say!(
            "\nClients are told the registry, and find the providers there. The configuration, all of it default but the registry:\n"
        )?;
        for line in config().to_string().lines() {
            say!("    {line}")?;
        }
        Ok(stage)
    }

    /// Starts a provider. Who finds it in the registry finds it serving.
    pub(crate) async fn start(&mut self, id: &'static str) -> anyhow::Result<()> {
        let users = UserServiceDispatcher::new(self.users.clone());
        let server = config().server().service(users).listen("127.0.0.1:0").id(id);
        self.servers.insert(id, server.start().await?);
        Ok(())
    }

    /// Hands a provider over: to shut it down, or to drop it, which is what a crash is to its clients.
    pub(crate) fn take(&mut self, id: &str) -> anyhow::Result<Server> {
        self.servers.remove(id).with_context(|| format!("{id} does not run"))
    }

    /// Shuts all providers down.
    pub(crate) async fn clear(&mut self) {
        for server in std::mem::take(&mut self.servers).into_values() {
            server.shutdown().await;
        }
    }
}

/// What all begin with.
fn config() -> Config {
    let mut config = Config::default();
    config.set_registry(REGISTRY);
    config
}

/// A client of the registry, to be configured further.
pub(crate) fn client() -> ClientBuilder {
    config().client()
}

/// Reports that wait for a scene to look at them, at most: more than any makes calls.
const MAX_REPORTS: usize = 100_000;

/// The same, with a report of each of its calls.
pub(crate) fn observed() -> (ClientBuilder, mpsc::Receiver<CallReport>) {
    let (sender, reports) = mpsc::channel(MAX_REPORTS);
    let client = client().observe(move |report| {
        // A scene that has seen enough no longer receives; one that misses a report says so.
        let _ = sender.try_send(report.clone());
    });
    (client, reports)
}
