use std::time::Duration;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, TimeDelta, Utc};
use mongodb::options::{Hint, ReturnDocument};
use records::{AppId, ChatId, ChatSession, ChatStatus, WebhookEvent, WorkflowName};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::{Call, Label as _, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::WEBHOOK_EVENTS;
use crate::mongo::documents::stored::{read_document, read_record};
use crate::mongo::documents::word::StoredNumber;
use crate::mongo::documents::{SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::SortedFind;
use crate::mongo::engine::transaction::Transaction;
use crate::store::WebhookEvents;

/// The field with the time from which on an event may be claimed.
pub(crate) const DUE_AT: &str = "due_at";

/// How long an event that cannot be read is not looked at again.
const UNREADABLE_FOR: TimeDelta = TimeDelta::minutes(10);

/// A stored event.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WebhookEventDocument {
    #[serde(rename = "_id")]
    id: WebhookEventKey,
    app_id: AppId,
    workflow_name: WorkflowName,
    status: StoredNumber<ChatStatus>,
    ended_at: DateTime,
    duration_sec: f64,
    last_sequence: u64,
    attempts: u64,
    due_at: DateTime,
    expires_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WebhookEventKey {
    chat_id: ChatId,
    event_id: String,
}

impl WebhookEventDocument {
    fn new(chat: &ChatSession, event_id: &str) -> Self {
        let ended_at = DateTime::from_chrono(chat.last_updated_at);
        let expires_at = later(chat.last_updated_at, TimeDelta::days(WebhookEvent::KEPT_DAYS));
        Self {
            id: WebhookEventKey { chat_id: chat.chat_id.clone(), event_id: event_id.to_owned() },
            app_id: chat.app_id.clone(),
            workflow_name: chat.workflow_name.clone(),
            status: StoredNumber(chat.status),
            ended_at,
            duration_sec: chat.duration_sec,
            last_sequence: chat.last_sequence,
            attempts: 0,
            due_at: ended_at,
            expires_at,
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<WebhookEventDocument> for WebhookEvent {
    fn from(document: WebhookEventDocument) -> Self {
        Self {
            event_id: document.id.event_id,
            app_id: document.app_id,
            chat_id: document.id.chat_id,
            workflow_name: document.workflow_name,
            status: document.status.0,
            ended_at: document.ended_at.to_chrono(),
            duration_sec: document.duration_sec,
            last_sequence: document.last_sequence,
            attempts: document.attempts,
        }
    }
}

/// Reads an event.
pub(crate) fn webhook_event_record(raw: &RawDocumentBuf) -> Result<WebhookEvent, StoreError> {
    read_record::<WebhookEventDocument, _>(WEBHOOK_EVENTS, raw)
}

fn later(time: Time<Utc>, by: TimeDelta) -> DateTime {
    DateTime::from_chrono(time.checked_add_signed(by).unwrap_or(time))
}

fn filter(event: &WebhookEvent) -> Document {
    let (chat_id, event_id) = (event.chat_id.as_str(), event.event_id.as_str());
    doc! { "_id": { "chat_id": chat_id, "event_id": event_id } }
}

impl MongoStore {
    /// Stores the event of a chat that ends in this transaction, if events are kept. `change_id` names the change of the status.
    pub(crate) async fn keep_webhook_event(
        &self,
        chat: &ChatSession,
        change_id: &str,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        if !self.inner.keeps_webhook_events || !chat.status.is_ended() {
            return Ok(());
        }
        let document = encode(&WebhookEventDocument::new(chat, change_id))?;
        let insert = self.inner.webhook_events.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        Ok(())
    }

    /// Claims events one by one. One that cannot be read is put off, so that it keeps no place before the others.
    async fn claim_due_events(
        &self,
        limit: usize,
        lasting: TimeDelta,
    ) -> Result<Vec<WebhookEvent>, Failure> {
        let mut claimed = Vec::new();
        while claimed.len() < limit {
            let mut is_put_off = false;
            for raw in self.due_events(limit - claimed.len()).await? {
                match read_document(WEBHOOK_EVENTS, &raw) {
                    Ok(document) => claimed.extend(self.claim_event(document, lasting).await?),
                    Err(error) => is_put_off |= self.put_off_event(&raw, &error).await?,
                }
            }
            if !is_put_off {
                break;
            }
        }
        Ok(claimed)
    }

    async fn due_events(&self, limit: usize) -> Result<Vec<RawDocumentBuf>, Failure> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        let due = SortedFind {
            filter: doc! { DUE_AT: { "$lte": now } },
            sort: doc! { DUE_AT: 1 },
            index: Hint::Keys(doc! { DUE_AT: 1 }),
            limit,
            projection: doc! {},
        };
        due.read(&self.inner.webhook_events).await
    }

    /// Claims an event, unless another process has claimed it since it was read.
    async fn claim_event(
        &self,
        document: WebhookEventDocument,
        lasting: TimeDelta,
    ) -> Result<Option<WebhookEvent>, Failure> {
        let due_at = document.due_at;
        let mut unclaimed = filter(&document.into());
        unclaimed.insert(DUE_AT, due_at);
        let due_again_at = later(self.inner.clock.now(), lasting);
        let claim = doc! { "$set": { DUE_AT: due_again_at }, "$inc": { "attempts": 1_i64 } };
        let claimed = self.inner.webhook_events.find_one_and_update(unclaimed, claim);
        let claimed = claimed.return_document(ReturnDocument::After).await?;
        Ok(claimed.as_ref().map(webhook_event_record).transpose()?)
    }

    /// Lets an event that cannot be read be due later, and reports it. Returns whether no other process has.
    ///
    /// It stays until it expires: a later release may read it.
    async fn put_off_event(
        &self,
        raw: &RawDocumentBuf,
        error: &StoreError,
    ) -> Result<bool, Failure> {
        let found = |field| raw.get(field).ok().flatten().and_then(|it| Bson::try_from(it).ok());
        let (id, due_at) = (found("_id"), found(DUE_AT));
        let due_again_at = later(self.inner.clock.now(), UNREADABLE_FOR);
        let put_off = doc! { "$set": { DUE_AT: due_again_at } };
        let events = &self.inner.webhook_events;
        let put_off = events.update_one(doc! { "_id": id, DUE_AT: due_at }, put_off).await?;
        let is_put_off = put_off.modified_count > 0;
        if is_put_off {
            self.inner.metrics.sweeps.failed(Sweep::WebhookEvents);
            let sweep = Sweep::WebhookEvents.name();
            tracing::warn!(sweep, %error, "an event cannot be read; it is put off, and the others are sent");
        }
        Ok(is_put_off)
    }
}

#[async_trait]
impl WebhookEvents for MongoStore {
    async fn claim_webhook_events(
        &self,
        limit: usize,
        lasting: Duration,
    ) -> Result<Vec<WebhookEvent>, StoreError> {
        self.observe(Call::ClaimWebhookEvents, None, async {
            let lasting = TimeDelta::from_std(lasting).unwrap_or(TimeDelta::MAX);
            self.write(|call| async move {
                call.attempt(|_| call.claim_due_events(limit, lasting)).await
            })
            .await
        })
        .await
    }

    async fn settle_webhook_event(&self, event: &WebhookEvent) -> Result<(), StoreError> {
        self.observe(Call::SettleWebhookEvent, Some(&event.chat_id), async {
            let filter = filter(event);
            self.write(|call| async move {
                let delete =
                    |_| async { Ok(call.inner.webhook_events.delete_one(filter.clone()).await?) };
                call.attempt(delete).await.map(drop)
            })
            .await
        })
        .await
    }

    async fn postpone_webhook_event(
        &self,
        event: &WebhookEvent,
        wait: Duration,
    ) -> Result<(), StoreError> {
        self.observe(Call::PostponeWebhookEvent, Some(&event.chat_id), async {
            let filter = filter(event);
            let wait = TimeDelta::from_std(wait).unwrap_or(TimeDelta::MAX);
            let update = doc! { "$set": { DUE_AT: later(self.inner.clock.now(), wait) } };
            self.write(|call| async move {
                let events = &call.inner.webhook_events;
                let postpone =
                    |_| async { Ok(events.update_one(filter.clone(), update.clone()).await?) };
                call.attempt(postpone).await.map(drop)
            })
            .await
        })
        .await
    }
}
