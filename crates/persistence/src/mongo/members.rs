//! The members of a chat are in its session document, so that the filter of every call can decide by them.

use async_trait::async_trait;
use bson::{Document, doc};
use mongodb::action::Action as _;
use records::{AuditAction, ChatId, Member, MemberRole, Scope, UserId};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{MemberDocument, Tail, embedded, member_records, open_chat_session};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::audit::Audited;
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
                let round = |tx| call.put_member_round(tx, &scope, &chat_id, &member, &mark);
                call.transact(&scope, &chat_id, round).await
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
                let round = |tx| call.remove_member_round(tx, &scope, &chat_id, &user_id, &mark);
                call.transact(&scope, &chat_id, round).await
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
    pub(crate) async fn members_to_change(
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
    async fn put_member_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        member: &Member,
        mark: &str,
    ) -> Result<Round<Outcome>, Failure> {
        if self.was_written(tx.attempt(), scope, chat_id, mark).await? {
            return Ok(Round::Done(Outcome::Stored));
        }
        let members = self.members_to_change(scope, chat_id).await?;
        let known = members.iter().find(|known| known.user_id == member.user_id);
        let chat = writable_chat(scope, chat_id);
        let update = match known {
            Some(known) if known.role == member.role => {
                return Ok(Round::Done(Outcome::Duplicate));
            }
            Some(_) => SessionUpdate::change_role(chat, member, mark),
            None if members.len() >= Member::MAX => {
                return Err(StoreError::TooManyMembers(chat_id.clone()).into());
            }
            None => SessionUpdate::add_member(chat, member, mark)?,
        };
        let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::PutMember);
        let entry = self.audit_document(&audited.about(&member.user_id)).await?;
        tx.begin().await?;
        if !self.update_within(&tx, update).await? {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(Outcome::Stored))
    }

    /// Removes a member in a transaction; does nothing if the user is no member.
    async fn remove_member_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        mark: &str,
    ) -> Result<Round<()>, Failure> {
        if self.was_written(tx.attempt(), scope, chat_id, mark).await? {
            return Ok(Round::Done(()));
        }
        let members = self.members_to_change(scope, chat_id).await?;
        if members.iter().all(|member| member.user_id != *user_id) {
            return Ok(Round::Done(()));
        }
        let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::RemoveMember);
        let entry = self.audit_document(&audited.about(user_id)).await?;
        let update = SessionUpdate::remove_member(writable_chat(scope, chat_id), user_id, mark);
        tx.begin().await?;
        if !self.update_within(&tx, update).await? {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(()))
    }

    /// Updates a session in a transaction. Returns `false` if it has changed since it was read.
    pub(crate) async fn update_within(
        &self,
        tx: &Transaction<'_>,
        update: SessionUpdate,
    ) -> Result<bool, Failure> {
        let SessionUpdate { filter, update, array_filter } = update;
        let update = self.inner.chat_sessions.update_one(filter, update);
        let update = update.optional(array_filter, |update, filter| update.array_filters([filter]));
        let updated = update.session(&mut *tx.session().await?).await?;
        Ok(updated.matched_count == 1)
    }

    /// Adds a member to the chat that a filter matches. Returns `false` if it matches none, if the user is a member
    /// already, or if there are too many.
    pub(crate) async fn add_member(
        &self,
        chat: Document,
        member: &Member,
        mark: &str,
    ) -> Result<bool, Failure> {
        let SessionUpdate { filter, update, .. } = SessionUpdate::add_member(chat, member, mark)?;
        let added = self.inner.chat_sessions.update_one(filter, update).await?;
        Ok(added.matched_count == 1)
    }

    /// Removes a user who leaves from the members.
    pub(crate) async fn remove_member_once(
        &self,
        attempt: &Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        mark: &str,
    ) -> Result<(), Failure> {
        if self.was_written(attempt, scope, chat_id, mark).await? {
            return Ok(());
        }
        self.members_to_change(scope, chat_id).await?;
        let chat = writable_chat(scope, chat_id);
        let SessionUpdate { filter, update, .. } =
            SessionUpdate::remove_member(chat, user_id, mark);
        self.inner.chat_sessions.update_one(filter, update).await?;
        Ok(())
    }
}

/// A conditional update of the members in a session, which leaves the mark of its call.
#[derive(Debug)]
pub(crate) struct SessionUpdate {
    filter: Document,
    update: Document,
    /// Selects the elements of an array that are changed.
    array_filter: Option<Document>,
}

impl SessionUpdate {
    fn new(chat: Document, condition: Document, mut update: Document, mark: &str) -> Self {
        let mut filter = doc! { "$and": [chat] };
        filter.extend(condition);
        with_mark(mark, &mut filter, &mut update);
        Self { filter, update, array_filter: None }
    }

    /// Changes nothing but the marks.
    pub(crate) fn mark(chat: Document, mark: &str) -> Self {
        Self::new(chat, Document::new(), Document::new(), mark)
    }

    /// Adds a user who is no member, if there is room.
    fn add_member(chat: Document, member: &Member, mark: &str) -> Result<Self, Failure> {
        let last = format!("members.{}", Member::MAX - 1);
        let condition = doc! {
            last: { "$exists": false }, MEMBER: { "$ne": member.user_id.as_str() },
        };
        let update = doc! { "$push": { "members": embedded(&MemberDocument::from(member))? } };
        Ok(Self::new(chat, condition, update, mark))
    }

    /// Changes the role of a member.
    fn change_role(chat: Document, member: &Member, mark: &str) -> Self {
        let user_id = member.user_id.as_str();
        let update = doc! { "$set": { "members.$[one].role": member.role.as_str() } };
        let array_filter = Some(doc! { "one.user_id": user_id });
        Self { array_filter, ..Self::new(chat, doc! { MEMBER: user_id }, update, mark) }
    }

    /// Removes a member.
    pub(crate) fn remove_member(chat: Document, user_id: &UserId, mark: &str) -> Self {
        let user_id = user_id.as_str();
        let update = doc! { "$pull": { "members": { "user_id": user_id } } };
        Self::new(chat, doc! { MEMBER: user_id }, update, mark)
    }
}

/// The field with the ids of the members.
const MEMBER: &str = "members.user_id";
