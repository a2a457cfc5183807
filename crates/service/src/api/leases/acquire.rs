use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;
use records::{LeaseId, NewLease, Owner};
use serde::Deserialize;
use utoipa::ToSchema;

use super::response::LeaseResponse;
use super::{check_role, default_ttl, ttl};
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{AcquireLeaseProblems, Problem};

/// A lease that is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewLease, example = json!({"owner": "orchestrator-7", "ttl_ms": 30_000}))]
pub(crate) struct AcquireRequest {
    /// Names the acquisition, so that it is safe to repeat: 1 to 128 characters.
    #[schema(value_type = Option<String>)]
    lease_id: Option<LeaseId>,
    /// Who asks, such as one process of an orchestrator: 1 to 128 characters.
    #[schema(value_type = String)]
    owner: Owner,
    /// How long it is to be held without being renewed, in milliseconds.
    #[serde(rename = "ttl_ms", default = "default_ttl", deserialize_with = "ttl")]
    #[schema(value_type = u64, minimum = 100, maximum = 3_600_000, default = 30_000)]
    ttl: Duration,
}

/// Gives the caller the right to carry the chat on alone, unless somebody else has it.
///
/// Its writes then carry the header `Fencing-Token`, and are refused with `fenced` once the lease is
/// gone. A lease that has expired is taken over by whoever asks next. Who holds the lease under the
/// same `lease_id` already is answered with it.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/lease", tag = "leases",
    operation_id = "acquire_lease", params(ChatPath), request_body = AcquireRequest,
    responses(
        (status = 201, description = "The lease", body = LeaseResponse),
        AcquireLeaseProblems,
    ),
)]
pub(crate) async fn acquire_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(()): Query<()>,
    Json(request): Json<AcquireRequest>,
) -> Result<(StatusCode, Json<LeaseResponse>), Problem> {
    check_role(&scope)?;
    let AcquireRequest { lease_id, owner, ttl } = request;
    let lease = store.acquire_lease(&scope, &chat_id, NewLease { lease_id, owner, ttl }).await?;
    Ok((StatusCode::CREATED, Json(lease.into())))
}
