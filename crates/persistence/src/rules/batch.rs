//! A checked batch of messages to append, and the plan of which messages are new.
//!
//! Both stores use it to decide the answer for messages that the chat already holds, and which
//! messages to store.

use std::collections::{HashMap, HashSet};

use records::json::{Digest, Hasher};
use records::{
    Author, Caller, ChatId, EventId, Ids, Invalid, Item, Limits, Message, MessageBody, NewMessage,
    Scope, SizeLimit, UserId,
};

use crate::StoreError;
use crate::rules::rights::says_only;
use crate::rules::stored_digest::StoredDigest;
use crate::store::{Append, Appended, Outcome};

/// Messages to append, within the limits, each with an id.
#[derive(Debug)]
pub(crate) struct Batch {
    entries: Vec<Entry>,
    /// For each entry, the index of the earlier entry with the same id and body.
    repeats: Vec<Option<usize>>,
    bytes: usize,
    /// The person who sends it; `None` for a program.
    person: Option<UserId>,
    /// Whether the caller may do no more than say something.
    says_only: bool,
}

/// One message of a batch.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) event_id: EventId,
    pub(crate) body: MessageBody,
    /// Not part of the digest: the first sender of a message stays its author.
    pub(crate) author: Option<Author>,
    pub(crate) digest: Digest,
    pub(crate) bytes: usize,
    /// The id was minted for this call, so no earlier call can have used it.
    is_minted: bool,
}

/// A message that the chat already holds.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) event_id: EventId,
    pub(crate) sequence: u64,
    pub(crate) digest: StoredDigest,
    /// The message was stored by an earlier attempt of the same call.
    pub(crate) is_ours: bool,
    /// Who wrote the message, if its text was edited or deleted since.
    pub(crate) changed: Option<ChangedMessage>,
}

/// A message whose text is no longer shown, while the digest of it is kept.
#[derive(Debug)]
pub(crate) struct ChangedMessage {
    pub(crate) author: Option<UserId>,
    /// Whether it was deleted; otherwise it was edited.
    pub(crate) is_deleted: bool,
}

impl Batch {
    /// Checks messages against the limits, gives an id to those without one, and sets their authors.
    pub(crate) fn check(
        caller: &Caller,
        messages: Vec<NewMessage>,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        if messages.is_empty() {
            return Err(Invalid::value("/messages", "must hold at least one message"));
        }
        Self::check_within(caller, messages, ids, Limits::BATCH_MESSAGES, Limits::BATCH_BYTES)
    }

    /// Like [`Self::check`] with other limits; there may be no messages.
    pub(crate) fn check_within(
        caller: &Caller,
        messages: Vec<NewMessage>,
        ids: &dyn Ids,
        most: usize,
        most_bytes: usize,
    ) -> Result<Self, Invalid> {
        if messages.len() > most {
            let limit = format!("must hold at most {most} messages");
            return Err(Invalid::too_large(SizeLimit::Batch, "/messages", limit));
        }
        let entries = messages.into_iter().enumerate().map(|(index, message)| {
            Entry::check(caller, message, ids).map_err(|e| e.below(Item::Message(index)))
        });
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let bytes = entries.iter().map(|entry| entry.bytes).sum::<usize>();
        if bytes > most_bytes {
            let detail = format!("are {bytes} bytes; the limit is {most_bytes} bytes");
            return Err(Invalid::too_large(SizeLimit::Batch, "/messages", detail));
        }
        let repeats = find_repeated_ids(&entries)?;
        Ok(Self { entries, repeats, bytes, person: caller.person().cloned(), says_only: false })
    }

    /// Notes what the caller may do in the chat.
    pub(crate) fn sent_in(self, scope: &Scope) -> Self {
        Self { says_only: says_only(scope), ..self }
    }

    /// Checks one message like [`Self::check`]; an error names a field of the message, without the item.
    pub(crate) fn check_one(
        caller: &Caller,
        message: NewMessage,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        let entry = Entry::check(caller, message, ids)?;
        let (bytes, person) = (entry.bytes, caller.person().cloned());
        Ok(Self { bytes, entries: vec![entry], repeats: vec![None], person, says_only: false })
    }

    /// Binds the messages to a digest of the whole request: a message is then a repeat only if the
    /// whole request is.
    pub(crate) fn bind_to(&mut self, whole: &Digest) {
        for entry in &mut self.entries {
            let mut hasher = Hasher::default();
            hasher.digest("whole", whole);
            hasher.digest("body", &entry.digest);
            entry.digest = hasher.finish();
        }
    }

    /// Returns the number of messages.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the messages.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the total size of the messages in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the ids of the messages.
    pub(crate) fn event_ids(&self) -> impl Iterator<Item = &EventId> {
        self.entries.iter().map(|entry| &entry.event_id)
    }

    /// Returns whether any id was chosen by the caller, so that an earlier call may have used it.
    pub(crate) fn has_given_ids(&self) -> bool {
        self.entries.iter().any(|entry| !entry.is_minted)
    }

