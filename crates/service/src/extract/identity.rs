use axum::http::request::Parts;

use crate::auth::Identity;
use crate::problem::Problem;
use crate::state::AppState;

/// Returns the caller of a request. Its admission has usually verified the token already.
pub(super) fn identified(parts: &Parts, state: &AppState) -> Result<Identity, Problem> {
    match parts.extensions.get::<Identity>() {
        Some(identity) => Ok(identity.clone()),
        None => state.authenticator.identify(&parts.headers),
    }
}
