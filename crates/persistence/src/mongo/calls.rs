//! Provider calls and what they add up to, changed in one transaction.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use bson::raw::RawArrayBuf;
use bson::{DateTime, RawDocumentBuf, doc, rawdoc};
use futures::TryStreamExt;
use mongodb::ClientSession;
use mongodb::error::{Error, TRANSIENT_TRANSACTION_ERROR};
use records::{ChatId, NewProviderCall, Scope, Usage, WorkflowName};
use tokio::time::sleep;

use super::MongoStore;
use super::documents::{
    PROVIDER_CALLS, RollupKey, SCHEMA_VERSION, STRIPES, WORKFLOW_STATS, call_document, call_key,
    call_record, open_chat_session, rollup_statement, rollup_usage,
};
use super::failure::{Failure, is_duplicate_key};
use super::fields::Fields;
use crate::StoreError;
use crate::call_batch::{CallBatch, DigestedCall};
use crate::store::{CallCursor, CallPage, Calls, RecordedCall};

/// How long to wait for a transaction that is in the way.
const PAUSE: Duration = Duration::from_millis(2);

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
            let called_at = DateTime::from_chrono(*called_at);
            let earlier = doc! { "called_at": { "$lt": called_at } };
            let same = doc! { "called_at": called_at, "_id.call_id": { "$lt": call_id.as_str() } };
            query.insert("called_at", doc! { "$lte": called_at });
            query.insert("$or", vec![earlier, same]);
        }
        // One more than asked for tells whether there is another page.
        let limit_and_one = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let list = || async {
            self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
            let find = self.inner.provider_calls.find(query.clone());
            let find = find.sort(doc! { "called_at": -1, "_id.call_id": -1 }).limit(limit_and_one);
            let found: Vec<_> = find.await?.try_collect().await?;
            let calls = found.iter().map(|raw| Ok(call_record(&open_call(raw)?)?.call));
            Ok(CallPage::cut(calls.collect::<Result<_, Failure>>()?, limit))
        };
        self.read(list).await
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        let read = || async {
            let workflow_name = self.workflow_of(scope, chat_id).await?;
            let id = RollupKey::chat(chat_id).id(&scope.app_id, &workflow_name);
            let found = self.inner.workflow_stats.find_one(doc! { "_id": id }).await?;
            let Some(raw) = found else { return Ok(Usage::default()) };
            Ok(rollup_usage(&open_rollup(chat_id, &raw)?)?)
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
        let workflow_name = self.workflow_of(scope, chat_id).await?;
        loop {
            let (known, is_done) = self.known_calls(scope, chat_id, batch, recording_id).await?;
            let (fresh, answer) = batch.plan(chat_id, &known)?;
            if is_done || fresh.is_empty() {
                return Ok(answer);
            }
            let stripe = self.inner.next_stripe.fetch_add(1, Ordering::Relaxed) % STRIPES;
            let mut session = self.inner.database.client().start_session().await?;
            session.start_transaction().await?;
            let recorded = async {
                let documents = fresh.iter().map(|kept| {
                    call_document(&scope.app_id, &workflow_name, chat_id, kept, recording_id)
                });
                let documents = documents.collect::<Result<Vec<_>, _>>()?;
                let insert = self.inner.provider_calls.insert_many(documents);
                insert.session(&mut session).await?;
                self.roll_up(scope, &workflow_name, chat_id, &fresh, stripe, &mut session).await?;
                Ok::<_, Failure>(session.commit_transaction().await?)
            };
            match recorded.await {
                Ok(()) => return Ok(answer),
                // Others count for the same just now, or record the same calls: look again.
                Err(Failure::Driver(error)) if is_in_the_way(&error) => {
                    drop(session.abort_transaction().await);
                    sleep(PAUSE).await;
                }
                Err(failure) => {
                    drop(session.abort_transaction().await);
                    return Err(failure);
                }
            }
        }
    }

    async fn workflow_of(&self, scope: &Scope, chat_id: &ChatId) -> Result<WorkflowName, Failure> {
        let fields = doc! { "workflow_name": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, fields).await?;
        Ok(open_chat_session(&raw)?.parsed("workflow_name")?)
    }

    /// Finds those of a batch that others have recorded, and tells whether an earlier attempt of
    /// this recording has recorded the rest.
    async fn known_calls(
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

    /// Adds calls to all rollups they count for.
    async fn roll_up(
        &self,
        scope: &Scope,
        workflow_name: &WorkflowName,
        chat_id: &ChatId,
        calls: &[&DigestedCall],
        stripe: u32,
        session: &mut ClientSession,
    ) -> Result<(), Failure> {
        let mut rollups: Vec<(RollupKey, Usage)> = Vec::new();
        for DigestedCall { call, .. } in calls {
            for key in RollupKey::of(chat_id, call, stripe) {
                let index = rollups.iter().position(|(known, _)| *known == key);
                let index = index.unwrap_or_else(|| {
                    rollups.push((key, Usage::default()));
                    rollups.len() - 1
                });
                rollups[index].1.add(call);
            }
        }
        let mut updates = RawArrayBuf::new();
        for (key, usage) in &rollups {
            updates.push(rollup_statement(key.id(&scope.app_id, workflow_name), usage)?);
        }
        let command = rawdoc! { "update": WORKFLOW_STATS, "updates": updates };
        let reply = self.inner.database.run_raw_command(command).session(session).await?;
        match reply.get("writeErrors") {
            None => Ok(()),
            Some(errors) => {
                let source = format!("the rollups were not written: {errors}");
                Err(StoreError::Refused { source: source.into() }.into())
            }
        }
    }
}

/// Another transaction is in the way.
fn is_in_the_way(error: &Error) -> bool {
    error.contains_label(TRANSIENT_TRANSACTION_ERROR) || is_duplicate_key(error)
}

fn open_call(raw: &RawDocumentBuf) -> Result<Fields<'_>, StoreError> {
    Fields::open(PROVIDER_CALLS, "(a call)", raw, SCHEMA_VERSION)
}

fn open_rollup<'a>(chat_id: &'a ChatId, raw: &'a RawDocumentBuf) -> Result<Fields<'a>, StoreError> {
    Fields::open(WORKFLOW_STATS, chat_id.as_str(), raw, SCHEMA_VERSION)
}
