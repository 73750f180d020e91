//! The task that announces what is wanted, and keeps it announced.

use std::collections::HashMap;
use std::sync::{Arc, Once};
use std::time::Duration;

use rpc_core::ServiceInstance;
use tokio::time::sleep;

use super::announce::{put, take_out};
use super::connection::Connection;
use super::error::Failure;
use super::lease::{LEASE_GONE, Lease};
use super::outage::Outage;
use super::pause::Pauses;
use super::wanted::{Told, Wanted, Wish};

/// The owner of the task. Once it is dropped, nothing can be wanted; the task takes out what is left, if etcd lets it within the limits
/// of a question each, and ends.
#[derive(Debug)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    started: Once,
}

#[derive(Debug)]
struct Shared {
    connection: Arc<Connection>,
    /// What is asked for, in seconds.
    lease_ttl: i64,
    wanted: Wanted,
    outage: Outage,
}

/// Why announcing under a lease ended.
enum End {
    /// Nothing is wanted, and the lease is given back.
    Idle,
    /// The lease is gone, as is said.
    Lost(&'static str),
}

impl Keeper {
    pub(super) fn new(connection: Arc<Connection>, lease_ttl: i64) -> Self {
        let outage = Outage::at(connection.endpoints());
        let shared = Shared { connection, lease_ttl, wanted: Wanted::default(), outage };
        Self { shared: Arc::new(shared), started: Once::new() }
    }

    /// Wishes for an instance; gives the number to change that with. Starts the task, which needs a runtime.
    pub(super) fn claim(&self, key: &str, instance: ServiceInstance) -> Result<(u64, Told), Failure> {
        self.started.call_once(|| {
            tokio::spawn(Arc::clone(&self.shared).run());
        });
        self.shared.wanted.claim(key, instance)
    }

    /// See [`Wanted::change`].
    pub(super) fn change(&self, key: &str, owner: u64, instance: Option<ServiceInstance>) -> Option<Told> {
        self.shared.wanted.change(key, owner, instance)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.wanted.close();
    }
}

impl Shared {
    async fn run(self: Arc<Self>) {
        let mut pauses = Pauses::up_to(Duration::from_secs(self.lease_ttl.unsigned_abs()) / 3);
        loop {
            self.wanted.start_over();
            if !self.wanted.any_but(None) {
                self.outage.forget();
                if self.wanted.is_closed() {
                    return;
                }
                self.wanted.changed().await;
                continue;
            }
            match Lease::grant(&self.connection, self.lease_ttl).await {
                Ok(lease) => {
                    pauses = Pauses::up_to(lease.period());
                    self.announce(&lease).await;
                }
                Err(failure) => {
                    self.wanted.open().iter().for_each(|wish| self.failed(wish, failure.clone()));
                    self.wait(&mut pauses).await;
                }
            }
        }
    }

    /// Announces under a lease until that is gone or not needed any more.
    async fn announce(&self, lease: &Lease) {
        let renewed = || {
            if self.wanted.is_fulfilled() {
                self.outage.end();
            }
        };
        let end = tokio::select! {
            end = self.fulfil(lease) => end,
            why = lease.keep(&self.connection, &self.outage, renewed) => End::Lost(why),
        };
        match end {
            // Else it was given back just now.
            End::Lost(why) if self.wanted.any_but(None) => self.outage.begin(why),
            _ => {}
        }
    }

    /// Announces and takes out, as is wanted, under a lease.
    async fn fulfil(&self, lease: &Lease) -> End {
        let mut seen = HashMap::new();
        let mut pauses = Pauses::up_to(lease.period());
        loop {
            // First, so that the last wishes before it are seen.
            let is_closed = self.wanted.is_closed();
            let (mut has_answered, mut has_failed) = (false, false);
            for wish in self.wanted.open() {
                match self.fulfil_one(lease, &wish, &mut seen).await {
                    Ok(is_given_back) => {
                        has_answered = true;
                        self.wanted.settle(&wish, Ok(()));
                        if is_given_back {
                            return End::Idle;
                        }
                    }
                    Err(failure) if failure.is_of_a_lost_lease() => return End::Lost(LEASE_GONE),
                    Err(failure) => {
                        has_failed = true;
                        self.failed(&wish, failure);
                    }
                }
            }
            if is_closed {
                return End::Idle;
            }
            if has_failed {
                self.wait(&mut pauses).await;
                continue;
            }
            pauses.reset();
            if self.wanted.is_fulfilled() {
                // Else etcd may be away still.
                if has_answered {
                    self.outage.end();
                }
                tokio::select! {
                    () = self.wanted.changed() => {}
                    () = sleep(lease.period()) => {
                        if self.is_gone(lease).await {
                            return End::Lost(LEASE_GONE);
                        }
                    }
                }
            }
        }
    }

    /// Whether the lease is gone. If not, finds what others deleted under it, which is then wanted again.
    async fn is_gone(&self, lease: &Lease) -> bool {
        match lease.keys(&self.connection).await {
            Ok(None) => return true,
            Ok(Some(keys)) => {
                for key in self.wanted.lost(&keys) {
                    let etcd = self.connection.endpoints();
                    tracing::warn!(%etcd, key, "an instance was deleted by another hand; announcing it again");
                }
            }
            // If that matters, it is found when the lease is renewed.
            Err(error) => tracing::debug!(%error, "cannot look what is under the lease"),
        }
        false
    }

    /// Puts one instance, or takes it out. With the last one the lease is given back; whether it was.
    async fn fulfil_one(&self, lease: &Lease, wish: &Wish, seen: &mut HashMap<String, i64>) -> Result<bool, Failure> {
        let Some(instance) = &wish.instance else {
            take_out(&self.connection, lease, &wish.key).await?;
            seen.remove(&wish.key);
            let is_last = !self.wanted.any_but(Some(&wish.key));
            if is_last && let Err(error) = lease.revoke(&self.connection).await {
                tracing::debug!(%error, "the lease, which nothing is under, goes by itself");
            }
            return Ok(is_last);
        };
        let seen = seen.entry(wish.key.clone()).or_default();
        *seen = put(&self.connection, lease, &wish.key, instance, *seen).await?;
        Ok(false)
    }

    /// Tells who waits. If nobody does, it is a later try, and worth a warning.
    fn failed(&self, wish: &Wish, failure: Failure) {
        if !self.wanted.settle(wish, Err(failure.clone())) {
            self.outage.begin(&failure);
        }
    }

    /// Waits a while, or until something else is wanted.
    async fn wait(&self, pauses: &mut Pauses) {
        tokio::select! {
            () = sleep(pauses.next()) => {}
            () = self.wanted.changed() => {}
        }
    }
}
