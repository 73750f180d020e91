//! The flat table of all methods of all services on a port.

use std::fmt;
use std::sync::Arc;

use super::Dispatch;
use super::pace::Pace;
use crate::protocol::hello::TableEntry;
use crate::protocol::message::Description;
use crate::protocol::shape::ShapeError;

/// All methods; the position is the method's number in requests.
#[derive(Debug)]
pub(super) struct Table {
    methods: Vec<Entry>,
}

/// One method.
pub(super) struct Entry {
    pub(super) dispatcher: Arc<dyn Dispatch>,
    pub(super) ordinal: usize,
    pub(super) description: Description,
    pub(super) pace: Pace,
    hello: TableEntry,
}

/// Why services cannot share a port.
#[derive(Debug, thiserror::Error)]
pub(super) enum TableError {
    #[error("service `{0}` is given twice; give one of them another name with #[rpc_service(name = \"..\")]")]
    Duplicate(&'static str),
    #[error("service `{service}`, method `{method}`: the {part} cannot be described")]
    Shape { service: &'static str, method: &'static str, part: &'static str, source: ShapeError },
}

impl Table {
    pub(super) fn new(dispatchers: Vec<Arc<dyn Dispatch>>) -> Result<Self, TableError> {
        let mut names = Vec::new();
        let mut methods = Vec::new();
        for dispatcher in dispatchers {
            let service = dispatcher.service();
            if names.contains(&service.name()) {
                return Err(TableError::Duplicate(service.name()));
            }
            names.push(service.name());
            for ordinal in 0..service.methods().len() {
                methods.push(Entry::new(Arc::clone(&dispatcher), ordinal)?);
            }
        }
        Ok(Self { methods })
    }

    pub(super) fn get(&self, number: u32) -> Option<&Entry> {
        self.methods.get(usize::try_from(number).ok()?)
    }

    /// The table as the hello tells it.
    pub(super) fn hello(&self) -> Vec<TableEntry> {
        self.methods.iter().map(|entry| entry.hello.clone()).collect()
    }
}

impl Entry {
    fn new(dispatcher: Arc<dyn Dispatch>, ordinal: usize) -> Result<Self, TableError> {
        let (service, method) = (dispatcher.service().name(), &dispatcher.service().methods()[ordinal]);
        let failed = |part, source| TableError::Shape { service, method: method.name(), part, source };
        let arguments = method.arguments_shape().map_err(|source| failed("arguments", source))?;
        let outcome = method.outcome_shape().map_err(|source| failed("result", source))?;
        for place in arguments.unknown.iter().chain(&outcome.unknown) {
            tracing::warn!(
                service,
                method = method.name(),
                place,
                "a type gives no hint of its shape; a difference there goes unseen"
            );
        }
        let hello = TableEntry {
            service: service.to_owned(),
            method: method.name().to_owned(),
            arguments: arguments.fingerprint(),
            outcome: outcome.fingerprint(),
        };
        let description = Description { arguments: arguments.text, outcome: outcome.text };
        Ok(Self { dispatcher, ordinal, description, pace: Pace::default(), hello })
    }

    pub(super) fn service(&self) -> &'static str {
        self.dispatcher.service().name()
    }

    pub(super) fn method(&self) -> &'static str {
        self.dispatcher.service().methods()[self.ordinal].name()
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.service(), self.method())
    }
}
