//! `failFast`: a failure is the caller's to handle.

use std::sync::Arc;

use rpc_core::fault::{Acts, FaultStrategy, Next, Reply};
use rpc_core::{BoxError, BoxFuture, Invocation, RpcError, Settings, register};
use serde::Deserialize;

/// Hands every error to the caller at once. It adds nothing to a call, and so costs nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct FailFast;

impl FailFast {
    /// The key it is registered under. It has no settings.
    pub const KEY: &'static str = "failFast";
}

register!(dyn FaultStrategy, FailFast::KEY, build);

impl FaultStrategy for FailFast {
    fn call<'a>(&'a self, call: &'a Invocation, next: Next<'a>) -> BoxFuture<'a, Result<Reply, RpcError>> {
        next.run(call)
    }

    fn acts(&self) -> Acts {
        Acts::Never
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

fn build(settings: &Settings) -> Result<Arc<FailFast>, BoxError> {
    let Config {} = settings.parse()?;
    Ok(Arc::new(FailFast))
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, error::Error};

    use rpc_core::extension;

    use super::*;

    #[test]
    fn never_acts() {
        let strategy = extension::build::<dyn FaultStrategy>("failFast", &Settings::default()).unwrap();
        assert_eq!(strategy.acts(), Acts::Never);
    }

    #[test]
    fn refuses_unknown_settings() {
        let settings = Settings::from_table(&HashMap::from([("retries", 2)])).unwrap();
        let error = extension::build::<dyn FaultStrategy>("failFast", &settings).unwrap_err();
        assert_eq!(error.source().unwrap().to_string(), "setting `retries` is not accepted");
    }
}
