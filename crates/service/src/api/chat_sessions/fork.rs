use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use persistence::Store;
use records::{Caller, ChatId, JsonObject, NewFork, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ChatSessionResponse;
use super::create::own;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ForkProblems, Problem};

/// What a fork is made from, besides its source.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"sequence": 12, "title": "Another way"}))]
pub(crate) struct ForkRequest {
    /// Minted when it is missing.
    #[schema(value_type = Option<String>)]
    chat_id: Option<ChatId>,
    /// How many messages are taken over, those with sequences below it; all of them when it is missing.
    sequence: Option<u64>,
    /// At most 512 characters.
    title: Option<String>,
    /// At most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// Users can only name themselves, and need not.
    #[schema(value_type = Option<String>)]
    user_id: Option<UserId>,
    /// Derived from app and chat when it is missing.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u32)]
    cache_seed: Option<u32>,
}

/// Creates a chat session that goes on from an earlier point of another.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/fork", tag = "chat sessions",
    operation_id = "fork_chat", params(ChatPath), request_body = ForkRequest,
    responses(
        (status = 201, description = "The fork, running", body = ChatSessionResponse,
            headers(("Location", description = "Its address"))),
        ForkProblems,
    ),
)]
pub(crate) async fn fork_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(()): Query<()>,
    Json(request): Json<ForkRequest>,
) -> Result<impl IntoResponse, Problem> {
    let fork = request.on_behalf_of(&scope.caller)?;
    let fork = store.fork_chat(&scope, &chat_id, fork).await?;
    let location = format!("/api/chats/{}/{}", fork.app_id, fork.chat_id);
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(ChatSessionResponse::from(fork))))
}

impl ForkRequest {
    /// Fills in the owner, who is the caller unless the caller is a service.
    fn on_behalf_of(self, caller: &Caller) -> Result<NewFork, Problem> {
        let user_id = match caller {
            Caller::Service => self.user_id,
            Caller::User { user_id, .. } => own("/user_id", self.user_id.as_ref(), Some(user_id))?,
        };
        Ok(NewFork {
            chat_id: self.chat_id,
            sequence: self.sequence,
            user_id,
            cache_seed: self.cache_seed,
            title: self.title,
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}
