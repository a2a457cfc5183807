//! Which messages of a transcript a chat has, although they are not those that were stored: their client may have read them in
//! a rendering, which mends and leaves out what its dialect does not have.

use std::collections::{HashMap, HashSet};
use std::{mem, ptr};

use chrono::DateTime;
use records::json::{Digest, Hasher};
use records::{EventId, Message, MessageBody, NewMessage};
use serde_json::{Value, json};

use crate::dialect::{
    CONTINUE_PROMPT, Dialect, INTERRUPTED_RESULT, Parsed, Rendered, TranscriptPosition,
};
use crate::grown::continues;
use crate::{Options, UnsettledPolicy};

const ASSISTANT: &str = "assistant";

/// How a client may have read calls without results.
const READ_WITH: [Option<UnsettledPolicy>; 4] =
    [None, Some(UnsettledPolicy::Keep), Some(UnsettledPolicy::Settle), Some(UnsettledPolicy::Trim)];

/// How many messages that follow one another make a part of a chat known. One alone may well be said again.
const SHORTEST_WINDOW: usize = 2;

/// What of a transcript a chat has already.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// The places of the messages that the chat shows, in order.
    pub known: Vec<usize>,
    /// The place of the message with which the chat ends and that has more in it now, and the id under which it is stored.
    pub grown: Option<(usize, EventId)>,
}

/// Returns what of a transcript, from its first message on, a chat with these messages has.
///
/// Both are compared as the dialect shows them, without its marks. So a field that it never shows makes no difference.
pub fn recognise(dialect: &dyn Dialect, stored: &[Message], sent: &Parsed) -> Recognised {
    let given = compared(dialect, &sent.messages);
    let as_sent = as_stored(&sent.messages);
    // They differ only in calls without results.
    let has_open_calls = [stored, &as_sent].into_iter().any(|it| has_open_calls(dialect, it));
    let mut found = Alike::default();
    for policy in ways_to_read(has_open_calls) {
        let chat = shown(dialect, stored.to_vec(), *policy);
        found = found.or_better(alike(&chat, &given));
        if found.known.len() == given.len() {
            break;
        }
        let sent = shown(dialect, as_sent.clone(), *policy);
        // Otherwise it is not known which of them are which messages of the transcript.
        if sent.len() == given.len() {
            found = found.or_better(alike(&chat, &sent));
        }
    }
    let grown = found.grown.and_then(|place| {
        let last =
            stored.iter().rev().find(|it| it.deleted_at.is_none() && !is_instruction(&it.body))?;
        continues(dialect, &last.body, &sent.messages[place].body)
            .then(|| (place, last.event_id.clone()))
    });
    Recognised { known: found.known, grown }
}

/// Returns whether a message is an instruction to the model.
pub fn is_instruction(body: &MessageBody) -> bool {
    ["system", "developer"].contains(&body.role.as_str())
}

/// Returns whether a message has the text that renderings add. It may be such an addition that comes back.
pub fn may_be_added(message: &NewMessage) -> bool {
    let content = &message.body.content;
    let text = content.as_str().or_else(|| match content.as_array()?.as_slice() {
        [part] => part["text"].as_str(),
        _ => None,
    });
    text.is_some_and(|text| [CONTINUE_PROMPT, INTERRUPTED_RESULT].contains(&text))
}

/// Returns the digest of an item of a transcript.
pub fn item_digest(item: &Value) -> Digest {
    let mut hasher = Hasher::default();
    hasher.field("item", item);
    hasher.finish()
}

/// The items as which a dialect shows messages, whichever way calls without results are read.
#[derive(Debug, Default)]
pub struct ShownItems {
    items: HashSet<Digest>,
    /// The instructions that stand apart from the items.
    instructions: HashSet<Digest>,
    /// The messages that are read of items with an id, by the id of the first one.
    read: HashMap<EventId, Vec<Vec<ShownMessage>>>,
}

/// A message that is read of a shown item.
#[derive(Debug)]
struct ShownMessage {
    digest: Digest,
    /// Whether it has calls, and was not stored in this dialect: the states of its calls are then those of a client that goes on
    /// with it, and what is stored must stay.
    has_foreign_calls: bool,
}

