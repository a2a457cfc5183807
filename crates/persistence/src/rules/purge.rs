//! What a purge leaves of a chat, shared by both stores.

use chrono::{DateTime, Utc};
use records::json::JsonObject;
use records::{ChatSession, Hold, Invalid, Lifecycle, Visibility};

/// Returns what is left of a chat session: the numbers that the statistics count, and the id, which stays taken.
pub(crate) fn remains(chat: &ChatSession, now: DateTime<Utc>) -> ChatSession {
    ChatSession {
        chat_id: chat.chat_id.clone(),
        app_id: chat.app_id.clone(),
        workflow_name: chat.workflow_name.clone(),
        user_id: None,
        team_id: None,
        visibility: Visibility::Private,
        cache_seed: chat.cache_seed,
        status: chat.status,
        status_reason: None,
        title: None,
        metadata: JsonObject::new(),
        created_at: chat.created_at,
        last_updated_at: now,
        completed_at: chat.completed_at,
        duration_sec: chat.duration_sec,
        last_sequence: chat.last_sequence,
        pending_inputs: Vec::new(),
        lease: None,
        last_message_at: None,
        last_connector: None,
        last_mode: None,
        last_turn: None,
        forked_from: None,
        assistant_id: None,
        sort: 0,
        lifecycle: Lifecycle::Purged,
        lifecycle_at: Some(now),
        session_version: chat.session_version + 1,
        updated_by: None,
        creation_digest: None,
        hold: None,
    }
}

/// Checks the reason of a hold.
pub(crate) fn check_reason(reason: Option<&str>) -> Result<(), Invalid> {
    if reason.is_some_and(|reason| reason.chars().count() > Hold::REASON_CHARS) {
        let limit = format!("must be at most {} characters", Hold::REASON_CHARS);
        return Err(Invalid::value("/reason", limit));
    }
    Ok(())
}
