//! What a chat session is when it starts and when it ends; the same for every backend.

use chrono::{DateTime, Utc};
use records::{ChatId, ChatSession, ChatStatus, Clock, Ids, NewChatSession, Scope, cache_seed};

/// Returns the chat session a creation stores.
pub(crate) fn started(
    scope: &Scope,
    new: NewChatSession,
    clock: &dyn Clock,
    ids: &dyn Ids,
) -> ChatSession {
    let now = clock.now();
    let chat_id = new.chat_id.unwrap_or_else(|| ChatId::mint(ids));
    ChatSession {
        cache_seed: new.cache_seed.unwrap_or_else(|| cache_seed(&scope.app_id, &chat_id)),
        chat_id,
        app_id: scope.app_id.clone(),
        workflow_name: new.workflow_name,
        user_id: new.user_id,
        team_id: new.team_id,
        visibility: new.visibility,
        status: ChatStatus::Running,
        status_reason: None,
        title: new.title,
        metadata: new.metadata,
        created_at: now,
        last_updated_at: now,
        completed_at: None,
        duration_sec: 0.0,
        last_sequence: 0,
    }
}

/// What a move to another status does to the end of the chat.
pub(crate) struct End {
    pub(crate) completed_at: Option<DateTime<Utc>>,
    pub(crate) duration_sec: f64,
}

/// Returns the end of a chat that moves to `status` now.
pub(crate) fn ended(created_at: DateTime<Utc>, status: ChatStatus, now: DateTime<Utc>) -> End {
    let completed_at = (status == ChatStatus::Completed).then_some(now);
    let duration_sec =
        if status.is_ended() { (now - created_at).as_seconds_f64().max(0.0) } else { 0.0 };
    End { completed_at, duration_sec }
}

/// Returns the reason a move to `status` keeps: those of a pause and of a failure.
pub(crate) fn kept_reason(status: ChatStatus, reason: Option<&str>) -> Option<String> {
    let is_kept = matches!(status, ChatStatus::Paused | ChatStatus::Failed);
    reason.filter(|_| is_kept).map(str::to_owned)
}