    /// Plans the append to a chat that already holds the `known` messages.
    ///
    /// A known message with another body refuses the whole batch. So does an edited or deleted message that another person than its
    /// author sends again: that person could otherwise find out by trying what the message said. A person with the permission to
    /// edit every message may still compare an edited one, because an old copy of it must not be taken for an edit.
    pub(crate) fn plan(&self, chat_id: &ChatId, known: &[Known]) -> Result<Plan<'_>, StoreError> {
        let known: HashMap<_, _> = known.iter().map(|known| (&known.event_id, known)).collect();
        let mut places = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            places.push(match (known.get(&entry.event_id), self.repeats[index]) {
                (Some(known), _)
                    if !known.digest.is_of(&entry.digest) || !self.may_compare(known) =>
                {
                    return Err(StoreError::EventConflict {
                        chat_id: chat_id.clone(),
                        event_id: entry.event_id.clone(),
                        sequence: known.sequence,
                        index,
                    });
                }
                (_, Some(first)) => Place::SameAs(first),
                (Some(known), None) => {
                    // Only an earlier attempt of this call can have stored a minted id.
                    let is_ours = known.is_ours || entry.is_minted;
                    Place::Known { sequence: known.sequence, is_ours }
                }
                (None, None) if self.says_only && entry.event_id.is_derived() => {
                    let detail = "has the form of an id that is derived from a turn or an answer";
                    let refused = Invalid::value("/event_id", detail);
                    return Err(refused.below(Item::Message(index)).into());
                }
                (None, None) => Place::Fresh,
            });
        }
        Ok(Plan { batch: self, places })
    }

    /// Returns whether the caller may learn that a message with this digest is stored.
    fn may_compare(&self, known: &Known) -> bool {
        let may_compare = |changed: &ChangedMessage| {
            changed.author == self.person || !(self.says_only || changed.is_deleted)
        };
        self.person.is_none() || known.changed.as_ref().is_none_or(may_compare)
    }
}

impl Entry {
    fn check(caller: &Caller, message: NewMessage, ids: &dyn Ids) -> Result<Self, Invalid> {
        let bytes = message.body.check()?;
        let author = author(caller, message.author)?;
        let is_minted = message.event_id.is_none();
        let event_id = message.event_id.unwrap_or_else(|| EventId::mint(ids));
        let digest = message.body.digest();
        Ok(Self { event_id, body: message.body, author, digest, bytes, is_minted })
    }

    fn same_role_and_content(&self, other: &MessageBody) -> bool {
        self.body.role == other.role && self.body.content == other.content
    }
}

/// Returns the text of an extra field in the last message that has one.
pub(crate) fn last_text<'a>(
    entries: impl DoubleEndedIterator<Item = &'a Entry>,
    field: &str,
) -> Option<&'a str> {
    entries.rev().find_map(|entry| entry.body.extra_text(field))
}

/// Returns who said the last message: its name, or its role if it has none.
pub(crate) fn last_speaker<'a>(
    mut entries: impl DoubleEndedIterator<Item = &'a Entry>,
) -> Option<&'a str> {
    entries.next_back().map(|entry| entry.body.speaker())
}

/// Returns the author of a message: the user who appends it, or the author that a service states.
fn author(caller: &Caller, stated: Option<Author>) -> Result<Option<Author>, Invalid> {
    let Some(person) = caller.person() else { return Ok(stated) };
    match stated {
        Some(author) if author.user_id != *person => {
            Err(Invalid::value("/author/user_id", "must be the caller's own"))
        }
        Some(author) => Ok(Some(author)),
        None => Ok(Some(Author { user_id: person.clone(), display_name: None })),
    }
}

fn find_repeated_ids(entries: &[Entry]) -> Result<Vec<Option<usize>>, Invalid> {
    let mut first_by_id: HashMap<&EventId, usize> = HashMap::new();
    let mut repeats = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let first = *first_by_id.entry(&entry.event_id).or_insert(index);
        if entry.digest != entries[first].digest {
            let detail =
                format!("repeats the id of message {first} of the batch with another body");
            return Err(Invalid::value("/event_id", detail).below(Item::Message(index)));
        }
        repeats.push((first != index).then_some(first));
    }
    Ok(repeats)
}

/// The decision for each message of a batch.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    batch: &'a Batch,
    places: Vec<Place>,
}

/// The source of a message's sequence.
#[derive(Debug, PartialEq)]
enum Place {
    /// The message is new and gets the next sequence.
    Fresh,
    /// The chat holds the message under its id.
    Known { sequence: u64, is_ours: bool },
    /// The chat holds a message with the same role and content.
    Like { sequence: u64, event_id: EventId },
    /// An earlier message of the batch is the same.
    SameAs(usize),
}

