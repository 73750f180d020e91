//! The way to etcd: connected when it is first used, every question with a limit.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, ConnectOptions, Error};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use super::config::Config;
use super::error::{Failure, is_transient};

/// How long a question may take, all tries together.
pub(super) const LIMIT: Duration = Duration::from_secs(3);
/// How long one try may take: another endpoint may answer where one is silent.
const TRY_LIMIT: Duration = Duration::from_millis(1_400);
/// How often a question is asked where the failure may be of the moment, such as one endpoint that is down or an election.
const TRIES: u32 = 5;
/// The pause before the second try; it doubles with each.
const PAUSE: Duration = Duration::from_millis(50);
/// How long connecting to an endpoint may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// A connection is pinged this often, and dead without an answer this long after it. More often than every 5 s, etcd takes for an
/// attack and hangs up.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(3));

/// A client of etcd.
pub(super) struct Connection {
    endpoints: Vec<String>,
    /// The same for messages.
    shown: Arc<str>,
    client: OnceCell<Client>,
}

impl Connection {
    pub(super) fn new(config: &Config) -> Self {
        let endpoints = config.endpoints.clone();
        Self { shown: endpoints.join(",").into(), endpoints, client: OnceCell::new() }
    }

    /// The endpoints, for messages.
    pub(super) fn endpoints(&self) -> Arc<str> {
        Arc::clone(&self.shown)
    }

    /// Asks etcd something, again where that may help and within [`LIMIT`]; so it must do no harm to ask twice.
    ///
    /// # Errors
    ///
    /// When etcd does not answer, or refuses.
    pub(super) async fn ask<T, F>(&self, what: &'static str, ask: impl Fn(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let until = Instant::now() + LIMIT;
        let mut pause = PAUSE;
        let mut tries = 1;
        loop {
            let limit = TRY_LIMIT.min(until.saturating_duration_since(Instant::now()));
            let source = match timeout(limit, self.try_once(&ask)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) if is_transient(&error) => Some(Arc::new(error)),
                Ok(Err(error)) => return Err(self.refused(what, error)),
                Err(_) => None,
            };
            if tries == TRIES || Instant::now() + pause >= until {
                return Err(Failure::Unreachable { what, endpoints: self.endpoints(), source });
            }
            sleep(pause).await;
            pause *= 2;
            tries += 1;
        }
    }

    async fn try_once<T, F>(&self, ask: &impl Fn(Client) -> F) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        // Connecting is not waited for here: the first question finds out. The client also connects again by itself.
        let client = self.client.get_or_try_init(|| Client::connect(&self.endpoints, Some(options()))).await?;
        ask(client.clone()).await
    }

    fn refused(&self, what: &'static str, error: Error) -> Failure {
        Failure::Refused { what, endpoints: self.endpoints(), source: Arc::new(error) }
    }
}

/// With a leader required, an endpoint that is cut off from the others says so, where it would be silent or answer what is past.
fn options() -> ConnectOptions {
    let (interval, limit) = PING;
    ConnectOptions::new().with_connect_timeout(CONNECT_LIMIT).with_keep_alive(interval, limit).with_require_leader(true)
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}
