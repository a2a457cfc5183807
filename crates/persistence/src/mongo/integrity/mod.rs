//! Commitments to messages: the chain of each chat, its signed checkpoint, and what they prove (decision 0075).
//!
//! An append writes none of it. A pass that runs once a minute commits to what is new, and signs. What a service changes in a
//! stored message carries a tag, so that the next pass can tell the change from one that was made without a service.

mod documents;
mod forgetting;
mod messages;
mod signing;
mod verification;

pub(crate) use documents::{ChainBlockDocument, ChainDocument};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Permission, Scope};

use crate::StoreError;
use crate::integrity::{MessageProof, change_tag_input};
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{StoredChange, StoredMessage};
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
    /// Marks a message as changed by a service. Every call that changes a stored message does this before it writes to the
    /// documents of this chat.
    pub(crate) fn tag_change(&self, app_id: &AppId, chat_id: &ChatId, stored: &mut StoredMessage) {
        let Some(keys) = &self.inner.integrity else { return };
        let number = stored.change.map_or(0, |change| change.number).saturating_add(1);
        let tag = keys.tag(&change_tag_input(app_id, chat_id, number, &stored.message));
        stored.change = Some(StoredChange { number, tag });
    }
}
