//! The files of one registration: `<name>.lock`, which says that it is there and whether its provider lives, and `<name>.json`.
//!
//! A name is never used twice, and the lock file is the same from the first moment to the last. So a directory that is read while others
//! write always has it, an update can put another `.json` in place without touching it, and what is dead stays dead: whoever finds it may
//! remove it. The lock file is made first and removed last, so nothing is left that nobody finds.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::Failure;

/// Extension of the file that is locked.
pub(super) const LOCK: &str = "lock";
/// Extension of the file with the instance.
pub(super) const JSON: &str = "json";
/// Extension of an instance that is being written.
const NEW: &str = "new";
/// The largest instance that is read.
pub(super) const MAX_VALUE: usize = 1 << 20;
/// How often another name is tried.
const TRIES: usize = 100;

/// Where a registration is: the path of its files without their extensions. Later ones sort behind earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    stem: PathBuf,
}

impl Entry {
    /// Begins a registration in `dir`, which lives until the file is dropped. It is no instance yet.
    ///
    /// # Errors
    ///
    /// When the directory takes no file, or its file system has no locks.
    pub(super) fn claim(dir: &Path) -> Result<(Self, File), Failure> {
        for _ in 0..TRIES {
            let entry = Self { stem: dir.join(new_name()) };
            let path = entry.path(LOCK);
            let file =
                OpenOptions::new().write(true).create_new(true).open(&path).map_err(Failure::at("make", &path))?;
            match file.try_lock() {
                // Before it was locked, it looked dead. Who saw that has removed it before letting go of it.
                Ok(()) if path.exists() => return Ok((entry, file)),
                Ok(()) => {}
                // Somebody looks at it right now, and will remove it.
                Err(TryLockError::WouldBlock) => entry.remove()?,
                Err(TryLockError::Error(error)) => {
                    entry.remove()?;
                    return Err(Failure::at("lock", &path)(error));
                }
            }
        }
        Err(Failure::Contended(dir.to_owned()))
    }

    /// The registration that a directory has with this file, if it is the lock of one.
    pub(super) fn of_lock(dir: &Path, file: &OsStr) -> Option<Self> {
        let name = Path::new(file.to_str()?.strip_suffix(LOCK)?.strip_suffix('.')?);
        let (time, process) = name.to_str()?.split_once('-')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        (is_number(time) && is_number(process)).then(|| Self { stem: dir.join(name) })
    }

    /// Whether `lock`, which was claimed with it, is still its file.
    pub(super) fn is_locked_by(&self, lock: &File) -> bool {
        let there = fs::symlink_metadata(self.path(LOCK));
        there.and_then(|there| Ok(is_same(&there, &lock.metadata()?))).unwrap_or(false)
    }

