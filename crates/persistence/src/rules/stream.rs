//! What a write of a stream makes of it. Both stores ask here, with the mark of the last group.

use chrono::{DateTime, Utc};
use records::{
    ChatId, ChatSession, EventId, IdError, Ids, Invalid, NewStream, Scope, Stream, StreamEnding,
    StreamEvent, StreamGroup, StreamId, StreamMark, StreamState, TurnId,
};

use crate::StoreError;
use crate::error::StreamRefusal;
use crate::rules::turn_batch::first_message_id;
use crate::store::{StreamProgress, Takeover};

/// The end of a stream that is written with a turn.
#[derive(Debug, Clone)]
pub(crate) struct StreamEnd {
    pub(crate) stream_id: StreamId,
    pub(crate) ending: StreamEnding,
}

/// Returns the stream that a caller starts, with the mark of its first group.
pub(crate) fn start(
    scope: &Scope,
    chat_id: &ChatId,
    new: NewStream,
    now: DateTime<Utc>,
    ids: &dyn Ids,
) -> Result<Stream, Invalid> {
    new.header.check()?;
    let minted = || StreamId::parse(ids.mint("stream_"));
    let stream_id = new.stream_id.map_or_else(minted, Ok);
    let stream_id = stream_id.map_err(|e: IdError| Invalid::value("/stream_id", e.to_string()))?;
    let mark = StreamMark {
        number: 0,
        next: 0,
        bytes: 0,
        attempt: 1,
        fencing_token: scope.fencing_token.unwrap_or(0),
        is_cancel_requested: false,
        state: StreamState::Running,
        error: None,
        last_sequence: None,
        written_at: now,
    };
    let (chat_id, header) = (chat_id.clone(), new.header);
    Ok(Stream { chat_id, stream_id, header, started_at: now, mark })
}

/// Returns the id that the first message of the turn of a stream has, if the turn is stored: the turn has the id of the stream unless
/// it has one of its own.
pub(crate) fn first_message_of(stream: &Stream) -> Option<EventId> {
    let of_stream = || TurnId::parse(stream.stream_id.as_str()).ok();
    let request_id = stream.header.request_id.clone().or_else(of_stream)?;
    Some(first_message_id(&request_id))
}

/// Compares a stream to start with the one that has its id.
pub(crate) fn check_repeated(new: &Stream, stored: &Stream) -> Result<(), StoreError> {
    if new.header == stored.header {
        return Ok(());
    }
    Err(refusal(&new.stream_id, StreamRefusal::Exists))
}

/// Returns whether the start of a stream ends another one, which an earlier holder of the lease has left.
pub(crate) fn supersedes(scope: &Scope, other: &StreamMark) -> bool {
    other.state == StreamState::Running
        && scope.fencing_token.is_some_and(|token| other.fencing_token < token)
}

/// Returns the group that adds these chunks; `None` if the stream has them all, or was stopped.
pub(crate) fn chunks(
    scope: &Scope,
    at: (&ChatId, &StreamId),
    mark: &StreamMark,
    from: u64,
    chunks: &[String],
    now: DateTime<Utc>,
) -> Result<Option<StreamGroup>, StoreError> {
    let (chat_id, stream_id) = at;
    check_writer(scope, chat_id, stream_id, mark)?;
    if mark.is_stopped() {
        return Ok(None);
    }
    let known = mark.next.checked_sub(from);
    let fresh = known.and_then(|known| chunks.get(usize::try_from(known).ok()?..));
    let fresh = fresh.unwrap_or_default();
    if known.is_some() && fresh.is_empty() && !chunks.is_empty() {
        return Ok(None);
    }
    check_runs(stream_id, mark)?;
    if known.is_none() {
        return Err(refusal(stream_id, StreamRefusal::Gap { next: mark.next }));
    }
    let bytes = mark.bytes + fresh.iter().map(|chunk| chunk.len() as u64).sum::<u64>();
    if bytes > Stream::MAX_BYTES {
        return Err(refusal(stream_id, StreamRefusal::Full));
    }
    let next = mark.next + fresh.len() as u64;
    let mark = StreamMark { next, bytes, ..following(mark, now) };
    Ok(Some(StreamGroup { mark, event: StreamEvent::Chunks(fresh.to_vec()) }))
}

/// Returns the group that takes a stream over; `None` if the caller has it already, and no chunks are to be void.
pub(crate) fn take_over(
    scope: &Scope,
    at: (&ChatId, &StreamId),
    mark: &StreamMark,
    takeover: Takeover,
    now: DateTime<Utc>,
) -> Result<Option<StreamGroup>, StoreError> {
    let (chat_id, stream_id) = at;
    let fencing_token = scope.fencing_token.unwrap_or(0);
    if fencing_token <= mark.fencing_token {
        check_writer(scope, chat_id, stream_id, mark)?;
    }
    check_runs(stream_id, mark)?;
    let is_own = fencing_token == mark.fencing_token;
    let taken = StreamMark { fencing_token, ..following(mark, now) };
    if let Takeover::Restart { attempt: Some(attempt) } = takeover {
        if is_own && mark.attempt.checked_sub(1) == Some(attempt) {
            return Ok(None);
        }
        if mark.attempt != attempt {
            let reason = StreamRefusal::OtherAttempt { attempt: mark.attempt };
            return Err(refusal(stream_id, reason));
        }
    }
    Ok(match takeover {
        Takeover::Continue if is_own => None,
        Takeover::Restart { .. } if is_own && mark.next == 0 => None,
        Takeover::Continue => Some(StreamGroup { mark: taken, event: StreamEvent::Continued }),
        Takeover::Restart { .. } => {
            let mark = StreamMark { next: 0, attempt: mark.attempt + 1, ..taken };
            Some(StreamGroup { mark, event: StreamEvent::Restarted })
        }
    })
}

