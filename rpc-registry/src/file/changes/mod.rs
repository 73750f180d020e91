//! Hearing of what happens in the directory of a service.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(any(not(target_os = "linux"), test))]
mod poll;

#[cfg(target_os = "linux")]
pub(super) use inotify::Changes;
#[cfg(not(target_os = "linux"))]
pub(super) use poll::Changes;

/// What happened; what implies another look comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux tells what happened"))]
pub(super) enum Change {
    /// A registration may have come, gone, or changed.
    Value,
    /// A lock is about to be free: the system tells of it a moment before.
    Unlocking,
    /// The directory is not there any more.
    Gone,
}
