use std::sync::Arc;

use axum::extract::State;
use utoipa::IntoParams;

use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, Json, Params, PathInputRequestId, Query};
use crate::live::Hub;
use crate::openapi::{ChatPath, InputRequestPath};
use crate::problem::{InputRequestProblems, Problem};
use crate::wire::{InputRequestResponse, Wait};

/// How long to wait until the request is closed.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct GetInputRequestQuery {
    /// At most `60s`. The response is sent when the request is closed or the wait is over.
    #[param(value_type = Option<String>, pattern = "^0*([0-9]|[1-5][0-9]|60)s?$", example = "30s")]
    wait: Option<Wait>,
}

impl FromParams for GetInputRequestQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { wait: params.take("wait")? })
    }
}

/// Returns an input request; with `wait`, once it is closed or the wait is over.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/input-requests/{request_id}",
    tag = "input requests", operation_id = "get_input_request",
    params(ChatPath, InputRequestPath, GetInputRequestQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The request in its current state", body = InputRequestResponse),
        InputRequestProblems,
    ),
)]
pub(crate) async fn get_input_request(
    State(hub): State<Arc<Hub>>,
    PathInputRequestId(request_id): PathInputRequestId,
    Query(query): Query<GetInputRequestQuery>,
    // Last, because it may redeem a ticket.
    ChatStream { scope, chat_id, limits }: ChatStream,
) -> Result<Json<InputRequestResponse>, Problem> {
    let Wait(wait) = query.wait.unwrap_or_default();
    let request = hub.wait_for_input(&scope, &chat_id, &request_id, wait, &limits).await?;
    Ok(Json(request.into()))
}
