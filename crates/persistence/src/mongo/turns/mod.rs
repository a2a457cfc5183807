mod write;

use async_trait::async_trait;
use bson::{Document, doc};
use futures::TryStreamExt;
use records::{ChatId, NewTurn, ResumePoint, Scope, TurnId};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{chat_points_filter, counter, point_record, turn_points_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::{below, limit_and_one};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::turn_batch::TurnBatch;
use crate::store::{AppendedTurn, ResumePointCursor, ResumePointFilter, ResumePointPage, Turns};

/// The largest page of resume points, in bytes. A larger first resume point is returned alone.
const PAGE_BYTES: usize = 8 << 20;

#[async_trait]
impl Turns for MongoStore {
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        self.observe(Call::AppendTurn, Some(chat_id), async {
            let turn = TurnBatch::check(&scope.caller, turn, &*self.inner.ids)?;
            self.inner.metrics.appends.given(&turn.messages);
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let write = |attempt| call.write_turn(&scope, &chat_id, &turn, attempt);
                let appended = call.attempt(write).await;
                call.fenced_if_lease_lost(&scope, &chat_id, appended).await
            })
            .await
        })
        .await
    }

    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError> {
        self.observe(
            Call::ListResumePoints,
            Some(chat_id),
            self.read(|| self.latest_points(scope, chat_id, filter, limit, cursor)),
        )
        .await
    }

    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        self.observe(Call::LastResumePoint, Some(chat_id), async {
            let everything = ResumePointFilter::default();
            let newest = || self.latest_points(scope, chat_id, &everything, 1, None);
            let last = self.read(newest).await?;
            Ok(last.points.into_iter().next())
        })
        .await
    }

    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        self.observe(Call::DeleteResumePoints, Some(chat_id), async {
            let points = match request_id {
                Some(request_id) => turn_points_filter(scope, chat_id, request_id),
                None => chat_points_filter(scope, chat_id),
            };
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.delete_points(tx, &scope, &chat_id, &points);
                call.transact(&scope, &chat_id, round).await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    /// Reads a page of resume points, newest first, from the cursor on.
    async fn latest_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, Failure> {
        self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
        let mut query = match &filter.request_id {
            Some(request_id) => turn_points_filter(scope, chat_id, request_id),
            None => chat_points_filter(scope, chat_id),
        };
        if let Some(stack_id) = &filter.stack_id {
            query.insert("stack_id", stack_id.as_str());
        }
        if let Some(ResumePointCursor { turn, sequence }) = cursor {
            let turn = ("turn", counter(turn).into());
            let earlier = below(turn, ("_id.sequence", sequence.into()));
            query.insert("$and", earlier.to_vec());
        }
        let find =
            self.inner.resume_points.find(query).sort(doc! { "turn": -1, "_id.sequence": -1 });
        let mut found = find.limit(limit_and_one(limit)).await?;
        let (mut page, mut bytes) = (ResumePointPage::default(), 0);
        while let Some(raw) = found.try_next().await? {
            let is_full = page.points.len() == limit || bytes + raw.as_bytes().len() > PAGE_BYTES;
            if let Some(last) = page.points.last().filter(|_| is_full) {
                page.next = Some(ResumePointCursor::after(last));
                break;
            }
            bytes += raw.as_bytes().len();
            page.points.push(point_record(&raw)?);
        }
        Ok(page)
    }

    /// Deletes resume points and returns their number.
    async fn delete_points(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        points: &Document,
    ) -> Result<Round<u64>, Failure> {
        tx.begin().await?;
        self.touch_within(&tx, scope, chat_id).await?;
        let delete = self.inner.resume_points.delete_many(points.clone());
        let deleted = delete.session(&mut *tx.session().await?).await?;
        Ok(Round::Done(deleted.deleted_count))
    }
}
