//! `memory`: a table in this process, for tests, examples and programs that are provider and consumer in one.

use std::collections::{BTreeMap, HashMap};
use std::future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rpc_core::registry::{Discovery, InstanceList, InstanceWatch, Registrar, Registration, shown_url};
use rpc_core::{BoxError, BoxFuture, ServiceInstance, Settings, register};
use serde::Deserialize;
use thiserror::Error;
use tokio::sync::watch;

/// A registry in memory: `memory:NAME`. All of one name in a process are the same, and stay for the life of the process.
///
/// It pushes every change. Whoever is dropped without being released is gone at once.
///
/// # Examples
///
/// ```
/// use rpc_registry::Memory;
///
/// let registry = Memory::from_url("memory:example")?;
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    table: Arc<Table>,
}

/// The instances of all services, by service.
#[derive(Debug, Default)]
struct Table {
    services: Mutex<HashMap<String, watch::Sender<Entries>>>,
}

/// The instances of one service, by id.
type Entries = BTreeMap<String, Entry>;

#[derive(Debug)]
struct Entry {
    instance: ServiceInstance,
    /// Whose it is.
    owner: u64,
}

impl Memory {
    /// The key it is registered under. Its only setting is `url`.
    pub const KEY: &'static str = "memory";

    /// The registry of the name in this url.
    ///
    /// # Errors
    ///
    /// When `url` is not of the form above, with a NAME of letters, digits, `.`, `_` and `-`.
    pub fn from_url(url: &str) -> Result<Self, BoxError> {
        static TABLES: LazyLock<Mutex<HashMap<String, Arc<Table>>>> = LazyLock::new(Mutex::default);
        let name = url.strip_prefix("memory:").filter(|name| is_name(name)).ok_or_else(|| BadUrl(shown_url(url)))?;
        Ok(Self { table: Arc::clone(lock(&TABLES).entry(name.to_owned()).or_default()) })
    }
}

register!(dyn Discovery, Memory::KEY, build);
register!(dyn Registrar, Memory::KEY, build);

impl Discovery for Memory {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        let entries = self.table.service(service).subscribe();
        let list = list(&entries.borrow());
        Box::pin(future::ready(Ok(list)))
    }

    fn watch<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn InstanceWatch>>, BoxError>> {
        let mut entries = self.table.service(service).subscribe();
        // The list that the watch starts from counts as a change.
        entries.mark_changed();
        let watch: Box<dyn InstanceWatch> = Box::new(Watch(entries));
        Box::pin(future::ready(Ok(Some(watch))))
    }
}

struct Watch(watch::Receiver<Entries>);

impl InstanceWatch for Watch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>> {
        Box::pin(async {
            // The table is never dropped, so neither is the sender.
            self.0.changed().await.ok()?;
            Some(Ok(list(&self.0.borrow_and_update())))
        })
    }
}

impl Registrar for Memory {
    fn register(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<Box<dyn Registration>, BoxError>> {
        Box::pin(future::ready(self.announce(instance)))
    }
}

impl Memory {
    fn announce(&self, instance: ServiceInstance) -> Result<Box<dyn Registration>, BoxError> {
        static OWNERS: AtomicU64 = AtomicU64::new(0);
        let ServiceInstance { service, id, .. } = &instance;
        for (what, name) in [("service name", service), ("instance id", id)] {
            if name.is_empty() || name.contains('/') {
                return Err(BadName { what, name: name.clone() }.into());
            }
        }
        let owner = OWNERS.fetch_add(1, Ordering::Relaxed);
        let announced =
            Announced { entries: self.table.service(service), service: service.clone(), id: id.clone(), owner };
        announced.entries.send_modify(|entries| {
            entries.insert(instance.id.clone(), Entry { instance, owner });
        });
        Ok(Box::new(announced))
    }
}

/// One announcement.
#[derive(Debug)]
struct Announced {
    entries: watch::Sender<Entries>,
    service: String,
    id: String,
    owner: u64,
}

impl Registration for Announced {
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(future::ready(self.replace(instance).map_err(BoxError::from)))
    }

    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        self.remove();
        Box::pin(future::ready(Ok(())))
    }
}

impl Announced {
    fn replace(&self, instance: ServiceInstance) -> Result<(), NotOurs> {
        let is_same = (&instance.service, &instance.id) == (&self.service, &self.id);
        let replaced = is_same
            && self.entries.send_if_modified(|entries| match entries.get_mut(&self.id) {
                Some(entry) if entry.owner == self.owner => {
                    entry.instance = instance;
                    true
                }
                _ => false,
            });
        if replaced { Ok(()) } else { Err(NotOurs { service: self.service.clone(), id: self.id.clone() }) }
    }

    /// Takes this announcement out, unless it is gone or another provider's is in its place.
    fn remove(&self) {
        self.entries.send_if_modified(|entries| {
            let is_ours = entries.get(&self.id).is_some_and(|entry| entry.owner == self.owner);
            is_ours && entries.remove(&self.id).is_some()
        });
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Table {
    fn service(&self, service: &str) -> watch::Sender<Entries> {
        lock(&self.services).entry(service.to_owned()).or_default().clone()
    }
}

fn list(entries: &Entries) -> InstanceList {
    InstanceList::new(entries.values().map(|entry| entry.instance.clone()).collect())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// The maps are whole wherever a panic could happen.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    url: String,
}

fn build(settings: &Settings) -> Result<Arc<Memory>, BoxError> {
    let Config { url } = settings.parse()?;
    Ok(Arc::new(Memory::from_url(&url)?))
}

#[derive(Debug, Error)]
#[error("registry url `{0}` has no valid name; write `memory:NAME`, with letters, digits, `.`, `_` and `-`")]
struct BadUrl(String);

#[derive(Debug, Error)]
#[error("the {what} `{name}` is empty or contains `/`; give it another one")]
struct BadName {
    what: &'static str,
    name: String,
}

#[derive(Debug, Error)]
#[error("instance `{id}` of service `{service}` is not announced by this registration any more; register it again")]
struct NotOurs {
    service: String,
    id: String,
}

#[cfg(test)]
mod tests;
