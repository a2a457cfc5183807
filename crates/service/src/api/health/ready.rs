use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::IntoResponse;
use persistence::Store;
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::extract::Json;

/// How long the store may take to answer before it counts as unavailable.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The readiness of the service. The reason for a failed check is in the log only.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadyResponse {
    /// `ready` or `unavailable`.
    #[schema(example = "ready")]
    status: &'static str,
    checks: Checks,
}

/// The checks that readiness consists of.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checks {
    /// `ok` or `unavailable`.
    #[schema(example = "ok")]
    store: &'static str,
    /// How live chats learn of changes by other processes: `change_stream`, or `polling` if the database has none.
    #[schema(example = "change_stream")]
    live: &'static str,
}

/// Returns whether the service can handle requests: whether its store answers.
#[utoipa::path(
    get, path = "/api/health/ready", tag = "health", operation_id = "ready", security(()),
    responses(
        (status = 200, description = "The service is ready", body = ReadyResponse),
        (status = 503, description = "The store is unavailable", body = ReadyResponse),
    ),
)]
pub(crate) async fn ready(State(store): State<Arc<dyn Store>>) -> impl IntoResponse {
    let reached = timeout(PING_TIMEOUT, store.ping()).await;
    let live = if store.delivers_changes() { "change_stream" } else { "polling" };
    let (code, status, store) = match reached {
        Ok(Ok(())) => (StatusCode::OK, "ready", "ok"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "unavailable"),
    };
    let checks = Checks { store, live };
    let retry_after = (code != StatusCode::OK).then_some([(RETRY_AFTER, "1")]);
    (code, retry_after, Json(ReadyResponse { status, checks }))
}
