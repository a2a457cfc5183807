use persistence::ChatPresence;
use records::{ChatId, Present};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;

/// The persons who are present in a chat: those with an open stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Presence)]
pub(crate) struct PresenceResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The persons, longest presence first; at most 200.
    present: Vec<PresentResponse>,
    /// The number of all persons who are present.
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
    /// The display name, if the person is a participant and has one.
    #[schema(example = "Alice")]
    display_name: Option<String>,
    since: Time,
    /// The number of open connections.
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
