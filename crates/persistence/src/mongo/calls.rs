//! Provider calls and their rollups, changed in one transaction.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bson::{RawDocumentBuf, doc};
use futures::{StreamExt as _, TryStreamExt, stream};
use mongodb::options::Hint;
use records::{
    ChatId, ChatSession, NewProviderCall, ProviderCall, RollupKey, Scope, Subject, Usage,
};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    CallDocument, StoredRollup, call_key, call_record, encode, open_call, open_chat_session,
    rollup_id, rollup_sums,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::{limit_and_one, older_than};
use crate::mongo::engine::scope::permitted_chats;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::stats::Counted;
use crate::rules::billing::Bill;
use crate::rules::call_batch::{CallBatch, DigestedCall};
use crate::store::{
    Billing, CallCursor, CallPage, CallSummary, Calls, Outcome, Payment, Recording,
};
use crate::traces;

/// How many chats' newest calls are read at the same time.
const READ_AT_ONCE: usize = 8;

/// A store call that records calls, identified by the mark that it leaves on them.
#[derive(Debug)]
pub(crate) struct RecordingMark {
    pub(crate) id: String,
    pub(crate) billing: Billing,
}

/// Whether an earlier attempt of a store call has recorded its calls: all of them or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierAttempt {
    Nothing,
    Done,
}

#[async_trait]
impl Calls for MongoStore {
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
        billing: Billing,
    ) -> Result<Recording, StoreError> {
        self.observe(Call::RecordCalls, Some(chat_id), async {
            let batch = CallBatch::check(calls, self.inner.clock.now(), &*self.inner.ids)?;
            let recording = RecordingMark { id: self.inner.ids.mint("recording_"), billing };
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.record_calls_round(tx, &scope, &chat_id, &batch, &recording);
                let (recording, is_new) = call.transact(&scope, &chat_id, round).await?;
                if is_new {
                    call.notify_payment(&chat_id, &recording.payment);
                    call.notify_usage(&chat_id);
                    let new = recording.calls.iter().filter(|it| it.outcome == Outcome::Stored);
                    traces::recorded(&scope.app_id, &chat_id, new.map(|it| &it.call));
                }
                Ok(recording)
            })
            .await
        })
        .await
    }

    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        self.observe(Call::ListCalls, Some(chat_id), async {
            let mut query =
                doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() };
            if let Some(CallCursor { called_at, call_id }) = after {
                let older = older_than("called_at", *called_at, "_id.call_id", call_id.as_str());
                query.insert("$and", older.to_vec());
            }
            let list = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let find = self.inner.provider_calls.find(query.clone());
                let find = find
                    .sort(doc! { "called_at": -1, "_id.call_id": -1 })
                    .limit(limit_and_one(limit));
                let found: Vec<_> = find.await?.try_collect().await?;
                let calls = found.iter().map(|raw| Ok(call_record(&open_call(raw)?)?.call));
                Ok(CallPage::cut(calls.collect::<Result<_, Failure>>()?, limit))
            };
            self.read(list).await
        })
        .await
    }

    async fn summarize_calls(
        &self,
        scope: &Scope,
        chat_ids: &[ChatId],
    ) -> Result<Vec<CallSummary>, StoreError> {
        self.observe(Call::SummarizeCalls, None, async {
            self.read(|| self.call_summaries(scope, chat_ids)).await
        })
        .await
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        self.observe(Call::ChatUsage, Some(chat_id), async {
            let read = || async {
                let projection = doc! { "schema_version": 1, "workflow_name": 1 };
                let raw = self.session_within(scope, chat_id, projection).await?;
                let workflow_name = open_chat_session(&raw)?.parsed("workflow_name")?;
                let key = RollupKey { subject: Subject::Chat(chat_id.clone()), hour: None };
                let id = rollup_id(&scope.app_id, &workflow_name, &key, 0);
                let found = self.inner.workflow_stats.find_one(doc! { "_id": id }).await?;
                Ok(found.as_ref().map(rollup_sums).transpose()?.unwrap_or_default().usage())
            };
            self.read(read).await
        })
        .await
    }
}

