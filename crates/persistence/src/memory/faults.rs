use async_trait::async_trait;
use futures::stream::BoxStream;
use records::Message;

use crate::StoreError;
use crate::metrics::Call;

/// Injects faults into a [`MemoryStore`](super::MemoryStore), for the tests of programs that use a
/// store.
#[async_trait]
pub trait Faults: std::fmt::Debug + Send + Sync {
    /// Runs before each call. If it returns an error, the store answers the call with that error and
    /// changes nothing.
    ///
    /// It may also wait, even for ever, and it may panic.
    async fn before(&self, call: Call) -> Result<(), StoreError>;

    /// Returns what [`history`](crate::Messages::history) returns, given what the store would return.
    fn history<'a>(
        &'a self,
        stored: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>>;
}
