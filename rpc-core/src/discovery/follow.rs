//! The task that keeps a directory fresh: events where the registry pushes, lookups on a period, patience where it fails.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};

use super::change::Source;
use super::directory::Shared;
use crate::registry::{Discovery, InstanceList, InstanceWatch};
use crate::{BoxError, BoxFuture};

/// The period of lookups while events arrive, and where there are none to expect.
const PERIOD: Duration = Duration::from_secs(30);
/// The period while a watch is down.
const PERIOD_WITHOUT_WATCH: Duration = Duration::from_secs(5);
/// Each period is drawn anew within this share of it, so that the clients of a registry spread out after a common start.
const JITTER: f64 = 0.2;
/// A registry that does not answer a lookup, or does not open a watch, within this time has failed.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// While callers wait for a first list, a registry is asked again this soon, and no sooner. Also the first pause before a watch that
/// ended is opened again; it doubles while watches end soon after they were opened.
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
    /// When the watch was opened, and the pause before another is if it ends.
    opened: Instant,
    pause: Duration,
    /// Whether the watch has given a list.
    gave_a_list: bool,
    /// The lookup under way.
    lookup: Option<Running<InstanceList>>,
    /// When to ask next.
    due: Instant,
}

type Running<T> = BoxFuture<'static, Result<T, BoxError>>;

enum Watch {
    /// To be opened when it is due.
    Wanted,
    Opening(Running<Option<Box<dyn InstanceWatch>>>),
    Open(Box<dyn InstanceWatch>),
    /// Open, but failing.
    Down(Box<dyn InstanceWatch>),
    /// Not wanted, or not to be had.
    None,
}

/// What comes of a watch.
enum Event {
    Opened(Result<Option<Box<dyn InstanceWatch>>, BoxError>),
    Pushed(Option<Result<InstanceList, BoxError>>),
}

impl<S: Send + Sync + 'static> Follow<S> {
    pub(super) fn new(shared: Arc<Shared<S>>, refresh: Refresh) -> Self {
        let now = Instant::now();
        let watch = if refresh.events { Watch::Wanted } else { Watch::None };
        Self { shared, refresh, watch, opened: now, pause: FIRST_AGAIN, gave_a_list: false, lookup: None, due: now }
    }

    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                biased;
                event = self.watch.advance() => match event {
                    Event::Opened(result) => self.opened(result),
                    Event::Pushed(list) => self.pushed(list).await,
                },
                result = finish(&mut self.lookup) => self.looked_up(result).await,
                () = sleep_until(self.due), if self.lookup.is_none() => self.fall_due(),
                () = self.shared.wanted.notified(), if !self.shared.has_list() => self.hurry(),
            }
        }
    }

    /// A watch that is wanted is opened: its first list is as good as a lookup. If that takes long, or there is none, a lookup begins.
    fn fall_due(&mut self) {
        match self.watch {
            Watch::Wanted => {
                self.watch = Watch::Opening(self.begin("open a watch", |discovery, service| discovery.watch(service)));
                self.schedule();
                if !self.shared.has_list() {
                    self.hurry();
                }
            }
            _ => self.ask(),
        }
    }

    fn opened(&mut self, result: Result<Option<Box<dyn InstanceWatch>>, BoxError>) {
        self.watch = match result {
            Ok(Some(watch)) => {
                self.opened = Instant::now();
                self.gave_a_list = false;
                Watch::Open(watch)
            }
            Ok(None) => Watch::None,
            Err(error) => {
                tracing::debug!(service = self.shared.service, %error, "no watch; asking instead");
                Watch::Wanted
            }
        };
        self.schedule();
        if !matches!(self.watch, Watch::Open(_)) {
            self.ask();
        }
    }

    async fn pushed(&mut self, list: Option<Result<InstanceList, BoxError>>) {
        match list {
            Some(Ok(list)) => {
                self.watch.set_up(true);
                self.gave_a_list = true;
                // A lookup that is under way may have read an earlier state.
                self.lookup = None;
                self.schedule();
                self.shared.update(list, Source::Event).await;
            }
            Some(Err(error)) => {
                self.watch.set_up(false);
                self.schedule();
                self.shared.failed(error);
            }
            None => self.ended(),
        }
    }

    /// The watch is over. Another is opened soon, if this one was good for something.
    fn ended(&mut self) {
        self.watch = Watch::Wanted;
        let was_good = self.opened.elapsed() >= PERIOD_WITHOUT_WATCH;
        self.pause = if was_good { FIRST_AGAIN } else { (self.pause * 2).min(PERIOD_WITHOUT_WATCH) };
        self.due = Instant::now() + self.pause;
        tracing::debug!(service = self.shared.service, pause = ?self.pause, "the watch ended; opening another");
        if !self.gave_a_list {
            self.ask();
        }
    }

    /// Begins a lookup, unless one is under way.
    fn ask(&mut self) {
        if self.lookup.is_none() {
            self.lookup = Some(self.begin("answer a lookup", |discovery, service| discovery.lookup(service)));
        }
    }

    async fn looked_up(&mut self, result: Result<InstanceList, BoxError>) {
        self.schedule();
        match result {
            Ok(list) => self.shared.update(list, Source::Refresh).await,
            Err(error) => self.shared.failed(error),
        }
    }

    /// Asks the registry for something, and bounds the time.
    fn begin<T: 'static>(
        &self,
        what: &'static str,
        ask: impl for<'a> FnOnce(&'a dyn Discovery, &'a str) -> BoxFuture<'a, Result<T, BoxError>> + Send + 'static,
    ) -> Running<T> {
        let shared = Arc::clone(&self.shared);
        Box::pin(async move {
            let asking = timeout(ANSWER_WITHIN, ask(&*shared.discovery, shared.service));
            asking.await.unwrap_or_else(|_| Err(no_answer(what)))
        })
    }

    /// A caller waits for a first list.
    fn hurry(&mut self) {
        self.due = self.due.min(Instant::now() + FIRST_AGAIN);
    }

    /// Draws the time of the next lookup, or of the next try to open a watch.
    fn schedule(&mut self) {
        let period = match self.watch {
            Watch::Open(_) | Watch::None => self.refresh.period,
            Watch::Wanted | Watch::Opening(_) | Watch::Down(_) => self.refresh.period.min(PERIOD_WITHOUT_WATCH),
        };
        let factor = 1.0 + JITTER * (2.0 * fastrand::f64() - 1.0);
        self.due = Instant::now() + period.mul_f64(factor);
    }
}

impl Watch {
    /// What comes next; waits for ever if nothing can. Cancel safe.
    async fn advance(&mut self) -> Event {
        match self {
            Self::Opening(opening) => Event::Opened(opening.await),
            Self::Open(watch) | Self::Down(watch) => Event::Pushed(watch.next().await),
            Self::Wanted | Self::None => std::future::pending().await,
        }
    }

    /// Notes whether an open watch works.
    fn set_up(&mut self, works: bool) {
        *self = match std::mem::replace(self, Self::None) {
            Self::Open(watch) | Self::Down(watch) if works => Self::Open(watch),
            Self::Open(watch) | Self::Down(watch) => Self::Down(watch),
            other => other,
        };
    }
}

/// The end of what is under way; waits for ever if nothing is. Cancel safe.
async fn finish<T>(running: &mut Option<Running<T>>) -> Result<T, BoxError> {
    match running {
        Some(future) => {
            let result = future.await;
            *running = None;
            result
        }
        None => std::future::pending().await,
    }
}

fn no_answer(what: &str) -> BoxError {
    format!("the registry did not {what} within {} s", ANSWER_WITHIN.as_secs()).into()
}
