use chrono::{DateTime, Utc};

use crate::{AppId, ChatId, ChatStatus, WorkflowName};

/// The end of a chat, for the receiver of webhooks. It names no person, and has nothing that was said.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookEvent {
    /// The id of the event, the same in every attempt.
    pub event_id: String,
    /// The app of the chat.
    pub app_id: AppId,
    /// The chat.
    pub chat_id: ChatId,
    /// Its workflow.
    pub workflow_name: WorkflowName,
    /// How the chat has ended: completed or failed.
    pub status: ChatStatus,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// The seconds from its creation to its end.
    pub duration_sec: f64,
    /// The number of messages that it had when it ended.
    pub last_sequence: u64,
    /// How often the event was claimed, the current claim included.
    pub attempts: u64,
}

impl WebhookEvent {
    /// How many days an event is kept that its receiver does not take.
    pub const KEPT_DAYS: i64 = 30;
}
