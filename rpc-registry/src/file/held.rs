//! What is announced, and what keeps it so.

use std::fs::File;
use std::mem;

use rpc_core::ServiceInstance;

use super::entry::{Entry, MAX_VALUE};
use super::error::Failure;
use super::service::Service;
use crate::value;

/// An instance in the directory as long as this is held.
#[derive(Debug)]
pub(super) struct Held {
    service: Service,
    wanted: ServiceInstance,
    /// The same as it is written.
    value: Vec<u8>,
    /// Whether that is what the entry says.
    is_current: bool,
    entry: Entry,
    lock: File,
}

impl Held {
    /// Announces `wanted`.
    ///
    /// # Errors
    ///
    /// When it is too large, or the directory does not take it; nothing is announced then.
    pub(super) fn announce(service: Service, wanted: ServiceInstance) -> Result<Self, Failure> {
        let value = written(&wanted)?;
        service.make()?;
        let (entry, lock) = Entry::claim(service.dir())?;
        if let Err(failure) = entry.write(&value) {
            if let Err(error) = entry.remove() {
                tracing::debug!(%error, "the files of a failed registration stay until somebody looks");
            }
            return Err(failure);
        }
        Ok(Self { service, wanted, value, is_current: true, entry, lock })
    }

    /// Announces `wanted` in place of what was announced.
    ///
    /// # Errors
    ///
    /// When it is too large; the one before stays. When the directory does not take it now; [`mend`](Self::mend) tries again.
    pub(super) fn update(&mut self, wanted: ServiceInstance) -> Result<(), Failure> {
        self.value = written(&wanted)?;
        self.wanted = wanted;
        self.is_current = false;
        self.mend()
    }

    /// Sees to it that what is wanted is announced.
    ///
    /// # Errors
    ///
    /// When the directory does not take it now.
    pub(super) fn mend(&mut self) -> Result<(), Failure> {
        if !self.is_whole() {
            let again = Self::announce(self.service.clone(), self.wanted.clone())?;
            let ServiceInstance { service, id, .. } = &self.wanted;
            tracing::warn!(
                service,
                id,
                "somebody deleted or changed the files of this instance; it is registered again"
            );
            if let Err(error) = mem::replace(self, again).release() {
                tracing::debug!(%error, "what is in the place of the files stays");
            }
            return Ok(());
        }
        if !self.is_current {
            self.entry.write(&self.value)?;
            self.is_current = true;
        }
        Ok(())
    }

    /// Whether its files are there, with what was written.
    fn is_whole(&self) -> bool {
        let is_written = |value| !self.is_current || value == self.value;
        let there = self.entry.read();
        self.entry.is_locked_by(&self.lock)
            && there.is_ok_and(|there| there.is_some_and(|(_, value)| is_written(value)))
    }

    /// Takes it back. What cannot be removed is dead afterwards.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub(super) fn release(self) -> Result<(), Failure> {
        self.entry.remove()
    }
}

impl Drop for Held {
    /// Unlocks before the file is closed: a child process that was forked and has not begun its own program yet has the file too, and the
    /// instance would look alive until it does.
    fn drop(&mut self) {
        if let Err(error) = self.lock.unlock() {
            tracing::debug!(%error, "a registration ends when its file is closed everywhere");
        }
    }
}

/// Warns of a provider elsewhere that has the same id: clients will call the later one alone.
pub(super) fn tell_of_another(service: &Service, wanted: &ServiceInstance) {
    let there = service.list();
    let ServiceInstance { service, id, address, .. } = wanted;
    let list = match there {
        Ok(list) => list.unwrap_or_default(),
        Err(error) => return tracing::debug!(service, id, %error, "whether another provider has this id is not known"),
    };
    if let Some(other) = list.instances.iter().find(|other| other.id == *id && other.address != *address) {
        tracing::warn!(
            service,
            id,
            address,
            other = other.address,
            "another provider has this id; it gets no calls any more"
        );
    }
}

fn written(instance: &ServiceInstance) -> Result<Vec<u8>, Failure> {
    let (service, id) = (instance.service.clone(), instance.id.clone());
    match value::write(instance) {
        Ok(value) if value.len() > MAX_VALUE => {
            Err(Failure::TooLarge { service, id, size: value.len(), limit: MAX_VALUE })
        }
        written => written.map_err(|source| Failure::Unwritable { service, id, source }),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::super::root::Root;
    use super::*;

    fn instance() -> ServiceInstance {
        ServiceInstance::new("user", "a:1")
    }

    #[test]
    fn whatever_is_put_in_the_place_of_a_file_the_instance_is_registered_again() {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::named(dir.path().to_owned()));
        let service = Service::new(root, Arc::default(), "user").unwrap();
        let mut held = Held::announce(service.clone(), instance()).unwrap();
        let json = |held: &Held| held.entry.value_path();
        let lock = |held: &Held| held.entry.value_path().with_extension("lock");
        let garbage = |path: &Path| fs::write(path, "garbage").unwrap();
        let another = |path: &Path| {
            fs::rename(path, path.with_extension("other")).unwrap();
            fs::write(path, "").unwrap();
        };
        let directory = |path: &Path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        };
        let harm: [&dyn Fn(&Held); 4] =
            [&|held| garbage(&json(held)), &|held| directory(&json(held)), &|held| another(&lock(held)), &|held| {
                directory(&lock(held));
            }];
        for harm in harm {
            harm(&held);
            assert_eq!(service.list().unwrap().unwrap().instances, []);
            held.mend().unwrap();
            assert_eq!(service.list().unwrap().unwrap().instances, [instance()]);
            let entry = held.entry.clone();
            held.mend().unwrap();
            assert_eq!(held.entry, entry);
        }
    }

    #[test]
    fn what_is_dropped_is_gone_though_a_child_process_has_its_files_too() {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::named(dir.path().to_owned()));
        let service = Service::new(root, Arc::default(), "user").unwrap();
        let held = Held::announce(service.clone(), instance()).unwrap();
        let of_child = held.lock.try_clone().unwrap();
        drop(held);
        assert_eq!(service.list().unwrap().unwrap().instances, []);
        drop(of_child);
    }

    #[test]
    fn an_instance_that_readers_refuse_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::named(dir.path().to_owned()));
        let service = Service::new(root, Arc::default(), "user").unwrap();
        let of_length = |length| instance().with_metadata("x", "x".repeat(length));
        let base = written(&of_length(0)).unwrap().len();
        let (largest, larger) = (of_length(MAX_VALUE - base), of_length(MAX_VALUE - base + 1));
        let told = "instance `a:1` of service `user` is 1048577 bytes of JSON, and readers take 1048576; give it less metadata";
        assert_eq!(Held::announce(service.clone(), larger.clone()).unwrap_err().to_string(), told);
        let mut held = Held::announce(service.clone(), instance()).unwrap();
        held.update(largest.clone()).unwrap();
        assert_eq!(held.update(larger).unwrap_err().to_string(), told);
        held.mend().unwrap();
        assert_eq!(service.list().unwrap().unwrap().instances, [largest]);
    }
}