/// Returns the group that asks the agent to stop; `None` if it was asked, or the stream has ended.
///
/// Its agent did not write this, so the stream is as silent as before.
pub(crate) fn cancel(mark: &StreamMark) -> Option<StreamGroup> {
    if mark.is_cancel_requested || mark.state != StreamState::Running {
        return None;
    }
    let mark = StreamMark { is_cancel_requested: true, ..following(mark, mark.written_at) };
    Some(StreamGroup { mark, event: StreamEvent::CancelRequested })
}

/// Returns the group that ends a stream for a caller that does not write it; `None` if it has ended.
pub(crate) fn stop(mark: &StreamMark, now: DateTime<Utc>) -> Option<StreamGroup> {
    let asked = StreamMark { is_cancel_requested: true, ..mark.clone() };
    let ending = StreamEnding::of(StreamState::Cancelled);
    (mark.state == StreamState::Running).then(|| ended(&asked, &ending, None, now))
}

/// Returns whether a chat is one whose streams do not go on.
pub(crate) fn is_over(chat: &ChatSession) -> bool {
    chat.status.is_ended() || !chat.lifecycle.exists()
}

/// Returns the group that cancels a stream whose chat has ended or was deleted; `None` if the stream has ended.
pub(crate) fn end_with_chat(
    mark: &StreamMark,
    chat: &ChatSession,
    now: DateTime<Utc>,
) -> Option<StreamGroup> {
    let why = if chat.lifecycle.exists() {
        format!("the chat has ended: {}", chat.status)
    } else {
        "the chat was deleted".to_owned()
    };
    let ending = StreamEnding { error: Some(why), ..StreamEnding::of(StreamState::Cancelled) };
    (mark.state == StreamState::Running).then(|| ended(mark, &ending, None, now))
}

/// Returns the group that ends a stream; `None` if it has ended in the same way, for a caller without a turn.
pub(crate) fn end(
    scope: &Scope,
    at: (&ChatId, &StreamId),
    mark: &StreamMark,
    ending: &StreamEnding,
    last_sequence: Option<u64>,
    now: DateTime<Utc>,
) -> Result<Option<StreamGroup>, StoreError> {
    let (chat_id, stream_id) = at;
    check_writer(scope, chat_id, stream_id, mark)?;
    let is_repeated = mark.state == ending.state && mark.error == ending.error;
    if is_repeated && last_sequence.is_none() {
        return Ok(None);
    }
    check_runs(stream_id, mark)?;
    if ending.made_of.is_some_and(|content| content != mark.content()) {
        return Err(refusal(stream_id, StreamRefusal::OtherContent));
    }
    Ok(Some(ended(mark, ending, last_sequence, now)))
}

/// Returns the group that ends a running stream.
pub(crate) fn ended(
    mark: &StreamMark,
    ending: &StreamEnding,
    last_sequence: Option<u64>,
    now: DateTime<Utc>,
) -> StreamGroup {
    let StreamEnding { state, error, made_of: _ } = ending.clone();
    let mark = StreamMark { state, error, last_sequence, ..following(mark, now) };
    StreamGroup { mark, event: StreamEvent::Ended }
}

/// Returns the ending of a stream that another one replaces.
pub(crate) fn superseded() -> StreamEnding {
    StreamEnding::of(StreamState::Superseded)
}

/// Returns where a stream stands, for its agent.
pub(crate) fn progress(mark: &StreamMark) -> StreamProgress {
    StreamProgress { next: mark.next, is_cancel_requested: mark.is_cancel_requested }
}

/// Returns the error that refuses a write of a stream.
pub(crate) fn refusal(stream_id: &StreamId, reason: StreamRefusal) -> StoreError {
    StoreError::StreamRefused { stream_id: stream_id.clone(), reason }
}

fn following(mark: &StreamMark, now: DateTime<Utc>) -> StreamMark {
    StreamMark { number: mark.number + 1, written_at: now, ..mark.clone() }
}

fn check_runs(stream_id: &StreamId, mark: &StreamMark) -> Result<(), StoreError> {
    match mark.state {
        StreamState::Running => Ok(()),
        state => Err(refusal(stream_id, StreamRefusal::Ended(state))),
    }
}

/// Refuses a caller that does not write under the lease of the stream.
fn check_writer(
    scope: &Scope,
    chat_id: &ChatId,
    stream_id: &StreamId,
    mark: &StreamMark,
) -> Result<(), StoreError> {
    let token = scope.fencing_token.unwrap_or(0);
    match scope.fencing_token {
        _ if token == mark.fencing_token => Ok(()),
        Some(token) if token < mark.fencing_token => Err(StoreError::fenced(chat_id, token)),
        Some(_) => Err(refusal(stream_id, StreamRefusal::NotTakenOver)),
        None => Err(refusal(stream_id, StreamRefusal::NoLease)),
    }
}
