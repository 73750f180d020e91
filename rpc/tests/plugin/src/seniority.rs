//! `seniority`: the instance with the last id, as long as it can take the call.

use std::sync::Arc;

use rpc_core::loadbalancer::{Endpoints, LoadBalancer, PickContext, Picker};
use rpc_core::{BoxError, Settings, register};

/// Sends every call to the last endpoint that admits it.
#[derive(Debug)]
pub struct Seniority;

impl Seniority {
    /// The key it is registered under.
    pub const KEY: &'static str = "seniority";
}

register!(dyn LoadBalancer, Seniority::KEY, build);

fn build(_: &Settings) -> Result<Arc<Seniority>, BoxError> {
    Ok(Arc::new(Seniority))
}

impl LoadBalancer for Seniority {
    fn prepare(&self, endpoints: &Arc<Endpoints>) -> Box<dyn Picker> {
        Box::new(LastOf(endpoints.len()))
    }
}

struct LastOf(usize);

impl Picker for LastOf {
    fn pick(&self, cx: &PickContext<'_>) -> Option<usize> {
        (0..self.0).rev().find(|position| cx.admits(*position))
    }
}
