//! What a handler knows of the call that it answers, and what calls made inside inherit.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

/// Metadata that calls made by a handler pass on: the trace context and baggage of W3C.
const INHERITED: [&str; 3] = ["traceparent", "tracestate", "baggage"];

tokio::task_local! {
    static CURRENT: Context;
}

/// The call that is being answered: its deadline, its caller, its metadata.
///
/// A handler finds it with [`Context::current`] at any point of its own task. Calls that the handler makes take the
/// remaining time over, as well as the metadata `traceparent`, `tracestate` and `baggage`, and nothing else. A task that the handler
/// spawns is not part of the call; [`scope`](Self::scope) makes it so.
///
/// # Examples
///
/// ```
/// use rpc_core::Context;
///
/// async fn handler() {
///     if let Some(context) = Context::current() {
///         tokio::spawn(context.clone().scope(async move {
///             println!("{:?} left", context.time_left());
///         }));
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Context {
    pub(crate) deadline: Instant,
    pub(crate) connection: Arc<Ends>,
    pub(crate) metadata: Metadata,
}

/// Who is at the ends of a connection.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The id of the instance that serves.
    pub(crate) instance: String,
    /// The caller's address; the tests' network has none.
    pub(crate) peer: Option<SocketAddr>,
}

impl Context {
    /// The context of the call that this task answers; `None` outside of a handler.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// The context of a call that comes over no connection.
    pub(crate) fn local(instance: &str, deadline: Instant, metadata: Metadata) -> Self {
        let connection = Arc::new(Ends { instance: instance.to_owned(), peer: None });
        Self { deadline, connection, metadata }
    }

    /// How long the caller still waits.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The caller's address.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        self.connection.peer
    }

    /// The id of the instance that answers the call.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.connection.instance
    }

    /// What the caller sent beside the arguments.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Makes `future` part of this call: inside, [`current`](Self::current) finds it.
    pub fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> + use<F> {
        CURRENT.scope(self, future)
    }
}

/// What a call made here inherits: the deadline and the metadata to pass on.
pub(crate) fn inherited() -> Option<(Instant, Metadata)> {
    CURRENT.try_with(|context| (context.deadline, context.metadata.inherited())).ok()
}

/// Pairs of text that travel beside the arguments, in the order of their first insertion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata(Vec<(String, String)>);

impl Metadata {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Sets `key` to `value`, in place of an earlier value.
    pub fn insert(&mut self, key: String, value: String) {
        match self.0.iter_mut().find(|(name, _)| *name == key) {
            Some(pair) => pair.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Adds a pair that was received, without a search for an earlier value: a peer may send 65,535 of them.
    pub(crate) fn push(&mut self, key: String, value: String) {
        self.0.push((key, value));
    }

    /// All pairs.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Bytes on the wire: none at all if empty, else a count and two lengths a pair.
    pub(crate) fn wire_len(&self) -> usize {
        let pairs: usize = self.iter().map(|(key, value)| 4 + key.len() + value.len()).sum();
        if self.is_empty() { 0 } else { 2 + pairs }
    }

    /// The first thing that does not fit the wire's 16-bit lengths, if any.
    pub(crate) fn misfit(&self) -> Option<String> {
        let limit = usize::from(u16::MAX);
        if self.len() > limit {
            return Some(format!("{} pairs of metadata; at most {limit} can be sent", self.len()));
        }
        let (key, _) = self.iter().find(|(key, value)| key.len() > limit || value.len() > limit)?;
        let start: String = key.chars().take(40).collect();
        Some(format!("metadata `{start}`: key and value can have at most {limit} bytes each"))
    }

    /// Keeps the first `count` pairs.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.0.truncate(count);
    }

    /// Takes over what is not set here.
    pub(crate) fn inherit(&mut self, inherited: Self) {
        for (key, value) in inherited.0 {
            if self.get(&key).is_none() {
                self.0.push((key, value));
            }
        }
    }

    fn inherited(&self) -> Self {
        let pairs = self.0.iter().filter(|(key, _)| INHERITED.contains(&key.as_str()));
        Self(pairs.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_trace_is_inherited() {
        let mut metadata = Metadata::default();
        for key in ["user", "traceparent", "baggage"] {
            metadata.insert(key.into(), "x".into());
        }
        let keys: Vec<_> = metadata.inherited().0.into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["traceparent", "baggage"]);
    }

    #[test]
    fn a_later_value_replaces_the_earlier() {
        let mut metadata = Metadata::default();
        metadata.insert("k".into(), "1".into());
        metadata.insert("k".into(), "2".into());
        assert_eq!((metadata.get("k"), metadata.len()), (Some("2"), 1));
    }

    #[test]
    fn what_does_not_fit_the_wire_is_named() {
        let mut metadata = Metadata::default();
        metadata.insert("long".into(), "x".repeat(65_536));
        assert!(metadata.misfit().unwrap().contains("`long`"));
    }

    #[tokio::test]
    async fn a_spawned_task_is_part_of_the_call_inside_scope() {
        let deadline = Instant::now() + Duration::from_secs(1);
        let context = Context::local("test", deadline, Metadata::default());
        let task = tokio::spawn(context.scope(async { Context::current().map(|context| context.deadline) }));
        assert_eq!(task.await.unwrap(), Some(deadline));
        assert!(Context::current().is_none());
    }
}
