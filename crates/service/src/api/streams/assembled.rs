use std::pin::pin;

use futures::TryStreamExt as _;
use persistence::{
    Appended, AppendedTurn, MessageRange, Outcome, Store, StoreError, Transcript, offload,
};
use records::{
    Message, MessageBody, NewTurn, Permission, Scope, Stream, StreamEvent, StreamFormat,
    StreamState, TurnMessage, TurnOutcome,
};
use resume::assembly::{self, Assembly, AssemblyError};
use resume::dialect::{Dialect as _, UiMessage};
use resume::ingest::{self, Check};
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};

use super::groups::groups_after;
use crate::api::messages::{CONTEXT, OWN_ID, read_checked, turn_messages};
use crate::problem::Problem;

/// What the chunks of a stream make.
pub(super) struct Assembled {
    pub(super) messages: Vec<TurnMessage>,
    /// The chunks that are none of their format, with their positions.
    pub(super) dropped: Dropped,
}

/// Positions of chunks, each with what is wrong with the chunk.
type Dropped = Vec<(u64, String)>;

/// Reads the chunks of a stream, and makes messages of them.
pub(super) async fn assemble(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
) -> Result<Assembled, Problem> {
    let chunks = chunks_of(store, scope, stream).await?;
    let bytes = usize::try_from(stream.mark.bytes).unwrap_or(usize::MAX);
    let (mut messages, dropped) = match stream.header.format {
        StreamFormat::Text => offload(bytes, move || text(chunks)).await,
        StreamFormat::UiMessage => {
            let continued = match assembly::message_id(&chunks) {
                Some(id) => continued(store, scope, stream, id).await?,
                None => None,
            };
            let assembly = match continued {
                Some(message) => Assembly::continuing(stream.stream_id.as_str(), &message),
                None => Assembly::new(assembly::Stream::UiMessage, stream.stream_id.as_str()),
            };
            assembled(assembly, bytes, chunks).await?
        }
        StreamFormat::Acp => {
            let assembly = Assembly::new(assembly::Stream::Acp, stream.stream_id.as_str());
            assembled(assembly, bytes, chunks).await?
        }
    };
    for TurnMessage { body, .. } in &mut messages {
        if body.role == "assistant" && body.name.is_none() {
            body.name.clone_from(&stream.header.agent);
        }
    }
    Ok(Assembled { messages, dropped })
}

/// Returns the turn that a stream ends with.
pub(super) fn turn_of(stream: &Stream, state: StreamState, messages: Vec<TurnMessage>) -> NewTurn {
    let outcome = match state {
        StreamState::Failed => TurnOutcome::Failed,
        StreamState::Cancelled | StreamState::Superseded => TurnOutcome::Interrupted,
        StreamState::Running | StreamState::Finished => TurnOutcome::Completed,
    };
    NewTurn {
        request_id: stream.turn_id(),
        outcome,
        messages,
        steps: Vec::new(),
        connector: None,
        mode: None,
    }
}

/// Reads the chunks of the current attempt.
async fn chunks_of(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
) -> Result<Vec<Value>, StoreError> {
    let mut chunks = Vec::new();
    let mut groups = pin!(groups_after(store, scope, &stream.chat_id, &stream.stream_id, None));
    while let Some(group) = groups.try_next().await? {
        if group.event == StreamEvent::Restarted {
            chunks.clear();
        }
        // They were written as JSON.
        chunks.extend(group.chunks().iter().filter_map(|text| serde_json::from_str(text).ok()));
    }
    Ok(chunks)
}

/// Joins the texts of a stream to a message.
fn text(chunks: Vec<Value>) -> (Vec<TurnMessage>, Dropped) {
    let (mut content, mut dropped) = (String::new(), Vec::new());
    for (position, chunk) in (0..).zip(chunks) {
        match chunk {
            Value::String(piece) => content.push_str(&piece),
            _ => dropped.push((position, "must be a string".to_owned())),
        }
    }
    if content.is_empty() {
        return (Vec::new(), dropped);
    }
    let (role, content) = ("assistant".to_owned(), content.into());
    let body = MessageBody { role, content, ..MessageBody::default() };
    (vec![TurnMessage { body, author: None }], dropped)
}

