use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{LeaseId, NewLease, Owner};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{default_ttl, ttl};
use crate::api::created::Created;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::LeaseResponse;

/// A lease to acquire.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewLease, example = json!({"owner": "orchestrator-7", "ttl_ms": 30_000}))]
pub(crate) struct AcquireRequest {
    /// The idempotency key of the acquisition: 1 to 128 characters; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    lease_id: Option<LeaseId>,
    /// The owner, such as one process of an orchestrator: 1 to 128 characters.
    #[schema(value_type = values::Name)]
    owner: Owner,
    /// How long the lease is valid without a renewal, in milliseconds.
    #[serde(rename = "ttl_ms", default = "default_ttl", deserialize_with = "ttl")]
    #[schema(value_type = u64, minimum = 100, maximum = 3_600_000, default = 30_000)]
    ttl: Duration,
}

impl Keyed for AcquireRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("lease_id", &mut self.lease_id)
    }
}

/// Acquires the lease of a chat: the exclusive right to continue it. If another owner holds the lease, the
/// response is `busy`.
///
/// The owner sends the header `Fencing-Token` with its writes; they are refused with `fenced` once the lease
/// is lost. An expired lease can be acquired by any owner. Idempotent: an owner that repeats its `lease_id`
/// gets the lease that it holds, and `fenced` once that lease is gone.
#[operation(
    answers = "The lease",
    repeated = "The lease, which an earlier request has acquired",
    problems = [CHAT_ENDED, BUSY, FENCED],
)]
pub(crate) async fn acquire_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    Json(request): Json<AcquireRequest>,
) -> Result<Created<LeaseResponse>, Problem> {
    let AcquireRequest { lease_id, owner, ttl } = request;
    let lease = store.acquire_lease(&scope, &chat_id, NewLease { lease_id, owner, ttl }).await?;
    Ok(lease.into())
}
