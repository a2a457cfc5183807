//! What of a transcript a chat has already, although it was stored in another form.

use std::collections::{HashMap, HashSet};
use std::mem;

use futures::future::try_join;
use persistence::{MessageRange, StoreError, Transcript, offload};
use records::json::Digest;
use records::{ChatId, EventId, Message, NewMessage, Permission, Scope};
use resume::dialect::{Dialect, Parsed, Resent, TranscriptPosition, Violation};
use resume::ingest::StoredSteps;
use resume::{Recognised, ShownItems, is_instruction, may_be_added, recognise};

use super::transcript::{self, OWN_ID, ReadTranscript};
use crate::admission::RequestMemory;
use crate::problem::Problem;
use crate::state::AppState;

/// The most messages of a chat with which a transcript is compared. A transcript has at most half as many.
const COMPARED: u64 = 2_000;
/// The most pages in which they are read, so that their size is bounded, too.
const PAGES: usize = 3;

/// Leaves out what the chat shows already, of a transcript without ids that is not the one that was stored: its client has
/// read it in a rendering, or has moved what the chat does not show.
pub(super) async fn leave_out_known(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    memory: &RequestMemory,
    mut read: ReadTranscript,
) -> Result<ReadTranscript, Problem> {
    // The id of a request distinguishes transcripts that begin alike.
    let has_no_ids = match read.dialect.resent() {
        Resent::Refused => true,
        Resent::Continues => read.items.is_empty(),
        Resent::Replaces => false,
    };
    if read.request_id.is_some() || !has_no_ids {
        return Ok(read);
    }
    let scope = &scope.needing(Permission::Read);
    let (found, last_sequence) = find_in(state, scope, chat_id, &read).await?;
    let begin = last_stored(&read, &found);
    // The id of a stored message is derived from all before it. So the same was put before, and what was not stored then the chat
    // showed in another form.
    let mut left_out: HashSet<usize> = (0..begin).filter(|place| found[*place].is_none()).collect();
    let unknown = place_to_compare(state, scope, chat_id, &read, &found, last_sequence).await?;
    if let Some(unknown) = unknown {
        // The messages, how they are shown, and that read again.
        memory.reserve(3 * PAGES * Transcript::PAGE_BYTES).await?;
        if let Some(stored) = stored(state, scope, chat_id).await? {
            let compare = move || {
                let recognised = recognise(read.dialect, &stored, &read.parsed);
                Ok::<_, Problem>((recognised, read))
            };
            let recognised;
            (recognised, read) = offload(usize::MAX, compare).await?;
            let Recognised { known, grown } = recognised;
            // A message with an id of its own is another one.
            if let Some((place, id)) = grown.filter(|_| read.items.is_empty()) {
                read.parsed.messages[place].event_id = Some(id.clone());
                read.grown = Some(id);
            }
            let changed = changed_instructions(&read.parsed, &known, &left_out);
            read.noted.extend(changed.into_iter().map(changed_note));
            left_out.extend(known.into_iter().filter(|place| *place >= unknown));
        }
    }
    take_out(&mut read, &left_out);
    Ok(read)
}

/// Returns the place of the last message of a transcript that is stored, with which what is new begins; 0 if there is none.
fn last_stored(read: &ReadTranscript, found: &[Option<u64>]) -> usize {
    // An id of its own says nothing about what is before it.
    let is_derived = read.items.is_empty();
    found.iter().rposition(Option::is_some).filter(|_| is_derived).unwrap_or(0)
}

/// Returns from which place on a transcript must be compared with what the chat shows; `None` if its ids say enough, or there is more
/// than can be compared.
async fn place_to_compare(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    read: &ReadTranscript,
    found: &[Option<u64>],
    last_sequence: u64,
) -> Result<Option<usize>, StoreError> {
    let begin = last_stored(read, found);
    let unknown = found[begin..].iter().position(Option::is_none);
    let unknown = unknown.map_or(found.len(), |place| begin + place);
    // What was copied here in another dialect may have the ids that this one derives, and other bodies.
    let is_stored_so = match unknown.checked_sub(1) {
        Some(place) => is_stored_so(state, scope, chat_id, &read.parsed.messages[place]).await?,
        None => true,
    };
    if is_stored_so && unknown == found.len() {
        return Ok(None);
    }
    let unknown = if is_stored_so { unknown } else { 0 };
    let end = found[..unknown].iter().flatten().max().map_or(0, |last| last + 1);
    // It continues what was stored, unless it does so with what a history adds.
    let continues = end == last_sequence && !may_be_added(&read.parsed.messages[unknown]);
    Ok((!continues && last_sequence <= COMPARED).then_some(unknown))
}

