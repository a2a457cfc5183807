//! The participants of a chat are in one document, so that one update checks the limit.

use async_trait::async_trait;
use bson::doc;
use records::{
    AuditAction, ChatId, DisplayName, Limits, Member, MemberRole, Participant, Permission, Scope,
    UserId,
};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::documents::{
    ParticipantDocument, SCHEMA_VERSION, StoredParticipant, chat_session_record, embedded,
    member_records, participant_records, participants_with_user, participants_without_user,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::scope::{chat_filter, writable_chat};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::members::SessionUpdate;
use crate::rules::audit::Audited;
use crate::store::{Joined, Outcome, ParticipantCursor, ParticipantPage, Participants};

#[async_trait]
impl Participants for MongoStore {
    async fn join_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        display_name: Option<&DisplayName>,
    ) -> Result<Joined, StoreError> {
        self.observe(Call::JoinChat, Some(chat_id), async {
            let joined_at = self.inner.clock.now();
            let (user_id, display_name) = (user_id.clone(), display_name.cloned());
            let joining = StoredParticipant {
                participant: Participant { user_id, display_name, joined_at },
                join_id: self.inner.ids.mint("join_"),
            };
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                call.attempt(|attempt| call.join_once(attempt, &scope, &chat_id, &joining)).await
            })
            .await
        })
        .await
    }

    async fn leave_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        self.observe(Call::LeaveChat, Some(chat_id), async {
            let (scope, chat_id, user_id) = (scope.clone(), chat_id.clone(), user_id.clone());
            let mark = self.inner.ids.mint("leave_");
            self.write(|call| async move {
                if scope.permission == Permission::Manage {
                    let scope = scope.unfenced();
                    let round = |tx| call.remove_round(tx, &scope, &chat_id, &user_id, &mark);
                    call.transact(&scope, &chat_id, round).await?;
                } else {
                    let leave = |at| call.leave_once(at, &scope, &chat_id, &user_id, &mark);
                    call.attempt(leave).await?;
                }
                call.notify_presence(&chat_id);
                Ok(())
            })
            .await
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
        self.observe(Call::ListParticipants, Some(chat_id), async {
            self.read(|| async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let all = self.participants_within(scope, chat_id).await?;
                let all = all.into_iter().map(|stored| stored.participant).collect();
                Ok(ParticipantPage::of(all, limit, after))
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    /// Reads the participants, then adds or renames the user, on the condition that the membership of the
    /// user has not changed since.
    async fn join_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        joining: &StoredParticipant,
    ) -> Result<Joined, Failure> {
        let StoredParticipant { participant, join_id } = joining;
        let user_id = &participant.user_id;
        self.become_member(&attempt, scope, chat_id, user_id, join_id).await?;
        loop {
            let stored = self.participants_within(scope, chat_id).await?;
            let count = stored.len();
            if let Some(kept) = stored.into_iter().find(|kept| kept.participant.user_id == *user_id)
            {
                // An earlier attempt may have added the user.
                let is_new = kept.join_id == *join_id;
                let outcome = Outcome::of_found(is_new);
                if let Some(participant) = self.rename(scope, chat_id, participant, kept).await? {
                    return Ok(Joined { participant, outcome });
                }
            } else if count >= Limits::PARTICIPANTS {
                return Err(StoreError::TooManyParticipants(chat_id.clone()).into());
            } else if self.add(scope, chat_id, joining).await? {
                let participant = participant.clone();
                return Ok(Joined { participant, outcome: Outcome::Stored });
            }
        }
    }

    /// Makes a user who joins a member, if joining does that.
    async fn become_member(
        &self,
        attempt: &Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        mark: &str,
    ) -> Result<(), Failure> {
        let mut projection = without_large_fields();
        projection.remove("members");
        let raw = self.session_within(scope, chat_id, projection).await?;
        if self.was_written(attempt, scope, chat_id, mark).await? {
            return Ok(());
        }
        let (chat, members) = (chat_session_record(&raw)?, member_records(&raw)?);
        if scope.makes_member(user_id, &chat, &members) {
            let member = Member { user_id: user_id.clone(), role: MemberRole::Member };
            // Another caller may fill the chat or add the user at the same time; both are as good.
            self.add_member(writable_chat(&scope.unfenced(), chat_id), &member, mark).await?;
        }
        Ok(())
    }

    async fn leave_once(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        mark: &str,
    ) -> Result<(), Failure> {
        self.remove_member_once(&attempt, &scope.unfenced(), chat_id, user_id, mark).await?;
        let with = participants_with_user(scope, chat_id, user_id);
        let pull = doc! { "$pull": { "participants": { "user_id": user_id.as_str() } } };
        self.inner.chat_participants.update_one(with, pull).await?;
        Ok(())
    }

    /// Removes another user from the members and the participants; does nothing if the user is neither.
    async fn remove_round(
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
        let participants = self.participants_within(scope, chat_id).await?;
        let is_member = members.iter().any(|member| member.user_id == *user_id);
        let is_participant = participants.iter().any(|it| it.participant.user_id == *user_id);
        if !is_member && !is_participant {
            return Ok(Round::Done(()));
        }
        let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::RemoveParticipant);
        let entry = self.audit_document(&audited.about(user_id)).await?;
        let chat = writable_chat(scope, chat_id);
        let update = if is_member {
            SessionUpdate::remove_member(chat, user_id, mark)
        } else {
            SessionUpdate::mark(chat, mark)
        };
        tx.begin().await?;
        if !self.update_within(&tx, update).await? {
            return Ok(Round::Again);
        }
        let with = participants_with_user(scope, chat_id, user_id);
        let pull = doc! { "$pull": { "participants": { "user_id": user_id.as_str() } } };
        let update = self.inner.chat_participants.update_one(with, pull);
        update.session(&mut *tx.session().await?).await?;
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(()))
    }

    /// Adds a participant. Returns `false` if the user has joined since the read, or the limit is reached.
    async fn add(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        joining: &StoredParticipant,
    ) -> Result<bool, Failure> {
        let without = participants_without_user(scope, chat_id, &joining.participant.user_id);
        let push = doc! {
            "$push": { "participants": { "$each": [embedded(&ParticipantDocument::from(joining))?] } },
            "$setOnInsert": { "schema_version": SCHEMA_VERSION },
        };
        let adding = self.inner.chat_participants.update_one(without, push).upsert(true);
        match adding.await {
            Ok(_) => {
                self.notify_presence(chat_id);
                Ok(true)
            }
            // The document exists and does not match: another caller changed it first.
            Err(error) if is_duplicate_key(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets a new name of a participant, if one is given; `None` if the participant has just left.
    async fn rename(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        named: &Participant,
        kept: StoredParticipant,
    ) -> Result<Option<Participant>, Failure> {
        let kept = kept.participant;
        let Some(name) = &named.display_name else { return Ok(Some(kept)) };
        let with = participants_with_user(scope, chat_id, &kept.user_id);
        let set = doc! { "$set": { "participants.$.display_name": name.as_str() } };
        let renamed = self.inner.chat_participants.update_one(with, set).await?;
        self.notify_presence(chat_id);
        let participant = Participant { display_name: Some(name.clone()), ..kept };
        Ok((renamed.matched_count == 1).then_some(participant))
    }

    pub(crate) async fn participants_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<StoredParticipant>, Failure> {
        let filter = chat_filter(&scope.app_id, chat_id);
        let found = self.inner.chat_participants.find_one(filter).await?;
        Ok(found.map_or(Ok(Vec::new()), |raw| participant_records(&raw))?)
    }
}
