//! What shall be announced. Registrations change it, one task makes it so.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rpc_core::ServiceInstance;
use tokio::sync::{Notify, oneshot};

use super::error::Failure;

/// Tells how the latest wish of an entry fared.
pub(super) type Told = oneshot::Receiver<Result<(), Failure>>;

/// The wishes, by key.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    table: Mutex<Table>,
    changed: Notify,
    /// Nobody can wish any more.
    is_closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    entries: BTreeMap<String, Entry>,
    /// Grows with every wish, so that none is taken for another.
    wishes: u64,
}

#[derive(Debug)]
struct Entry {
    /// The registration that it belongs to: the number of its first wish.
    owner: u64,
    wish: u64,
    /// `None`: to be taken out.
    instance: Option<ServiceInstance>,
    is_fulfilled: bool,
    waiting: Vec<oneshot::Sender<Result<(), Failure>>>,
}

/// A wish that is not fulfilled.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) key: String,
    pub(super) instance: Option<ServiceInstance>,
    number: u64,
}

impl Wanted {
    /// Wishes for an instance that nobody here wishes for; gives the owner's number.
    pub(super) fn claim(&self, key: &str, instance: ServiceInstance) -> Result<(u64, Told), Failure> {
        let mut table = self.table();
        let taken = table.entries.get_mut(key).and_then(|entry| entry.instance.as_ref());
        if let Some(theirs) = taken {
            let ServiceInstance { service, id, address, .. } = instance;
            return Err(Failure::Taken { service, id, theirs: theirs.address.clone(), ours: address });
        }
        table.wishes += 1;
        let owner = table.wishes;
        let (waiting, told) = oneshot::channel();
        // Whoever waits for an earlier one to be taken out sees it replaced; it is not there any more.
        let earlier = table.entries.remove(key).map_or_else(Vec::new, |entry| entry.waiting);
        earlier.into_iter().for_each(taken_out);
        let entry = Entry { owner, wish: owner, instance: Some(instance), is_fulfilled: false, waiting: vec![waiting] };
        table.entries.insert(key.to_owned(), entry);
        drop(table);
        self.changed.notify_one();
        Ok((owner, told))
    }

    /// Changes a wish of `owner`; `None` if it is taken out already, or another's.
    pub(super) fn change(&self, key: &str, owner: u64, instance: Option<ServiceInstance>) -> Option<Told> {
        let mut table = self.table();
        table.wishes += 1;
        let wish = table.wishes;
        let entry = table.entries.get_mut(key).filter(|entry| entry.owner == owner)?;
        if entry.instance.is_none() && instance.is_some() {
            return None;
        }
        let (waiting, told) = oneshot::channel();
        entry.waiting.retain(|waiting| !waiting.is_closed());
        entry.waiting.push(waiting);
        (entry.wish, entry.instance, entry.is_fulfilled) = (wish, instance, false);
        drop(table);
        self.changed.notify_one();
        Some(told)
    }

    /// The wishes that are not fulfilled.
    pub(super) fn open(&self) -> Vec<Wish> {
        let table = self.table();
        let open = table.entries.iter().filter(|(_, entry)| !entry.is_fulfilled);
        let wish = |(key, entry): (&String, &Entry)| Wish {
            key: key.clone(),
            instance: entry.instance.clone(),
            number: entry.wish,
        };
        open.map(wish).collect()
    }

    /// Notes how a wish fared, unless there is a later one in its place. Whoever waits is told; whether anybody was, or will be of the later.
    pub(super) fn settle(&self, wish: &Wish, result: Result<(), Failure>) -> bool {
        let mut table = self.table();
        let Some(entry) = table.entries.get_mut(&wish.key).filter(|entry| entry.wish == wish.number) else {
            return true;
        };
        entry.is_fulfilled = result.is_ok();
        let waiting = std::mem::take(&mut entry.waiting);
        if result.is_ok() && entry.instance.is_none() {
            table.entries.remove(&wish.key);
        }
        waiting.into_iter().filter_map(|waiting| waiting.send(result.clone()).ok()).count() > 0
    }

    /// All that was announced is gone with its lease: what is wanted must be announced again, and the rest is done.
    pub(super) fn start_over(&self) {
        let mut table = self.table();
        let gone = table.entries.extract_if(.., |_, entry| entry.instance.is_none());
        gone.flat_map(|(_, entry)| entry.waiting).for_each(taken_out);
        table.entries.values_mut().for_each(|entry| entry.is_fulfilled = false);
    }

    /// Of what was announced only `keys` are left; gives the others, which must be announced again.
    pub(super) fn lost(&self, keys: &[Vec<u8>]) -> Vec<String> {
        let mut table = self.table();
        let is_lost = |key: &str, entry: &Entry| entry.is_fulfilled && !keys.iter().any(|left| left == key.as_bytes());
        let lost = table.entries.iter_mut().filter(|(key, entry)| is_lost(key, entry));
        lost.map(|(key, entry)| {
            entry.is_fulfilled = false;
            key.clone()
        })
        .collect()
    }

    /// Whether an instance is wanted, other than that of `but`.
    pub(super) fn any_but(&self, but: Option<&str>) -> bool {
        self.table().entries.iter().any(|(key, entry)| entry.instance.is_some() && Some(key.as_str()) != but)
    }

    /// Whether everything is as wanted.
    pub(super) fn is_fulfilled(&self) -> bool {
        self.table().entries.values().all(|entry| entry.is_fulfilled)
    }

    /// Nobody can wish any more: what is left is to be taken out.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Waits for a change since the last one that was waited for.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The table is whole wherever a panic could happen.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells that an instance is gone; nobody need be waiting any more.
fn taken_out(waiting: oneshot::Sender<Result<(), Failure>>) {
    let _ = waiting.send(Ok(()));
}
