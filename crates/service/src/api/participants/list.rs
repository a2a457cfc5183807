use std::sync::Arc;

use axum::extract::State;
use persistence::{ParticipantCursor, Store};

use super::response::ParticipantResponse;
use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// Lists the participants of a chat, oldest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/participants", tag = "participants",
    operation_id = "list_participants", params(ChatPath, PageQuery<ParticipantCursor>),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of participants", body = Page<ParticipantResponse>),
        ChatProblems,
    ),
)]
pub(crate) async fn list_participants(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<PageQuery<ParticipantCursor>>,
) -> Result<Json<Page<ParticipantResponse>>, Problem> {
    let after = query.cursor.as_ref();
    let page = store.list_participants(&scope, &chat_id, query.limit, after).await?;
    Ok(Json(Page::new(page.participants, page.next.as_ref())))
}
