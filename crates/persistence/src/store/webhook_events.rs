use std::time::Duration;

use async_trait::async_trait;
use records::WebhookEvent;

use crate::StoreError;

/// The outbox of webhooks: the ends of chats that the receiver has not taken yet.
///
/// The write that completes or fails a chat also stores its event, or neither, if the store was told to
/// ([`MongoOptions::webhook_events`](crate::mongo::MongoOptions::webhook_events)). So none is lost, whatever becomes of the
/// process. The calls are for the process itself and take no scope: they concern all apps.
#[async_trait]
pub trait WebhookEvents: Send + Sync {
    /// Claims up to `limit` events that are due, the longest due first. No call claims them again before `lasting` has passed.
    ///
    /// A process that ends after a claim has lost nothing: its events are due again. An event that cannot be read is logged,
    /// counted, and left for a while; it holds up no other.
    async fn claim_webhook_events(
        &self,
        limit: usize,
        lasting: Duration,
    ) -> Result<Vec<WebhookEvent>, StoreError>;

    /// Removes an event that the receiver has taken. Idempotent.
    async fn settle_webhook_event(&self, event: &WebhookEvent) -> Result<(), StoreError>;

    /// Lets an event that the receiver has not taken be due after `wait`. Idempotent; an event that was settled stays so.
    async fn postpone_webhook_event(
        &self,
        event: &WebhookEvent,
        wait: Duration,
    ) -> Result<(), StoreError>;
}
