//! A registry that does what a test tells it to, and a balancer that counts what it prepares.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
use crate::lock::lock;
use crate::registry::{Discovery, InstanceList, InstanceWatch};
use crate::{BoxError, BoxFuture, ServiceInstance, Settings, register};

static SCRIPTS: LazyLock<Mutex<HashMap<String, Script>>> = LazyLock::new(Mutex::default);

/// The registry `script:NAME`.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    state: watch::Sender<State>,
    pub(crate) lookups: Arc<Mutex<Vec<Instant>>>,
    watches: Arc<AtomicUsize>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    pub(crate) addresses: Vec<&'static str>,
    /// Lookups and watches fail, with this text.
    pub(crate) fails: Option<&'static str>,
    /// Changes are pushed.
    pub(crate) pushes: bool,
    /// How long a lookup takes.
    pub(crate) delay: Duration,
    /// How long opening a watch takes.
    pub(crate) watch_delay: Duration,
    /// A watch ends instead of giving a list.
    pub(crate) watch_ends: bool,
}

impl Script {
    pub(crate) fn new(name: &str, state: State) -> Self {
        let script = Self { state: watch::Sender::new(state), lookups: Arc::default(), watches: Arc::default() };
        lock(&SCRIPTS).insert(format!("script:{name}"), script.clone());
        script
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
    }

    /// How many watches were asked for.
    pub(crate) fn watches(&self) -> usize {
        self.watches.load(Ordering::Relaxed)
    }

    pub(crate) fn lookups(&self) -> usize {
        lock(&self.lookups).len()
    }
}

fn list(state: &State, service: &str) -> Result<InstanceList, BoxError> {
    match state.fails {
        Some(text) => Err(text.into()),
        None => Ok(InstanceList::new(state.addresses.iter().map(|at| ServiceInstance::new(service, *at)).collect())),
    }
}

impl Discovery for Script {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        lock(&self.lookups).push(Instant::now());
        Box::pin(async move {
            let state = self.state.borrow().clone();
            tokio::time::sleep(state.delay).await;
            list(&state, service)
        })
    }

    fn watch<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn InstanceWatch>>, BoxError>> {
        self.watches.fetch_add(1, Ordering::Relaxed);
        let state = self.state.borrow().clone();
        let watch = Pushed { state: self.state.subscribe(), service: service.to_owned(), begun: false };
        Box::pin(async move {
            tokio::time::sleep(state.watch_delay).await;
            match (state.pushes, state.fails) {
                (true, Some(text)) => Err(text.into()),
                (true, None) => Ok(Some(Box::new(watch) as Box<dyn InstanceWatch>)),
                (false, _) => Ok(None),
            }
        })
    }
}

struct Pushed {
    state: watch::Receiver<State>,
    service: String,
    begun: bool,
}

impl InstanceWatch for Pushed {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>> {
        Box::pin(async {
            if self.begun {
                self.state.changed().await.ok()?;
            }
            self.begun = true;
            let state = self.state.borrow_and_update().clone();
            if state.watch_ends {
                return None;
            }
            Some(list(&state, &self.service))
        })
    }
}

register!(dyn Discovery, "script", |settings: &Settings| {
    let script = settings.url().and_then(|url| lock(&SCRIPTS).get(url).cloned()).ok_or("no such script")?;
    Ok::<_, BoxError>(Arc::new(script))
});

/// How many pickers the balancer `counted` has prepared; one test uses it.
pub(crate) static PREPARED: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug)]
struct Counted;

impl LoadBalancer for Counted {
    fn prepare(&self, _: &Arc<Endpoints>) -> Box<dyn Picker> {
        PREPARED.fetch_add(1, Ordering::Relaxed);
        Box::new(Counted)
    }
}

impl Picker for Counted {
    fn pick(&self, _: &PickContext<'_>) -> Option<usize> {
        Some(0)
    }
}

register!(dyn LoadBalancer, "counted", |_: &Settings| Ok::<_, BoxError>(Arc::new(Counted)));

/// Panics on every list but those of one instance.
#[derive(Debug)]
struct Panicking;

impl LoadBalancer for Panicking {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        assert!(endpoints.len() == 1, "more than one");
        Box::new(Counted)
    }
}

register!(dyn LoadBalancer, "panicking", |_: &Settings| Ok::<_, BoxError>(Arc::new(Panicking)));
