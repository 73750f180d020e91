//! Writing one instance, and taking it out: transactions that touch nobody else's.

use etcd_client::{Client, Compare, CompareOp, PutOptions, Txn, TxnOp, TxnOpResponse, TxnResponse};
use rpc_core::ServiceInstance;

use super::connection::Connection;
use super::error::Failure;
use super::lease::Lease;
use super::value;

/// How often a key may change between looking and writing.
const TRIES: usize = 4;

/// Puts `instance` under the lease; gives the revision. `seen` is that of the last put, or 0: the key is only written if it is as it was
/// seen last.
///
/// What is found instead is replaced if it has the same address: nobody else can be listening there, so it is what this
/// provider left when it crashed, or lost with an earlier lease. Under another address it is another provider's.
///
/// # Errors
///
/// When another provider has the key, or etcd does not answer or refuses.
pub(super) async fn put(
    connection: &Connection,
    lease: &Lease,
    key: &str,
    instance: &ServiceInstance,
    mut seen: i64,
) -> Result<i64, Failure> {
    let ServiceInstance { service, id, address, .. } = instance;
    let value = crate::value::write(instance).map_err(|source| Failure::Unwritable {
        service: service.clone(),
        id: id.clone(),
        source: source.into(),
    })?;
    let taken =
        |theirs: String| Failure::Taken { service: service.clone(), id: id.clone(), theirs, ours: address.clone() };
    let mut theirs = String::new();
    for _ in 0..TRIES {
        let options = PutOptions::new().with_lease(lease.id);
        let transaction = Txn::new()
            .when([Compare::mod_revision(key, CompareOp::Equal, seen)])
            .and_then([TxnOp::put(key, value.as_slice(), Some(options))])
            .or_else([TxnOp::get(key, None)]);
        let answer = run(connection, "register an instance", transaction).await?;
        if answer.succeeded() {
            return Ok(answer.header().map_or(0, |header| header.revision()));
        }
        // A put whose answer was lost is seen here too.
        (seen, theirs) = match found(&answer) {
            None => (0, String::new()),
            Some((revision, found, _)) if found.as_ref() == Some(address) => (revision, found.unwrap_or_default()),
            Some((revision, found, owner)) if owner == lease.id => (revision, found.unwrap_or_default()),
            Some((_, found, _)) => return Err(taken(found.unwrap_or_else(|| "an address that cannot be read".into()))),
        };
    }
    Err(taken(theirs))
}

/// Takes an instance out, if it is under the lease.
///
/// # Errors
///
/// When etcd does not answer, or refuses.
pub(super) async fn take_out(connection: &Connection, lease: &Lease, key: &str) -> Result<(), Failure> {
    let transaction =
        Txn::new().when([Compare::lease(key, CompareOp::Equal, lease.id)]).and_then([TxnOp::delete(key, None)]);
    run(connection, "take an instance out", transaction).await?;
    Ok(())
}

async fn run(connection: &Connection, what: &'static str, transaction: Txn) -> Result<TxnResponse, Failure> {
    let ask = |mut client: Client| {
        let transaction = transaction.clone();
        async move { client.txn(transaction).await }
    };
    connection.ask(what, ask).await
}

/// The revision, the address and the lease of what a transaction found instead.
fn found(answer: &TxnResponse) -> Option<(i64, Option<String>, i64)> {
    let responses = answer.op_responses();
    let Some(TxnOpResponse::Get(found)) = responses.first() else { return None };
    let entry = found.kvs().first()?;
    Some((entry.mod_revision(), value::address(entry.value()), entry.lease()))
}