/// Returns whether a message that a chat has is the one that was sent, as far as it can be seen.
async fn is_stored_so(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    sent: &NewMessage,
) -> Result<bool, StoreError> {
    let Some(event_id) = &sent.event_id else { return Ok(true) };
    let stored = state.store.get_message_by_id(scope, chat_id, event_id).await?;
    Ok(stored.is_none_or(|stored| {
        stored.deleted_at.is_some() || stored.body.digest() == sent.body.digest()
    }))
}

/// Takes out the messages at some places, which are not stored again, and notes them.
fn take_out(read: &mut ReadTranscript, known: &HashSet<usize>) {
    let Parsed { messages, positions, .. } = &mut read.parsed;
    let all = mem::take(messages).into_iter().zip(mem::take(positions)).enumerate();
    let (left_out, kept): (Vec<_>, Vec<_>) = all.partition(|(place, _)| known.contains(place));
    (*messages, *positions) = kept.into_iter().map(|(_, message)| message).unzip();
    read.noted.extend(left_out.into_iter().filter_map(|(_, (_, position))| known_note(position)));
}

/// Leaves out what the chat shows already, of a transcript with ids: a result, or what an item became besides its first message, has no id
/// of its own there, and may be stored in another form.
pub(super) async fn leave_out_parts(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    mut read: ReadTranscript,
) -> Result<ReadTranscript, Problem> {
    if read.items.is_empty() {
        return Ok(read);
    }
    let reading = scope.needing(Permission::Read);
    let (found, last_sequence) = find_in(state, &reading, chat_id, &read).await?;
    let end = found.iter().flatten().max().map_or(0, |last| last + 1);
    let is_grown = found.iter().skip_while(|it| it.is_some()).all(Option::is_none);
    if is_grown && (end == last_sequence || end == 0) {
        return Ok(read);
    }
    let (dialect, memory) = (read.dialect, &read.memory);
    let sent = SentItems { dialect, items: &read.items, positions: &read.parsed.positions, memory };
    let messages: Vec<_> = mem::take(&mut read.parsed.messages).into_iter().enumerate().collect();
    let shown = shown_already(state, scope, chat_id, &sent, &messages).await?;
    read.parsed.messages = messages.into_iter().map(|(_, message)| message).collect();
    let is_unknown = |place: &usize| found.get(*place).is_some_and(Option::is_none);
    take_out(&mut read, &shown.into_iter().filter(is_unknown).collect());
    Ok(read)
}

