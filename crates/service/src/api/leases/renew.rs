use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{default_ttl, ttl};
use crate::extract::needs::Run;
use crate::extract::{ChatScope, FencingToken, Json, Keyed, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::wire::LeaseResponse;

/// A renewal of a lease.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = LeaseRenewal, example = json!({"ttl_ms": 30_000}))]
pub(crate) struct RenewRequest {
    /// How long the lease is valid from now on, in milliseconds.
    #[serde(rename = "ttl_ms", default = "default_ttl", deserialize_with = "ttl")]
    #[schema(value_type = u64, minimum = 100, maximum = 3_600_000, default = 30_000)]
    ttl: Duration,
}

impl Keyed for RenewRequest {}

impl Default for RenewRequest {
    fn default() -> Self {
        Self { ttl: default_ttl() }
    }
}

/// Renews a lease: it expires after the given time from now, later or earlier than before.
///
/// An expired lease can be renewed too, unless another owner has acquired it.
#[operation(answers = "The lease", problems = [FENCED])]
pub(crate) async fn renew_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Path(FencingToken(token)): Path<FencingToken>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<RenewRequest>,
) -> Result<Json<LeaseResponse>, Problem> {
    Ok(Json(store.renew_lease(&scope, &chat_id, token, request.ttl).await?.into()))
}