/// Returns the UI message with which a stream goes on: the one that its first chunk names by its id, if that is the last of the
/// chat.
pub(super) async fn continued(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
    id: &str,
) -> Result<Option<Value>, StoreError> {
    let (_, mut before) = turn_and_before(store, scope, stream).await?;
    let is_named = |message: &Message| {
        let ids = [Some(message.event_id.as_str()), message.body.extra_text(OWN_ID)];
        message.body.role == "assistant" && ids.contains(&Some(id))
    };
    let Some(first) = before.iter().position(is_named) else { return Ok(None) };
    let rest = before.split_off(first);
    if rest.iter().any(|message| message.body.role == "user") {
        return Ok(None);
    }
    let options = Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() };
    let rendered = UiMessage.render(rest, &options);
    Ok(rendered.messages.into_iter().next())
}

/// Returns the turn that a stream became, if it has become one.
pub(super) async fn stored_turn(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
) -> Result<Option<AppendedTurn>, StoreError> {
    let Some(last_sequence) = stream.mark.last_sequence else { return Ok(None) };
    let (turn, _) = turn_and_before(store, scope, stream).await?;
    let outcome = Outcome::Duplicate;
    let messages = turn.into_iter().map(|Message { event_id, sequence, .. }| Appended {
        event_id,
        sequence,
        outcome,
    });
    Ok(Some(AppendedTurn {
        request_id: stream.turn_id(),
        last_sequence,
        messages: messages.collect(),
        resume_points: 0,
        outcome,
    }))
}

/// Reads the messages of the turn that a stream became, and the newest ones before them.
async fn turn_and_before(
    store: &dyn Store,
    scope: &Scope,
    stream: &Stream,
) -> Result<(Vec<Message>, Vec<Message>), StoreError> {
    let (scope, turn_id) = (scope.needing(Permission::Read), stream.turn_id());
    let is_of_turn = |message: &Message| {
        message.body.extra_text(MessageBody::REQUEST_ID) == Some(turn_id.as_str())
    };
    let (mut before, mut turn) = (stream.mark.last_sequence, Vec::new());
    loop {
        let range = MessageRange::Newest { before, limit: CONTEXT };
        let Transcript { messages, has_more, .. } =
            store.messages(&scope, &stream.chat_id, range).await?;
        before = messages.first().map(|message| message.sequence);
        let (of_turn, earlier): (Vec<_>, _) = messages.into_iter().partition(is_of_turn);
        turn.splice(..0, of_turn);
        if !earlier.is_empty() || !has_more {
            return Ok((turn, earlier));
        }
    }
}

/// Assembles the UI messages of a stream.
async fn assembled(
    mut assembly: Assembly,
    bytes: usize,
    chunks: Vec<Value>,
) -> Result<(Vec<TurnMessage>, Dropped), Problem> {
    let (assembly, dropped) = offload(bytes, move || {
        let mut dropped = Vec::new();
        for (position, chunk) in (0..).zip(chunks) {
            match assembly.push(position, chunk) {
                Err(AssemblyError::InvalidChunk { position, detail }) => {
                    dropped.push((position, detail.to_owned()));
                }
                // They come in order, so none is too far ahead.
                Ok(_) | Err(AssemblyError::TooFarAhead { .. }) => {}
            }
        }
        (assembly, dropped)
    })
    .await;
    let ended = assembly.ended_calls();
    let answered = (!ended.is_empty()).then(|| json!({"role": "assistant", "parts": ended}));
    let ended = usize::from(answered.is_some());
    let messages = answered.into_iter().chain(assembly.messages()).collect();
    let mut parsed = read_checked(&UiMessage, Check::Lenient, messages).await?;
    if assembly.continues() {
        ingest::continue_answer(&mut parsed, ended);
    }
    Ok((turn_messages(parsed).0, dropped))
}
