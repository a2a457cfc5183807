use async_trait::async_trait;
use bson::{RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use futures::stream::{self, BoxStream, StreamExt};
use mongodb::options::{Hint, ReadConcern};
use records::{ChatId, Message, Scope};
use tokio::sync::broadcast::error::RecvError;

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{chat_head_record, head_projection};
use crate::mongo::engine::change_stream::{MAX_APPENDED_BYTES, Watcher, messages_of};
use crate::mongo::engine::scope::{permitted_chat, permitted_chats};
use crate::store::{Change, Changes, ChatChange, ChatHead, Interest, Payment};

#[async_trait]
impl Changes for MongoStore {
    fn changes(&self, interest: Interest) -> BoxStream<'static, Change> {
        self.inner.interests.add(&interest);
        let made_here = self.inner.announcements.subscribe();
        let made_here = stream::unfold(made_here, async |mut made_here| {
            loop {
                match made_here.recv().await {
                    Ok(change) => return Some((change, made_here)),
                    // The change stream delivers the missed changes of the chats of interest as well.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        stream::select(made_here, Watcher::new(self.clone(), interest).changes()).boxed()
    }

    fn delivers_changes(&self) -> bool {
        self.inner.change_streams.are_supported()
    }

    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError> {
        self.observe(Call::Heads, None, async {
            let ids: Vec<&str> = chat_ids.iter().map(ChatId::as_str).collect();
            let mut filter = doc! { "_id": { "$in": ids } };
            filter.extend(permitted_chats(scope));
            let find = || async {
                let find =
                    self.inner.chat_sessions.find(filter.clone()).projection(head_projection());
                // Without the hint, the server might choose an index that begins with the app, and
                // read all its entries.
                Ok(find.hint(Hint::Keys(doc! { "_id": 1 })).await?.try_collect().await?)
            };
            let found: Vec<RawDocumentBuf> = self.read(find).await?;
            found.iter().map(|raw| chat_head_record(raw)).collect()
        })
        .await
    }

    async fn confirmed_head(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ChatHead, StoreError> {
        self.observe(Call::ConfirmedHead, Some(chat_id), async {
            let find = || async {
                let find = self.inner.chat_sessions.find_one(permitted_chat(scope, chat_id));
                let find = find.read_concern(ReadConcern::linearizable());
                match find.projection(head_projection()).await? {
                    Some(found) => Ok(found),
                    None => Err(self.refused_chat(scope, chat_id).await?),
                }
            };
            chat_head_record(&self.read(find).await?)
        })
        .await
    }
}

impl MongoStore {
    /// Notifies listeners that messages were appended to a chat.
    pub(crate) fn notify_append(&self, chat_id: &ChatId, last_sequence: u64) {
        self.notify(chat_id, Some(last_sequence), Vec::new());
    }

    /// Notifies listeners that these messages, the last of a chat, were appended to it.
    pub(crate) fn notify_appended(
        &self,
        chat_id: &ChatId,
        last_sequence: u64,
        stored: &[RawDocumentBuf],
    ) {
        let bytes: usize = stored.iter().map(|message| message.as_bytes().len()).sum();
        // Without a listener, an append must not pay for it.
        let is_told = bytes <= MAX_APPENDED_BYTES && self.inner.interests.list(chat_id);
        let first = last_sequence.saturating_sub(stored.len() as u64);
        let stored = stored.iter().map(|message| message as &RawDocument);
        let messages = is_told.then(|| messages_of(chat_id, first, stored)).flatten();
        self.notify(chat_id, Some(last_sequence), messages.unwrap_or_default());
    }

    /// Notifies listeners that something else in a chat has changed.
    pub(crate) fn notify_change(&self, chat_id: &ChatId) {
        self.notify(chat_id, None, Vec::new());
    }

    /// Notifies listeners that a chat may have been paused because its calls could not be paid for.
    pub(crate) fn notify_payment(&self, chat_id: &ChatId, payment: &Payment) {
        if matches!(payment, Payment::Unpaid { .. }) {
            self.notify_change(chat_id);
        }
    }

    fn notify(&self, chat_id: &ChatId, last_sequence: Option<u64>, appended: Vec<Message>) {
        let (chat_id, appended) = (chat_id.clone(), appended.into());
        self.announce_change(Change::Chat(ChatChange { chat_id, last_sequence, appended }));
    }

    /// Notifies listeners that calls of a chat were recorded or deleted.
    pub(crate) fn notify_usage(&self, chat_id: &ChatId) {
        self.announce_change(Change::Usage(chat_id.clone()));
    }

    /// Notifies listeners that the users present in a chat, or their names, have changed.
    pub(crate) fn notify_presence(&self, chat_id: &ChatId) {
        self.announce_change(Change::Presence(chat_id.clone()));
    }

    pub(crate) fn announce_change(&self, change: Change) {
        // `send` fails only if there is no listener.
        let _ = self.inner.announcements.send(change);
    }
}