/// Returns which messages of a transcript, by their places in it, the chat shows already: a history has the ids of the stored messages,
/// but not always all that is stored under them, and what it leaves out must not get lost when it is put back. An item that was
/// continued begins with messages that the chat shows. `messages` are all that were read of the items.
pub(super) async fn shown_already(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    sent: &SentItems<'_>,
    messages: &[(usize, NewMessage)],
) -> Result<HashSet<usize>, Problem> {
    let scope = &scope.needing(Permission::Read);
    let chat = state.store.get_chat(scope, chat_id).await?;
    if sent.items.is_empty() || chat.is_none_or(|chat| chat.last_sequence > COMPARED) {
        return Ok(HashSet::new());
    }
    // The messages, how they are shown, and that read again.
    sent.memory.reserve(3 * PAGES * Transcript::PAGE_BYTES).await?;
    let Some(stored) = stored(state, scope, chat_id).await? else { return Ok(HashSet::new()) };
    let dialect = sent.dialect;
    // A history may begin with the first message, as one of the newest messages alone does.
    let first = messages.first().and_then(|(_, message)| message.event_id.as_ref());
    let begin = stored.iter().position(|message| Some(&message.event_id) == first);
    let render = move || {
        let mut shown = ShownItems::default();
        shown.add(dialect, &stored);
        // The first item of a history may be shown in another way than behind others.
        if let Some(begin) = begin.filter(|begin| *begin > 0) {
            shown.add(dialect, &stored[begin..]);
        }
        Ok::<_, Problem>(shown)
    };
    let shown = offload(usize::MAX, render).await?;
    let index_of = |position: &TranscriptPosition| match position {
        TranscriptPosition::Message(index) => Some(*index),
        TranscriptPosition::System(_) => None,
    };
    let mut known = HashSet::new();
    for (place, position) in sent.positions.iter().enumerate() {
        let Some(first) = index_of(position) else { continue };
        // Of several items that make one message, all must be shown.
        let next = sent.positions[place..].iter().filter_map(index_of).find(|next| *next > first);
        let end =
            if dialect.splits_messages() { next.unwrap_or(sent.items.len()) } else { first + 1 };
        if sent.items[first..end].iter().all(|item| shown.contains(item)) {
            known.insert(place);
        }
    }
    for (place, message) in messages {
        let is_apart = matches!(sent.positions[*place], TranscriptPosition::System(_));
        if is_apart && shown.has_instruction(message) {
            known.insert(*place);
        }
    }
    let mut rest = messages;
    for positions in sent.positions.chunk_by(|one, next| one == next) {
        let (of_item, behind) = rest.split_at(positions.len().min(rest.len()));
        rest = behind;
        let Some((first, id)) =
            of_item.first().and_then(|(at, it)| Some((at, it.event_id.as_ref()?)))
        else {
            continue;
        };
        let messages: Vec<_> = of_item.iter().map(|(_, message)| message).collect();
        known.extend(*first..first + shown.beginning(sent.dialect, id, &messages));
    }
    Ok(known)
}

/// The items of a transcript that was sent, and the messages that were read of them.
#[derive(Debug)]
pub(super) struct SentItems<'a> {
    pub(super) dialect: &'static dyn Dialect,
    pub(super) items: &'a [Digest],
    pub(super) positions: &'a [TranscriptPosition],
    pub(super) memory: &'a RequestMemory,
}

/// Gives messages, their results and their steps the ids under which the chat has them, of a dialect that sends messages again
/// with more in them: a message that was stored as a turn is put back under its id, or that of its client, and then continued.
pub(super) async fn adopt_stored_ids(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    mut read: ReadTranscript,
) -> Result<ReadTranscript, Problem> {
    if read.dialect.resent() != Resent::Replaces {
        return Ok(read);
    }
    let scope = &scope.needing(Permission::Read);
    let mut found = find(state, scope, chat_id, &read).await?;
    if leave_out_instructions(state, scope, chat_id, &mut read, &found).await? {
        found = find(state, scope, chat_id, &read).await?;
    }
    if adopt_own_ids(state, scope, chat_id, &mut read, &found).await? {
        found = find(state, scope, chat_id, &read).await?;
    }
    let mut first = 0;
    let positions = read.parsed.positions.clone();
    for parts in positions.chunk_by(|one, next| one == next) {
        let of_message = found.get(first..first + parts.len()).unwrap_or_default();
        if let Some((Some(sequence), steps)) = of_message.split_first()
            && steps.contains(&None)
        {
            let range = MessageRange::Oldest {
                after: Some(*sequence),
                before: None,
                limit: 2 * parts.len(),
            };
            let behind = state.store.messages(scope, chat_id, range).await?.messages;
            StoredSteps::of(read.dialect, &behind).adopt(&mut read.parsed, first);
        }
        first += parts.len();
    }
    Ok(read)
}

/// Returns the sequences of the messages of a transcript that the chat has.
async fn find(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    read: &ReadTranscript,
) -> Result<Vec<Option<u64>>, StoreError> {
    let ids = read.parsed.messages.iter().filter_map(|message| message.event_id.clone());
    state.store.find_messages(scope, chat_id, &ids.collect::<Vec<_>>()).await
}

/// Returns the same, and how many messages the chat has.
async fn find_in(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    read: &ReadTranscript,
) -> Result<(Vec<Option<u64>>, u64), StoreError> {
    let chat = state.store.get_chat(scope, chat_id);
    let (found, chat) = try_join(find(state, scope, chat_id, read), chat).await?;
    Ok((found, chat.map_or(0, |chat| chat.last_sequence)))
}