impl ShownItems {
    /// Adds the items as which a dialect shows messages.
    pub fn add(&mut self, dialect: &dyn Dialect, stored: &[Message]) {
        for policy in ways_to_read(has_open_calls(dialect, stored)) {
            let rendered = rendered(dialect, stored.to_vec(), *policy);
            self.items.extend(rendered.messages.iter().map(item_digest));
            let read = dialect.parse(rendered.system, rendered.messages);
            let apart = read.messages.iter().zip(&read.positions);
            let apart = apart.filter(|(_, at)| matches!(at, TranscriptPosition::System(_)));
            self.instructions.extend(apart.map(|(message, _)| message.body.digest()));
            self.add_messages(dialect, stored, &read);
        }
    }

    fn add_messages(&mut self, dialect: &dyn Dialect, stored: &[Message], read: &Parsed) {
        let is_own = |message: &Message| {
            let provider = message.body.extra.get(MessageBody::PROVIDER);
            provider.is_some_and(|provider| provider.get(dialect.name()).is_some())
        };
        let mut messages = read.messages.iter();
        let mut stored = stored.iter().peekable();
        for positions in read.positions.chunk_by(|one, next| one == next) {
            let of_item: Vec<_> = messages.by_ref().take(positions.len()).collect();
            let Some(id) = of_item.first().and_then(|it| it.event_id.clone()) else { continue };
            // Those that are shown as one item follow one another.
            while stored.next_if(|message| message.event_id != id).is_some() {}
            let mut answers = stored.clone().filter(|message| message.body.role == ASSISTANT);
            let shown = of_item.into_iter().map(|message| {
                let is_answer = message.body.role == ASSISTANT;
                let is_foreign = is_answer && !answers.next().is_none_or(is_own);
                let has_foreign_calls = is_foreign && message.body.extra.contains_key("tool_calls");
                let digest = digest_of(dialect, message, has_foreign_calls);
                ShownMessage { digest, has_foreign_calls }
            });
            let shown = shown.collect();
            self.read.entry(id).or_default().push(shown);
        }
    }

    /// Returns whether an item is shown just so.
    pub fn contains(&self, item: &Digest) -> bool {
        self.items.contains(item)
    }

    /// Returns whether an instruction that stands apart from the items is shown just so.
    pub fn has_instruction(&self, message: &NewMessage) -> bool {
        self.instructions.contains(&message.body.digest())
    }

    /// Returns how many of the messages that are read of an item with an id, from the first one on, are those of the item that is
    /// shown with this id. An item that was continued begins with them.
    pub fn beginning(
        &self,
        dialect: &dyn Dialect,
        id: &EventId,
        messages: &[&NewMessage],
    ) -> usize {
        let is_same = |(shown, message): &(&ShownMessage, &&NewMessage)| {
            shown.digest == digest_of(dialect, message, shown.has_foreign_calls)
        };
        let shown = self.read.get(id).into_iter().flatten();
        let beginnings = shown.map(|shown| shown.iter().zip(messages).take_while(is_same).count());
        beginnings.max().unwrap_or(0)
    }
}

/// Returns the digest of a message. The states of calls that were stored in another dialect are not compared.
fn digest_of(dialect: &dyn Dialect, message: &NewMessage, has_foreign_calls: bool) -> Digest {
    if !has_foreign_calls {
        return message.body.digest();
    }
    let mut body = message.body.clone();
    dialect.remove_call_states(&mut body);
    body.digest()
}

/// Returns how a client may have read messages.
fn ways_to_read(has_open_calls: bool) -> &'static [Option<UnsettledPolicy>] {
    if has_open_calls { &READ_WITH } else { &READ_WITH[..1] }
}

/// Returns messages as a client that has read them puts them back.
fn rendered(
    dialect: &dyn Dialect,
    messages: Vec<Message>,
    unsettled: Option<UnsettledPolicy>,
) -> Rendered {
    let options = Options { unsettled, ..Options::default() };
    let mut rendered = dialect.render(messages, &options);
    dialect.prepare(&mut rendered.messages);
    rendered
}

/// Returns whether some calls in messages have no result.
fn has_open_calls(dialect: &dyn Dialect, messages: &[Message]) -> bool {
    let options = Options { unsettled: Some(UnsettledPolicy::Reject), ..Options::default() };
    !dialect.render(messages.to_vec(), &options).rejected.is_empty()
}

/// Returns messages as the dialect shows them, read again.
fn shown(
    dialect: &dyn Dialect,
    messages: Vec<Message>,
    unsettled: Option<UnsettledPolicy>,
) -> Vec<Compared> {
    let rendered = rendered(dialect, messages, unsettled);
    compared(dialect, &dialect.parse(rendered.system, rendered.messages).messages)
}

