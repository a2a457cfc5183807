use records::Lease;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::HolderFields;

/// A lease, as its holder sees it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lease)]
pub(crate) struct LeaseResponse {
    /// Names the acquisition: its owner, who repeats it, is answered with the same lease.
    #[schema(example = "lease_0198d4b2")]
    lease_id: String,
    /// What the writes of the holder carry, in the header `Fencing-Token`.
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
