//! What a service answers before it has a store: it may have to fetch and start a database first.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use tower::ServiceExt as _;

use crate::api::health;
use crate::problem::{Problem, ProblemKind, respond};
use crate::request_id::{RequestId, X_REQUEST_ID};
use crate::router::with_headers;

/// When a client should try again.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Takes the API of a service once it has a store.
#[derive(Debug, Clone, Default)]
pub struct Starting(Arc<OnceLock<Router>>);

impl Starting {
    /// Returns the router of a service: that it starts is all it answers until [`finish`](Self::finish) is called.
    pub fn router(&self) -> Router {
        let starting = with_headers(
            Router::new()
                .route("/api/health/live", get(health::live::live))
                .route("/api/health/ready", get(health::ready::starting))
                .fallback(async || {
                    let detail = "the service is starting its database; see /api/health/ready";
                    Problem::new(ProblemKind::STORE_UNAVAILABLE, detail)
                        .with_retry_after(RETRY_AFTER)
                })
                .layer(from_fn(respond)),
        )
        .layer(from_fn(identify));
        Router::new().fallback(dispatch).with_state((self.clone(), starting))
    }

    /// Lets the API answer from now on. Only the first call has an effect.
    pub fn finish(&self, api: Router) {
        let _ = self.0.set(api);
    }
}

async fn dispatch(
    State((started, starting)): State<(Starting, Router)>,
    request: Request,
) -> Response {
    let router = started.0.get().unwrap_or(&starting).clone();
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Gives the request its id. The API does so itself, where it also measures the request.
async fn identify(id: RequestId, mut request: Request, next: Next) -> Response {
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    response.headers_mut().insert(X_REQUEST_ID, id.header());
    response
}
