//! The demo: three providers and a client in one process, over real sockets.

use std::time::Duration;

use anyhow::Context as _;
use example_api::{Store, UserServiceDispatcher, UserServiceStub, Users};
use rpc::{Client, Server};

use crate::scenes;

/// The ids of the providers.
pub(crate) const PROVIDERS: [&str; 3] = ["provider-1", "provider-2", "provider-3"];

/// All scenes together; they take a second or two.
const WITHIN: Duration = Duration::from_secs(20);

/// What the scenes play with.
pub(crate) struct Stage {
    /// The running providers, in the order of [`PROVIDERS`].
    pub(crate) servers: Vec<Server>,
    /// A stub that knows all of them.
    pub(crate) users: UserServiceStub,
}

/// Plays all scenes. An error says which of them did not show what it should.
pub(crate) async fn run() -> anyhow::Result<()> {
    tokio::time::timeout(WITHIN, play()).await.with_context(|| format!("the demo did not end within {WITHIN:?}"))?
}

async fn play() -> anyhow::Result<()> {
    let stage = Stage::set().await?;
    scenes::spread(&stage).await.context("scene 1, spread")?;
    scenes::own_errors(&stage).await.context("scene 2, own errors")?;
    scenes::deadline(&stage).await.context("scene 3, deadline")?;
    scenes::report(&stage).await.context("scene 4, report")?;
    scenes::leave(stage).await.context("scene 5, leaving")?;
    println!("\nEverything was as expected.");
    Ok(())
}

impl Stage {
    async fn set() -> anyhow::Result<Self> {
        println!("Three providers of UserService start, each on a TCP port of its own:\n");
        let store = Store::default();
        let mut servers = Vec::new();
        for id in PROVIDERS {
            let users = UserServiceDispatcher::new(Users::new(id, store.clone()));
            let server = Server::builder().service(users).listen("127.0.0.1:0").id(id).start().await?;
            println!("    {id}  {}", server.address());
            servers.push(server);
        }
        let addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
        let registry = format!("direct://{}", addresses.join(","));
        println!("\nA client finds them in the url of its registry:\n\n    {registry}");
        let users = Client::builder().registry(registry).build()?.stub()?;
        Ok(Self { servers, users })
    }
}
