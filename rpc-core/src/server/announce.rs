//! A server's place in a registry: taken once it serves, given back before it stops.

use std::sync::Arc;
use std::time::Duration;

use super::StartError;
use crate::registry::{self, Registration};
use crate::{PluginError, RegistryConfig, ServiceInstance};

/// How long leaving waits for the weight 0 to be written: it only spares clients a call to an instance on its way out.
const DRAINED_WITHIN: Duration = Duration::from_millis(500);
/// How long leaving waits for the registrations to be taken back; what is left then goes when the registry notices.
const RELEASED_WITHIN: Duration = Duration::from_secs(1);

/// A registry to announce to.
#[derive(Debug)]
pub(super) struct Registrar {
    config: RegistryConfig,
    plugin: Arc<dyn registry::Registrar>,
}

impl Registrar {
    pub(super) fn build(config: &RegistryConfig) -> Result<Self, PluginError> {
        Ok(Self { plugin: config.registrar()?, config: config.clone() })
    }
}

/// What a server has announced.
#[derive(Debug)]
pub(super) struct Announced {
    registrations: Vec<(ServiceInstance, Box<dyn Registration>)>,
}

impl Announced {
    /// Nothing is announced.
    pub(super) fn nowhere() -> Self {
        Self { registrations: Vec::new() }
    }

    /// Announces all `instances`, or none.
    pub(super) async fn announce(registrar: Registrar, instances: Vec<ServiceInstance>) -> Result<Self, StartError> {
        let mut announced = Self::nowhere();
        for instance in instances {
            match registrar.plugin.register(instance.clone()).await {
                Ok(registration) => announced.registrations.push((instance, registration)),
                Err(source) => {
                    announced.withdraw().await;
                    return Err(StartError::Register {
                        service: instance.service,
                        registry: registrar.config.to_string(),
                        source,
                    });
                }
            }
        }
        Ok(announced)
    }

    /// Takes everything back, in two steps that a registry's watchers can tell apart: first no more calls, please; then gone.
    pub(super) async fn withdraw(&self) {
        let drained = tokio::time::timeout(DRAINED_WITHIN, async {
            for (instance, registration) in &self.registrations {
                let drained = instance.clone().with_weight(0);
                note(instance, "write the weight 0 of", registration.update(drained).await);
            }
        });
        if drained.await.is_err() {
            tracing::warn!(limit = ?DRAINED_WITHIN, "the registry was slow to take the weight 0; leaving all the same");
        }
        let released = tokio::time::timeout(RELEASED_WITHIN, async {
            for (instance, registration) in &self.registrations {
                note(instance, "take back", registration.release().await);
            }
        });
        if released.await.is_err() {
            tracing::warn!(limit = ?RELEASED_WITHIN, "the registry was slow to forget this instance; leaving all the same");
        }
    }
}

fn note(instance: &ServiceInstance, what: &str, result: Result<(), crate::BoxError>) {
    let ServiceInstance { service, id, .. } = instance;
    match result {
        Ok(()) => tracing::debug!(service, id, "done: {what} the registration"),
        Err(error) => tracing::warn!(service, id, %error, "cannot {what} the registration"),
    }
}
