use serde_json::Value;

use crate::json::{Digest, Hasher, JsonObject};
use crate::{ChatId, ChatSession, ForkOrigin, Invalid, NewChatSession, UserId, cache_seed};

/// A request to fork a chat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewFork {
    /// The id of the fork; the store mints one if it is missing.
    pub chat_id: Option<ChatId>,
    /// The number of messages to share: those with smaller sequences. All messages if it is missing.
    pub sequence: Option<u64>,
    /// The user for whom the fork is created.
    pub user_id: Option<UserId>,
    /// The cache seed; derived from the ids of app and chat if it is missing.
    pub cache_seed: Option<u32>,
    /// A title for people, at most [`Limits::TITLE_CHARS`](crate::Limits::TITLE_CHARS) characters.
    pub title: Option<String>,
    /// Any data of the caller, at most [`Limits::METADATA_BYTES`](crate::Limits::METADATA_BYTES).
    pub metadata: JsonObject,
}

impl NewFork {
    /// Returns whether a fork of `source` with these fields stores this chat session.
    #[must_use]
    pub fn has_created(&self, source: &ChatId, chat: &ChatSession) -> bool {
        let derived = || cache_seed(&chat.app_id, &chat.chat_id);
        let is_origin = |origin: &ForkOrigin| {
            origin.chat_id == *source && self.sequence.is_none_or(|it| it == origin.sequence)
        };
        let is_unchanged = || self.title == chat.title && self.metadata == chat.metadata;
        chat.forked_from.as_ref().is_some_and(is_origin)
            && self.user_id == chat.user_id
            && self.cache_seed.unwrap_or_else(derived) == chat.cache_seed
            && chat.creation_digest.map_or_else(is_unchanged, |digest| digest == self.digest())
    }

    /// Returns the digest of the fields that may be changed later.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.field("title", &Value::from(self.title.as_deref()));
        hasher.object("metadata", &self.metadata);
        hasher.finish()
    }

    /// Returns the session to create, with the workflow, assistant, system prompt, team and visibility of its source.
    ///
    /// Refuses a sequence that is greater than the number of messages of the source.
    pub fn of(self, source: &ChatSession) -> Result<(NewChatSession, ForkOrigin), Invalid> {
        let last_sequence = source.last_sequence;
        let sequence = self.sequence.unwrap_or(last_sequence);
        if sequence > last_sequence {
            let limit =
                format!("must be at most {last_sequence}, the number of messages in the chat");
            return Err(Invalid::value("/sequence", limit));
        }
        let new = NewChatSession {
            chat_id: self.chat_id,
            user_id: self.user_id,
            team_id: source.team_id.clone(),
            assistant_id: source.assistant_id.clone(),
            system_prompt: source.system_prompt.clone(),
            visibility: source.visibility,
            cache_seed: self.cache_seed,
            title: self.title,
            metadata: self.metadata,
            ..NewChatSession::of(source.workflow_name.clone())
        };
        new.check()?;
        Ok((new, ForkOrigin { chat_id: source.chat_id.clone(), sequence }))
    }
}