/// A message as it is compared.
#[derive(Debug)]
struct Compared {
    /// The digest of the message. A message of a user has one for each of its parts: renderings join messages of users that
    /// follow one another.
    parts: Vec<Digest>,
    is_instruction: bool,
    is_of_user: bool,
    /// Whether a rendering may have added it.
    may_be_added: bool,
}

fn compared(dialect: &dyn Dialect, messages: &[NewMessage]) -> Vec<Compared> {
    let compare = |message: &NewMessage| {
        let mut body = message.body.clone();
        dialect.remove_marks(&mut body);
        let is_of_user = body.role == "user";
        Compared {
            is_instruction: is_instruction(&body),
            is_of_user,
            may_be_added: may_be_added(message),
            parts: if is_of_user { digests_of_parts(body) } else { vec![body.digest()] },
        }
    };
    messages.iter().map(compare).collect()
}

/// Returns a digest for each part of a content: that of a message of this part alone.
fn digests_of_parts(mut body: MessageBody) -> Vec<Digest> {
    match mem::take(&mut body.content) {
        Value::Array(parts) if !parts.is_empty() => {
            let digest_of = |part: Value| {
                body.content = Value::Array(vec![part]);
                body.digest()
            };
            parts.into_iter().map(digest_of).collect()
        }
        Value::String(text) => {
            body.content = json!([{"type": "text", "text": text}]);
            vec![body.digest()]
        }
        other => {
            body.content = other;
            vec![body.digest()]
        }
    }
}

fn as_stored(messages: &[NewMessage]) -> Vec<Message> {
    let stored = messages.iter().zip(0..).filter_map(|(message, sequence)| {
        let minted = || EventId::parse(format!("evt_{sequence}")).ok();
        Some(Message {
            sequence,
            event_id: message.event_id.clone().or_else(minted)?,
            body: message.body.clone(),
            author: message.author.clone(),
            created_at: DateTime::UNIX_EPOCH,
            edited_at: None,
            edited_by: None,
            deleted_at: None,
            deleted_by: None,
            is_text_kept: false,
        })
    });
    stored.collect()
}

/// What two transcripts have in common, from their beginnings on.
#[derive(Debug, Default, Clone)]
struct Alike {
    /// The places in the second one.
    known: Vec<usize>,
    /// The place of the first message that differs, if the first transcript ends with the one that it differs from.
    grown: Option<usize>,
    /// Whether the first transcript ends with what they have in common.
    is_to_end: bool,
}

impl Alike {
    fn or_better(self, other: Self) -> Self {
        let rank = |it: &Self| (it.known.len(), it.grown.is_some());
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// Returns the messages of the second transcript that are not in the first, but for instructions.
    fn unknown<'a>(&self, sent: &'a [Compared]) -> impl Iterator<Item = &'a Compared> {
        let mut known = self.known.iter().peekable();
        let is_other = move |(place, _): &(usize, &Compared)| known.next_if_eq(&place).is_none();
        let others = sent.iter().enumerate().filter(is_other).map(|(_, message)| message);
        others.filter(|message| !message.is_instruction)
    }

    /// Returns whether the second transcript continues the first one by a turn: something that a user says, and perhaps an answer.
    fn is_followed_by_turn(&self, sent: &[Compared]) -> bool {
        let mut rest = self.unknown(sent).peekable();
        let begins = rest.next_if(|message| message.is_of_user).is_some();
        self.is_to_end && begins && rest.skip_while(|it| it.is_of_user).all(|it| !it.is_of_user)
    }
}

/// A part of what was said, and the message that it is of.
type Said<'a> = (&'a Digest, &'a Compared);

