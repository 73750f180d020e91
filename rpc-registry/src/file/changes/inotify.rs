//! What Linux tells of a directory.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use inotify::{EventMask, Inotify, WatchMask};
use tokio::io::unix::AsyncFd;

use super::Change;
use crate::file::entry::{JSON, LOCK};

/// Room for the events of one read; what does not fit is read next.
const BUFFER: usize = 4 << 10;

/// The changes of a directory from the moment that this is made.
#[derive(Debug)]
pub(in crate::file) struct Changes(AsyncFd<Inotify>);

impl Changes {
    /// # Errors
    ///
    /// When the system does not watch it, such as when it watches too many already.
    pub(in crate::file) fn of(dir: &Path) -> io::Result<Self> {
        let inotify = Inotify::init()?;
        // No opens and no reads, else all who look would wake each other. A process that ends, in whatever way, closes its lock file.
        let mask = WatchMask::CLOSE_WRITE
            | WatchMask::MOVED_TO
            | WatchMask::DELETE
            | WatchMask::DELETE_SELF
            | WatchMask::MOVE_SELF
            | WatchMask::ONLYDIR;
        inotify.watches().add(dir, mask)?;
        #[allow(
            deprecated,
            reason = "its successor is unsafe, and an `Inotify` keeps its descriptor as long as it is there"
        )]
        let watched = AsyncFd::new(inotify)?;
        Ok(Self(watched))
    }

    /// The next change, or several that came together as the one that implies most. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the system does not tell. It will not get better.
    pub(in crate::file) async fn next(&mut self) -> io::Result<Change> {
        loop {
            let mut ready = self.0.readable_mut().await?;
            match ready.try_io(|inotify| read(inotify.get_mut())) {
                Ok(Ok(Some(change))) => return Ok(change),
                Ok(Ok(None)) => {}
                Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => {}
            }
        }
    }
}

/// What some of the events that are there mean together.
fn read(inotify: &mut Inotify) -> io::Result<Option<Change>> {
    let mut buffer = [0; BUFFER];
    let events = inotify.read_events(&mut buffer)?;
    Ok(events.filter_map(|event| change(event.mask, event.name)).max())
}

fn change(mask: EventMask, name: Option<&OsStr>) -> Option<Change> {
    let ends = EventMask::DELETE_SELF | EventMask::MOVE_SELF | EventMask::UNMOUNT | EventMask::IGNORED;
    if mask.intersects(ends) {
        return Some(Change::Gone);
    }
    if mask.contains(EventMask::Q_OVERFLOW) {
        // Anything may have been among what was lost.
        return Some(Change::Unlocking);
    }
    match Path::new(name?).extension()?.to_str()? {
        LOCK if mask.contains(EventMask::CLOSE_WRITE) => Some(Change::Unlocking),
        LOCK | JSON => Some(Change::Value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn an_overflow_means_as_much_as_anything_that_may_be_lost() {
        assert_eq!(change(EventMask::Q_OVERFLOW, None), Some(Change::Unlocking));
        assert_eq!(change(EventMask::IGNORED, None), Some(Change::Gone));
        assert_eq!(change(EventMask::DELETE, Some(OsStr::new("1-2.new"))), None);
    }

    #[tokio::test]
    async fn what_readers_do_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("1-2.json"), "x").unwrap();
        let mut changes = Changes::of(dir.path()).unwrap();
        fs::read(dir.path().join("1-2.json")).unwrap();
        File::create(dir.path().join("other")).unwrap();
        let lock = File::create(dir.path().join("1-2.lock")).unwrap();
        fs::rename(dir.path().join("1-2.json"), dir.path().join("1-3.json")).unwrap();
        assert_eq!(changes.next().await.unwrap(), Change::Value);
        drop(lock);
        assert_eq!(changes.next().await.unwrap(), Change::Unlocking);
        dir.close().unwrap();
        assert_eq!(changes.next().await.unwrap(), Change::Gone);
    }
}
