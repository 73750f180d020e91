//! The task that keeps a directory fresh: events where the registry pushes, lookups on a period, patience where it fails.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::change::Source;
use super::directory::Shared;
use crate::registry::{InstanceList, InstanceWatch};
use crate::{BoxError, BoxFuture};

/// The period of lookups while events arrive, and where there are none to expect.
const PERIOD: Duration = Duration::from_secs(30);
/// The period while a watch is down.
const PERIOD_WITHOUT_WATCH: Duration = Duration::from_secs(5);
/// Each period is drawn anew within this share of it, so that the clients of a registry spread out after a common start.
const JITTER: f64 = 0.2;
/// A registry that does not answer a lookup, or does not open a watch, within this time has failed.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// While callers wait for a first list, a failing registry is asked again this soon, and no sooner.
const FIRST_AGAIN: Duration = Duration::from_millis(100);

/// How a directory is kept fresh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refresh {
    /// Time between two lookups; less while a watch is down.
    pub(crate) period: Duration,
    /// Whether to watch where the registry can push.
    pub(crate) events: bool,
}

impl Default for Refresh {
    fn default() -> Self {
        Self { period: PERIOD, events: true }
    }
}

/// Following one service.
pub(super) struct Follow<S> {
    shared: Arc<Shared<S>>,
    refresh: Refresh,
    watch: Watch,
    /// The lookup under way.
    lookup: Option<Lookup>,
    /// When to ask next.
    due: Instant,
}

enum Watch {
    /// To be opened.
    Wanted,
    Open(Box<dyn InstanceWatch>),
    /// Open, but failing.
    Down(Box<dyn InstanceWatch>),
    /// Not wanted, or not to be had.
    None,
}

type Lookup = Pin<Box<dyn Future<Output = Result<InstanceList, BoxError>> + Send>>;

impl<S: Send + Sync + 'static> Follow<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, refresh: Refresh) -> Self {
        let watch = if refresh.events { Watch::Wanted } else { Watch::None };
        Self { shared, refresh, watch, lookup: None, due: Instant::now() }
    }

    pub(super) async fn run(mut self) {
        loop {
            if matches!(self.watch, Watch::Wanted) && Instant::now() >= self.due {
                self.watch = open_watch(&self.shared).await;
                self.schedule();
                if !matches!(self.watch, Watch::Open(_)) {
                    self.ask();
                }
            }
            tokio::select! {
                biased;
                list = next(&mut self.watch) => self.pushed(list).await,
                result = finish(&mut self.lookup) => self.looked_up(result).await,
                () = sleep_until(self.due), if self.lookup.is_none() => self.fall_due(),
                () = self.shared.wanted.notified(), if !self.shared.has_list() => self.hurry(),
            }
        }
    }

    /// Begins a lookup.
    fn ask(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.lookup = Some(Box::pin(async move {
            let lookup = timeout(ANSWER_WITHIN, shared.discovery.lookup(shared.service));
            lookup.await.unwrap_or_else(|_| Err(no_answer("answer a lookup")))
        }));
    }

    /// The period is over. A watch that is wanted is opened first.
    fn fall_due(&mut self) {
        if !matches!(self.watch, Watch::Wanted) {
            self.ask();
        }
    }

    /// A caller waits for a first list.
    fn hurry(&mut self) {
        self.due = self.due.min(Instant::now() + FIRST_AGAIN);
    }

    async fn looked_up(&mut self, result: Result<InstanceList, BoxError>) {
        self.schedule();
        match result {
            Ok(list) => self.shared.update(list, Source::Refresh).await,
            Err(error) => self.shared.failed(error),
        }
    }

    async fn pushed(&mut self, list: Option<Result<InstanceList, BoxError>>) {
        match list {
            Some(Ok(list)) => {
                self.watch = match std::mem::replace(&mut self.watch, Watch::None) {
                    Watch::Down(watch) => Watch::Open(watch),
                    other => other,
                };
                // A lookup that is under way may have read an earlier state.
                self.lookup = None;
                self.schedule();
                self.shared.update(list, Source::Event).await;
            }
            Some(Err(error)) => {
                if let Watch::Open(watch) = std::mem::replace(&mut self.watch, Watch::None) {
                    self.watch = Watch::Down(watch);
                }
                self.shared.failed(error);
                self.schedule();
            }
            None => {
                tracing::debug!(service = self.shared.service, "the watch ended; opening another");
                self.watch = Watch::Wanted;
                self.due = Instant::now();
            }
        }
    }

    /// Draws the time of the next lookup.
    fn schedule(&mut self) {
        let period = match self.watch {
            Watch::Open(_) | Watch::None => self.refresh.period,
            Watch::Wanted | Watch::Down(_) => self.refresh.period.min(PERIOD_WITHOUT_WATCH),
        };
        let factor = 1.0 + JITTER * (2.0 * fastrand::f64() - 1.0);
        self.due = Instant::now() + period.mul_f64(factor);
    }
}

/// Opens the watch; its first list is as good as a lookup.
async fn open_watch<S>(shared: &Shared<S>) -> Watch {
    let opening = timeout(ANSWER_WITHIN, shared.discovery.watch(shared.service));
    match opening.await.unwrap_or_else(|_| Err(no_answer("open a watch"))) {
        Ok(Some(watch)) => Watch::Open(watch),
        Ok(None) => Watch::None,
        Err(error) => {
            tracing::debug!(service = shared.service, %error, "no watch; asking instead");
            Watch::Wanted
        }
    }
}

/// The watch's next list; waits for ever if none is open.
fn next(watch: &mut Watch) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>> {
    match watch {
        Watch::Open(watch) | Watch::Down(watch) => watch.next(),
        Watch::Wanted | Watch::None => Box::pin(std::future::pending()),
    }
}

/// The end of the lookup under way; waits for ever if there is none. Cancel safe.
async fn finish(lookup: &mut Option<Lookup>) -> Result<InstanceList, BoxError> {
    match lookup {
        Some(running) => {
            let result = running.await;
            *lookup = None;
            result
        }
        None => std::future::pending().await,
    }
}

fn no_answer(what: &str) -> BoxError {
    format!("the registry did not {what} within {} s", ANSWER_WITHIN.as_secs()).into()
}
