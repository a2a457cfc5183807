use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{NewRevocation, Revocation, RevocationKey, RevocationTarget, UserId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::{Json, Keyed, OperatedApp, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::wire::Time;

/// Which tokens are revoked.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewRevocation, example = json!({"issued_until": "2025-10-02T10:00:00Z"}))]
pub(crate) struct RevokeRequest {
    /// Only tokens that were issued at this moment or before it, so that the user can sign in again. Without it every
    /// token is refused until the revocation is lifted.
    issued_until: Option<Time>,
}

impl Keyed for RevokeRequest {}

/// A revocation of the tokens of a user in an app.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Revocation)]
pub(crate) struct RevocationResponse {
    /// Only tokens that were issued at this moment or before it are refused; null for every token.
    issued_until: Option<Time>,
    /// When the tokens were last revoked.
    revoked_at: Time,
    /// When the revocation is forgotten; null if it stays until it is lifted.
    expires_at: Option<Time>,
}

impl From<Revocation> for RevocationResponse {
    fn from(revocation: Revocation) -> Self {
        Self {
            issued_until: revocation.issued_until.map(Into::into),
            revoked_at: revocation.revoked_at.into(),
            expires_at: revocation.expires_at.map(Into::into),
        }
    }
}

/// Revokes the tokens of a user, or of a program, in an app.
///
/// They are refused within `limits.recheck_ms`, and live streams that were opened with them end. Safe to repeat: two
/// revocations of a user become one that covers what both cover.
#[operation(answers = "What is revoked now", problems = [TOO_MANY_REVOCATIONS])]
pub(crate) async fn revoke_tokens(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<RevokeRequest>,
) -> Result<Json<RevocationResponse>, Problem> {
    let target = RevocationTarget::User(user_id);
    let revocation = NewRevocation {
        key: RevocationKey { target, app_id: Some(app_id) },
        issued_until: request.issued_until.map(|time| time.0),
        expires_at: None,
    };
    Ok(Json(store.revoke(&actor, revocation).await?.into()))
}
