use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Permission, Scope};

use super::{Kept, MemoryStore};
use crate::StoreError;
use crate::integrity::{MessageProof, Verdict};
use crate::metrics::Call;
use crate::store::{CatchUp, Integrity, SigningPass};

#[async_trait]
impl Integrity for MemoryStore {
    async fn prove_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<MessageProof, StoreError> {
        self.observe(Call::ProveMessage, || {
            self.with_chat(&scope.needing(Permission::Read), chat_id, |chat| {
                let is_it = |kept: &&Kept| kept.message.sequence == sequence;
                let missing = || StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence };
                chat.messages.iter().find(is_it).ok_or_else(missing)?;
                let verdict = Verdict::Unsigned;
                Ok(MessageProof { verdict, checkpoint: None, inclusion: None })
            })
        })
        .await
    }

    async fn sign_chats(
        &self,
        _app_id: &AppId,
        _since: Option<DateTime<Utc>>,
        _after: Option<&CatchUp>,
        _limit: usize,
    ) -> Result<(SigningPass, Option<CatchUp>), StoreError> {
        self.observe(Call::SignChats, || Ok((SigningPass::default(), None))).await
    }
}
