use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use records::InputRequestId;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, Json, Params, Path, Query, declared};
use crate::live::Hub;
use crate::problem::Problem;
use crate::wire::{InputRequestResponse, Wait};

/// How long to wait until the request is closed.
#[derive(Debug, IntoParams)]
pub(crate) struct GetInputRequestQuery {
    /// At most `60s`. The response is sent when the request is closed or the wait is over.
    #[param(value_type = Option<String>, pattern = "^0*([0-9]|[1-5][0-9]|60)s?$", example = "30s")]
    wait: Option<Wait>,
}

impl FromParams for GetInputRequestQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { wait: params.take("wait")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Returns an input request; with `wait`, once it is closed or the wait is over.
#[operation(
    answers = "The request in its current state",
    problems = [INPUT_NOT_FOUND, TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn get_input_request(
    State(hub): State<Arc<Hub>>,
    Path(request_id): Path<InputRequestId>,
    Query(query): Query<GetInputRequestQuery>,
    // Last, because it may redeem a ticket.
    ChatStream { scope, chat_id, limits }: ChatStream,
) -> Result<Json<InputRequestResponse>, Problem> {
    let Wait(wait) = query.wait.unwrap_or_default();
    let request = hub.wait_for_input(&scope, &chat_id, &request_id, wait, &limits).await?;
    Ok(Json(request.into()))
}
