//! What Linux tells of a directory.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use inotify::{EventMask, Inotify, WatchMask};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

use super::Change;
use crate::file::aside;
use crate::file::entry::{JSON, LOCK, is_same};
use crate::file::error::Failure;

/// Room for the events of one read; what does not fit is read next.
const BUFFER: usize = 4 << 10;
/// How often to see whether the path still leads to the directory: the system does not tell when one above it is moved.
const CHECK_EVERY: Duration = Duration::from_secs(2);

/// The changes of a directory from the moment that this is made.
#[derive(Debug)]
pub(in crate::file) struct Changes {
    told: AsyncFd<Inotify>,
    dir: PathBuf,
    /// What `dir` led to.
    watched: Metadata,
    /// When to see whether it still does.
    check: Instant,
}

impl Changes {
    /// # Errors
    ///
    /// When the system does not watch it, such as when it watches too many already.
    pub(in crate::file) fn of(dir: &Path) -> Result<Self, Failure> {
        Self::watching(dir).map_err(|source| failure(dir, source))
    }

    fn watching(dir: &Path) -> io::Result<Self> {
        // Before the system watches: what is put in its place between is found by the first check.
        let watched = fs::metadata(dir)?;
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
        let told = AsyncFd::new(inotify)?;
        Ok(Self { told, dir: dir.to_owned(), watched, check: Instant::now() + CHECK_EVERY })
    }

    /// The next change, or several that came together as the one that implies most. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the system does not tell. It will not get better.
    pub(in crate::file) async fn next(&mut self) -> io::Result<Change> {
        let Self { told, dir, watched, check } = self;
        tokio::select! {
            change = next(told) => change,
            () = moved(dir, watched, check) => Ok(Change::Gone),
        }
    }
}

/// What the system tells next.
async fn next(told: &mut AsyncFd<Inotify>) -> io::Result<Change> {
    loop {
        let mut ready = told.readable_mut().await?;
        match ready.try_io(|inotify| read(inotify.get_mut())) {
            Ok(Ok(Some(change))) => return Ok(change),
            Ok(Ok(None)) => {}
            Ok(Err(error)) if error.kind() == ErrorKind::Interrupted => {}
            Ok(Err(error)) => return Err(error),
            Err(_would_block) => {}
        }
    }
}

/// Waits until the path leads elsewhere or nowhere. A check that is given up is made next time.
async fn moved(dir: &Path, watched: &Metadata, check: &mut Instant) {
    loop {
        sleep_until(*check).await;
        let path = dir.to_owned();
        let now = aside(move || fs::metadata(&path).map_err(Failure::at("look at", &path))).await;
        if !now.is_ok_and(|now| is_same(&now, watched)) {
            return;
        }
        *check = Instant::now() + CHECK_EVERY;
    }
}

/// Why a directory is not watched: of limits, which one.
fn failure(dir: &Path, source: io::Error) -> Failure {
    let limit = match Errno::from_io_error(&source) {
        Some(Errno::MFILE) => "`fs.inotify.max_user_instances`, or the limit on open files",
        Some(Errno::NOSPC) => "`fs.inotify.max_user_watches`",
        _ => return Failure::at("watch", dir)(source),
    };
    Failure::TooManyWatches { dir: dir.to_owned(), limit, source }
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

    #[test]
    fn a_limit_that_is_reached_is_named() {
        for (errno, limit) in [
            (Errno::MFILE, "`fs.inotify.max_user_instances`, or the limit on open files"),
            (Errno::NOSPC, "`fs.inotify.max_user_watches`"),
        ] {
            let error = failure(Path::new("/x"), errno.into()).to_string();
            let told = "lookups go on meanwhile, every 5 s";
            assert_eq!(error, format!("cannot watch `/x`, as a limit is reached; raise {limit}; {told}"));
        }
        assert!(
            failure(Path::new("/x"), Errno::NOENT.into()).to_string().starts_with("cannot watch `/x`; it was removed")
        );
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
