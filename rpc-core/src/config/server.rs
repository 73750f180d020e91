//! What a server is told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::number;
use crate::instance::DEFAULT_WEIGHT;
use crate::protocol::frame::DEFAULT_MAX_FRAME;

/// Requests in flight that a server accepts on one connection unless it is told otherwise.
const DEFAULT_MAX_IN_FLIGHT: u32 = 1_024;

/// The address a server listens on unless it is told otherwise: every interface, a free port.
const DEFAULT_LISTEN: &str = "0.0.0.0:0";

/// The section `server`. The methods of [`ServerBuilder`](crate::ServerBuilder) say what each field means.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default, expecting = "a table")]
pub(crate) struct ServerConfig {
    #[serde(serialize_with = "listen")]
    pub(crate) listen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) advertise: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    #[serde(deserialize_with = "number::any")]
    pub(crate) weight: u32,
    #[serde(deserialize_with = "number::positive")]
    pub(crate) max_frame_bytes: u32,
    #[serde(deserialize_with = "number::positive")]
    pub(crate) max_in_flight: u32,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: None,
            advertise: None,
            id: None,
            weight: DEFAULT_WEIGHT,
            max_frame_bytes: DEFAULT_MAX_FRAME,
            max_in_flight: DEFAULT_MAX_IN_FLIGHT,
            metadata: BTreeMap::new(),
        }
    }
}

impl ServerConfig {
    /// Where to listen.
    pub(crate) fn listen(&self) -> &str {
        self.listen.as_deref().unwrap_or(DEFAULT_LISTEN)
    }
}

fn listen<S: Serializer>(address: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(address.as_deref().unwrap_or(DEFAULT_LISTEN))
}
