use async_trait::async_trait;
use records::{ChatId, Member, MemberRole, Scope, UserId};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
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
                match members.iter_mut().find(|member| member.user_id == *user_id) {
                    Some(member) if member.role == role => return Ok(Outcome::Duplicate),
                    Some(member) => member.role = role,
                    None if is_full => {
                        return Err(StoreError::TooManyMembers(chat_id.clone()));
                    }
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
