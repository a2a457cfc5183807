//! When a chat is purged and what is left of it, how it is archived, and what a hold is; shared by both stores.

use chrono::{DateTime, Utc};
use records::{AuditAction, ChatSession, Due, Hold, Invalid, Lifecycle, NewChatSession};

use crate::StoreError;

/// Returns whether to purge a chat: one that is due, if a reason is given, and otherwise one without a hold.
pub(crate) fn check_purge(
    chat: &ChatSession,
    due: Option<(Due, DateTime<Utc>)>,
) -> Result<bool, StoreError> {
    match due {
        Some((Due::Inactive, _)) => Ok(false),
        Some((due, before)) => Ok(due.includes(chat, before)),
        None if chat.hold.is_some() => Err(StoreError::ChatHeld(chat.chat_id.clone())),
        None => Ok(true),
    }
}

/// Returns what is left of a chat session: the numbers that the statistics count, and the id, which stays taken.
pub(crate) fn remains(chat: &ChatSession, now: DateTime<Utc>) -> ChatSession {
    let new = NewChatSession {
        cache_seed: Some(chat.cache_seed),
        ..NewChatSession::of(chat.workflow_name.clone())
    };
    let mut remains = ChatSession {
        status: chat.status,
        last_updated_at: now,
        completed_at: chat.completed_at,
        duration_sec: chat.duration_sec,
        last_sequence: chat.last_sequence,
        lifecycle: Lifecycle::Purged,
        lifecycle_at: Some(now),
        session_version: chat.session_version + 1,
        // An erasure follows the forks of a chat through those that were purged.
        forked_from: chat.forked_from.clone(),
        creation_digest: None,
        ..ChatSession::start(chat.app_id.clone(), chat.chat_id.clone(), new, chat.created_at)
    };
    remains.is_uncounted = remains.ended_by_removal();
    remains
}

/// Returns a chat after it was archived because nothing has happened in it. That is no activity: its retention goes on.
pub(crate) fn archived(chat: &ChatSession, now: DateTime<Utc>) -> ChatSession {
    ChatSession {
        lifecycle: Lifecycle::Archived,
        lifecycle_at: Some(now),
        session_version: chat.session_version + 1,
        updated_by: None,
        ..chat.clone()
    }
}

/// Returns the action that sets a hold with this reason or lifts the hold; `None` if the chat is so already.
pub(crate) fn hold_action(chat: &ChatSession, reason: Option<&str>) -> Option<AuditAction> {
    let action = if reason.is_some() { AuditAction::HoldChat } else { AuditAction::LiftHold };
    let held = chat.hold.as_ref().map(|hold| hold.reason.as_str());
    (held != reason).then_some(action)
}

/// Checks the reason of a hold.
pub(crate) fn check_reason(reason: Option<&str>) -> Result<(), Invalid> {
    if reason.is_some_and(|reason| reason.chars().count() > Hold::REASON_CHARS) {
        let limit = format!("must be at most {} characters", Hold::REASON_CHARS);
        return Err(Invalid::value("/reason", limit));
    }
    Ok(())
}