/// Leaves out the instructions of a transcript with which the chat begins: they may have been stored as messages with ids,
/// which a history does not show. Returns whether there are such.
async fn leave_out_instructions(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    read: &mut ReadTranscript,
    found: &[Option<u64>],
) -> Result<bool, StoreError> {
    let is_apart = |at: &&TranscriptPosition| matches!(at, TranscriptPosition::System(_));
    let given = read.parsed.positions.iter().take_while(is_apart).count();
    if found[..given].iter().all(Option::is_some) {
        return Ok(false);
    }
    let range = MessageRange::Oldest { after: None, before: None, limit: given };
    let stored = state.store.messages(scope, chat_id, range).await?.messages;
    let is_known = |(sent, stored): &(&NewMessage, &Message)| {
        is_instruction(&stored.body)
            && stored.deleted_at.is_none()
            && sent.body.content == stored.body.content
    };
    let known = read.parsed.messages[..given].iter().zip(&stored).take_while(is_known).count();
    read.parsed.messages.drain(..known);
    read.parsed.positions.drain(..known);
    Ok(known > 0)
}

/// Gives messages of the assistant, which are not found, the ids of those that are stored with theirs beside them: those of
/// turns. Only the newest messages are searched. Returns whether there is one.
async fn adopt_own_ids(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    read: &mut ReadTranscript,
    found: &[Option<u64>],
) -> Result<bool, StoreError> {
    let messages = read.parsed.messages.iter_mut().zip(found);
    let mut unknown: Vec<_> = messages
        .filter(|(message, found)| found.is_none() && message.body.role == "assistant")
        .map(|(message, _)| message)
        .collect();
    if unknown.is_empty() {
        return Ok(false);
    }
    let newest = transcript::newest(state, scope, chat_id).await?;
    let own_id =
        |message: &Message| message.body.extra_text(OWN_ID).and_then(|id| EventId::parse(id).ok());
    // Of several with one id, the oldest is the message, and the others are what it was continued with.
    let stored: HashMap<EventId, &EventId> = newest
        .iter()
        .rev()
        .filter(|message| message.deleted_at.is_none())
        .filter_map(|message| Some((own_id(message)?, &message.event_id)))
        .collect();
    let mut is_any = false;
    for message in &mut unknown {
        let known = message.event_id.as_ref().and_then(|id| stored.get(id));
        if let Some(id) = known {
            message.event_id = Some((*id).clone());
            is_any = true;
        }
    }
    Ok(is_any)
}

/// Reads all messages of a chat; `None` if they are too large.
async fn stored(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Option<Vec<Message>>, Problem> {
    let mut stored = Vec::new();
    for _ in 0..PAGES {
        let after = stored.last().map(|message: &Message| message.sequence);
        let range = MessageRange::Oldest { after, before: None, limit: usize::MAX };
        let Transcript { messages, has_more, .. } =
            state.store.messages(scope, chat_id, range).await?;
        stored.extend(messages);
        if !has_more {
            return Ok(Some(stored));
        }
    }
    Ok(None)
}

/// Notes that a message is not stored, because the chat shows it already.
pub(super) fn known_note(position: TranscriptPosition) -> Option<Violation> {
    let TranscriptPosition::Message(index) = position else { return None };
    let detail = "the chat shows this message already: it is not stored again".to_owned();
    Some(Violation { index, rule: "known", detail })
}

/// Returns the positions of the instructions that a chat does not have, before messages that it has.
fn changed_instructions(
    sent: &Parsed,
    known: &[usize],
    left_out: &HashSet<usize>,
) -> Vec<TranscriptPosition> {
    let is_said = |place: &&usize| !is_instruction(&sent.messages[**place].body);
    let end = known.iter().rev().find(is_said).copied().unwrap_or_default();
    let is_changed = |place: &usize| {
        is_instruction(&sent.messages[*place].body)
            && known.binary_search(place).is_err()
            && !left_out.contains(place)
    };
    (0..end).filter(is_changed).map(|place| sent.positions[place]).collect()
}

/// Notes that an instruction is stored behind messages that it stands before.
fn changed_note(position: TranscriptPosition) -> Violation {
    let (index, of) = match position {
        TranscriptPosition::Message(index) => (index, "the transcript"),
        TranscriptPosition::System(_) => (0, "`system`"),
    };
    let detail = format!("an instruction of {of} is not one that the chat has: it is added");
    Violation { index, rule: "changed_instruction", detail }
}
