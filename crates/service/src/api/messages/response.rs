use axum::http::StatusCode;
use persistence::Append;
use records::ChatId;
use resume::Dropped;
use resume::dialect::Violation;
use serde::Serialize;
use utoipa::ToSchema;

use super::transcript::UnreadResponse;
use crate::extract::Json;
use crate::wire::{AppendedResponse, NotedResponse, Stated, write_status};

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

impl AppendResponse {
    /// `stated` is what the messages say of themselves.
    pub(super) fn from_append(
        chat_id: ChatId,
        append: Append,
        stated: &[Stated],
    ) -> (StatusCode, Json<Self>) {
        let noted = NotedResponse::of_stated(stated, &append.messages);
        let status = write_status(append.messages.iter().map(|message| message.outcome));
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
        noted: Vec<Violation>,
    ) -> (StatusCode, Json<Self>) {
        let (status, Json(response)) = Self::from_append(chat_id, append, &[]);
        let dropped = Some(dropped.into_iter().map(Into::into).collect());
        let noted = noted.into_iter().map(Into::into).collect();
        (status, Json(Self { dropped, noted, ..response }))
    }
}
