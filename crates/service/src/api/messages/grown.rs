//! Messages that are sent again with more in them.

use persistence::{Append, Appended, Outcome, StoreError};
use records::{ChatId, MessageEdit, NewMessage, Scope};

use super::append::append_within;
use super::own_or_any;
use crate::state::AppState;

/// What was appended, and what was replaced.
pub(super) struct Grown {
    /// One result for each message, in order; one that was replaced is a duplicate.
    pub(super) append: Append,
    /// The positions of the messages that replaced stored ones.
    pub(super) replaced: Vec<usize>,
}

/// Appends messages; one whose id is stored with another body replaces that body, as an edit does.
///
/// Each replacement is a write of its own, so that a request that is cut off may have replaced some messages and appended
/// none. The same request again does the rest.
pub(super) async fn append_grown(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    messages: Vec<NewMessage>,
) -> Result<Grown, StoreError> {
    let mut found: Vec<Option<Appended>> = vec![None; messages.len()];
    let mut replaced = Vec::new();
    let mut rest: Vec<(usize, NewMessage)> = messages.into_iter().enumerate().collect();
    let last_sequence = loop {
        let batch: Vec<_> = rest.iter().map(|(_, message)| message.clone()).collect();
        if batch.is_empty() && !replaced.is_empty() {
            let chat = state.store.get_chat(scope, chat_id).await?;
            break chat.map_or(0, |chat| chat.last_sequence);
        }
        let conflict = match append_within(state, scope, chat_id, batch).await {
            Ok(append) => {
                for ((at, _), appended) in rest.into_iter().zip(append.messages) {
                    found[at] = Some(appended);
                }
                break append.last_sequence;
            }
            Err(error) => error,
        };
        let StoreError::EventConflict { event_id, sequence, index, .. } = &conflict else {
            return Err(conflict);
        };
        let (event_id, sequence) = (event_id.clone(), *sequence);
        let (at, message) = rest.remove(*index);
        if replace(state, scope, chat_id, sequence, message, conflict).await? {
            replaced.push(at);
        }
        found[at] = Some(Appended { event_id, sequence, outcome: Outcome::Duplicate });
    };
    let messages = found.into_iter().flatten().collect();
    Ok(Grown { append: Append { last_sequence, messages }, replaced })
}

/// Replaces the body of a stored message, unless it is the same already; returns whether it did.
async fn replace(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    sequence: u64,
    message: NewMessage,
    conflict: StoreError,
) -> Result<bool, StoreError> {
    let stored = state.store.get_message(scope, chat_id, sequence).await?;
    // A message that is deleted stays deleted, and one that was said in another role is another message.
    if stored.deleted_at.is_some() || stored.body.role != message.body.role {
        return Err(conflict);
    }
    let edit = MessageEdit::from(message.body);
    if edit.apply(&stored.body) == stored.body {
        return Ok(false);
    }
    let update = async |scope: Scope| {
        state.store.update_message(&scope, chat_id, sequence, edit.clone()).await
    };
    own_or_any(scope, update).await?;
    Ok(true)
}
