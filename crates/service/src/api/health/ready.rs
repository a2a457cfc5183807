use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use operation::operation;
use persistence::{Store, StoreError};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::extract::Json;
use crate::live::Shutdown;
use crate::openapi::values;
use crate::operation::{Description, Output};

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
    /// How live chats learn of changes by other processes: `change_stream`, or `polling` if it cannot be opened.
    #[schema(value_type = values::LiveCheck)]
    live: &'static str,
}

/// Returns whether the service can handle requests: whether its store answers, and has run a transaction once.
#[operation(answers = "The service is ready")]
pub(crate) async fn ready(State(store): State<Arc<dyn Store>>, shutdown: Shutdown) -> Readiness {
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
    Readiness(code, ReadyResponse { status, checks: Checks { store, live } })
}

/// Returns that the service is not ready, because its store is being started.
pub(crate) async fn starting() -> Readiness {
    let checks = Checks { store: "starting", live: "polling" };
    Readiness(StatusCode::SERVICE_UNAVAILABLE, ReadyResponse { status: "unavailable", checks })
}

/// The readiness, with 200 or 503.
#[derive(Debug)]
pub(crate) struct Readiness(StatusCode, ReadyResponse);

impl IntoResponse for Readiness {
    fn into_response(self) -> Response {
        let Self(code, ready) = self;
        let retry_after = (code != StatusCode::OK).then_some([(RETRY_AFTER, "1")]);
        (code, retry_after, Json(ready)).into_response()
    }
}

impl Output for Readiness {
    fn describe(description: &mut Description) {
        description.answers_json::<ReadyResponse>(StatusCode::OK);
        let text = "The store is unavailable, or the process is stopping";
        description.response(StatusCode::SERVICE_UNAVAILABLE, text);
        description.answers_json::<ReadyResponse>(StatusCode::SERVICE_UNAVAILABLE);
    }
}
