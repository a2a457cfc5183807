use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::extract::{FromParams, foreign_params};
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;

/// The query string of a request to an adapter, read into `T`.
///
/// Clients of other systems send parameters that the original ignores, so unknown ones are ignored here. Of a parameter that
/// is given twice the first value counts.
#[derive(Debug)]
pub(crate) struct ForeignQuery<T>(pub(crate) T);

impl<T: FromParams> Input for ForeignQuery<T> {
    fn describe(description: &mut Description) {
        description.parameters(T::described());
    }
}

impl<T: FromParams> FromRequestParts<AppState> for ForeignQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        T::from_params(&mut foreign_params(parts), &state.limits).map(Self)
    }
}
