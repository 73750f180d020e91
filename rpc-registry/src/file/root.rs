//! The directory that holds those of all services.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::error::Failure;

/// A directory, which need not be there yet.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Root {
    path: PathBuf,
    /// Whether it must be this user's own. Where nobody chose the directory, another user may have been first.
    is_private: bool,
}

impl Root {
    /// One that somebody chose.
    pub(super) fn named(path: PathBuf) -> Self {
        Self { path, is_private: false }
    }

    /// One that must be this user's own.
    pub(super) fn private(path: PathBuf) -> Self {
        Self { path, is_private: true }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or is not this user's own and must be.
    pub(super) fn make(&self) -> Result<(), Failure> {
        let mut builder = DirBuilder::new();
        builder.recursive(!self.is_private);
        if self.is_private {
            keep_others_out(&mut builder);
        }
        make(&builder, &self.path)?;
        self.check()
    }

    /// Checks that it is this user's own, if it must be and is there.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if !self.is_private {
            return Ok(());
        }
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) => match fault(&metadata) {
                Some(fault) => Err(Failure::NotOwn { path: self.path.clone(), fault }),
                None => Ok(()),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Failure::at("look at", &self.path)(error)),
        }
    }
}

/// Makes a directory; one that is there is as good.
pub(super) fn make(builder: &DirBuilder, path: &Path) -> Result<(), Failure> {
    match builder.create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Failure::at("make the directory", path)(error)),
        _ => Ok(()),
    }
}

/// What keeps something from being a directory of this user's own, worded so as to follow its path.
fn fault(metadata: &Metadata) -> Option<&'static str> {
    if !metadata.is_dir() { Some("is no directory") } else { foreign(metadata) }
}

#[cfg(unix)]
fn foreign(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        Some("belongs to another user")
    } else if metadata.mode() & 0o077 != 0 {
        Some("is open to other users")
    } else {
        None
    }
}

/// What is among a user's temporary files is the user's own here.
#[cfg(not(unix))]
fn foreign(_metadata: &Metadata) -> Option<&'static str> {
    None
}

#[cfg(unix)]
fn keep_others_out(builder: &mut DirBuilder) {
    use std::os::unix::fs::DirBuilderExt;
    builder.mode(0o700);
}

#[cfg(not(unix))]
fn keep_others_out(_builder: &mut DirBuilder) {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_directory_of_the_users_own_is_made_so_that_nobody_else_enters() {
        let kept = tempfile::tempdir().unwrap();
        let root = Root::private(kept.path().join("rpc"));
        root.check().unwrap();
        for _ in 0..2 {
            root.make().unwrap();
        }
        assert_eq!(fs::metadata(root.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn what_is_in_its_place_is_refused_with_what_is_wrong_and_what_to_do() {
        let kept = tempfile::tempdir().unwrap();
        let (file, link, open) = (kept.path().join("file"), kept.path().join("link"), kept.path().join("open"));
        fs::write(&file, "").unwrap();
        symlink(kept.path(), &link).unwrap();
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o750)).unwrap();
        for (path, fault) in [(file, "is no directory"), (link, "is no directory"), (open, "is open to other users")] {
            let root = Root::private(path.clone());
            let advice = "remove it, or name another directory: `file:///absolute/dir`";
            let expected = format!("`{}` {fault}; {advice}", path.display());
            assert_eq!(root.make().unwrap_err().to_string(), expected);
            assert_eq!(root.check().unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_directory_that_somebody_chose_may_be_open_and_is_made_with_its_parents() {
        let kept = tempfile::tempdir().unwrap();
        let root = Root::named(kept.path().join("a/b"));
        root.make().unwrap();
        fs::set_permissions(root.path(), Permissions::from_mode(0o777)).unwrap();
        root.make().unwrap();
    }
}
