use async_trait::async_trait;
use records::{
    AuditAction, ChatId, DisplayName, Limits, Member, MemberRole, Participant, Permission, Scope,
    UserId,
};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::Audited;
use crate::store::{Joined, Outcome, ParticipantCursor, ParticipantPage, Participants};

#[async_trait]
impl Participants for MemoryStore {
    async fn join_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        display_name: Option<&DisplayName>,
    ) -> Result<Joined, StoreError> {
        self.observe(Call::JoinChat, || {
            let joined_at = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                if scope.makes_member(user_id, &chat.session, &chat.members) {
                    let (user_id, role) = (user_id.clone(), MemberRole::Member);
                    chat.members.push(Member { user_id, role });
                }
                if let Some(kept) =
                    chat.participants.iter_mut().find(|kept| kept.user_id == *user_id)
                {
                    kept.display_name = display_name.or(kept.display_name.as_ref()).cloned();
                    let participant = kept.clone();
                    self.notify_presence(chat);
                    return Ok(Joined { participant, outcome: Outcome::Duplicate });
                }
                if chat.participants.len() >= Limits::PARTICIPANTS {
                    return Err(StoreError::TooManyParticipants(chat_id.clone()));
                }
                let (user_id, display_name) = (user_id.clone(), display_name.cloned());
                let participant = Participant { user_id, display_name, joined_at };
                chat.participants.push(participant.clone());
                self.notify_presence(chat);
                Ok(Joined { participant, outcome: Outcome::Stored })
            })
        })
        .await
    }

    async fn leave_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        self.observe(Call::LeaveChat, || {
            self.with_chat(scope, chat_id, |chat| {
                let is_there = chat.members.iter().any(|member| member.user_id == *user_id)
                    || chat.participants.iter().any(|kept| kept.user_id == *user_id);
                if is_there && scope.permission == Permission::Manage {
                    let action = AuditAction::RemoveParticipant;
                    let audited = Audited::in_scope(scope, Some(chat_id), action);
                    self.add_audit_entry(&audited.about(user_id), self.clock.now())?;
                }
                chat.members.retain(|member| member.user_id != *user_id);
                chat.participants.retain(|kept| kept.user_id != *user_id);
                self.notify_presence(chat);
                Ok(())
            })
        })
        .await
    }

    async fn list_participants(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&ParticipantCursor>,
    ) -> Result<ParticipantPage, StoreError> {
        self.observe(Call::ListParticipants, || {
            self.with_chat(scope, chat_id, |chat| {
                Ok(ParticipantPage::of(chat.participants.clone(), limit, after))
            })
        })
        .await
    }
}
