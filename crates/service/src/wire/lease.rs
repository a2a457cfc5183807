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
