//! Where instances are among etcd's keys: `/<namespace>/services/<service>/instances/<id>`.

use rpc_core::ServiceInstance;
use thiserror::Error;

/// A part of a key that would not be one part.
#[derive(Debug, Error)]
#[error("the {what} `{name}` is empty or contains `/`, white space or control characters; give it another one")]
pub(super) struct BadName {
    what: &'static str,
    name: String,
}

/// Checks that `name` can be one part of a key.
pub(super) fn check(what: &'static str, name: &str) -> Result<(), BadName> {
    let is_bad = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if name.is_empty() || name.contains(is_bad) {
        return Err(BadName { what, name: name.to_owned() });
    }
    Ok(())
}

/// What the keys of all instances of `service` begin with, and those of no other service: it ends in `/`.
pub(super) fn prefix(namespace: &str, service: &str) -> Result<String, BadName> {
    check("service name", service)?;
    Ok(format!("/{namespace}/services/{service}/instances/"))
}

/// The key of an instance.
pub(super) fn of(namespace: &str, instance: &ServiceInstance) -> Result<String, BadName> {
    check("instance id", &instance.id)?;
    Ok(prefix(namespace, &instance.service)? + &instance.id)
}

/// The id in a key below `prefix`.
pub(super) fn id<'a>(prefix: &str, key: &'a [u8]) -> Option<&'a str> {
    let id = std::str::from_utf8(key).ok()?.strip_prefix(prefix)?;
    check("instance id", id).ok().map(|()| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_below_the_prefix_of_its_service_alone() {
        let instance = ServiceInstance::new("user", "a:1");
        let key = of("rpc", &instance).unwrap();
        assert_eq!(key, "/rpc/services/user/instances/a:1");
        for (service, expected) in [("user", Some("a:1")), ("use", None), ("user2", None), ("users", None)] {
            assert_eq!(id(&prefix("rpc", service).unwrap(), key.as_bytes()), expected, "{service}");
        }
    }

    #[test]
    fn names_that_are_not_one_part_of_a_key_are_refused() {
        for name in ["", "user/x", "/", "us er", "user\n", "\u{a0}", "\0"] {
            assert!(of("rpc", &ServiceInstance::new(name, "a:1")).is_err(), "{name:?}");
            assert!(of("rpc", &ServiceInstance::new("user", "a:1").with_id(name)).is_err(), "{name:?}");
        }
        let error = prefix("rpc", "user/x").unwrap_err();
        assert!(error.to_string().starts_with("the service name `user/x` is empty or contains `/`"), "{error}");
        assert!(of("rpc", &ServiceInstance::new("användare", "a:1")).is_ok());
    }

    #[test]
    fn keys_that_are_not_of_this_form_have_no_id() {
        for key in [&b"/rpc/services/user/instances/"[..], b"/rpc/services/user/instances/a/b", b"\xff"] {
            assert_eq!(id("/rpc/services/user/instances/", key), None);
        }
    }
}
