//! What can go wrong with etcd.

use std::sync::Arc;

use etcd_client::Error;

/// gRPC codes of errors that another try may not meet: cancelled, unknown (a broken connection), deadline exceeded, internal,
/// unavailable.
const TRANSIENT: [i32; 5] = [1, 2, 4, 13, 14];
/// The gRPC code of a lease that is gone.
const NOT_FOUND: i32 = 5;

/// Why something could not be done. Told to everybody who waited for it.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot {what}: etcd at `{endpoints}` does not answer; check that it runs there and can be reached")]
    Unreachable {
        what: &'static str,
        endpoints: Arc<str>,
        /// Nothing if the time was over.
        source: Option<Arc<Error>>,
    },
    #[error("cannot {what}: etcd at `{endpoints}` refuses it")]
    Refused { what: &'static str, endpoints: Arc<str>, source: Arc<Error> },
    #[error(
        "instance `{id}` of service `{service}` is registered already, at `{theirs}`, and cannot be at `{ours}` too; give one of them another id, or wait until the other is gone; one that crashed goes with its lease"
    )]
    Taken { service: String, id: String, theirs: String, ours: String },
    #[error("instance `{id}` of service `{service}` cannot be written as JSON")]
    Unwritable { service: String, id: String, source: Arc<serde_json::Error> },
    #[error("cannot {what}: nothing was heard of it in time; it is done as soon as etcd answers")]
    Slow { what: &'static str },
    #[error("instance `{id}` of service `{service}` is not announced by this registration any more; register it again")]
    NotOurs { service: String, id: String },
}

impl Failure {
    /// Whether the cause is that a lease is gone.
    pub(super) fn is_of_a_lost_lease(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if is_lease_gone(source))
    }
}

/// Whether another try may do better.
pub(super) fn is_transient(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => TRANSIENT.contains(&(status.code() as i32)),
        Error::TransportError(_) | Error::IoError(_) => true,
        _ => false,
    }
}

/// Whether the lease that was named is gone. The client makes an error of its own of a first answer that says so.
fn is_lease_gone(error: &Error) -> bool {
    match error {
        Error::GRpcStatus(status) => status.code() as i32 == NOT_FOUND,
        Error::LeaseKeepAliveError(text) => text == "lease not found",
        _ => false,
    }
}
