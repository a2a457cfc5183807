//! Appends the messages with which a workflow starts, unless the chat holds them already.

use records::{ChatId, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::Tail;
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::append::{Condition, Pushed, answer_without_write};
use crate::rules::batch::Batch;
use crate::store::{Append, MessageRange};

impl MongoStore {
    pub(crate) async fn append_initial(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: Batch,
    ) -> Result<Append, StoreError> {
        let (scope, chat_id) = (scope.clone(), chat_id.clone());
        self.write(|call| async move {
            call.attempt(|attempt| call.append_initial_once(attempt, &scope, &chat_id, &batch))
                .await
        })
        .await
    }

    /// Decides by what the chat holds, and stores only if no message was appended since that was read.
    async fn append_initial_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &Batch,
    ) -> Result<Append, Failure> {
        loop {
            let limit = batch.event_ids().count();
            let newest = MessageRange::Newest { before: None, limit };
            let newest = self.read_range_within(scope, chat_id, newest).await?;
            let (probe, known) = self.known_messages(scope, chat_id, batch).await?;
            let mut plan = batch.plan(chat_id, &known)?;
            if plan.fresh().count() == batch.len() {
                attempt.note_nothing_applied();
            }
            plan.recognise(&newest.messages);
            let last_sequence = newest.last_sequence;
            let condition = Condition::NothingAppended { last_sequence };
            let fresh: Vec<_> = plan.fresh().collect();
            match self.push(scope, chat_id, &fresh, condition).await? {
                Pushed::Stored(Tail { last_sequence, .. }) => {
                    self.inner.metrics.appends.stored(1, fresh.len());
                    return Ok(plan.answer(last_sequence - fresh.len() as u64, last_sequence));
                }
                Pushed::Unknown { .. } => {
                    attempt.note_unknown_write();
                    continue;
                }
                Pushed::NotMatched => {}
            }
            if probe.tail.last_sequence == last_sequence {
                if let Some(answer) = answer_without_write(scope, chat_id, &plan, &probe.tail) {
                    return Ok(answer?);
                }
                self.seal_if_too_large(scope, chat_id, &probe.tail).await?;
            }
        }
    }
}
