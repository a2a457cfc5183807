use records::Participant;
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;

/// A participant of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Participant)]
pub(crate) struct ParticipantResponse {
    #[schema(example = "user_alice_456")]
    user_id: String,
    /// The display name, if one was given.
    #[schema(example = "Alice")]
    display_name: Option<String>,
    joined_at: Time,
}

impl From<Participant> for ParticipantResponse {
    fn from(participant: Participant) -> Self {
        Self {
            user_id: participant.user_id.into(),
            display_name: participant.display_name.map(Into::into),
            joined_at: participant.joined_at.into(),
        }
    }
}