impl<'a> Plan<'a> {
    /// Recognises messages without a chosen id by role and content: equal adjacent messages within
    /// the batch, and the leading messages of the batch among the newest messages of the chat.
    ///
    /// Messages that the batch names by id are left out of the comparison, with one exception: a
    /// message after one of them in the batch must also be after it in the chat.
    pub(crate) fn recognise(&mut self, newest: &[Message]) {
        self.mark_adjacent_repeats();
        let entries = &self.batch.entries;
        let named: HashSet<&EventId> = self.known().map(|index| &entries[index].event_id).collect();
        let is_unnamed = |message: &&Message| !named.contains(&message.event_id);
        let newest: Vec<&Message> = newest.iter().filter(is_unnamed).collect();
        let leading = self.leading();
        let overlaps = |tail: &&[&Message]| {
            let mut pairs = tail.iter().zip(&leading);
            pairs.all(|(message, (index, known_before))| {
                message.deleted_at.is_none()
                    && entries[*index].same_role_and_content(&message.body)
                    && *known_before < Some(message.sequence)
            })
        };
        let longest = leading.len().min(newest.len());
        let mut tails = (newest.len() - longest..newest.len()).map(|start| &newest[start..]);
        let overlap = tails.find(overlaps).unwrap_or_default();
        for (message, (index, _)) in overlap.iter().zip(leading) {
            let (sequence, event_id) = (message.sequence, message.event_id.clone());
            self.places[index] = Place::Like { sequence, event_id };
        }
    }

    fn mark_adjacent_repeats(&mut self) {
        let entries = &self.batch.entries;
        for index in 1..entries.len() {
            let (before, entry) = (&entries[index - 1], &entries[index]);
            let is_candidate = entry.is_minted && self.places[index] == Place::Fresh;
            if is_candidate && entry.same_role_and_content(&before.body) {
                self.places[index] = Place::SameAs(index - 1);
            }
        }
    }

    /// Returns the messages without a chosen id before the first new message with one. Each comes
    /// with the greatest sequence of the known messages before it in the batch.
    fn leading(&self) -> Vec<(usize, Option<u64>)> {
        let mut known_before = None;
        let mut leading = Vec::new();
        for (index, place) in self.places.iter().enumerate() {
            match place {
                Place::Fresh if self.batch.entries[index].is_minted => {
                    leading.push((index, known_before));
                }
                Place::Fresh => break,
                Place::Known { sequence, .. } => {
                    known_before = known_before.max(Some(*sequence));
                }
                Place::Like { .. } | Place::SameAs(_) => {}
            }
        }
        leading
    }

    fn known(&self) -> impl Iterator<Item = usize> {
        let is_known = |(_, place): &(_, &Place)| matches!(place, Place::Known { .. });
        self.places.iter().enumerate().filter(is_known).map(|(index, _)| index)
    }

    /// Returns the messages to store, in order.
    pub(crate) fn fresh(&self) -> impl Iterator<Item = &'a Entry> {
        let is_fresh = |(_, place): &(_, &Place)| **place == Place::Fresh;
        self.batch.entries.iter().zip(&self.places).filter(is_fresh).map(|(entry, _)| entry)
    }

    /// Returns the answer, if the new messages have the sequences from `first_sequence` on.
    pub(crate) fn answer(&self, first_sequence: u64, last_sequence: u64) -> Append {
        let mut next = first_sequence..;
        let mut messages: Vec<Appended> = Vec::with_capacity(self.places.len());
        for (entry, place) in self.batch.entries.iter().zip(&self.places) {
            let event_id = entry.event_id.clone();
            messages.push(match place {
                Place::Fresh => {
                    let sequence = next.next().unwrap_or(first_sequence);
                    Appended { event_id, sequence, outcome: Outcome::Stored }
                }
                Place::Known { sequence, is_ours } => {
                    let outcome = Outcome::of_found(*is_ours);
                    Appended { event_id, sequence: *sequence, outcome }
                }
                Place::Like { sequence, event_id } => Appended {
                    event_id: event_id.clone(),
                    sequence: *sequence,
                    outcome: Outcome::Duplicate,
                },
                Place::SameAs(first) => {
                    Appended { outcome: Outcome::Duplicate, ..messages[*first].clone() }
                }
            });
        }
        // Just after an election, a read of the chat may be older than the known messages.
        let end = messages.iter().map(|message| message.sequence + 1).max();
        Append { last_sequence: last_sequence.max(end.unwrap_or(0)), messages }
    }
}

#[cfg(test)]
mod tests {
    use records::Uuid7Ids;

    use super::*;

    #[test]
    fn the_counter_of_an_answer_is_past_every_message_in_it() {
        let body = MessageBody::new("user", Some("user"), "hello");
        let event_id = EventId::parse("evt_1").unwrap();
        let message = NewMessage { event_id: Some(event_id.clone()), ..body.into() };
        let batch = Batch::check(&Caller::Service, vec![message], &Uuid7Ids).unwrap();
        let digest = StoredDigest::new(batch.entries[0].digest, None);
        let known = [Known { event_id, sequence: 928, digest, is_ours: false, changed: None }];
        let plan = batch.plan(&ChatId::parse("chat_a").unwrap(), &known).unwrap();
        assert_eq!(plan.answer(925, 925).last_sequence, 929);
    }
}
