use async_trait::async_trait;
use records::{ChatId, EventId, Message, MessageEdit, NewMessage, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::rules::batch::Batch;
use crate::rules::deletion::{check_deleted, deletion};
use crate::rules::if_match::check_expected;
use crate::rules::rights::{check_author, check_roles};
use crate::store::{
    Append, Deletion, FilteredPage, HistoryPages, MessageFilter, MessageRange, Messages, Transcript,
};

#[async_trait]
impl Messages for MongoStore {
    async fn append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.observe(Call::Append, Some(chat_id), async {
            check_roles(scope, chat_id, messages.iter().map(|message| &message.body))?;
            let batch = Batch::check(&scope.caller, messages, &*self.inner.ids)?.sent_in(scope);
            self.inner.metrics.appends.given(&batch);
            let appended = self.append_batch(scope, chat_id, batch).await;
            self.fenced_if_lease_lost(scope, chat_id, appended).await
        })
        .await
        .inspect(|append| self.inner.metrics.calls.appended(append))
    }

    async fn persist_initial_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.observe(Call::PersistInitialMessages, Some(chat_id), async {
            let batch = Batch::check(&scope.caller, messages, &*self.inner.ids)?.sent_in(scope);
            self.inner.metrics.appends.given(&batch);
            let appended = self.append_initial(scope, chat_id, batch).await;
            self.fenced_if_lease_lost(scope, chat_id, appended).await
        })
        .await
        .inspect(|append| self.inner.metrics.calls.appended(append))
    }

    async fn messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.observe(Call::Messages, Some(chat_id), self.read_range(scope, chat_id, range)).await
    }

    async fn filtered_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
        filter: &MessageFilter,
    ) -> Result<FilteredPage, StoreError> {
        let read = self.read_filtered(scope, chat_id, range, filter);
        self.observe(Call::FilteredMessages, Some(chat_id), read).await
    }

    fn history_pages<'a>(&'a self, scope: &'a Scope, chat_id: &'a ChatId) -> HistoryPages<'a> {
        self.stream_history(scope, chat_id)
    }

    async fn get_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        self.observe(Call::GetMessage, Some(chat_id), self.read_message(scope, chat_id, sequence))
            .await
    }

    async fn find_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Vec<Option<u64>>, StoreError> {
        self.observe(Call::FindMessages, Some(chat_id), async {
            Ok(self.locate_messages(scope, chat_id, event_ids).await?.sequences())
        })
        .await
    }

    async fn get_message_by_id(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_id: &EventId,
    ) -> Result<Option<Message>, StoreError> {
        self.observe(Call::GetMessageById, Some(chat_id), async {
            let ids = std::slice::from_ref(event_id);
            match self.locate_messages(scope, chat_id, ids).await?.messages.pop().flatten() {
                Some(at) => self.read_message(scope, chat_id, at.sequence).await.map(Some),
                None => Ok(None),
            }
        })
        .await
    }

    async fn update_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError> {
        self.observe(
            Call::UpdateMessage,
            Some(chat_id),
            self.edit_message(scope, chat_id, sequence, edit),
        )
        .await
    }

    async fn delete_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        self.observe(
            Call::DeleteMessage,
            Some(chat_id),
            self.tombstone_message(scope, chat_id, sequence),
        )
        .await
    }

    async fn delete_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_ids: &[EventId],
    ) -> Result<Deletion, StoreError> {
        self.observe(Call::DeleteMessages, Some(chat_id), async {
            check_deleted(event_ids)?;
            let located = self.locate_messages(scope, chat_id, event_ids).await?;
            // Each deletion checks it as well, but there may be none.
            check_expected(scope, chat_id, located.last_sequence)?;
            for at in located.messages.iter().flatten() {
                check_author(scope, chat_id, at.author.as_ref())?;
            }
            let sequences = located.sequences();
            let known = sequences.iter().flatten().copied().collect();
            self.tombstone_messages(scope, chat_id, known).await?;
            Ok(deletion(event_ids, &sequences))
        })
        .await
    }
}
