use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Ids, Invalid, LeaseId, Owner};

/// The exclusive right to continue a chat, held by one owner at a time.
///
/// Every lease of a chat has a greater fencing token than all earlier ones. A write with the token of a
/// lease that no longer exists is refused, however late it arrives. So the token separates two owners,
/// not the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The id of the acquisition, which is its idempotency key.
    pub lease_id: LeaseId,
    /// The owner who holds the lease.
    pub owner: Owner,
    /// The token that every write of the owner carries; the first one is 1.
    pub fencing_token: u64,
    /// When the owner acquired the lease.
    pub acquired_at: DateTime<Utc>,
    /// When the lease expires: from then on, another owner may acquire it.
    pub expires_at: DateTime<Utc>,
}

/// By what a repeat of an acquisition is recognised, also after its lease is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Acquisition {
    /// The id of the acquisition.
    pub lease_id: LeaseId,
    /// Who acquired: the same id of another owner is another acquisition.
    pub owner: Owner,
}

/// A request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLease {
    /// The id of the acquisition, unique for the owner; the store mints one if it is missing.
    pub lease_id: Option<LeaseId>,
    /// The owner who requests the lease.
    pub owner: Owner,
    /// How long the lease is valid without renewal.
    pub ttl: Duration,
}

impl Lease {
    /// The shortest time for which a lease is granted.
    pub const MIN_TTL: Duration = Duration::from_millis(100);

    /// The longest time for which a lease is granted: one hour.
    pub const MAX_TTL: Duration = Duration::from_hours(1);

    /// Returns by what a repeat of its acquisition is recognised.
    pub fn acquisition(&self) -> Acquisition {
        Acquisition { lease_id: self.lease_id.clone(), owner: self.owner.clone() }
    }

    /// Returns whether another owner may acquire the lease.
    pub fn has_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at <= now
    }

    /// Returns when a lease expires that is granted or renewed now; refuses a `ttl` outside the limits.
    pub fn expiry(now: DateTime<Utc>, ttl: Duration) -> Result<DateTime<Utc>, Invalid> {
        if !(Self::MIN_TTL..=Self::MAX_TTL).contains(&ttl) {
            let (min, max) = (Self::MIN_TTL.as_millis(), Self::MAX_TTL.as_millis());
            return Err(Invalid::value("/ttl_ms", format!("must be {min} to {max} milliseconds")));
        }
        Ok(now + TimeDelta::from_std(ttl).unwrap_or(TimeDelta::MAX))
    }
}

impl NewLease {
    /// Returns the lease to grant now.
    pub fn into_lease(
        self,
        fencing_token: u64,
        now: DateTime<Utc>,
        ids: &dyn Ids,
    ) -> Result<Lease, Invalid> {
        let expires_at = Lease::expiry(now, self.ttl)?;
        let lease_id = self.lease_id.unwrap_or_else(|| LeaseId::mint(ids));
        Ok(Lease { lease_id, owner: self.owner, fencing_token, acquired_at: now, expires_at })
    }
}
