//! `oursFull`: this framework with all that can be on a call's way. Three instances at the address of one server, so that there is a
//! choice to make and still one connection; a load balancer, and a fault strategy around the call.

use std::future;
use std::sync::Arc;

use anyhow::Context as _;
use bytes::Bytes;
use rpc::registry::{Discovery, InstanceList};
use rpc::{BoxError, BoxFuture, Client, ServiceInstance, Settings, register};

use super::ours::{Echo as _, EchoStub};

const KEY: &str = "thrice";

/// A registry that finds every service three times at the address in its url, as in `thrice:127.0.0.1:9000`.
#[derive(Debug)]
struct Thrice(String);

impl Discovery for Thrice {
    fn lookup<'a>(&'a self, service: &'a str) -> BoxFuture<'a, Result<InstanceList, BoxError>> {
        let instances = ["a", "b", "c"].map(|id| ServiceInstance::new(service, &*self.0).with_id(id));
        Box::pin(future::ready(Ok(InstanceList::new(instances.into()))))
    }
}

fn build(settings: &Settings) -> Result<Arc<Thrice>, BoxError> {
    let address = settings.url().and_then(|url| url.strip_prefix("thrice:"));
    Ok(Arc::new(Thrice(address.context("the url names an address, as in `thrice:127.0.0.1:9000`")?.to_owned())))
}

register!(dyn Discovery, KEY, build);

/// A stub with all that can be on a call's way.
#[derive(Debug, Clone)]
pub(super) struct Full(EchoStub);

impl super::Client for Full {
    async fn connect(address: &str) -> anyhow::Result<Self> {
        let client = Client::builder().registry(format!("{KEY}:{address}"));
        Ok(Self(client.load_balancer("roundRobin").fault("failOver").build()?.stub()?))
    }

    async fn echo(&mut self, payload: Bytes) -> anyhow::Result<Bytes> {
        Ok(self.0.echo(payload).await?)
    }
}
