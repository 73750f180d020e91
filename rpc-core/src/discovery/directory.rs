//! What a client knows of one service's instances.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::change::{Change, Changes, Instances, Source};
use super::follow::{Follow, Refresh};
use crate::loadbalancer::Endpoints;
use crate::lock::lock;
use crate::registry::{Discovery, InstanceList};
use crate::{BoxError, ServiceInstance};

/// Changes that wait for a subscriber, at most.
const WAITING_CHANGES: usize = 64;

/// Lists from here on are prepared on a thread for blocking work: a ring of many points takes milliseconds.
const LARGE_LIST: usize = 32;

/// The cached list of one service, and the task that keeps it fresh. `S` is what calls work on.
pub(crate) struct Directory<S> {
    shared: Arc<Shared<S>>,
    /// Started by the first use, since it needs a runtime.
    task: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Makes what calls work on of a list. The one before is given, so that what stays can be kept.
pub(crate) trait Publish<S>: Send + Sync + 'static {
    /// Prepares a list for calls. May take its time.
    fn prepare(&self, endpoints: Arc<Endpoints>, before: Option<&S>) -> S;
}

pub(super) struct Shared<S> {
    pub(super) service: &'static str,
    pub(super) discovery: Arc<dyn Discovery>,
    publish: Arc<dyn Publish<S>>,
    current: ArcSwapOption<S>,
    known: Mutex<Known>,
    changes: broadcast::Sender<Change>,
    /// Counts how often the registry was asked and keeps the last failure, for those who wait for a first list.
    rounds: watch::Sender<Round>,
    /// Somebody waits for a first list.
    pub(super) wanted: Notify,
    followed: AtomicBool,
}

/// Notes the end of the task that follows the registry, whatever ends it.
struct FollowedGuard<S>(Arc<Shared<S>>);

impl<S> Drop for FollowedGuard<S> {
    fn drop(&mut self) {
        self.0.followed.store(false, Ordering::Relaxed);
    }
}

/// Why the registry gave no list; shared by all who waited for it.
#[derive(Debug, Clone)]
pub(crate) struct RegistryFailure(Arc<BoxError>);

impl RegistryFailure {
    fn new(text: &str) -> Self {
        Self(Arc::new(text.into()))
    }
}

impl fmt::Display for RegistryFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for RegistryFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

struct Known {
    endpoints: Arc<Endpoints>,
    confirmed: Instant,
    failure: Option<RegistryFailure>,
}

#[derive(Debug, Clone, Default)]
struct Round {
    number: u64,
    failure: Option<RegistryFailure>,
}

impl<S: Send + Sync + 'static> Directory<S> {
    pub(crate) fn new(service: &'static str, discovery: Arc<dyn Discovery>, publish: Arc<dyn Publish<S>>) -> Self {
        let none =
            Known { endpoints: Arc::new(Endpoints::from_instances([])), confirmed: Instant::now(), failure: None };
        let shared = Shared {
            service,
            discovery,
            publish,
            current: ArcSwapOption::empty(),
            known: Mutex::new(none),
            changes: broadcast::Sender::new(WAITING_CHANGES),
            rounds: watch::Sender::default(),
            wanted: Notify::new(),
            followed: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), task: Mutex::default() }
    }

    /// Looks at what calls work on; `None` if there is no list yet. Never waits. What has been looked at is not kept alive: all calls would
    /// count the same references.
    pub(crate) fn read<R>(&self, look: impl FnOnce(&S) -> R) -> Option<R> {
        self.shared.current.load().as_deref().map(look)
    }

    /// Whether the registry is being followed: the task ends with the runtime it was started in.
    pub(crate) fn is_followed(&self) -> bool {
        self.shared.followed.load(Ordering::Relaxed)
    }

    /// Waits until there is a list: the first use has the registry asked, once for all who wait. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the registry fails.
    pub(crate) async fn first(&self, refresh: Refresh) -> Result<(), RegistryFailure> {
        let mut rounds = self.shared.rounds.subscribe();
        let seen = rounds.borrow_and_update().number;
        // What came before the subscription is not announced to it.
        if self.shared.has_list() {
            return Ok(());
        }
        self.follow(refresh);
        self.shared.wanted.notify_one();
        // The sender lives in `shared`, so this ends with an answer or with the caller's patience.
        let failure = match rounds.wait_for(|round| round.number > seen).await {
            Ok(round) => round.failure.clone(),
            Err(_) => None,
        };
        match failure {
            _ if self.shared.has_list() => Ok(()),
            Some(failure) => Err(failure),
            None => Err(RegistryFailure::new("the task that follows the registry ended")),
        }
    }

    /// Starts following the registry, unless that was done. Needs a runtime.
    pub(crate) fn follow(&self, refresh: Refresh) {
        let mut task = lock(&self.task);
        if task.as_ref().is_none_or(|task| task.is_finished() || !self.is_followed()) {
            self.shared.followed.store(true, Ordering::Relaxed);
            let guard = FollowedGuard(Arc::clone(&self.shared));
            let follow = Follow::new(Arc::clone(&self.shared), refresh);
            *task = Some(AbortOnDropHandle::new(tokio::spawn(async move {
                let _guard = guard;
                follow.run().await;
            })));
        }
    }

    /// Subscribes to changes from now on.
    pub(crate) fn changes(&self) -> Changes {
        Changes::new(self.shared.changes.subscribe())
    }

    /// What is known now.
    pub(crate) fn instances(&self) -> Instances {
        let known = lock(&self.shared.known);
        Instances {
            list: known.endpoints.iter().map(|endpoint| endpoint.instance().clone()).collect(),
            age: known.confirmed.elapsed(),
            failure: known.failure.as_ref().map(|failure| failure.to_string()),
        }
    }
}

