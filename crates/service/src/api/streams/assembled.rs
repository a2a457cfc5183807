use std::pin::pin;

use futures::TryStreamExt as _;
use persistence::{Store, StoreError, offload};
use records::{
    MessageBody, NewTurn, Scope, Stream, StreamEvent, StreamFormat, StreamState, TurnMessage,
    TurnOutcome,
};
use resume::assembly::{self, Assembly, AssemblyError};
use resume::dialect::UiMessage;
use resume::ingest::Check;
use serde_json::Value;

use super::groups::groups_after;
use crate::api::messages::{read_checked, turn_messages};
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
            assembled(assembly::Stream::UiMessage, stream, bytes, chunks).await?
        }
        StreamFormat::Acp => assembled(assembly::Stream::Acp, stream, bytes, chunks).await?,
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
    let request_id = stream.header.request_id.clone();
    NewTurn {
        request_id: request_id.unwrap_or_else(|| stream.stream_id.clone().into()),
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

/// Assembles the UI messages of a stream.
async fn assembled(
    kind: assembly::Stream,
    stream: &Stream,
    bytes: usize,
    chunks: Vec<Value>,
) -> Result<(Vec<TurnMessage>, Dropped), Problem> {
    let id = stream.stream_id.as_str().to_owned();
    let (messages, dropped) = offload(bytes, move || {
        let (mut assembly, mut dropped) = (Assembly::new(kind, &id), Vec::new());
        for (position, chunk) in (0..).zip(chunks) {
            match assembly.push(position, chunk) {
                Err(AssemblyError::InvalidChunk { position, detail }) => {
                    dropped.push((position, detail.to_owned()));
                }
                // They come in order, so none is too far ahead.
                Ok(_) | Err(AssemblyError::TooFarAhead { .. }) => {}
            }
        }
        (assembly.messages(), dropped)
    })
    .await;
    let parsed = read_checked(&UiMessage, Check::Lenient, messages).await?;
    Ok((turn_messages(parsed).0, dropped))
}
