//! Following the instances of a service: a list, then the events from the revision after it on.

use std::time::Duration;

use etcd_client::{Client, Error, EventType, WatchOptions, WatchResponse, WatchStream};
use rpc_core::registry::{InstanceList, InstanceWatch};
use rpc_core::{BoxError, BoxFuture};
use tokio::time::{Instant, sleep};

use super::error::Failure;
use super::key;
use super::pause::Pauses;
use super::service::{MAX_ANSWER, Service};
use super::value::{self, Instances};

/// A stream that ends sooner than this was not good for much; the next is not opened at once.
const GOOD: Duration = Duration::from_secs(5);

/// A watch that opens itself again, for ever.
pub(super) struct Watch {
    service: Service,
    state: State,
    /// Whether it was said that events go unseen.
    is_down: bool,
    pauses: Pauses,
}

enum State {
    /// Kept over calls of `next` that are given up.
    Opening(BoxFuture<'static, Result<Open, Failure>>),
    Open(Box<Open>),
}

/// An open stream, and what it has led to.
struct Open {
    service: Service,
    instances: Instances,
    stream: WatchStream,
    since: Instant,
}

impl Watch {
    pub(super) fn new(service: Service) -> Self {
        let state = State::Opening(Box::pin(open(service.clone(), Duration::ZERO)));
        Self { service, state, is_down: false, pauses: Pauses::default() }
    }

    /// The next list; an error if there is none for a while. Cancel safe: what was begun is kept in `self`.
    async fn advance(&mut self) -> Result<InstanceList, Failure> {
        loop {
            match &mut self.state {
                State::Opening(opening) => match opening.await {
                    Ok(open) => {
                        let list = open.list();
                        self.state = State::Open(Box::new(open));
                        self.is_down = false;
                        return Ok(list);
                    }
                    Err(failure) => {
                        let pause = self.pauses.next();
                        self.open_after(pause);
                        if !std::mem::replace(&mut self.is_down, true) {
                            return Err(failure);
                        }
                    }
                },
                State::Open(open) => match open.stream.message().await {
                    Ok(Some(response)) if !response.canceled() => {
                        if open.apply(&response) {
                            return Ok(open.list());
                        }
                    }
                    // A stream that was cancelled says nothing more and does not end; one that failed does so again when it is asked.
                    end => {
                        tracing::debug!(service = self.service.name, ?end, "the watch ended; opening another");
                        let was_good = open.since.elapsed() >= GOOD;
                        let pause = if was_good { self.pauses.reset() } else { self.pauses.next() };
                        self.open_after(pause);
                    }
                },
            }
        }
    }

    fn open_after(&mut self, pause: Duration) {
        self.state = State::Opening(Box::pin(open(self.service.clone(), pause)));
    }
}

impl InstanceWatch for Watch {
    fn next(&mut self) -> BoxFuture<'_, Option<Result<InstanceList, BoxError>>> {
        Box::pin(async { Some(self.advance().await.map_err(BoxError::from)) })
    }
}

/// Lists, then watches from the next revision on: what happens in between is not missed. The revisions of an earlier stream are of
/// no use, they may be compacted or belong to an etcd that was restored since.
async fn open(service: Service, pause: Duration) -> Result<Open, Failure> {
    sleep(pause).await;
    let (instances, revision) = service.list().await?;
    let options = WatchOptions::new().with_prefix().with_start_revision(revision + 1);
    let watch = |client| begin(client, service.prefix.clone(), options.clone());
    let (stream, first) = service.connection.ask("watch the instances of a service", watch).await?;
    let mut open = Open { service, instances, stream, since: Instant::now() };
    open.apply(&first);
    Ok(open)
}

/// Opens a stream. Whether it was allowed is only said by its first response, which may be a cancellation too.
async fn begin(client: Client, prefix: String, options: WatchOptions) -> Result<(WatchStream, WatchResponse), Error> {
    let mut client = client.watch_client().max_decoding_message_size(MAX_ANSWER);
    let mut stream = client.watch(prefix, Some(options)).await?;
    match stream.message().await? {
        Some(first) if !first.canceled() => Ok((stream, first)),
        Some(first) if first.compact_revision() > 0 => Err(Error::WatchError("compacted meanwhile".to_owned())),
        Some(first) => Err(Error::WatchError(first.cancel_reason().to_owned())),
        None => Err(Error::WatchError("the stream ended".to_owned())),
    }
}

impl Open {
    fn list(&self) -> InstanceList {
        InstanceList::new(self.instances.values().cloned().collect())
    }

    /// Takes the events of a response over; whether there were any.
    fn apply(&mut self, response: &WatchResponse) -> bool {
        let Service { reader, name, prefix, .. } = &self.service;
        for event in response.events() {
            let Some(entry) = event.kv() else { continue };
            // A value that cannot be read is as good as none.
            if let Some(id) = key::id(prefix, entry.key()) {
                self.instances.remove(id);
            }
            if event.event_type() == EventType::Put {
                self.instances.extend(value::read(reader, name, prefix, entry));
            }
        }
        !response.events().is_empty()
    }
}
