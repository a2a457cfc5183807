use std::sync::Arc;

use axum::extract::State;
use persistence::{ParticipantCursor, ParticipantPage, Store};
use records::ChatId;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::response::ParticipantResponse;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// The page of participants to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParticipantsQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<ParticipantCursor>,
}

impl FromParams for ListParticipantsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        let cursor = params.take_with("cursor", cursor::decode)?;
        Ok(Self {
            limit,
            cursor: cursor.map(|(joined_at, user_id)| ParticipantCursor { joined_at, user_id }),
        })
    }
}

/// A page of a chat's participants, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListParticipantsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    participants: Vec<ParticipantResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl ListParticipantsResponse {
    fn new(chat_id: ChatId, page: ParticipantPage) -> Self {
        let next = page.next.map(|next| cursor::encode(next.joined_at, next.user_id.as_str()));
        Self {
            chat_id: chat_id.into(),
            participants: page.participants.into_iter().map(Into::into).collect(),
            next_cursor: next,
        }
    }
}

/// Lists the participants of a chat, oldest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/participants", tag = "participants",
    operation_id = "list_participants", params(ChatPath, ListParticipantsQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of participants", body = ListParticipantsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_participants(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListParticipantsQuery>,
) -> Result<Json<ListParticipantsResponse>, Problem> {
    let after = query.cursor.as_ref();
    let page = store.list_participants(&scope, &chat_id, query.limit, after).await?;
    Ok(Json(ListParticipantsResponse::new(chat_id, page)))
}
