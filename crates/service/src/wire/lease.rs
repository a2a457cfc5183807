use records::Lease;
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;

/// The holder of a lease.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = LeaseHolder)]
pub(crate) struct HolderFields {
    #[schema(example = "orchestrator-7")]
    owner: String,
    acquired_at: Time,
    /// When the lease expires: from then on another owner can acquire it.
    expires_at: Time,
}

impl From<Lease> for HolderFields {
    fn from(lease: Lease) -> Self {
        Self {
            owner: lease.owner.into(),
            acquired_at: lease.acquired_at.into(),
            expires_at: lease.expires_at.into(),
        }
    }
}

/// A lease, for its owner.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lease)]
pub(crate) struct LeaseResponse {
    /// The idempotency key of the acquisition.
    #[schema(example = "lease_0198d4b2")]
    lease_id: String,
    /// The token that the owner sends with its writes, in the header `Fencing-Token`.
    #[schema(example = 3)]
    fencing_token: u64,
    #[serde(flatten)]
    holder: HolderFields,
}

impl From<Lease> for LeaseResponse {
    fn from(lease: Lease) -> Self {
        let (lease_id, fencing_token) = (lease.lease_id.clone().into(), lease.fencing_token);
        Self { lease_id, fencing_token, holder: lease.into() }
    }
}
