use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;
use records::{Caller, DisplayName, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::OWN;
use super::response::ParticipantResponse;
use crate::extract::{ChatScope, Json, OptionalJson, Query, check_acts_for};
use crate::openapi::ChatPath;
use crate::problem::{JoinProblems, Problem};
use crate::wire::write_status;

/// Who joins. A person joins themselves; a service says whom it means.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewParticipant)]
pub(crate) struct JoinRequest {
    #[schema(value_type = Option<String>, example = "user_alice_456")]
    user_id: Option<UserId>,
    /// What they are called: 1 to 128 characters without control characters.
    #[schema(value_type = Option<String>, example = "Alice")]
    display_name: Option<DisplayName>,
}

impl JoinRequest {
    /// Returns who is meant.
    fn user_id(&self, caller: &Caller) -> Result<UserId, Problem> {
        let user_id = self.user_id.as_ref().or(caller.person());
        let user_id = user_id.ok_or_else(|| Problem::invalid_body("/user_id", "is missing"))?;
        check_acts_for(caller, user_id, OWN)
            .map_err(|problem| problem.at_pointer("/user_id", "must be the caller's own"))?;
        Ok(user_id.clone())
    }
}

/// Has a user take part in a chat. Who does already is called by the new name, if there is one.
///
/// Taking part gives no access to the chat, and nobody needs it to have some.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/participants", tag = "participants",
    operation_id = "join_chat", params(ChatPath), request_body = Option<JoinRequest>,
    responses(
        (status = 201, description = "They take part now", body = ParticipantResponse),
        (status = 200, description = "They did already", body = ParticipantResponse),
        JoinProblems,
    ),
)]
pub(crate) async fn join_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<JoinRequest>,
) -> Result<(StatusCode, Json<ParticipantResponse>), Problem> {
    let user_id = request.user_id(&scope.caller)?;
    let name = request.display_name.as_ref();
    let joined = store.join_chat(&scope, &chat_id, &user_id, name).await?;
    Ok((write_status([joined.outcome]), Json(joined.participant.into())))
}