    /// Whether its provider lives. If not, it is removed.
    ///
    /// # Errors
    ///
    /// When the lock cannot be tried.
    pub(super) fn lives(&self) -> Result<bool, Failure> {
        let path = self.path(LOCK);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(Failure::at("open", &path))?,
        };
        // Shared, so that two who look at the same time do not take each other for the provider.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(Failure::at("lock", &path)(error)),
            Ok(()) => {
                // Removed before it is unlocked: a provider that has just made it then sees that it is gone.
                if let Err(error) = self.remove() {
                    tracing::debug!(%error, "the files of a provider that crashed stay");
                }
                Ok(false)
            }
        }
    }

    /// Puts a value in place of the one before, whole.
    ///
    /// # Errors
    ///
    /// When the directory does not take it; the one before is still in place then.
    pub(super) fn write(&self, value: &[u8]) -> Result<(), Failure> {
        let (new, path) = (self.path(NEW), self.path(JSON));
        fs::write(&new, value).map_err(Failure::at("write", &new))?;
        fs::rename(&new, &path).map_err(Failure::at("put in place", &path))
    }

    /// The value and when it was written, in nanoseconds; nothing if there is none, or no file of its own.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn read(&self) -> Result<Option<(i64, Vec<u8>)>, Failure> {
        let path = self.path(JSON);
        let read = || -> io::Result<_> {
            let metadata = fs::symlink_metadata(&path)?;
            if !metadata.is_file() {
                return Ok(None);
            }
            let mut value = Vec::new();
            File::open(&path)?.take(MAX_VALUE as u64).read_to_end(&mut value)?;
            Ok(Some((since_1970(metadata.modified()?).as_nanos() as i64, value)))
        };
        match read() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            result => result.map_err(Failure::at("read", &path)),
        }
    }

    /// Removes its files; none of them need be there. It is no instance any more when the first is gone.
    ///
    /// # Errors
    ///
    /// When one of them cannot be removed.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        for extension in [JSON, NEW, LOCK] {
            let path = self.path(extension);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(Failure::at("remove", &path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// The file with the instance.
    pub(super) fn value_path(&self) -> PathBuf {
        self.path(JSON)
    }

    /// The name has no dot.
    fn path(&self, extension: &str) -> PathBuf {
        self.stem.with_extension(extension)
    }
}

/// The time and the process: later than every name that this process made before, whatever the clock does.
fn new_name() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = since_1970(SystemTime::now()).as_nanos() as u64;
    let next = |last: u64| now.max(last + 1);
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    format!("{:020}-{}", next(last.unwrap_or_else(|last| last)), process::id())
}

/// Whether two are of the same file or directory.
#[cfg(unix)]
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// That files are of the same kind is all that is known here.
#[cfg(not(unix))]
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    one.file_type() == other.file_type()
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn files(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn names_are_never_the_same_and_sort_by_their_age() {
        let names: Vec<_> = (0..1_000).map(|_| new_name()).collect();
        assert!(names.is_sorted());
        assert_eq!(BTreeSet::from_iter(&names).len(), 1_000);
    }

    #[test]
    fn only_a_lock_of_ours_is_an_entry() {
        let dir = Path::new("/x");
        let entry = Entry::of_lock(dir, OsStr::new("017-4.lock")).unwrap();
        assert_eq!(entry.value_path(), Path::new("/x/017-4.json"));
        for other in
            ["017-4.json", "017-4.new", "x.lock", ".lock", "-.lock", "1.lock", "1-2-3.lock", "1-2lock", "a/1-2.lock"]
        {
            assert_eq!(Entry::of_lock(dir, OsStr::new(other)), None, "{other}");
        }
    }

    #[test]
    fn it_lives_as_long_as_its_file_is_held_however_many_look() {
        let dir = tempfile::tempdir().unwrap();
        let (entry, file) = Entry::claim(dir.path()).unwrap();
        entry.write(b"1").unwrap();
        for _ in 0..3 {
            assert!(entry.lives().unwrap());
        }
        entry.write(b"2").unwrap();
        assert_eq!(entry.read().unwrap().unwrap().1, b"2");
        assert_eq!(files(dir.path()), 2);
        drop(file);
        assert!(!entry.lives().unwrap());
        assert_eq!((files(dir.path()), entry.read().unwrap()), (0, None));
    }

    #[test]
    fn one_who_looks_does_not_make_a_dead_provider_look_alive() {
        let dir = tempfile::tempdir().unwrap();
        let (entry, file) = Entry::claim(dir.path()).unwrap();
        drop(file);
        let other = File::open(entry.path(LOCK)).unwrap();
        other.try_lock_shared().unwrap();
        assert!(!entry.lives().unwrap());
    }

    #[test]
    fn a_value_that_is_no_file_of_its_own_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let (entry, _file) = Entry::claim(dir.path()).unwrap();
        fs::create_dir(entry.value_path()).unwrap();
        assert_eq!(entry.read().unwrap(), None);
        #[cfg(unix)]
        {
            fs::remove_dir(entry.value_path()).unwrap();
            let secret = dir.path().join("secret");
            fs::write(&secret, "x").unwrap();
            std::os::unix::fs::symlink(&secret, entry.value_path()).unwrap();
            assert_eq!(entry.read().unwrap(), None);
        }
    }
}
