use axum::http::StatusCode;
use persistence::{Append, Appended, Outcome};
use records::ChatId;
use resume::Dropped;
use serde::Serialize;
use utoipa::ToSchema;

use super::transcript::UnreadResponse;
use crate::extract::Json;
use crate::wire;

/// The result of an append.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppendResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The chat's counter afterwards: the sequence of the next message.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each message of the request, in order; for a transcript, one for each message it was read as.
    messages: Vec<AppendedResponse>,
    /// The parts of a transcript that are not stored; missing without a dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped: Option<Vec<UnreadResponse>>,
}

/// An appended message.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Appended)]
pub(crate) struct AppendedResponse {
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = 1)]
    sequence: u64,
    /// Whether the message was stored before.
    duplicate: bool,
}

impl From<Appended> for AppendedResponse {
    fn from(message: Appended) -> Self {
        Self {
            event_id: message.event_id.into(),
            sequence: message.sequence,
            duplicate: message.outcome == Outcome::Duplicate,
        }
    }
}

impl AppendResponse {
    pub(super) fn from_append(chat_id: ChatId, append: Append) -> (StatusCode, Json<Self>) {
        let status = wire::write_status(append.messages.iter().map(|message| message.outcome));
        let response = Self {
            chat_id: chat_id.into(),
            last_sequence: append.last_sequence,
            messages: append.messages.into_iter().map(Into::into).collect(),
            dropped: None,
        };
        (status, Json(response))
    }

    pub(super) fn from_transcript(
        chat_id: ChatId,
        append: Append,
        dropped: Vec<Dropped>,
    ) -> (StatusCode, Json<Self>) {
        let (status, Json(response)) = Self::from_append(chat_id, append);
        let dropped = Some(dropped.into_iter().map(Into::into).collect());
        (status, Json(Self { dropped, ..response }))
    }
}
