//! What can go wrong with a directory.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot {what} `{}`; {}", path.display(), advice(source.kind()))]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("`{}` {fault}; remove it, or name another directory: `file:///absolute/dir`", path.display())]
    NotOwn { path: PathBuf, fault: &'static str },
    #[error("`{variable}` names `{}`, which does not exist; make it, unset the variable, or name a directory with `file:///dir`", path.display())]
    NoParent { variable: &'static str, path: PathBuf },
    #[error("the {0} is empty; give it one")]
    Empty(&'static str),
    #[error("instance `{id}` of service `{service}` cannot be written as JSON")]
    Unwritable { service: String, id: String, source: serde_json::Error },
    #[error(
        "instance `{id}` of service `{service}` is {size} bytes of JSON, and readers take {limit}; give it less metadata"
    )]
    TooLarge { service: String, id: String, size: usize, limit: usize },
    #[error("instance `{id}` of service `{service}` is not announced by this registration any more; register it again")]
    NotOurs { service: String, id: String },
    #[error("cannot keep a locked file in `{}`: others lock or remove it each time; let only rpc programs use the directory", .0.display())]
    Contended(PathBuf),
    #[cfg(target_os = "linux")]
    #[error("cannot watch `{}`, as a limit is reached; raise {limit}; lookups go on meanwhile, every 5 s", dir.display())]
    TooManyWatches { dir: PathBuf, limit: &'static str, source: io::Error },
    #[error("the runtime is ending")]
    Ending,
}

impl Failure {
    /// What failed at a path, to be given what the system says.
    pub(super) fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}

/// What to do about what the system says.
fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::PermissionDenied => "allow this user to, or name another directory",
        ErrorKind::ReadOnlyFilesystem => "nothing can be written there, name another directory",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there, or name another directory",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "something else is in the way, name another directory",
        ErrorKind::NotFound => "it was removed or cannot be made there, name another directory or register again",
        ErrorKind::InvalidFilename => "the system does not take such a name, give the service a shorter one",
        ErrorKind::Unsupported => "its file system cannot do that, name a directory on a local one",
        _ => "see what the system says, or name another directory",
    }
}
