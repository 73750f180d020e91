//! A lease, and keeping it: what is announced under it lives as long as it does.

use std::time::Duration;

use etcd_client::{Client, Error, LeaseKeepAliveStream, LeaseKeeper, LeaseTimeToLiveOptions};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::connection::{Connection, LIMIT};
use super::error::Failure;
use super::outage::Outage;
use super::pause::Pauses;

/// Why everything is announced again.
pub(super) const LEASE_GONE: &str = "the lease is gone";

/// What etcd granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    pub(super) id: i64,
    ttl: Duration,
    /// When it was certainly not granted yet.
    asked: Instant,
}

/// How keeping a lease on one stream ended.
enum End {
    /// The lease is gone.
    Gone,
    /// The stream could not be opened.
    Closed(Failure),
    /// The stream ended, failed or fell silent.
    Broken(Option<Error>),
}

impl Lease {
    /// Asks for a lease of `ttl` seconds. That of the answer counts: etcd grants no less than it can keep.
    ///
    /// # Errors
    ///
    /// When etcd does not answer, or refuses.
    pub(super) async fn grant(connection: &Connection, ttl: i64) -> Result<Self, Failure> {
        let asked = Instant::now();
        let grant = |mut client: Client| async move { client.lease_grant(ttl, None).await };
        let granted = connection.ask("get a lease", grant).await?;
        let lease = Self { id: granted.id(), ttl: Duration::from_secs(granted.ttl().max(1).unsigned_abs()), asked };
        tracing::debug!(lease = lease.id, ttl = ?lease.ttl, "a lease was granted");
        Ok(lease)
    }

    /// Gives the lease back, and all that is announced under it. One that is gone is no error.
    pub(super) async fn revoke(&self, connection: &Connection) -> Result<(), Failure> {
        let id = self.id;
        let revoke = |mut client: Client| async move { client.lease_revoke(id).await };
        match connection.ask("give the lease back", revoke).await {
            Err(failure) if !failure.is_of_a_lost_lease() => Err(failure),
            _ => Ok(()),
        }
    }

    /// The keys under it; nothing if it is gone.
    ///
    /// # Errors
    ///
    /// When etcd does not answer, or refuses.
    pub(super) async fn keys(&self, connection: &Connection) -> Result<Option<Vec<Vec<u8>>>, Failure> {
        let id = self.id;
        let options = LeaseTimeToLiveOptions::new().with_keys();
        let look = |mut client: Client| {
            let options = options.clone();
            async move { client.lease_time_to_live(id, Some(options)).await }
        };
        let answer = connection.ask("look what is under the lease", look).await?;
        // In its last second, a lease that lives has 0 left.
        Ok((answer.ttl() >= 0).then(|| answer.keys().to_vec()))
    }

    /// How often it is renewed, and looked at.
    pub(super) fn period(&self) -> Duration {
        self.ttl / 3
    }

    /// Renews the lease, on one stream after another, until it is gone; says how. One that was not renewed for its whole time counts as
    /// gone, even if an etcd that was away may still have it when it is back: it would have no time left. Calls `renewed` each time.
    pub(super) async fn keep(&self, connection: &Connection, outage: &Outage, renewed: impl Fn()) -> &'static str {
        let mut confirmed = self.asked;
        let mut pauses = Pauses::up_to(self.period());
        loop {
            match self.renew(connection, &mut confirmed, &renewed).await {
                End::Gone => return LEASE_GONE,
                // Another stream may do, which is opened at once.
                End::Broken(error) => {
                    tracing::debug!(lease = self.id, ?error, "the stream of the lease ended; opening another");
                    pauses.reset();
                }
                End::Closed(failure) => {
                    outage.begin(&failure);
                    sleep(pauses.next()).await;
                }
            }
            if confirmed.elapsed() >= self.ttl {
                return "the lease could not be renewed in time";
            }
        }
    }

    /// Renews the lease on one stream, until that ends.
    async fn renew(&self, connection: &Connection, confirmed: &mut Instant, renewed: &impl Fn()) -> End {
        let id = self.id;
        let mut opened: Option<(LeaseKeeper, LeaseKeepAliveStream)> = None;
        loop {
            sleep_until(*confirmed + self.period()).await;
            let asked = Instant::now();
            match &mut opened {
                // The client sends the first request itself, and takes its answer.
                None => {
                    let open = |mut client: Client| async move { client.lease_keep_alive(id).await };
                    match connection.ask("renew the lease", open).await {
                        Ok(stream) => opened = Some(stream),
                        Err(failure) if failure.is_of_a_lost_lease() => return End::Gone,
                        Err(failure) => return End::Closed(failure),
                    }
                }
                Some((keeper, stream)) => match timeout(LIMIT.min(self.period()), beat(keeper, stream)).await {
                    Ok(Ok(Some(true))) => {}
                    Ok(Ok(Some(false))) => return End::Gone,
                    Ok(Ok(None)) | Err(_) => return End::Broken(None),
                    Ok(Err(error)) => return End::Broken(Some(error)),
                },
            }
            *confirmed = asked;
            renewed();
        }
    }
}

/// One request and its answer, always together: answers that nobody reads pile up until the connection breaks. Whether the lease
/// lives; nothing if the stream ended.
async fn beat(keeper: &mut LeaseKeeper, stream: &mut LeaseKeepAliveStream) -> Result<Option<bool>, Error> {
    keeper.keep_alive().await?;
    Ok(stream.message().await?.map(|answer| answer.ttl() > 0))
}
