use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::IntoResponse;
use persistence::{Store, StoreError};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::extract::Json;
use crate::live::Shutdown;
use crate::openapi::values;
use crate::problem::HealthProblems;

/// How long the store may take to answer before it counts as unavailable.
const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// The readiness of the service. The reason for a failed check is in the log only.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadyResponse {
    /// `ready`, `unavailable`, or `stopping` once the process was asked to stop.
    #[schema(value_type = values::Readiness)]
    status: &'static str,
    checks: Checks,
}

/// The checks that readiness consists of.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checks {
    /// `ok`, `unavailable`, `starting` while the service fetches or starts its own database, or `not-a-replica-set` for a
    /// server that must become a replica set first.
    #[schema(value_type = values::StoreCheck)]
    store: &'static str,
    /// How live chats learn of changes by other processes: `change_stream`, or `polling` if the database has none.
    #[schema(value_type = values::LiveCheck)]
    live: &'static str,
}

/// Returns whether the service can handle requests: whether its store answers, and has run a transaction once.
#[utoipa::path(
    get, path = "/api/health/ready", tag = "health", operation_id = "ready", security(()),
    responses(
        (status = 200, description = "The service is ready", body = ReadyResponse),
        (status = 503, description = "The store is unavailable, or the process is stopping", body = ReadyResponse),
        HealthProblems,
    ),
)]
pub(crate) async fn ready(
    State(store): State<Arc<dyn Store>>,
    shutdown: Shutdown,
) -> impl IntoResponse {
    let reached = timeout(PING_TIMEOUT, store.ping()).await;
    let live = if store.delivers_changes() { "change_stream" } else { "polling" };
    let store = match reached {
        Ok(Ok(())) => "ok",
        Ok(Err(StoreError::NotAReplicaSet)) => "not-a-replica-set",
        _ => "unavailable",
    };
    let (code, status) = match store {
        _ if shutdown.is_announced() => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        "ok" => (StatusCode::OK, "ready"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    response(code, status, Checks { store, live })
}

/// Returns that the service is not ready, because its store is being started.
pub(crate) async fn starting() -> impl IntoResponse {
    let checks = Checks { store: "starting", live: "polling" };
    response(StatusCode::SERVICE_UNAVAILABLE, "unavailable", checks)
}

fn response(code: StatusCode, status: &'static str, checks: Checks) -> impl IntoResponse {
    let retry_after = (code != StatusCode::OK).then_some([(RETRY_AFTER, "1")]);
    (code, retry_after, Json(ReadyResponse { status, checks }))
}