/// Compares what a chat shows with what was sent, which is a whole transcript, or begins with messages that stand somewhere in the chat: a
/// client may keep only the newest.
///
/// A client may write its instructions anew for each request, so that a changed one is no other conversation: those that the
/// chat has are known wherever it has them.
///
/// If the same is said again and again, newest messages with a new turn may be found whole further up, too. They are that turn then:
/// otherwise it would be lost.
fn alike(chat: &[Compared], sent: &[Compared]) -> Alike {
    let mut instructions: HashMap<Digest, usize> = HashMap::new();
    for message in chat.iter().filter(|message| message.is_instruction) {
        *instructions.entry(message.parts[0]).or_default() += 1;
    }
    let said = chat.iter().filter(|message| !message.is_instruction);
    let said: Vec<Said<'_>> =
        said.flat_map(|it| it.parts.iter().map(move |part| (part, it))).collect();
    let whole = alike_from(&said, instructions.clone(), sent);
    if whole.unknown(sent).next().is_none() {
        return whole;
    }
    let Some(first) = sent.iter().find(|message| !message.is_instruction) else { return whole };
    let begins = |at: &usize| {
        let (part, message) = said[*at];
        !message.may_be_added
            && *part == first.parts[0]
            && ptr::eq(part, &raw const message.parts[0])
    };
    let windows = (1..said.len()).filter(begins);
    let windows = windows.map(|at| alike_from(&said[at..], instructions.clone(), sent));
    let is_one = |window: &Alike| {
        let known = window.known.iter().filter(|place| !sent[**place].is_instruction);
        known.count() >= SHORTEST_WINDOW
    };
    let (mut best, mut next) = (whole, None);
    for window in windows.filter(is_one) {
        if window.is_followed_by_turn(sent) {
            next = next.into_iter().chain([window.clone()]).reduce(Alike::or_better);
        }
        best = best.or_better(window);
    }
    if best.is_to_end { best } else { next.unwrap_or(best) }
}

