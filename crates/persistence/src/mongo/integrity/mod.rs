//! Commitments to messages: the chain of each chat, its signed checkpoint, and what they prove (decision 0075).
//!
//! An append writes none of it. A pass that runs once a minute commits to what is new, and signs. Each message carries a tag of
//! the service that has appended or changed it, so that the pass can tell it from what was written without a service.

mod documents;
mod forgetting;
mod messages;
mod signing;
mod verification;

pub(crate) use documents::{ChainBlockDocument, ChainDocument};

use async_trait::async_trait;
use bson::RawDocumentBuf;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Permission, Scope};

use crate::StoreError;
use crate::integrity::{Appended, IntegrityKeys, MessageProof, Tag, appended_tag_input, tag_input};
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{StoredMessage, Tagged};
use crate::rules::batch::Entry;
use crate::store::{CatchUp, Integrity, SigningPass};

#[async_trait]
impl Integrity for MongoStore {
    async fn prove_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<MessageProof, StoreError> {
        self.observe(Call::ProveMessage, Some(chat_id), async {
            let scope = &scope.needing(Permission::Read);
            self.read(|| self.prove(scope, chat_id, sequence)).await
        })
        .await
    }

    async fn sign_chats(
        &self,
        app_id: &AppId,
        since: Option<DateTime<Utc>>,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<(SigningPass, Option<CatchUp>), StoreError> {
        let signing = self.sign_changed(app_id, since, after, limit);
        self.observe(Call::SignChats, None, signing).await
    }
}

impl MongoStore {
    /// Returns the tag of a message that is appended now.
    pub(crate) fn tag_new(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        entry: &Entry,
        now: DateTime<Utc>,
    ) -> Option<Tag> {
        let keys = self.inner.integrity.as_ref()?;
        let appended = Appended {
            event_id: entry.event_id.as_str(),
            body: &entry.body,
            author: entry.author.as_ref(),
            created_at: now,
        };
        Some(keys.tag(&appended_tag_input(app_id, chat_id, &appended)))
    }

    /// Marks a message as changed by a service. Every call that changes a stored message does this before it writes to the
    /// documents of this chat.
    pub(crate) fn tag_change(&self, app_id: &AppId, chat_id: &ChatId, stored: &mut StoredMessage) {
        let Some(keys) = &self.inner.integrity else { return };
        let changes = stored.changes().saturating_add(1);
        let tag = keys.tag(&tag_input(app_id, chat_id, changes, &stored.message));
        stored.tagged = Some(Tagged { changes, tag });
    }

    /// Tags a message that is copied from one chat to another; `None` if the copy is to be like the message. One whose tag is
    /// not valid keeps it: the copy is not valid either.
    pub(crate) fn tagged_copy(
        &self,
        app_id: &AppId,
        (from, to): (&ChatId, &ChatId),
        sequence: u64,
        message: &Fields<'_>,
    ) -> Result<Option<RawDocumentBuf>, StoreError> {
        let Some(keys) = &self.inner.integrity else { return Ok(None) };
        let mut stored = StoredMessage::read(sequence, message)?;
        if !stored.is_tagged(keys, app_id, from) {
            return Ok(None);
        }
        let changes = stored.changes();
        let tag = keys.tag(&tag_input(app_id, to, changes, &stored.message));
        stored.tagged = Some(Tagged { changes, tag });
        Ok(Some(stored.document()))
    }
}

impl StoredMessage {
    /// Returns how often a service has changed the message.
    fn changes(&self) -> u32 {
        self.tagged.map_or(0, |tagged| tagged.changes)
    }

    /// Returns whether a service has written the message, as it is, to the documents of this chat.
    fn is_tagged(&self, keys: &IntegrityKeys, app_id: &AppId, holder: &ChatId) -> bool {
        self.tagged.is_some_and(|Tagged { changes, tag }| {
            keys.is_tag_of(&tag_input(app_id, holder, changes, &self.message), &tag)
        })
    }
}
