//! The consumer's side: from a stub to a connection.
//!
//! ```text
//! stub -> Channel -> fault strategy -> run -> Snapshot, pick -> Link, Route -> Peer -> Connection
//! ```

mod attempt;
mod builder;
mod channel;
mod check;
mod fallback;
mod maker;
mod policies;
mod pool;
mod route;
mod run;
mod snapshot;
mod strategy;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;

pub use builder::{BuildError, ClientBuilder};
pub use channel::{Channel, Stub};

use builder::Shared;
use channel::Core;

use crate::discovery::{Changes, Instances};
use crate::error::{Code, Executed, RpcError};
use crate::lock::lock;
use crate::method::ServiceDescriptor;
use crate::server::Dispatch;

/// The consumer's side of all services: what to call and how. Cheap to clone; build one for a program.
///
/// Its connections, lookups and deadlines are driven by the runtime of the call that first needed them. That runtime may end: what it did is
/// then begun anew. It must not stand still while calls are made on another.
///
/// # Examples
///
/// ```no_run
/// # use rpc_core::{Client, generated::Stub};
/// # fn run<UserServiceStub: Stub>() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder().registry("direct://10.0.0.1:9000,10.0.0.2:9000").build()?;
/// let users: UserServiceStub = client.stub()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    /// One channel a service, made when the first stub is.
    channels: Arc<Mutex<Vec<Arc<Core>>>>,
}

impl Client {
    /// Begins to configure a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A stub for the service of this type. Stubs of the same service share what they know of its instances.
    ///
    /// Nothing is sent: the first call looks the service up and connects. Calls are made within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When a type of the service cannot travel, a plugin refuses to be built, or the fault strategy may answer in place of the providers
    /// and a method's result has no `Default`.
    pub fn stub<S: Stub>(&self) -> Result<S, BuildError> {
        let core = self.core(S::SERVICE)?;
        core.check_degradable(None)?;
        Ok(S::from_channel(Channel::new(core, None)))
    }

    /// A stub for the service of this type, whose calls are answered by `fallback` when the fault strategy does without the providers: a
    /// local implementation of the same trait, in the generated dispatcher.
    ///
    /// # Errors
    ///
    /// As for [`stub`](Self::stub), and when the fallback is one of another service.
    pub fn stub_with_fallback<S: Stub>(&self, fallback: impl Dispatch) -> Result<S, BuildError> {
        let core = self.core(S::SERVICE)?;
        core.check_degradable(Some(&fallback))?;
        Ok(S::from_channel(Channel::new(core, Some(Arc::new(fallback)))))
    }

    /// Asks the registry for the instances of this stub's service now, unless they are known, so that a program can begin with a registry
    /// that answers. The list may be empty. Cancel safe.
    ///
    /// # Errors
    ///
    /// When the registry cannot be asked or gives no answer `within` that time, and as for [`stub`](Self::stub).
    pub async fn ready<S: Stub>(&self, within: Duration) -> Result<Instances, RpcError> {
        let core = self.core(S::SERVICE).map_err(|error| {
            let message = format!("service `{}` cannot be called", S::SERVICE.name());
            RpcError::with_code(Code::Codec, Executed::No, message).with_source(error)
        })?;
        match timeout(within, core.first_list()).await {
            Ok(listed) => listed.map(|()| core.directory.instances()),
            Err(_) => {
                let (service, registry) = (S::SERVICE.name(), &self.shared.registry);
                let message = format!("service `{service}`: registry `{registry}` gave no answer within {within:?}");
                Err(RpcError::with_code(Code::DeadlineExceeded, Executed::No, message))
            }
        }
    }

    /// Ends what the fault strategies do in the background, and says how many calls that leaves undone. Dropping the client and its stubs
    /// ends it too, without a word, as does dropping this future.
    pub async fn shutdown(self) -> usize {
        let channels = lock(&self.channels).clone();
        let mut undone = 0;
        for core in &channels {
            undone += core.policies.close().await;
        }
        undone
    }

    /// The changes among the instances of this stub's service, from now on. Begins to follow the registry if no call has yet.
    ///
    /// # Errors
    ///
    /// As for [`stub`](Self::stub).
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn changes<S: Stub>(&self) -> Result<Changes, BuildError> {
        let core = self.core(S::SERVICE)?;
        let changes = core.directory.changes();
        core.directory.follow(self.shared.refresh);
        Ok(changes)
    }

    /// What this client knows now of the instances of this stub's service, and how old that is.
    ///
    /// # Errors
    ///
    /// As for [`stub`](Self::stub).
    pub fn instances<S: Stub>(&self) -> Result<Instances, BuildError> {
        Ok(self.core(S::SERVICE)?.directory.instances())
    }

    fn core(&self, service: &'static ServiceDescriptor) -> Result<Arc<Core>, BuildError> {
        let mut channels = lock(&self.channels);
        if let Some(core) = channels.iter().find(|core| std::ptr::eq(core.service(), service)) {
            return Ok(Arc::clone(core));
        }
        let core = Core::new(service, Arc::clone(&self.shared))?;
        channels.push(Arc::clone(&core));
        Ok(core)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.fmt(f)
    }
}
