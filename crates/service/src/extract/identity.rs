use std::sync::Arc;

use axum::http::request::Parts;
use records::Origin;

use crate::auth::Identity;
use crate::problem::Problem;
use crate::state::AppState;

/// What the admission of a request found out about its caller.
#[derive(Debug, Clone)]
pub(crate) struct Verified(pub(crate) Result<Identity, Problem>);

/// Where a request comes from, as its admission found out.
#[derive(Debug, Clone)]
pub(crate) struct RequestOrigin(pub(crate) Arc<Origin>);

/// Returns where a request comes from; `None` for a request that was not admitted.
pub(super) fn origin(parts: &Parts) -> Option<Arc<Origin>> {
    let known = parts.extensions.get::<RequestOrigin>();
    known.map(|RequestOrigin(origin)| Arc::clone(origin))
}

/// Returns the caller of a request. Its admission has usually verified the token already.
pub(super) async fn identified(parts: &Parts, state: &AppState) -> Result<Identity, Problem> {
    match parts.extensions.get::<Verified>() {
        Some(Verified(verified)) => verified.clone(),
        None => state.authenticator.identify(&parts.method, &parts.headers).await,
    }
}
