use crate::json::JsonObject;
use crate::{ChatId, ChatSession, ForkOrigin, Invalid, NewChatSession, UserId};

/// What a fork of a chat is made from, besides the chat.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewFork {
    /// The id to use; one is minted when it is missing.
    pub chat_id: Option<ChatId>,
    /// How many messages are taken over: those with sequences below it. All there are when it is missing.
    pub sequence: Option<u64>,
    /// The user the fork is for.
    pub user_id: Option<UserId>,
    /// The seed to use; derived from app and chat when it is missing.
    pub cache_seed: Option<u32>,
    /// A title for people, at most [`Limits::TITLE_CHARS`](crate::Limits::TITLE_CHARS) characters.
    pub title: Option<String>,
    /// Whatever the caller wants kept, at most [`Limits::METADATA_BYTES`](crate::Limits::METADATA_BYTES).
    pub metadata: JsonObject,
}

impl NewFork {
    /// Returns the creation of this fork: workflow, team and visibility are those of its source.
    ///
    /// Refuses a sequence that the source has not reached, with a pointer to it.
    pub fn of(self, source: &ChatSession) -> Result<(NewChatSession, ForkOrigin), Invalid> {
        let last_sequence = source.last_sequence;
        let sequence = self.sequence.unwrap_or(last_sequence);
        if sequence > last_sequence {
            let limit = format!("must be at most {last_sequence}, which the chat has reached");
            return Err(Invalid::value("/sequence", limit));
        }
        let new = NewChatSession {
            chat_id: self.chat_id,
            user_id: self.user_id,
            team_id: source.team_id.clone(),
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
