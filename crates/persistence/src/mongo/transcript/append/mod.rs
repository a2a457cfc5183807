//! Appends messages to a chat: one conditional update stores them and assigns their sequences.
//!
//! One process sends one update at a time to a chat. Appends that arrive meanwhile wait in the queue
//! of the chat, and the next update stores them together; an append that finds no update running is
//! sent at once. Queues and groups are for speed only: the filter of each update makes it correct,
//! whatever other processes write to the chat.

mod chat_cache;
mod group;
mod large;
mod probe;
mod push;
mod queue;
mod sealed;
mod send_state;
mod shared;

use records::{ChatId, Scope};
use tokio::time::Instant;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::rules::batch::Batch;
use crate::store::Append;

pub(crate) use chat_cache::ChatCache;
pub(crate) use probe::{Probe, answer_without_write, refusal};
pub(crate) use push::{Condition, Push, Pushed};
pub use queue::QueueBounds;
pub(crate) use queue::Queues;
pub(crate) use shared::CommandBatcher;

impl MongoStore {
    /// Appends a batch in the chat's next group.
    ///
    /// A separate task sends the group, so that an update that was sent is finished even if the caller
    /// disconnects.
    pub(crate) async fn append_batch(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: Batch,
    ) -> Result<Append, StoreError> {
        let deadline = Instant::now() + self.inner.deadline;
        let (ticket, serving) = self.inner.queues.enter(scope, chat_id, batch, deadline)?;
        if let Some(serving) = serving {
            self.spawn(self.clone().serve(serving));
        }
        ticket.answered(deadline).await
    }
}
