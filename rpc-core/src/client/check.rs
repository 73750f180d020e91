//! What is wrong with a configuration is found when the client is built, not at the first stub or the first call.

use super::builder::BuildError;
use crate::config::ClientConfig;
use crate::extension::nearest::nearest;
use crate::fault::FaultStrategy;
use crate::loadbalancer::LoadBalancer;
use crate::method::{Method, ServiceDescriptor, linked};

/// Finds the first mistake.
pub(super) fn check(config: &ClientConfig) -> Result<(), BuildError> {
    sizes(config)?;
    for (service, policy) in &config.services {
        check_names(service, policy.methods.keys())?;
    }
    plugins(config)
}

fn sizes(config: &ClientConfig) -> Result<(), BuildError> {
    let of_client = [
        ("timeoutMs", config.timeout_ms.0.is_zero()),
        ("connectTimeoutMs", config.connect_timeout_ms.0.is_zero()),
        ("refreshMs", config.refresh_ms.0.is_zero()),
        ("maxFrameBytes", config.max_frame_bytes == 0),
    ];
    let of_client = of_client.map(|(name, is_zero)| (format!("client.{name}"), is_zero));
    let of_others = config.policies().map(|(key, policy)| {
        let is_zero = policy.timeout_ms.is_some_and(|timeout| timeout.0.is_zero());
        (format!("{key}.timeoutMs"), is_zero)
    });
    match of_client.into_iter().chain(of_others).find(|(_, is_zero)| *is_zero) {
        Some((key, _)) => Err(BuildError::Zero(key)),
        None => Ok(()),
    }
}

/// Each channel builds its own; that they can be built at all is known now.
fn plugins(config: &ClientConfig) -> Result<(), BuildError> {
    config.load_balancer.build::<dyn LoadBalancer>("client.loadBalancer")?;
    config.fault.build::<dyn FaultStrategy>("client.fault")?;
    for (key, policy) in config.policies() {
        if let Some(plugin) = &policy.load_balancer {
            plugin.build::<dyn LoadBalancer>(&format!("{key}.loadBalancer"))?;
        }
        if let Some(plugin) = &policy.fault {
            plugin.build::<dyn FaultStrategy>(&format!("{key}.fault"))?;
        }
    }
    Ok(())
}

/// Whether the program has this service, and the service these methods.
fn check_names<'a>(service: &str, mut methods: impl Iterator<Item = &'a String>) -> Result<(), BuildError> {
    let meant: Vec<_> = linked().filter(|known| known.declared() == service).collect();
    if meant.is_empty() {
        return Err(unknown_service(service));
    }
    let known: Vec<_> = meant.iter().flat_map(|service| service.methods()).map(Method::name).collect();
    let Some(asked) = methods.find(|method| !known.contains(&method.as_str())) else {
        return Ok(());
    };
    let (service, asked, nearest) = (service.to_owned(), asked.clone(), nearest(asked, &known));
    Err(BuildError::UnknownMethod { service, asked, nearest, methods: known })
}

fn unknown_service(asked: &str) -> BuildError {
    let mut services: Vec<_> = linked().map(ServiceDescriptor::declared).collect();
    services.sort_unstable();
    services.dedup();
    // The name that providers register is a slip of its own.
    let registered = linked().find(|service| service.name() == asked).map(ServiceDescriptor::declared);
    let nearest = registered.or_else(|| nearest(asked, &services));
    BuildError::UnknownService { asked: asked.to_owned(), nearest, services }
}
