use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;
use resume::ingest::speaker_from_role;
use utoipa::IntoParams;

use super::request::OneOrSeveral;
use super::{AppendResponse, MessagesBody};
use crate::config::Limits;
use crate::extract::{FromParams, InChat, Json, Params, Query};
use crate::openapi::{ChatPath, Fence};
use crate::problem::{AppendProblems, Problem};

/// How to read the messages.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct AppendQuery {
    /// Where the speaker stands: `name` (unless said), or `role` for transcripts that keep it
    /// there, such as those of Magentic-One.
    #[param(value_type = Option<String>, example = "role")]
    speaker: Speaker,
}

/// Where a message says who speaks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Speaker {
    Name,
    Role,
}

impl FromParams for AppendQuery {
    fn from_params(params: &mut Params, _limits: &Limits) -> Result<Self, Problem> {
        let speaker = params.take_with("speaker", |word| match word {
            "name" => Ok(Speaker::Name),
            "role" => Ok(Speaker::Role),
            _ => Err("must be name or role"),
        })?;
        Ok(Self { speaker: speaker.unwrap_or(Speaker::Name) })
    }
}

/// Appends messages, in order, all of them or none.
///
/// Each gets the next sequence of the chat. A message with an `event_id` is safe to send again: it
/// keeps the sequence it got the first time and is answered with `"duplicate": true`.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/messages", tag = "messages",
    operation_id = "append_messages", params(ChatPath, Fence, AppendQuery), request_body = OneOrSeveral,
    responses(
        (status = 201, description = "Something was stored", body = AppendResponse),
        (status = 200, description = "The chat had all of it already", body = AppendResponse),
        AppendProblems,
    ),
)]
pub(crate) async fn append_messages(
    State(store): State<Arc<dyn Store>>,
    InChat { scope, chat_id }: InChat,
    Query(query): Query<AppendQuery>,
    body: MessagesBody,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let form = body.form();
    let mut messages = body.into_messages(None)?;
    if query.speaker == Speaker::Role {
        for message in &mut messages {
            speaker_from_role(&mut message.body);
        }
    }
    let append = store.append(&scope, &chat_id, messages).await;
    let append = append.map_err(|error| form.problem(error))?;
    Ok(AppendResponse::of(chat_id, append))
}
