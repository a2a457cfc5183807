use persistence::ChatPresence;
use records::{ChatId, Present};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;

/// Who is present in a chat: the persons who listen to it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Presence)]
pub(crate) struct PresenceResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// Who has been there for longest first; at most 200.
    present: Vec<PresentResponse>,
    /// How many persons there are altogether.
    #[schema(example = 1)]
    count: u64,
}

impl PresenceResponse {
    pub(crate) fn new(chat_id: &ChatId, presence: ChatPresence) -> Self {
        Self {
            chat_id: chat_id.to_string(),
            present: presence.present.into_iter().map(Into::into).collect(),
            count: presence.count,
        }
    }
}

/// A person who is present.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Present)]
pub(crate) struct PresentResponse {
    #[schema(example = "user_alice_456")]
    user_id: String,
    /// What they are called, if they take part in the chat and have said so.
    #[schema(example = "Alice")]
    display_name: Option<String>,
    since: Time,
    /// How many connections they have.
    #[schema(example = 1)]
    connections: u64,
}

impl From<Present> for PresentResponse {
    fn from(present: Present) -> Self {
        Self {
            user_id: present.user_id.into(),
            display_name: present.display_name.map(Into::into),
            since: present.since.into(),
            connections: present.connections,
        }
    }
}
