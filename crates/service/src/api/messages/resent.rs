//! Messages whose ids are stored with another body, because they are sent again with more in them.

use std::collections::{BTreeSet, HashMap};
use std::mem;

use persistence::{Append, Appended, Outcome, StoreError};
use records::{
    Caller, ChatId, EventId, Item, Message, MessageBody, MessageEdit, NewMessage, Permission, Scope,
};
use resume::dialect::{Resent, TranscriptPosition};
use resume::{ingest, is_instruction};

use super::own_or_any;
use super::recognised::{SentItems, shown_already};
use super::transcript::location_of;
use crate::joining;
use crate::problem::Problem;
use crate::state::AppState;

/// What happens to a message whose id is stored with another body.
pub(super) struct Resend<'a> {
    pub(super) resent: Resent,
    pub(super) request_id: Option<EventId>,
    /// The id of the message that replaces what is stored, whatever happens to others: it was given none by its client.
    pub(super) grown: Option<EventId>,
    /// Whether the transcript is a whole one. Its instructions are those of the next request.
    pub(super) is_whole: bool,
    pub(super) sent: SentItems<'a>,
}

/// What was appended, and what was replaced.
pub(super) struct Sent {
    /// One result for each message, in order; one that was replaced is a duplicate.
    pub(super) append: Append,
    /// The positions of the messages that replaced stored ones.
    pub(super) replaced: Vec<usize>,
    /// The items that were left out, because the chat shows them already.
    pub(super) known: BTreeSet<TranscriptPosition>,
}

