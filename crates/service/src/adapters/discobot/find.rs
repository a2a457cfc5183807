//! The stored messages that a message of the AI SDK has become.

use std::iter;

use persistence::{MessageRange, Store, StoreError, Transcript};
use records::{ChatId, EventId, Message, MessageBody, Scope};
use resume::dialect::{Dialect as _, UiMessage};
use serde_json::{Value, json};

use super::message::{as_stored, under_own_id};
use crate::api::messages::OWN_ID;

/// How many messages are read at a time.
const READ_AT_ONCE: usize = 500;
/// The most messages that are examined for one whose id the store does not know.
const MAX_EXAMINED: usize = 50_000;

/// A message of the AI SDK as it is stored.
#[derive(Debug)]
pub(super) struct StoredMessage {
    /// The message that begins it, the messages that continue it, and the results of its calls.
    pub(super) messages: Vec<Message>,
    /// Whether nothing was said after it.
    pub(super) is_last: bool,
}

impl StoredMessage {
    /// Finds the message with an id. Deleted messages have no id any more.
    pub(super) async fn find(
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
        id: &str,
    ) -> Result<Option<Self>, StoreError> {
        let Some(first) = find_first(store, scope, chat_id, id).await? else { return Ok(None) };
        let (after, limit) = (Some(first.sequence), READ_AT_ONCE);
        let range = MessageRange::Oldest { after, before: None, limit };
        let page = store.messages(scope, chat_id, range).await?;
        let mut found = Self { messages: vec![first], is_last: true };
        page.messages.into_iter().filter(|it| it.deleted_at.is_none()).for_each(|it| found.add(it));
        found.is_last &= !page.has_more;
        Ok(Some(found))
    }

    /// Adds the next message of the chat, if it is part of this one.
    fn add(&mut self, message: Message) {
        let calls = |it: &Message| call_ids(&it.body).any(|id| answers(&message.body, id));
        let is_result = message.body.role == "tool";
        if is_result && !self.messages.iter().any(calls) {
            return;
        }
        if is_result || (self.is_last && self.is_continued_by(&message.body)) {
            self.messages.push(message);
        } else {
            self.is_last = false;
        }
    }

    fn is_continued_by(&self, body: &MessageBody) -> bool {
        let own = body.extra.get(MessageBody::PROVIDER).and_then(|it| it.get(UiMessage.name()));
        let continues = own.is_some_and(|own| own["continues"] == true);
        continues && self.messages.first().is_some_and(|first| first.body.role == body.role)
    }

    /// Returns it as clients see it; `None` if other systems see it in another way.
    pub(super) fn shown(&self) -> Option<Value> {
        let (first, others) = self.messages.split_first()?;
        let first = under_own_id(first.clone());
        if others.is_empty() && says_nothing(&first.body) {
            let metadata = first.body.metadata.unwrap_or_default();
            let (id, role) = (first.event_id.as_str(), first.body.role);
            return Some(json!({"id": id, "role": role, "metadata": metadata, "parts": []}));
        }
        let messages = iter::once(first).chain(others.iter().cloned()).collect();
        let mut shown = UiMessage.render(messages, &as_stored()).messages;
        shown.pop().filter(|_| shown.is_empty())
    }
}

/// Returns whether a message has no parts, so that lists leave it out.
fn says_nothing(body: &MessageBody) -> bool {
    let extra = body.extra.keys();
    let mut says = extra.filter(|field| !MessageBody::ID_FIELDS.contains(&field.as_str()));
    body.content.is_null() && says.next().is_none()
}

async fn find_first(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    id: &str,
) -> Result<Option<Message>, StoreError> {
    let exists = |message: &Message| message.deleted_at.is_none();
    if let Ok(event_id) = EventId::parse(id)
        && let Some(found) = store.get_message_by_id(scope, chat_id, &event_id).await?
    {
        return Ok(Some(found).filter(exists));
    }
    let (mut examined, mut before) = (0, None);
    loop {
        let range = MessageRange::Newest { before, limit: READ_AT_ONCE };
        let Transcript { messages, has_more, .. } = store.messages(scope, chat_id, range).await?;
        examined += messages.len();
        before = messages.first().map(|message| message.sequence);
        let mut newest_first = messages.into_iter().rev().filter(exists);
        let found = newest_first.find(|it| it.body.extra_text(OWN_ID) == Some(id));
        if found.is_some() || !has_more || examined >= MAX_EXAMINED {
            return Ok(found);
        }
    }
}

/// Returns the ids of the calls that a message makes.
fn call_ids(body: &MessageBody) -> impl Iterator<Item = &str> {
    let calls = body.extra.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().filter_map(|call| call["id"].as_str())
}

/// Returns the ids of the calls whose results a message holds.
pub(super) fn answered_ids(body: &MessageBody) -> impl Iterator<Item = &str> {
    let responses = body.extra.get("tool_responses").and_then(Value::as_array);
    let of_responses = responses.into_iter().flatten();
    let of_responses = of_responses.filter_map(|response| response["tool_call_id"].as_str());
    body.extra_text("tool_call_id").into_iter().chain(of_responses)
}

fn answers(body: &MessageBody, call_id: &str) -> bool {
    answered_ids(body).any(|id| id == call_id)
}