/// Compares what was said from a place of a chat on, and all its instructions, with what was sent.
fn alike_from(
    mut rest: &[Said<'_>],
    mut instructions: HashMap<Digest, usize>,
    sent: &[Compared],
) -> Alike {
    let mut found = Alike::default();
    for (place, message) in sent.iter().enumerate() {
        if message.is_instruction {
            if let Some(left @ 1..) = instructions.get_mut(&message.parts[0]) {
                *left -= 1;
                found.known.push(place);
            }
        } else if rest.iter().map(|(part, _)| *part).take(message.parts.len()).eq(&message.parts) {
            rest = &rest[message.parts.len()..];
            found.known.push(place);
        } else if message.may_be_added && place > 0 && is_addition(sent, place) {
            found.known.push(place);
        } else {
            let others = rest.chunk_by(|(_, one), (_, next)| ptr::eq(*one, *next));
            let is_one = others.filter(|parts| !parts[0].1.may_be_added).count() == 1;
            found.grown = is_one.then_some(place);
            break;
        }
    }
    found.is_to_end = rest.iter().all(|(_, message)| message.may_be_added);
    found
}

/// Returns whether a message that may be an addition stands where additions do: in place of a result, or as something that a user has
/// said before they said something else. The chat may have gone on since its client has read it.
fn is_addition(sent: &[Compared], place: usize) -> bool {
    let is_of_user = |it: &Compared| it.is_of_user;
    !is_of_user(&sent[place]) || sent.get(place + 1).is_some_and(is_of_user)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect;

    fn parse(dialect: &dyn Dialect, messages: &Value) -> Parsed {
        let mut messages = messages.as_array().unwrap().clone();
        dialect.prepare(&mut messages);
        dialect.parse(Vec::new(), messages)
    }

    /// Returns how much is known of a transcript in a chat with another one.
    fn known(name: &str, stored: &Value, sent: &Value) -> usize {
        let dialect = dialect::named(name).unwrap();
        let stored = as_stored(&parse(dialect, stored).messages);
        recognise(dialect, &stored, &parse(dialect, sent)).known.len()
    }

    fn history(name: &str, stored: &Value) -> Value {
        let dialect = dialect::named(name).unwrap();
        let stored = as_stored(&parse(dialect, stored).messages);
        dialect.render(stored, &Options::default()).messages.into()
    }

    #[test]
    fn a_new_turn_behind_the_newest_messages_is_none_of_those_that_said_the_same() {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let turn = [said("user", "continue"), said("assistant", "Done.")];
        let begun = [said("user", "Start"), said("assistant", "Started.")];
        let chat = [&begun[..], &turn, &turn, &turn].concat();
        let (newest, again) = (&chat[5..], &turn[..1]);
        let known = |sent: &[Value]| known("openai", &json!(chat), &json!(sent));
        assert_eq!(known(&[newest, again].concat()), 3);
        assert_eq!(known(&[newest, &[said("user", "stop"), said("assistant", "Ok.")]].concat()), 3);
        // What is repeated is known: the newest messages, a part of the whole and all of it.
        assert_eq!(known(newest), 3);
        assert_eq!(known(&[newest, &turn].concat()), 5);
        assert_eq!(known(&chat[..5]), 5);
        assert_eq!(known(&chat), 8);
        // A part of the middle may have been read before others wrote.
        let chat = [&chat[..], &[said("user", "Thanks"), said("assistant", "Bye.")]].concat();
        let known = |sent: &[Value]| super::tests::known("openai", &json!(chat), &json!(sent));
        assert_eq!(known(&[newest, again].concat()), 4);
    }

    #[test]
    fn a_history_that_is_put_back_is_known_whatever_it_left_out() {
        let call = |arguments: &str| {
            let function = json!({"name": "f", "arguments": arguments});
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": "c", "type": "function", "function": function}]})
        };
        let result = json!({"role": "tool", "tool_call_id": "c", "content": "r"});
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        for (name, stored) in [
            (
                "openai",
                json!([said("user", "x"),
                {"role": "assistant", "content": "a", "annotations": [{"type": "url_citation",
                    "url_citation": {"start_index": 0, "end_index": 1, "title": "t", "url": "https://e.org"}}]},
                said("user", "b")]),
            ),
            (
                "openai",
                json!([said("user", "x"), {"role": "assistant", "content": null, "refusal": "no"}]),
            ),
            ("openai", json!([said("user", "x"), call(""), result])),
            (
                "openai",
                json!([{"role": "user", "name": "Zoë", "content": "x"}, said("assistant", "a")]),
            ),
            (
                "openai",
                json!([
                    said("user", "x"),
                    call("{}"),
                    said("user", "?"),
                    result,
                    said("assistant", "a")
                ]),
            ),
            (
                "gemini",
                json!([{"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"text": "hm", "thought": true}, {"text": "a"}]}]),
            ),
        ] {
            let read = history(name, &stored);
            let items = read.as_array().unwrap().len();
            let mut grown = read.clone();
            let new = match name {
                "gemini" => json!({"role": "user", "parts": [{"text": "new"}]}),
                _ => said("user", "new"),
            };
            grown.as_array_mut().unwrap().push(new);
            let whole = known(name, &stored, &read);
            assert!(whole >= items, "{whole} of {items} in {read}");
            assert_eq!(known(name, &stored, &grown), whole, "{grown}");
        }
    }

    #[test]
    fn a_mark_of_a_cache_that_moves_makes_no_difference() {
        let said = |role: &str, text: &str, is_marked: bool| {
            let mut block = json!({"type": "text", "text": text});
            if is_marked {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
            json!({"role": role, "content": [block]})
        };
        let stored = json!([
            said("user", "q1", true),
            said("assistant", "a1", false),
            said("user", "q2", true)
        ]);
        let sent = json!([
            said("user", "q1", false),
            said("assistant", "a1", false),
            said("user", "q2", false),
            said("assistant", "a2", false),
            said("user", "q3", true)
        ]);
        assert_eq!(known("anthropic", &stored, &sent), 3);
    }

    #[test]
    fn the_newest_messages_alone_are_known() {
        let said = |role: &str, text: &str| json!({"role": role, "content": text});
        let stored = json!([
            said("system", "s"),
            said("user", "yes"),
            said("assistant", "ok"),
            said("user", "no"),
            said("assistant", "ok"),
            said("user", "yes"),
            said("assistant", "done"),
        ]);
        for (sent, count) in [
            (json!([said("assistant", "ok"), said("user", "yes"), said("assistant", "done")]), 3),
            (json!([said("system", "s"), said("user", "no"), said("assistant", "ok")]), 3),
            (json!([said("user", "yes"), said("assistant", "done"), said("user", "new")]), 2),
            (json!([said("user", "no"), said("assistant", "ok"), said("user", "new")]), 2),
            // It may be said again.
            (json!([said("user", "no"), said("user", "new")]), 0),
            (json!([said("assistant", "done")]), 0),
        ] {
            assert_eq!(known("openai", &stored, &sent), count, "{sent}");
        }
    }

    #[test]
    fn what_the_dialect_shows_makes_a_difference() {
        let image = |data: &str| {
            let url = format!("data:image/png;base64,{data}");
            json!({"role": "user", "content": [{"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": url}}]})
        };
        let said = json!({"role": "user", "content": "x"});
        assert_eq!(
            known("openai", &json!([said, image("AAAA")]), &json!([said, image("AAAB")])),
            1
        );
        assert_eq!(known("openai", &json!([said]), &json!([{"role": "user", "content": "y"}])), 0);
        assert_eq!(
            known("openai", &json!([said]), &json!([{"role": "system", "content": "x"}])),
            0
        );
    }
}
