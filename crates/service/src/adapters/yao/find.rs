//! Stored messages by the ids that Yao's clients know: each is unique in its request only.

use persistence::{MessageRange, Store, StoreError, Transcript};
use records::{ChatId, EventId, Message, MessageBody, Scope};
use resume::dialect::Yao;

use super::reader::{MAX_EXAMINED, READ_AT_ONCE};
use crate::problem::{Problem, ProblemKind};

/// The ids of messages, perhaps of one request.
#[derive(Debug)]
pub(super) struct WantedMessages<'a> {
    pub(super) message_ids: &'a [String],
    pub(super) request_id: Option<&'a str>,
}

impl WantedMessages<'_> {
    /// Finds the messages with these ids. Deleted messages have no id any more.
    ///
    /// Those that were saved by themselves are found in every chat, others among the newest 50,000 messages.
    pub(super) async fn find(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Message>, StoreError> {
        let mut found = self.find_saved(store, scope, chat_id).await?;
        let (mut examined, mut before) = (0, None);
        loop {
            let is_settled = self.request_id.is_some() && found.len() == self.message_ids.len();
            if is_settled || examined >= MAX_EXAMINED {
                return Ok(found);
            }
            let range = MessageRange::Newest { before, limit: READ_AT_ONCE };
            let page = store.messages(scope, chat_id, range).await?;
            let Transcript { messages, has_more, .. } = page;
            examined += messages.len();
            before = messages.first().map(|message| message.sequence);
            for message in messages.into_iter().rev().filter(|message| self.is_one(message)) {
                if !found.iter().any(|known| known.sequence == message.sequence) {
                    found.push(message);
                }
            }
            if !has_more {
                return Ok(found);
            }
        }
    }

    /// Finds the messages that were saved by themselves: their ids in the chat were made of these ids.
    ///
    /// Of an agent and a person that gave one id in a request, the agent's message is meant.
    async fn find_saved(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Vec<Message>, StoreError> {
        let stored_ids = |id: &String| match self.request_id {
            Some(request_id) => Yao::stored_ids(request_id, id),
            None => [EventId::parse(id.as_str()).ok(), None],
        };
        let ids: Vec<_> = self.message_ids.iter().flat_map(stored_ids).flatten().collect();
        let sequences = store.find_messages(scope, chat_id, &ids).await?;
        let mut found: Vec<Message> = Vec::new();
        for sequence in sequences.into_iter().flatten() {
            let message = store.get_message(scope, chat_id, sequence).await?;
            let id = shown_id(&message.body, Some(&message.event_id));
            let is_known = found.iter().any(|it| shown_id(&it.body, Some(&it.event_id)) == id);
            if self.is_one(&message) && !is_known {
                found.push(message);
            }
        }
        Ok(found)
    }

    /// Finds the one message with the id.
    pub(super) async fn find_one(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Message, Problem> {
        let mut found = self.find(store, scope, chat_id).await?;
        match (found.pop(), found.is_empty()) {
            (Some(message), true) => Ok(message),
            (Some(_), false) => {
                let detail = "is required: messages of several requests have this id";
                Err(Problem::invalid_parameter("request_id", detail))
            }
            (None, _) => {
                let id = self.message_ids.first().map_or("", String::as_str);
                let detail = format!("message {id} of chat {chat_id} not found");
                Err(Problem::new(ProblemKind::MESSAGE_NOT_FOUND, detail))
            }
        }
    }

    fn is_one(&self, message: &Message) -> bool {
        let id = shown_id(&message.body, Some(&message.event_id));
        message.deleted_at.is_none()
            && self.message_ids.contains(&id)
            && self.request_id.is_none_or(|wanted| {
                message.body.extra_text(MessageBody::REQUEST_ID) == Some(wanted)
            })
    }
}

/// Returns the id under which a message is shown: its own, or that of the store.
pub(super) fn shown_id(body: &MessageBody, event_id: Option<&EventId>) -> String {
    let own = body.extra_text("message_id");
    own.or_else(|| event_id.map(EventId::as_str)).unwrap_or_default().to_owned()
}
