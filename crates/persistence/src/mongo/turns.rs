use async_trait::async_trait;
use bson::{DateTime, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{ChatId, NewTurn, ResumePoint, Scope, TurnId};

use super::MongoStore;
use super::documents::{point_record, points_in, points_of};
use super::failure::Failure;
use super::scope::writable_chat;
use crate::StoreError;
use crate::store::{AppendedTurn, ResumePointFilter, Turns};
use crate::turn_batch::TurnBatch;

#[async_trait]
impl Turns for MongoStore {
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        let turn = &TurnBatch::check(&scope.caller, turn, &*self.inner.ids)?;
        self.inner.metrics.appends.given(&turn.messages);
        let appended = self.write(|attempt| self.write_turn(scope, chat_id, turn, attempt)).await;
        self.fenced_if_late(scope, chat_id, appended).await
    }

    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
    ) -> Result<Vec<ResumePoint>, StoreError> {
        let limit = i64::try_from(ResumePointFilter::MOST).unwrap_or(i64::MAX);
        let mut found = self.latest_points(scope, chat_id, filter, limit).await?;
        found.reverse();
        found.iter().map(point_record).collect()
    }

    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        let everything = ResumePointFilter::default();
        let found = self.latest_points(scope, chat_id, &everything, 1).await?;
        found.first().map(point_record).transpose()
    }

    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        self.write(|_| self.delete_points(scope, chat_id, request_id)).await
    }
}

impl MongoStore {
    async fn latest_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: i64,
    ) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let mut query = match &filter.request_id {
            Some(request_id) => points_of(scope, chat_id, request_id),
            None => points_in(scope, chat_id),
        };
        if let Some(stack_id) = &filter.stack_id {
            query.insert("stack_id", stack_id.as_str());
        }
        self.read(|| async {
            self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
            let find = self.inner.resume_points.find(query.clone());
            let find = find.sort(doc! { "turn": -1, "_id.sequence": -1 }).limit(limit);
            Ok(find.await?.try_collect().await?)
        })
        .await
    }

    /// Deletes them in a transaction with a touch of their chat, which decides whether the caller may.
    async fn delete_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, Failure> {
        let points = match request_id {
            Some(request_id) => points_of(scope, chat_id, request_id),
            None => points_in(scope, chat_id),
        };
        loop {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let touch = doc! { "$set": { "last_updated_at": now } };
            let mut session = self.begin().await?;
            let work = async {
                let touch =
                    self.inner.chat_sessions.update_one(writable_chat(scope, chat_id), touch);
                if touch.session(&mut session).await?.matched_count == 0 {
                    return Err(self.why_not_writable(scope, chat_id).await?);
                }
                let delete = self.inner.resume_points.delete_many(points.clone());
                Ok(Some(delete.session(&mut session).await?.deleted_count))
            };
            let worked = work.await;
            if let Some(deleted) = self.conclude(session, worked).await? {
                return Ok(deleted);
            }
        }
    }
}
