//! Provider calls and what they add up to, changed in one transaction.

use async_trait::async_trait;
use bson::doc;
use chrono::{DateTime, Utc};
use futures::TryStreamExt;
use mongodb::ClientSession;
use records::{
    ChatId, NewProviderCall, ProviderCall, Rollup, RollupKey, Scope, Subject, Tally, Usage,
    WorkflowName,
};

use super::MongoStore;
use super::documents::{
    call_document, call_key, call_record, open_call, open_chat_session, rollup_id, rollup_sums,
};
use super::failure::Failure;
use super::paging::{limit_and_one, older_than};
use super::stats::{Counted, Stripe};
use crate::StoreError;
use crate::call_batch::{CallBatch, DigestedCall};
use crate::store::{CallCursor, CallPage, Calls, RecordedCall};

#[async_trait]
impl Calls for MongoStore {
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        let batch = CallBatch::check(calls, self.inner.clock.now(), &*self.inner.ids)?;
        let recording_id = self.inner.ids.mint("recording_");
        self.write(|_| self.record_calls_once(scope, chat_id, &batch, &recording_id)).await
    }

    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        let mut query = doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() };
        if let Some(CallCursor { called_at, call_id }) = after {
            let older = older_than("called_at", *called_at, "_id.call_id", call_id.as_str());
            query.insert("$and", older.to_vec());
        }
        let list = || async {
            self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
            let find = self.inner.provider_calls.find(query.clone());
            let find =
                find.sort(doc! { "called_at": -1, "_id.call_id": -1 }).limit(limit_and_one(limit));
            let found: Vec<_> = find.await?.try_collect().await?;
            let calls = found.iter().map(|raw| Ok(call_record(&open_call(raw)?)?.call));
            Ok(CallPage::cut(calls.collect::<Result<_, Failure>>()?, limit))
        };
        self.read(list).await
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        let read = || async {
            let workflow_name = self.counted_chat(scope, chat_id).await?.0;
            let key = RollupKey { subject: Subject::Chat(chat_id.clone()), hour: None };
            let id = rollup_id(&scope.app_id, &workflow_name, &key, 0);
            let found = self.inner.workflow_stats.find_one(doc! { "_id": id }).await?;
            Ok(found.as_ref().map(rollup_sums).transpose()?.unwrap_or_default().usage())
        };
        self.read(read).await
    }
}

impl MongoStore {
    async fn record_calls_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &CallBatch,
        recording_id: &str,
    ) -> Result<Vec<RecordedCall>, Failure> {
        let (workflow_name, created_at) = self.counted_chat(scope, chat_id).await?;
        let app_id = &scope.app_id;
        let chat = Counted { app_id, workflow_name: &workflow_name, chat_id, created_at };
        let mut from = 0;
        loop {
            let (known, is_done) = self.known_calls(scope, chat_id, batch, recording_id).await?;
            let (fresh, answer) = batch.plan(chat_id, &known)?;
            if is_done || fresh.is_empty() {
                return Ok(answer);
            }
            let stripe = self.stripe(app_id, &workflow_name, from).await;
            let mut session = self.begin().await?;
            let recorded =
                self.insert_calls(&chat, &fresh, recording_id, &stripe, &mut session).await;
            if self.conclude(session, recorded).await?.is_some() {
                return Ok(answer);
            }
            from = stripe.number() + 1;
        }
    }

    /// Inserts calls, and adds them to all rollups they count for.
    pub(super) async fn insert_calls(
        &self,
        chat: &Counted<'_>,
        calls: &[&DigestedCall],
        recording_id: &str,
        stripe: &Stripe<'_>,
        session: &mut ClientSession,
    ) -> Result<(), Failure> {
        let documents = calls.iter().map(|kept| {
            call_document(chat.app_id, chat.workflow_name, chat.chat_id, kept, recording_id)
        });
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        self.inner.provider_calls.insert_many(documents).session(&mut *session).await?;
        let (mut tally, mut usage) = (Tally::default(), Usage::default());
        for DigestedCall { call, .. } in calls {
            tally.call(call, 1);
            usage.add(call);
        }
        let before = self.count_usage(chat, &Rollup::of_usage(&usage), session).await?;
        tally.usage(&before, &before.plus(&usage));
        self.count(chat, tally, stripe, session).await
    }

    /// Takes a call out of all rollups that it counted for.
    pub(super) async fn discount_call(
        &self,
        chat: &Counted<'_>,
        call: &ProviderCall,
        stripe: &Stripe<'_>,
        session: &mut ClientSession,
    ) -> Result<(), Failure> {
        let mut usage = Usage::default();
        usage.add(call);
        let mut change = Rollup::default();
        change.merge(&Rollup::of_usage(&usage), -1);
        let before = self.count_usage(chat, &change, session).await?;
        let mut tally = Tally::default();
        tally.call(call, -1);
        tally.usage(&before, &before.minus(&usage));
        self.count(chat, tally, stripe, session).await
    }

    /// Reads what has to be known of a chat to count something of it.
    pub(super) async fn counted_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<(WorkflowName, DateTime<Utc>), Failure> {
        let fields = doc! { "workflow_name": 1, "created_at": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, fields).await?;
        let fields = open_chat_session(&raw)?;
        Ok((fields.parsed("workflow_name")?, fields.time("created_at")?))
    }

    /// Finds those of a batch that others have recorded, and tells whether an earlier attempt of
    /// this recording has recorded the rest.
    pub(super) async fn known_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &CallBatch,
        recording_id: &str,
    ) -> Result<(Vec<DigestedCall>, bool), Failure> {
        let ids: Vec<_> = batch.call_ids().map(|call_id| call_key(chat_id, call_id)).collect();
        let query = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        let found: Vec<_> = self.inner.provider_calls.find(query).await?.try_collect().await?;
        let mut is_done = false;
        let mut known = Vec::with_capacity(found.len());
        for raw in &found {
            let fields = open_call(raw)?;
            if fields.field("recording_id")?.text()? == recording_id {
                is_done = true;
            } else {
                known.push(call_record(&fields)?);
            }
        }
        Ok((known, is_done))
    }
}
