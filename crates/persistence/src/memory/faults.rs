use async_trait::async_trait;
use futures::stream::BoxStream;
use records::Message;

use crate::StoreError;
use crate::metrics::Call;

/// Injects faults into a [`MemoryStore`](super::MemoryStore), for tests of programs that use a store.
#[async_trait]
pub trait Faults: std::fmt::Debug + Send + Sync {
    /// Runs before each call. If it returns an error, the store returns that error and changes nothing.
    ///
    /// It may also wait forever, or panic.
    async fn before(&self, call: Call) -> Result<(), StoreError>;

    /// Wraps the stream of [`history`](crate::Messages::history), given the stream that the store
    /// would return.
    fn history<'a>(
        &'a self,
        stored: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>>;
}
