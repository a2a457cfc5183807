use axum::extract::State;
use axum::http::{HeaderMap, Method};
use operation::operation;
use records::{AppId, UserId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::auth::{csrf_token, session};
use crate::extract::{Json, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::Time;

/// How the browser that asks is signed in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionResponse {
    /// Whether people can sign in at this service.
    can_sign_in: bool,
    /// The person who is signed in; null if none is.
    session: Option<SignedIn>,
}

/// A person who is signed in.
#[derive(Debug, Serialize, ToSchema)]
struct SignedIn {
    /// The person.
    #[schema(value_type = values::Name)]
    user_id: Option<UserId>,
    /// `user`, `support` or `operator`.
    #[schema(value_type = values::PersonRole)]
    role: &'static str,
    /// The apps that the person may use; null for all.
    #[schema(value_type = Option<Vec<values::AppId>>)]
    apps: Option<Vec<AppId>>,
    /// When the session ends.
    expires_at: Option<Time>,
    /// What requests that change something must send in the header `x-csrf-token`.
    csrf_token: String,
}

/// Tells who is signed in in the browser that asks.
#[operation(answers = "The session, if there is one")]
pub(crate) async fn get_session(
    State(state): State<AppState>,
    method: Method,
    headers: HeaderMap,
    Query(()): Query<()>,
) -> Result<Json<SessionResponse>, Problem> {
    let can_sign_in = state.authenticator.sign_in().is_some();
    let session = match session(&headers).filter(|_| can_sign_in) {
        Some(secret) => match state.authenticator.identify(&method, &headers).await {
            Ok(identity) => Some(SignedIn {
                user_id: identity.person().cloned(),
                role: identity.role(),
                apps: identity.apps().map(<[AppId]>::to_vec),
                expires_at: identity.expires_at.map(Into::into),
                csrf_token: csrf_token(&secret),
            }),
            // A session that has ended is none.
            Err(problem) if problem.is_unauthenticated() => None,
            Err(problem) => return Err(problem),
        },
        None => None,
    };
    Ok(Json(SessionResponse { can_sign_in, session }))
}
