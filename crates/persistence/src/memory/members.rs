use async_trait::async_trait;
use records::{AuditAction, ChatId, Member, MemberRole, Scope, UserId};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::Audited;
use crate::store::{Members, Outcome};

#[async_trait]
impl Members for MemoryStore {
    async fn put_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        role: MemberRole,
    ) -> Result<Outcome, StoreError> {
        self.observe(Call::PutMember, || {
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                let members = &mut chat.members;
                let is_full = members.len() >= Member::MAX;
                let known = members.iter_mut().find(|member| member.user_id == *user_id);
                match &known {
                    Some(member) if member.role == role => return Ok(Outcome::Duplicate),
                    None if is_full => {
                        return Err(StoreError::TooManyMembers(chat_id.clone()));
                    }
                    _ => {}
                }
                let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::PutMember);
                self.add_audit_entry(&audited.about(user_id), self.clock.now())?;
                match known {
                    Some(member) => member.role = role,
                    None => members.push(Member { user_id: user_id.clone(), role }),
                }
                Ok(Outcome::Stored)
            })
        })
        .await
    }

    async fn remove_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        self.observe(Call::RemoveMember, || {
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                if chat.members.iter().any(|member| member.user_id == *user_id) {
                    let action = AuditAction::RemoveMember;
                    let audited = Audited::in_scope(scope, Some(chat_id), action);
                    self.add_audit_entry(&audited.about(user_id), self.clock.now())?;
                }
                chat.members.retain(|member| member.user_id != *user_id);
                Ok(())
            })
        })
        .await
    }

    async fn list_members(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Member>, StoreError> {
        self.observe(Call::ListMembers, || {
            self.with_chat(scope, chat_id, |chat| Ok(chat.members.clone()))
        })
        .await
    }
}
