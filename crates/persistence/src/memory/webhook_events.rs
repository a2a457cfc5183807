use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use records::{ChatSession, WebhookEvent};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::store::WebhookEvents;

/// An event that was not settled.
#[derive(Debug, Clone)]
pub(super) struct KeptEvent {
    pub(super) event: WebhookEvent,
    pub(super) due_at: DateTime<Utc>,
}

impl KeptEvent {
    /// Creates the event of a chat that ends now.
    pub(super) fn new(chat: &ChatSession, event_id: String) -> Self {
        let event = WebhookEvent {
            event_id,
            app_id: chat.app_id.clone(),
            chat_id: chat.chat_id.clone(),
            workflow_name: chat.workflow_name.clone(),
            status: chat.status,
            ended_at: chat.last_updated_at,
            duration_sec: chat.duration_sec,
            last_sequence: chat.last_sequence,
            attempts: 0,
        };
        Self { event, due_at: chat.last_updated_at }
    }
}

impl MemoryStore {
    fn later(&self, by: Duration) -> DateTime<Utc> {
        let now = self.clock.now();
        let by = TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX);
        now.checked_add_signed(by).unwrap_or(now)
    }
}

#[async_trait]
impl WebhookEvents for MemoryStore {
    async fn claim_webhook_events(
        &self,
        limit: usize,
        lasting: Duration,
    ) -> Result<Vec<WebhookEvent>, StoreError> {
        self.observe(Call::ClaimWebhookEvents, || {
            let (now, due_again_at) = (self.clock.now(), self.later(lasting));
            let mut chats = self.chats();
            let kept = chats.values_mut().flat_map(|chat| &mut chat.webhook_events);
            let mut due: Vec<_> = kept.filter(|kept| kept.due_at <= now).collect();
            due.sort_by_key(|kept| kept.due_at);
            let claimed = due.into_iter().take(limit).map(|kept| {
                kept.due_at = due_again_at;
                kept.event.attempts += 1;
                kept.event.clone()
            });
            Ok(claimed.collect())
        })
        .await
    }

    async fn settle_webhook_event(&self, event: &WebhookEvent) -> Result<(), StoreError> {
        self.observe(Call::SettleWebhookEvent, || {
            if let Some(chat) = self.chats().get_mut(&event.chat_id) {
                chat.webhook_events.retain(|kept| kept.event.event_id != event.event_id);
            }
            Ok(())
        })
        .await
    }

    async fn postpone_webhook_event(
        &self,
        event: &WebhookEvent,
        wait: Duration,
    ) -> Result<(), StoreError> {
        self.observe(Call::PostponeWebhookEvent, || {
            let due_at = self.later(wait);
            if let Some(chat) = self.chats().get_mut(&event.chat_id) {
                let mut kept = chat.webhook_events.iter_mut();
                if let Some(kept) = kept.find(|kept| kept.event.event_id == event.event_id) {
                    kept.due_at = due_at;
                }
            }
            Ok(())
        })
        .await
    }
}