impl MongoStore {
    /// Reads the permitted chats, then their rollups, then the newest call of each chat that has calls.
    async fn call_summaries(
        &self,
        scope: &Scope,
        chat_ids: &[ChatId],
    ) -> Result<Vec<CallSummary>, Failure> {
        let ids: Vec<&str> = chat_ids.iter().map(ChatId::as_str).collect();
        let chats = doc! { "$and": [{ "_id": { "$in": ids } }, permitted_chats(scope)] };
        let chats = self.inner.chat_sessions.find(chats).hint(Hint::Keys(doc! { "_id": 1 }));
        let chats = chats.projection(doc! { "workflow_name": 1, "schema_version": 1 }).await?;
        let chats: Vec<RawDocumentBuf> = chats.try_collect().await?;
        let mut summaries = BTreeMap::new();
        let mut rollups = Vec::with_capacity(chats.len());
        for raw in &chats {
            let fields = open_chat_session(raw)?;
            let (chat_id, workflow_name) =
                (fields.parsed::<ChatId>("_id")?, fields.parsed("workflow_name")?);
            let key = RollupKey { subject: Subject::Chat(chat_id.clone()), hour: None };
            rollups.push(rollup_id(&scope.app_id, &workflow_name, &key, 0));
            let (usage, newest) = (Usage::default(), None);
            summaries.insert(chat_id.clone(), CallSummary { chat_id, usage, newest });
        }
        let rollups = self.inner.workflow_stats.find(doc! { "_id": { "$in": rollups } }).await?;
        let rollups: Vec<RawDocumentBuf> = rollups.try_collect().await?;
        for raw in &rollups {
            if let Subject::Chat(chat_id) = StoredRollup::read(raw)?.key.subject
                && let Some(summary) = summaries.get_mut(&chat_id)
            {
                summary.usage = rollup_sums(raw)?.usage();
            }
        }
        let complete = async |summary: CallSummary| {
            let newest = if summary.usage.calls == 0 {
                None
            } else {
                self.newest_call(scope, &summary.chat_id).await?
            };
            Ok(CallSummary { newest, ..summary })
        };
        let summaries = stream::iter(summaries.into_values()).map(complete);
        summaries.buffer_unordered(READ_AT_ONCE).try_collect().await
    }

    async fn newest_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ProviderCall>, Failure> {
        let of_chat = doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() };
        let newest = self.inner.provider_calls.find_one(of_chat);
        let newest = newest.sort(doc! { "called_at": -1, "_id.call_id": -1 }).await?;
        newest.map(|raw| Ok(call_record(&open_call(&raw)?)?.call)).transpose()
    }

    /// Records calls. Also returns whether any of them was new.
    async fn record_calls_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &CallBatch,
        recording: &RecordingMark,
    ) -> Result<Round<(Recording, bool)>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let (known, earlier) = self.known_calls(scope, chat_id, batch, recording).await?;
        if earlier == EarlierAttempt::Nothing {
            tx.attempt().note_nothing_applied();
        }
        let (fresh, calls) = batch.plan(chat_id, &known)?;
        if let Some(payment) = self.prior_payment(&chat, &fresh, earlier, recording).await? {
            return Ok(Round::Done((Recording { calls, payment }, false)));
        }
        tx.begin_counted(&chat).await?;
        let payment = self.insert_calls(&tx, &chat, &fresh, recording).await?;
        Ok(payment.map(|payment| (Recording { calls, payment }, true)))
    }

    /// Returns the payment if there is nothing to record: all calls were recorded by an earlier
    /// attempt or an earlier call.
    pub(crate) async fn prior_payment(
        &self,
        chat: &ChatSession,
        fresh: &[&DigestedCall],
        earlier: EarlierAttempt,
        recording: &RecordingMark,
    ) -> Result<Option<Payment>, Failure> {
        match earlier {
            EarlierAttempt::Done => Ok(Some(self.paid(chat, fresh, recording).await?)),
            EarlierAttempt::Nothing => Ok(fresh.is_empty().then_some(Payment::None)),
        }
    }

    /// Inserts calls, adds them to all their rollups, and pays for them.
    pub(crate) async fn insert_calls(
        &self,
        tx: &Transaction<'_>,
        chat: &ChatSession,
        calls: &[&DigestedCall],
        recording: &RecordingMark,
    ) -> Result<Round<Payment>, Failure> {
        let documents = calls.iter().map(|kept| {
            let ChatSession { app_id, workflow_name, chat_id, .. } = chat;
            encode(&CallDocument::new(app_id, workflow_name, chat_id, kept, &recording.id))
        });
        let documents = documents.collect::<Result<Vec<_>, _>>()?;
        let insert = self.inner.provider_calls.insert_many(documents);
        insert.session(&mut *tx.session().await?).await?;
        let counted: Vec<_> = calls.iter().map(|kept| &kept.call).collect();
        self.count_calls(&Counted::of(chat), &counted, 1, tx).await?;
        match Bill::of(chat, calls, recording.billing, &recording.id) {
            // The payment comes last, so that concurrent calls wait for the wallet as briefly as
            // possible.
            Some(bill) => self.pay(tx, chat, &bill).await.map(Round::of),
            None => Ok(Round::Done(Payment::None)),
        }
    }

    /// Finds the calls of a batch that other store calls have recorded. Also returns whether an
    /// earlier attempt of this store call has recorded the rest.
    pub(crate) async fn known_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        batch: &CallBatch,
        recording: &RecordingMark,
    ) -> Result<(Vec<DigestedCall>, EarlierAttempt), Failure> {
        let ids: Vec<_> = batch.call_ids().map(|call_id| call_key(chat_id, call_id)).collect();
        let query = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        let found: Vec<_> = self.inner.provider_calls.find(query).await?.try_collect().await?;
        let mut earlier = EarlierAttempt::Nothing;
        let mut known = Vec::with_capacity(found.len());
        for raw in &found {
            let fields = open_call(raw)?;
            if fields.field("recording_id")?.text()? == recording.id {
                earlier = EarlierAttempt::Done;
            } else {
                known.push(call_record(&fields)?);
            }
        }
        Ok((known, earlier))
    }
}
