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
    /// The variable that names the directory around it, which others make.
    variable: Option<&'static str>,
}

impl Root {
    /// One that somebody chose.
    pub(super) fn named(path: PathBuf) -> Self {
        Self { path, is_private: false, variable: None }
    }

    /// One that must be this user's own.
    pub(super) fn private(path: PathBuf) -> Self {
        Self { path, is_private: true, variable: None }
    }

    /// The same, in a directory that a variable names.
    pub(super) fn private_in(variable: &'static str, dir: &Path) -> Self {
        Self { variable: Some(variable), ..Self::private(dir.join("rpc")) }
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
        self.check_parent()?;
        let mut builder = DirBuilder::new();
        builder.recursive(!self.is_private);
        if self.is_private {
            keep_others_out(&mut builder);
        }
        make(&builder, &self.path)?;
        self.check()
    }

    /// Checks that it is this user's own, if it must be and is there; or could be there.
    ///
    /// # Errors
    ///
    /// When it is not, or the directory around it is not there.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if !self.is_private {
            return Ok(());
        }
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) => match fault(&metadata) {
                Some(fault) => Err(Failure::NotOwn { path: self.path.clone(), fault }),
                None => Ok(()),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => self.check_parent(),
            Err(error) => Err(Failure::at("look at", &self.path)(error)),
        }
    }

    fn check_parent(&self) -> Result<(), Failure> {
        match (self.variable, self.path.parent()) {
            (Some(variable), Some(path)) if matches!(path.try_exists(), Ok(false)) => {
                Err(Failure::NoParent { variable, path: path.to_owned() })
            }
            _ => Ok(()),
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
    fn a_variable_that_names_no_directory_is_said_with_what_to_do() {
        let kept = tempfile::tempdir().unwrap();
        let dir = kept.path().join("session");
        let root = Root::private_in("XDG_RUNTIME_DIR", &dir);
        let expected = format!(
            "`XDG_RUNTIME_DIR` names `{}`, which does not exist; make it, unset the variable, or name a directory with `file:///dir`",
            dir.display()
        );
        assert_eq!(root.make().unwrap_err().to_string(), expected);
        assert_eq!(root.check().unwrap_err().to_string(), expected);
        fs::create_dir(&dir).unwrap();
        root.check().unwrap();
        root.make().unwrap();
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
