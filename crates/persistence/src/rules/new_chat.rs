//! The records of new, forked and moved chat sessions, shared by both stores.

use chrono::{DateTime, TimeDelta, Utc};
use records::{
    Caller, ChatId, ChatSession, ChatStatus, Clock, IdSalt, Ids, InputRequest, NewChatSession,
    NewFork, Scope, TeamId, Visibility,
};

use super::stored_digest::random_salt;
use crate::StoreError;

/// Returns the chat session that a creation stores.
pub(crate) fn started(
    scope: &Scope,
    new: NewChatSession,
    clock: &dyn Clock,
    ids: &dyn Ids,
) -> Result<ChatSession, StoreError> {
    let now = clock.now();
    let chat_id = new.chat_id.clone().unwrap_or_else(|| ChatId::mint(ids));
    let id_salt = Some(IdSalt(random_salt()?));
    Ok(ChatSession { id_salt, ..ChatSession::start(scope.app_id.clone(), chat_id, new, now) })
}

/// Returns the chat session that a fork stores, or an error if the fork is invalid.
pub(crate) fn forked(
    scope: &Scope,
    source: &ChatSession,
    fork: NewFork,
    clock: &dyn Clock,
    ids: &dyn Ids,
) -> Result<ChatSession, StoreError> {
    let creation_digest = Some(fork.digest());
    let (mut new, origin) = fork.of(source)?;
    if !may_share_with(&scope.caller, new.team_id.as_ref()) {
        new.team_id = None;
        if new.visibility == Visibility::Team {
            new.visibility = Visibility::Private;
        }
    }
    let last_sequence = origin.sequence;
    let chat = started(scope, new, clock, ids)?;
    Ok(ChatSession {
        last_sequence,
        forked_from: Some(origin),
        creation_digest,
        // The messages that it takes over keep their ids, by which they are recognised.
        id_salt: source.id_salt,
        ..chat
    })
}

/// Returns whether a caller may share a new chat with a team: a person, with their own alone.
fn may_share_with(caller: &Caller, team: Option<&TeamId>) -> bool {
    match caller {
        Caller::User { team_id, .. } => team.is_none() || team == team_id.as_ref(),
        Caller::Service | Caller::Support { .. } => true,
    }
}

/// Returns the chat session after a change of its status.
pub(crate) fn moved(
    chat: &ChatSession,
    next: ChatStatus,
    reason: Option<&str>,
    now: DateTime<Utc>,
) -> ChatSession {
    let duration = if next.is_ended() { now - chat.created_at } else { TimeDelta::zero() };
    ChatSession {
        status: next,
        status_reason: stored_reason(next, reason),
        completed_at: (next == ChatStatus::Completed).then_some(now),
        duration_sec: duration.as_seconds_f64().max(0.0),
        last_updated_at: now,
        // A lease that expired while the chat was paused is removed, or the sweep would interrupt
        // the chat at once.
        lease: chat.lease.clone().filter(|lease| {
            !(next.is_ended() || next == ChatStatus::Running && lease.has_expired(now))
        }),
        ..chat.clone()
    }
}

/// Returns whether pausing a chat that waits for input sets a new reason, so that it stays paused
/// after the answer.
pub(crate) fn changes_pause_reason(
    chat: &ChatSession,
    next: ChatStatus,
    reason: Option<&str>,
) -> bool {
    let waits = Some(InputRequest::PAUSE_REASON);
    next == ChatStatus::Paused
        && chat.status == next
        && chat.status_reason.as_deref() == waits
        && reason != waits
}

/// Returns the reason that a change to `status` stores: only those of a pause and of a failure.
fn stored_reason(status: ChatStatus, reason: Option<&str>) -> Option<String> {
    let is_kept = matches!(status, ChatStatus::Paused | ChatStatus::Failed);
    reason.filter(|_| is_kept).map(str::to_owned)
}
