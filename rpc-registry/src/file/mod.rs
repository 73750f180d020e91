//! `file`: providers register in a directory of this machine, consumers list it and follow its changes.
//!
//! ```text
//!  Files ---- service (list) ---- watch -> changes        consumers
//!    |            |
//!    |          entry ==> <directory>/<service>/..        a lock, which tells the living from the dead, and JSON
//!    |            |
//!    +--- registration -> held                            providers
//! ```
//!
//! Nothing here waits for the disk on a worker of the runtime.

mod changes;
mod config;
mod entry;
mod error;
mod held;
mod registration;
mod root;
mod service;
mod watch;

use std::panic;
use std::sync::Arc;

use rpc_core::registry::{Discovery, InstanceList, InstanceWatch, Registrar, Registration};
use rpc_core::{BoxError, BoxFuture, ServiceInstance, Settings, register};
use serde::Deserialize;
use tokio::task::{JoinError, spawn_blocking};

use error::Failure;
use registration::Announced;
use root::Root;
use service::Service;
use watch::Watch;

use crate::value::Reader;

/// A registry in a directory of this machine: `file:///absolute/dir`, or `file:` for one of this user's own.
///
/// The directory is made when somebody registers or watches. The path is taken as it stands: `%` stands for itself. `file:` alone means
/// `$XDG_RUNTIME_DIR/rpc` or, without that variable, `rpc-<uid>` among the temporary files; either must be this user's, and no
/// other's to enter.
///
/// Each service has a directory, and each registration two files in it, of a name that is never used again: `<name>.json` with the
/// [`ServiceInstance`], and `<name>.lock`, which is locked as long as the provider lives. The system unlocks it when a process ends, in
/// whatever way, so a provider that crashed is gone at once. Whoever finds its files removes them. If two register the same service and
/// id, the later one counts while it lives.
///
/// On Linux every change is pushed, crashes included. Elsewhere a watch looks once a second.
///
/// If somebody deletes or changes the files of a provider that lives, it registers again within 5 s. An instance may be 1 MiB of JSON.
///
/// The directory must be on a local file system: those of a network do not lock reliably.
///
/// # Examples
///
/// ```
/// use rpc_registry::Files;
///
/// let registry = Files::from_url("file:///run/shop/rpc")?;
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Files {
    root: Arc<Root>,
    reader: Arc<Reader>,
}

impl Files {
    /// The key it is registered under. Its only setting is `url`.
    pub const KEY: &'static str = "file";

    /// Takes the directory from a url. It is not looked at before it is used, which needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When `url` is not of the form above, or `$XDG_RUNTIME_DIR` or `$TMPDIR` is needed and is no absolute path.
    pub fn from_url(url: &str) -> Result<Self, BoxError> {
        Ok(Self { root: Arc::new(config::root(url)?), reader: Arc::default() })
    }

    fn service(&self, name: &str) -> Result<Service, Failure> {
        Service::new(Arc::clone(&self.root), Arc::clone(&self.reader), name)
    }
}

register!(dyn Discovery, Files::KEY, build);
register!(dyn Registrar, Files::KEY, build);

impl Discovery for Files {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        Box::pin(async move {
            let service = self.service(service)?;
            // Where nobody has registered yet, there is no directory either.
            Ok(aside(move || service.list()).await?.unwrap_or_default())
        })
    }

    fn watch<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn InstanceWatch>>, BoxError>> {
        Box::pin(async move {
            let watch: Box<dyn InstanceWatch> = Box::new(Watch::open(self.service(service)?).await?);
            Ok(Some(watch))
        })
    }
}

impl Registrar for Files {
    fn register(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<Box<dyn Registration>, BoxError>> {
        Box::pin(async move {
            let service = self.service(&instance.service)?;
            Ok(Box::new(Announced::new(service, instance).await?) as Box<dyn Registration>)
        })
    }
}

/// Does what may wait for the disk where it keeps no task waiting. It is done even if nobody waits for the result.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Result<T, Failure> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(unfinished(error)))
}

/// Why there is no result: a panic goes on here, else the runtime has no time for it any more.
fn unfinished(error: JoinError) -> Failure {
    match error.try_into_panic() {
        Ok(panic) => panic::resume_unwind(panic),
        Err(_) => Failure::Ending,
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settled {
    url: String,
}

fn build(settings: &Settings) -> Result<Arc<Files>, BoxError> {
    let Settled { url } = settings.parse()?;
    Ok(Arc::new(Files::from_url(&url)?))
}
