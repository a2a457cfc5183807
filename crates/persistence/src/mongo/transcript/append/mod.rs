//! The append: one `findOneAndUpdate` that stores messages and gives them their sequences.
//!
//! Appends to one chat take turns. Those that come while an update is under way wait in a queue,
//! and the next update carries all that have gathered; one that comes alone never waits. That is
//! for speed alone: every update is right whoever else writes to the chat, from wherever.

mod group;
mod known_chats;
mod large;
mod probe;
mod push;
mod queue;
mod sealed;
mod shared;
mod stage;

use records::{ChatId, Scope};
use tokio::time::Instant;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::rules::batch::Batch;
use crate::store::Append;

pub(crate) use known_chats::KnownChats;
pub(crate) use probe::{Probe, refusal, verdict};
pub(crate) use push::{Condition, Push, Pushed};
pub use queue::QueueBounds;
pub(crate) use queue::Queues;
pub(crate) use shared::CommandBatcher;

impl MongoStore {
    /// Appends in the chat's next group, from a task of its own: an update that is under way ends
    /// whether or not the caller still waits for it.
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