/// Appends messages; what happens to one whose id is stored with another body depends on the dialect.
///
/// Each replacement is a write of its own, as an edit is, so that a request that is cut off may have replaced some messages
/// and appended none. The same request again does the rest.
pub(super) async fn append_resent(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    messages: Vec<NewMessage>,
    resend: &Resend<'_>,
) -> Result<Sent, Problem> {
    if messages.is_empty() {
        let append = append_within(state, scope, chat_id, messages).await?;
        return Ok(Sent { append, replaced: Vec::new(), known: BTreeSet::new() });
    }
    let mut known = None;
    let mut found: Vec<Option<Appended>> = vec![None; messages.len()];
    let mut replaced = Vec::new();
    let mut rest: Vec<(usize, NewMessage)> = messages.into_iter().enumerate().collect();
    let last_sequence = loop {
        let batch: Vec<_> = rest.iter().map(|(_, message)| message.clone()).collect();
        if batch.is_empty() {
            break append_nothing(state, scope, chat_id).await?.last_sequence;
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
        let may_be_known = match &conflict {
            StoreError::EventConflict { .. } => resend.resent != Resent::Continues,
            // The caller may have sent what others have said, and the chat may have all of that.
            StoreError::Forbidden { .. } => true,
            _ => false,
        };
        if may_be_known && known.is_none() {
            let left_out = leave_out_shown(state, scope, chat_id, &mut rest, &resend.sent).await?;
            let is_any = !left_out.is_empty();
            let known = known.insert(BTreeSet::new());
            for (at, stored) in left_out {
                match stored {
                    Some(stored) => found[at] = Some(stored),
                    None => _ = known.insert(resend.sent.positions[at]),
                }
            }
            if is_any {
                continue;
            }
        }
        let StoreError::EventConflict { event_id, sequence, index, .. } = &conflict else {
            return Err(refused(conflict, &rest, resend.sent.positions));
        };
        if resend.resent == Resent::Continues {
            let (message, request_id) = (&mut rest[*index].1, resend.request_id.as_ref());
            if !ingest::continue_message(resend.sent.dialect, message, request_id) {
                return Err(refused(conflict, &rest, resend.sent.positions));
            }
            continue;
        }
        let is_newer = resend.grown.as_ref() == Some(event_id)
            || resend.is_whole && is_instruction(&rest[*index].1.body);
        if resend.resent == Resent::Refused && !is_newer {
            return Err(refused(conflict, &rest, resend.sent.positions));
        }
        let (event_id, sequence) = (event_id.clone(), *sequence);
        let (at, message) = rest.remove(*index);
        let is_first = at == 0 || resend.sent.positions[at - 1] != resend.sent.positions[at];
        let has_metadata = resend.resent == Resent::Replaces && is_first;
        let replacing =
            replace(state, scope, chat_id, sequence, message, has_metadata, conflict).await;
        let located = |error| Problem::located(error, |_| location_of(resend.sent.positions[at]));
        if replacing.map_err(located)? {
            replaced.push(at);
        }
        found[at] = Some(Appended { event_id, sequence, outcome: Outcome::Duplicate });
    };
    let messages = found.into_iter().flatten().collect();
    let known = known.unwrap_or_default();
    Ok(Sent { append: Append { last_sequence, messages }, replaced, known })
}

/// Takes the messages out of the rest that the chat shows already, and returns each with its place and as what it is stored. A message
/// that is stored as a part of another one has an id of its own in the transcript alone.
async fn leave_out_shown(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    rest: &mut Vec<(usize, NewMessage)>,
    sent: &SentItems<'_>,
) -> Result<Vec<(usize, Option<Appended>)>, Problem> {
    let shown = shown_already(state, scope, chat_id, sent, rest).await?;
    let (left_out, kept) = mem::take(rest).into_iter().partition(|(at, _)| shown.contains(at));
    *rest = kept;
    let left_out: Vec<(usize, NewMessage)> = left_out;
    let ids: Vec<_> = left_out.iter().filter_map(|(_, it)| it.event_id.clone()).collect();
    let found = state.store.find_messages(&scope.needing(Permission::Read), chat_id, &ids).await?;
    let stored: HashMap<EventId, u64> =
        ids.into_iter().zip(found).filter_map(|(id, found)| Some((id, found?))).collect();
    let as_stored = |(at, message): (usize, NewMessage)| {
        let found = message.event_id.and_then(|id| {
            let sequence = *stored.get(&id)?;
            Some(Appended { event_id: id, sequence, outcome: Outcome::Duplicate })
        });
        (at, found)
    };
    Ok(left_out.into_iter().map(as_stored).collect())
}

/// Creates the problem for messages that are refused, which are the rest of those that were sent.
fn refused(
    error: StoreError,
    rest: &[(usize, NewMessage)],
    positions: &[TranscriptPosition],
) -> Problem {
    Problem::located(error, |location| match location.item {
        Some(Item::Message(index)) => location_of(positions[rest[index].0]),
        _ => location,
    })
}

/// Replaces the body of a stored message, unless it is the same already; returns whether it did. If the message `has_metadata`, all
/// that its client has, those that are missing were removed.
async fn replace(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    sequence: u64,
    message: NewMessage,
    has_metadata: bool,
    conflict: StoreError,
) -> Result<bool, StoreError> {
    let stored = state.store.get_message(scope, chat_id, sequence).await?;
    if is_of_another(&scope.caller, &stored) {
        // The store tells a person whether this is an old copy only if that person may edit the message. It tells no person of a
        // deleted message.
        if stored.deleted_at.is_some() {
            return Ok(false);
        }
        let editing = scope.needing(Permission::Run);
        match state.store.append(&editing, chat_id, vec![message.clone()]).await {
            Ok(_) => return Ok(false),
            Err(StoreError::EventConflict { .. } | StoreError::Forbidden { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // A message that is deleted stays deleted, and one that was said in another role is another message.
    if stored.deleted_at.is_some() || stored.body.role != message.body.role {
        return Err(conflict);
    }
    let mut body = message.body;
    keep_given(&stored.body, &mut body);
    if has_metadata && stored.body.metadata.is_some() {
        body.metadata.get_or_insert_default();
    }
    let edit = MessageEdit::from(body);
    if edit.apply(&stored.body) == stored.body {
        return Ok(false);
    }
    let update = async |scope: Scope| {
        state.store.update_message(&scope, chat_id, sequence, edit.clone()).await
    };
    own_or_any(scope, update).await?;
    Ok(true)
}

/// Returns whether a person sends a message that another caller has written.
fn is_of_another(caller: &Caller, stored: &Message) -> bool {
    let author = stored.author.as_ref().map(|author| &author.user_id);
    caller.person().is_some_and(|person| author != Some(person))
}

/// Keeps the fields of a stored message that no transcript has, such as the id of its turn.
fn keep_given(stored: &MessageBody, body: &mut MessageBody) {
    for field in MessageBody::ID_FIELDS.into_iter().chain(MessageBody::NATIVE) {
        if let Some(value) = stored.extra.get(field)
            && !body.extra.contains_key(field)
        {
            body.extra.insert(field.to_owned(), value.clone());
        }
    }
}

/// Returns the append of no messages to a chat, which the store refuses.
pub(crate) async fn append_nothing(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Append, StoreError> {
    let chat = state.store.get_chat(scope, chat_id).await?;
    let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
    Ok(Append { last_sequence: chat.last_sequence, messages: Vec::new() })
}

/// Appends messages with the permission that they need: users say something, workflows write the rest.
pub(crate) async fn append_within(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    messages: Vec<NewMessage>,
) -> Result<Append, StoreError> {
    let needed = Permission::to_append(messages.iter().map(|message| &message.body));
    joining::append(&*state.store, &scope.needing(needed), chat_id, messages).await
}
