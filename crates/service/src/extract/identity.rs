use axum::http::request::Parts;

use crate::auth::Identity;
use crate::problem::Problem;
use crate::state::AppState;

/// What the admission of a request found out about its caller.
#[derive(Debug, Clone)]
pub(crate) struct Verified(pub(crate) Result<Identity, Problem>);

/// Returns the caller of a request. Its admission has usually verified the token already.
pub(super) async fn identified(parts: &Parts, state: &AppState) -> Result<Identity, Problem> {
    match parts.extensions.get::<Verified>() {
        Some(Verified(verified)) => verified.clone(),
        None => state.authenticator.identify(&parts.method, &parts.headers).await,
    }
}
