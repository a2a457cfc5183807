//! The members of a chat are in its session document, so that the filter of every call can decide by them.

use async_trait::async_trait;
use bson::{Document, doc};
use records::{ChatId, Member, MemberRole, Scope, UserId};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{MemberDocument, Tail, embedded, member_records, open_chat_session};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::rules::fence::check_fence;
use crate::store::{Members, Outcome};

#[async_trait]
impl Members for MongoStore {
    async fn put_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        role: MemberRole,
    ) -> Result<Outcome, StoreError> {
        self.observe(Call::PutMember, Some(chat_id), async {
            let member = Member { user_id: user_id.clone(), role };
            let mark = self.inner.ids.mint("member_");
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let put = |at| call.put_member_once(at, &scope, &chat_id, &member, &mark);
                call.attempt(put).await
            })
            .await
        })
        .await
    }

    async fn remove_member(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        self.observe(Call::RemoveMember, Some(chat_id), async {
            let mark = self.inner.ids.mint("member_");
            let (scope, chat_id, user_id) = (scope.clone(), chat_id.clone(), user_id.clone());
            self.write(|call| async move {
                let remove = |at| call.remove_member_once(at, &scope, &chat_id, &user_id, &mark);
                call.attempt(remove).await
            })
            .await
        })
        .await
    }

    async fn list_members(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Member>, StoreError> {
        self.observe(Call::ListMembers, Some(chat_id), async {
            self.read(|| self.members_within(scope, chat_id)).await
        })
        .await
    }
}

impl MongoStore {
    pub(crate) async fn members_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Member>, Failure> {
        let projection = doc! { "members": 1, "schema_version": 1 };
        Ok(member_records(&self.session_within(scope, chat_id, projection).await?)?)
    }

    /// Reads the members for a caller who changes them: under a lease that is gone, the call is refused.
    async fn members_to_change(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Member>, Failure> {
        let mut projection = Tail::projection();
        projection.insert("members", 1);
        let raw = self.session_within(scope, chat_id, projection).await?;
        let tail = Tail::read(&open_chat_session(&raw)?)?;
        check_fence(chat_id, scope.fencing_token, tail.fencing_token)?;
        Ok(member_records(&raw)?)
    }

    /// Reads the members, then adds the member or changes the role, on the condition that it has not changed since.
    async fn put_member_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        member: &Member,
        mark: &str,
    ) -> Result<Outcome, Failure> {
        loop {
            if self.was_written(&attempt, scope, chat_id, mark).await? {
                return Ok(Outcome::Stored);
            }
            let members = self.members_to_change(scope, chat_id).await?;
            let is_put = match members.iter().find(|known| known.user_id == member.user_id) {
                Some(known) if known.role == member.role => return Ok(Outcome::Duplicate),
                Some(_) => self.change_role(scope, chat_id, member, mark).await?,
                None if members.len() >= Member::MAX => {
                    return Err(StoreError::TooManyMembers(chat_id.clone()).into());
                }
                None => self.add_member(writable_chat(scope, chat_id), member, mark).await?,
            };
            if is_put {
                return Ok(Outcome::Stored);
            }
        }
    }

    async fn change_role(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        member: &Member,
        mark: &str,
    ) -> Result<bool, Failure> {
        let mut filter = doc! { "$and": [writable_chat(scope, chat_id)] };
        filter.insert("members.user_id", member.user_id.as_str());
        let mut update = doc! { "$set": { "members.$[one].role": member.role.as_str() } };
        with_mark(mark, &mut filter, &mut update);
        let update = self.inner.chat_sessions.update_one(filter, update);
        let one = [doc! { "one.user_id": member.user_id.as_str() }];
        Ok(update.array_filters(one).await?.matched_count == 1)
    }

    /// Adds a member to the chat that a filter matches. Returns `false` if it matches none, if the user is a member
    /// already, or if there are too many.
    pub(crate) async fn add_member(
        &self,
        chat: Document,
        member: &Member,
        mark: &str,
    ) -> Result<bool, Failure> {
        let last = format!("members.{}", Member::MAX - 1);
        let mut filter = doc! { "$and": [chat], last: { "$exists": false } };
        filter.insert("members.user_id", doc! { "$ne": member.user_id.as_str() });
        let mut update = doc! { "$push": { "members": embedded(&MemberDocument::from(member))? } };
        with_mark(mark, &mut filter, &mut update);
        let added = self.inner.chat_sessions.update_one(filter, update).await?;
        Ok(added.matched_count == 1)
    }

    pub(crate) async fn remove_member_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        mark: &str,
    ) -> Result<(), Failure> {
        if self.was_written(&attempt, scope, chat_id, mark).await? {
            return Ok(());
        }
        self.members_to_change(scope, chat_id).await?;
        let mut filter = doc! { "$and": [writable_chat(scope, chat_id)] };
        filter.insert("members.user_id", user_id.as_str());
        let mut update = doc! { "$pull": { "members": { "user_id": user_id.as_str() } } };
        with_mark(mark, &mut filter, &mut update);
        self.inner.chat_sessions.update_one(filter, update).await?;
        Ok(())
    }
}
