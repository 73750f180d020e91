//! Following the instances of a service: every change makes the directory be read again.

use std::io;
use std::time::Duration;

use rpc_core::registry::{InstanceList, InstanceWatch};
use rpc_core::{BoxError, BoxFuture};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::changes::{Change, Changes};
use super::error::Failure;
use super::service::Service;
use super::{aside, unfinished};

/// How long to wait for further changes before the directory is read.
const GATHER: Duration = Duration::from_millis(10);
/// When to look again after a lock was about to be free: the first look may have found it held.
const LOOK_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// When to look again after the directory could not be read.
const RETRY: Duration = Duration::from_secs(1);

/// The changes of a service's directory. What is under way is kept in `self`, so that a question can be given up.
#[derive(Debug)]
pub(super) struct Watch {
    service: Service,
    changes: Changes,
    /// When to read the directory, if there is a reason.
    due: Option<Instant>,
    /// The pauses before further looks.
    again: &'static [Duration],
    /// The look under way.
    reading: Option<JoinHandle<Result<Option<InstanceList>, Failure>>>,
    /// The last list given; nothing before the first, and after a failure.
    given: Option<InstanceList>,
    /// Whether it was said that the directory cannot be read.
    is_down: bool,
}

impl Watch {
    /// Makes the directory of the service if it is not there, and hears of every change from now on.
    ///
    /// # Errors
    ///
    /// When the directory cannot be made or watched.
    pub(super) async fn open(service: Service) -> Result<Self, Failure> {
        let service = aside(move || service.make().map(|()| service)).await?;
        let changes = Changes::of(service.dir())?;
        let due = Some(Instant::now());
        Ok(Self { service, changes, due, again: &[], reading: None, given: None, is_down: false })
    }

    /// The next list that differs from the one before; nothing when the directory is gone. Cancel safe.
    async fn advance(&mut self) -> Option<Result<InstanceList, Failure>> {
        loop {
            if let Some(reading) = &mut self.reading {
                let looked = reading.await.unwrap_or_else(|error| Err(unfinished(error)));
                self.reading = None;
                match looked {
                    Ok(list) => {
                        self.look_again();
                        let list = list?;
                        self.is_down = false;
                        if self.given.as_ref() != Some(&list) {
                            self.given = Some(list.clone());
                            return Some(Ok(list));
                        }
                    }
                    Err(failure) => {
                        self.due = Some(Instant::now() + RETRY);
                        self.given = None;
                        if !std::mem::replace(&mut self.is_down, true) {
                            return Some(Err(failure));
                        }
                    }
                }
                continue;
            }
            tokio::select! {
                biased;
                () = reached(self.due) => self.look(),
                change = self.changes.next() => self.note(change)?,
            }
        }
    }

    /// Begins to read the directory.
    fn look(&mut self) {
        self.due = None;
        let service = self.service.clone();
        self.reading = Some(spawn_blocking(move || service.list()));
    }

    fn look_again(&mut self) {
        if let Some((pause, rest)) = self.again.split_first() {
            self.due = Some(Instant::now() + *pause);
            self.again = rest;
        }
    }

    /// Has the directory be read soon; nothing if there is none any more, or what happens there cannot be known.
    fn note(&mut self, change: io::Result<Change>) -> Option<()> {
        match change {
            Ok(Change::Value) => {}
            Ok(Change::Unlocking) => self.again = &LOOK_AGAIN,
            Ok(Change::Gone) => return None,
            Err(error) => {
                tracing::debug!(dir = %self.service.dir().display(), %error, "the watch ends");
                return None;
            }
        }
        let soon = Instant::now() + GATHER;
        self.due = Some(self.due.map_or(soon, |due| due.min(soon)));
        Some(())
    }
}

impl InstanceWatch for Watch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>> {
        Box::pin(async { Some(self.advance().await?.map_err(BoxError::from)) })
    }
}

/// Waits until a moment; for ever if there is none.
async fn reached(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    use super::super::root::Root;
    use super::*;

    #[tokio::test]
    async fn a_failure_is_said_once_and_ends_with_a_list() {
        let dir = tempfile::tempdir().unwrap();
        let allow = |mode| fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        allow(0o700);
        let root = Arc::new(Root::private(dir.path().to_owned()));
        let service = Service::new(root, Arc::default(), "user").unwrap();
        let mut watch = Watch::open(service.clone()).await.unwrap();
        assert_eq!(watch.advance().await.unwrap().unwrap(), InstanceList::default());
        allow(0o755);
        let touch = || fs::write(service.dir().join("1-1.json"), "").unwrap();
        touch();
        let failure = watch.advance().await.unwrap().unwrap_err();
        assert!(failure.to_string().contains("is open to other users; remove it"), "{failure}");
        touch();
        assert!(tokio::time::timeout(RETRY * 2, watch.advance()).await.is_err());
        allow(0o700);
        assert_eq!(watch.advance().await.unwrap().unwrap(), InstanceList::default());
    }
}
