//! The messages a workflow starts from, stored unless they are there already.

use records::{ChatId, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::Tail;
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::append::{Condition, Pushed, verdict};
use crate::rules::batch::Batch;
use crate::store::{Append, MessageRange};

impl MongoStore {
    pub(crate) async fn append_initial(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
    ) -> Result<Append, StoreError> {
        self.write(|_| async { self.append_initial_once(scope, chat_id, batch).await }).await
    }

    /// Decides by what the chat holds, and stores only while that is all it holds.
    async fn append_initial_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
    ) -> Result<Append, Failure> {
        loop {
            let limit = batch.event_ids().count();
            let newest = MessageRange::Newest { before: None, limit };
            let newest = self.read_range_within(scope, chat_id, newest).await?;
            let look = self.look(scope, chat_id).await?;
            let ids = batch.event_ids().map(records::EventId::as_str).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            let mut plan = batch.plan(chat_id, &known)?;
            plan.recognise(&newest.messages);
            let last_sequence = newest.last_sequence;
            let condition = Condition::NothingAppended { last_sequence };
            let fresh: Vec<_> = plan.fresh().collect();
            let pushed = self.push(scope, chat_id, &fresh, condition).await?;
            if let Pushed::Stored(Tail { last_sequence, .. }) = pushed {
                self.inner.metrics.appends.stored(1, fresh.len());
                return Ok(plan.answer(last_sequence - fresh.len() as u64, last_sequence));
            }
            if look.tail.last_sequence == last_sequence {
                if let Some(answer) = verdict(scope, chat_id, &plan, &look.tail) {
                    return Ok(answer?);
                }
                self.make_room(scope, chat_id, &look.tail).await?;
            }
        }
    }
}
