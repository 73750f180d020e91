//! The url of the registry.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rpc_core::registry::shown_url;
use thiserror::Error;

use super::root::Root;

/// The variable that names the directory of this user's session.
const RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";

/// A url that is not of the form expected, or says too little here.
#[derive(Debug, Error)]
pub(super) enum BadUrl {
    #[error(
        "registry url `{url}` {fault}; write `file:///absolute/dir`, or `file:` for a directory of this user's own"
    )]
    Form { url: String, fault: &'static str },
    #[error(
        "registry url `file:` means a directory in ${RUNTIME_DIR}, which is `{0}` and no absolute path; set it to one, or name a directory: `file:///absolute/dir`"
    )]
    RuntimeDir(String),
    #[error(
        "registry url `file:` means a directory in $TMPDIR, as ${RUNTIME_DIR} is not set, and $TMPDIR is `{0}` and no absolute path; set either to one, or name a directory: `file:///absolute/dir`"
    )]
    TemporaryDir(String),
}

/// The directory that a url means.
pub(super) fn root(url: &str) -> Result<Root, BadUrl> {
    if url == "file:" {
        return own(env::var_os(RUNTIME_DIR));
    }
    let path = path(url).map_err(|fault| BadUrl::Form { url: shown_url(url), fault })?;
    Ok(Root::named(path.to_owned()))
}

fn path(url: &str) -> Result<&Path, &'static str> {
    let rest = url.strip_prefix("file://").ok_or("does not begin with `file://`")?;
    if rest.contains(['?', '#']) {
        return Err("has `?` or `#`, and there are no parameters");
    }
    match rest.find('/') {
        Some(0) => Ok(Path::new(rest)),
        Some(_) => Err("has a host or a relative path"),
        None if rest.is_empty() => Err("names no directory"),
        None => Err("has a host or a relative path"),
    }
}

/// The directory of this user's own, given what the environment says.
fn own(runtime_dir: Option<OsString>) -> Result<Root, BadUrl> {
    match runtime_dir.filter(|path| !path.is_empty()).map(PathBuf::from) {
        Some(path) if path.is_absolute() => Ok(Root::private_in(RUNTIME_DIR, &path)),
        Some(path) => Err(BadUrl::RuntimeDir(path.display().to_string())),
        None => temporary(&env::temp_dir()),
    }
}

/// The same among the temporary files, where the session has no directory.
fn temporary(dir: &Path) -> Result<Root, BadUrl> {
    if !dir.is_absolute() {
        return Err(BadUrl::TemporaryDir(dir.display().to_string()));
    }
    Ok(Root::private(dir.join(temporary_name())))
}

#[cfg(unix)]
fn temporary_name() -> String {
    format!("rpc-{}", rustix::process::geteuid())
}

/// Temporary files are each user's own here.
#[cfg(not(unix))]
fn temporary_name() -> String {
    "rpc".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_an_absolute_directory_as_it_stands() {
        for (url, path) in [
            ("file:///run/shop", "/run/shop"),
            ("file:///a b/%41/ä/", "/a b/%41/ä/"),
            ("file:///", "/"),
            ("file:///with@sign", "/with@sign"),
        ] {
            assert_eq!(root(url).unwrap(), Root::named(path.into()), "{url}");
        }
    }

    #[test]
    fn a_bad_url_is_refused_with_the_form_expected() {
        for (url, fault) in [
            ("file:/run/shop", "does not begin with `file://`"),
            ("file:shop", "does not begin with `file://`"),
            ("file://", "names no directory"),
            ("file://shop", "has a host or a relative path"),
            ("file://localhost/run/shop", "has a host or a relative path"),
            ("file://./shop", "has a host or a relative path"),
            ("file:///run?ttl=5", "has `?` or `#`, and there are no parameters"),
        ] {
            let form = "write `file:///absolute/dir`, or `file:` for a directory of this user's own";
            assert_eq!(root(url).unwrap_err().to_string(), format!("registry url `{url}` {fault}; {form}"));
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        let error = root("file://ann:secret@a/run").unwrap_err();
        assert!(error.to_string().starts_with("registry url `file://***@a/run` has a host"), "{error}");
        assert!(!format!("{error:?}").contains("secret"));
    }

    #[test]
    fn no_directory_means_one_of_this_user_in_the_session_or_among_the_temporary_files() {
        assert_eq!(own(Some("/run/user/7".into())).unwrap(), Root::private_in(RUNTIME_DIR, Path::new("/run/user/7")));
        let temporary = Root::private(env::temp_dir().join(temporary_name()));
        assert_eq!(own(None).unwrap(), temporary);
        assert_eq!(own(Some("".into())).unwrap(), temporary);
        let error = own(Some("run/user".into())).unwrap_err().to_string();
        assert!(error.contains("in $XDG_RUNTIME_DIR, which is `run/user` and no absolute path"), "{error}");
    }

    #[test]
    fn temporary_files_at_a_relative_path_are_refused() {
        for path in ["", "tmp"] {
            let error = temporary(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(&format!("$TMPDIR is `{path}` and no absolute path; set either to one")), "{error}");
        }
    }
}