impl<S: Send + Sync + 'static> Shared<S> {
    pub(super) fn has_list(&self) -> bool {
        self.current.load().is_some()
    }

    /// Takes a list over. An equal one changes nothing but its age.
    pub(super) async fn update(&self, list: InstanceList, source: Source) {
        let endpoints = Arc::new(Endpoints::from_instances(list.instances));
        let before = Arc::clone(&lock(&self.known).endpoints);
        if !self.has_list() || !instances(&before).eq(instances(&endpoints)) {
            match self.prepare(Arc::clone(&endpoints)).await {
                Ok(prepared) => self.current.store(Some(Arc::new(prepared))),
                Err(error) => return self.failed(error),
            }
        }
        self.confirm(Arc::clone(&endpoints));
        let change = Change::between(&before, &endpoints, source);
        if !change.is_empty() {
            tracing::debug!(service = self.service, instances = endpoints.len(), ?source, "instances changed");
            // Nobody need have subscribed.
            let _ = self.changes.send(change);
        }
        self.answered(None);
    }

    /// Notes that this is the list, as of now.
    fn confirm(&self, endpoints: Arc<Endpoints>) {
        let mut known = lock(&self.known);
        if known.failure.take().is_some() {
            tracing::info!(service = self.service, "the registry answers again");
        }
        known.endpoints = endpoints;
        known.confirmed = Instant::now();
    }

    /// What calls work on, made of a list. A balancer that panics on it has failed, and nothing else has.
    async fn prepare(&self, endpoints: Arc<Endpoints>) -> Result<S, BoxError> {
        let (publish, before) = (Arc::clone(&self.publish), self.current.load_full());
        let is_large = endpoints.len() >= LARGE_LIST;
        let prepare = move || catch_unwind(AssertUnwindSafe(|| publish.prepare(endpoints, before.as_deref())));
        let prepared = if is_large { tokio::task::spawn_blocking(prepare).await? } else { prepare() };
        prepared.map_err(|_| "the load balancer panicked on the list".into())
    }

    /// Notes a failure: the list stays as it is.
    pub(super) fn failed(&self, error: BoxError) {
        let failure = RegistryFailure(Arc::new(error));
        let mut known = lock(&self.known);
        if known.failure.is_none() {
            let (service, error, age) = (self.service, &failure, known.confirmed.elapsed());
            if self.has_list() {
                tracing::warn!(service, %error, ?age, "the registry fails; what it last said stays in use");
            } else {
                tracing::warn!(service, %error, "the registry fails; calls fail until it answers");
            }
        }
        known.failure = Some(failure.clone());
        drop(known);
        self.answered(Some(failure));
    }

    fn answered(&self, failure: Option<RegistryFailure>) {
        self.rounds.send_modify(|round| *round = Round { number: round.number + 1, failure });
    }
}

fn instances(endpoints: &Endpoints) -> impl Iterator<Item = &ServiceInstance> {
    endpoints.iter().map(|endpoint| endpoint.instance())
}

impl<S> fmt::Debug for Directory<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = lock(&self.shared.known);
        f.debug_struct("Directory")
            .field("service", &self.shared.service)
            .field("endpoints", &known.endpoints)
            .field("failure", &known.failure)
            .finish_non_exhaustive()
    }
}
