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
    /// What the caller should know although everything is stored; missing if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    noted: Vec<NotedResponse>,
}

/// Something that differs from what the caller has said.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Noted)]
pub(crate) struct NotedResponse {
    /// The index of the message in the request.
    index: usize,
    /// The reason, as a stable word.
    #[schema(example = "other_sequence")]
    reason: &'static str,
    /// The reason, as a sentence.
    detail: String,
}

impl NotedResponse {
    /// Notes which messages have another sequence than the caller has stated.
    pub(crate) fn of_sequences(stated: &[Option<u64>], messages: &[Appended]) -> Vec<Self> {
        stated.iter().zip(messages).enumerate().filter_map(Self::other_sequence).collect()
    }

    /// Notes that a message has another sequence than its sender believes.
    fn other_sequence(
        (index, (stated, message)): (usize, (&Option<u64>, &Appended)),
    ) -> Option<Self> {
        let stated = stated.filter(|stated| *stated != message.sequence)?;
        let detail = format!("the message has the sequence {}, not {stated}", message.sequence);
        Some(Self { index, reason: "other_sequence", detail })
    }
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
    /// `stated` are the sequences that the caller has said, if any.
    pub(super) fn from_append(
        chat_id: ChatId,
        append: Append,
        stated: &[Option<u64>],
    ) -> (StatusCode, Json<Self>) {
        let noted = NotedResponse::of_sequences(stated, &append.messages);
        let status = wire::write_status(append.messages.iter().map(|message| message.outcome));
        let response = Self {
            chat_id: chat_id.into(),
            last_sequence: append.last_sequence,
            messages: append.messages.into_iter().map(Into::into).collect(),
            dropped: None,
            noted,
        };
        (status, Json(response))
    }

    pub(super) fn from_transcript(
        chat_id: ChatId,
        append: Append,
        dropped: Vec<Dropped>,
    ) -> (StatusCode, Json<Self>) {
        let (status, Json(response)) = Self::from_append(chat_id, append, &[]);
        let dropped = Some(dropped.into_iter().map(Into::into).collect());
        (status, Json(Self { dropped, ..response }))
    }
}
