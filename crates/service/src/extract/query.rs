use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use super::Params;
use crate::config::LimitsConfig;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;

/// The query string of a request, read into `T`.
///
/// A parameter that `T` does not take is refused by name: a misspelt one must not be ignored silently.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

/// A type that is read from a query string.
pub(crate) trait FromParams: Sized {
    /// Takes its parameters, within the configured limits.
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem>;

    /// Describes its parameters.
    fn described() -> Vec<Parameter>;
}

/// Describes the parameters that the fields of a type declare.
pub(crate) fn declared<T: IntoParams>() -> Vec<Parameter> {
    T::into_params(|| Some(ParameterIn::Query))
}

/// A route without parameters refuses all of them.
impl FromParams for () {
    fn from_params(_params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(())
    }

    fn described() -> Vec<Parameter> {
        Vec::new()
    }
}

impl<T: FromParams> Input for Query<T> {
    fn describe(description: &mut Description) {
        description.parameters(T::described());
    }
}

impl<T: FromParams> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let mut params = params(parts)?;
        let query = T::from_params(&mut params, &state.limits)?;
        params.finish()?;
        Ok(Self(query))
    }
}

/// Reads the parameters of a query string in which everything is accepted; a malformed one has none.
pub(crate) fn foreign_params(parts: &Parts) -> Params {
    let pairs = axum_extra::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri);
    Params::first_of(pairs.map(|pairs| pairs.0).unwrap_or_default())
}

/// Reads the parameters of the query string.
pub(super) fn params(parts: &Parts) -> Result<Params, Problem> {
    let pairs = axum_extra::extract::Query::<Vec<(String, String)>>::try_from_uri(&parts.uri)
        .map_err(|_| Problem::invalid_parameter("", "the query string is malformed"))?;
    Params::new(pairs.0)
}
