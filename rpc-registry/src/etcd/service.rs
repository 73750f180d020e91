//! The instances of one service, as etcd has them.

use std::sync::Arc;

use etcd_client::GetOptions;

use super::connection::Connection;
use super::error::Failure;
use super::value::{self, Instances};
use crate::value::Reader;

/// The largest answer that is accepted: some ten thousand instances.
pub(super) const MAX_ANSWER: usize = 64 << 20;

/// Where the instances of a service are, and how they are read.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) connection: Arc<Connection>,
    pub(super) reader: Arc<Reader>,
    pub(super) name: String,
    /// What the keys of its instances begin with.
    pub(super) prefix: String,
}

impl Service {
    /// All instances, and the revision at which they are all.
    ///
    /// # Errors
    ///
    /// When etcd does not answer, or refuses.
    pub(super) async fn list(&self) -> Result<(Instances, i64), Failure> {
        let get = |client: etcd_client::Client| async move {
            let mut client = client.kv_client().max_decoding_message_size(MAX_ANSWER);
            client.get(self.prefix.as_str(), Some(GetOptions::new().with_prefix())).await
        };
        let answer = self.connection.ask("list the instances of a service", get).await?;
        let revision = answer.header().map_or(0, |header| header.revision());
        Ok((value::read_all(&self.reader, &self.name, &self.prefix, answer.kvs()), revision))
    }
}
