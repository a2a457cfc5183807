use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::{Ids, Invalid, LeaseId, Owner};

/// The right to carry a chat on, which one owner at a time has.
///
/// Every lease of a chat has a greater fencing token than all before it. A write that carries the token
/// of a lease is refused once that lease is gone, however late it comes: that is what keeps two owners
/// apart, not the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Names the acquisition; whoever repeats it means the same one.
    pub lease_id: LeaseId,
    /// Who holds it.
    pub owner: Owner,
    /// What the owner's writes carry: from 1.
    pub fencing_token: u64,
    /// Since when it is held.
    pub acquired_at: DateTime<Utc>,
    /// From when on others may take it over.
    pub expires_at: DateTime<Utc>,
}

/// A lease that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLease {
    /// Names the acquisition, and no other one of that owner; minted where it is missing.
    pub lease_id: Option<LeaseId>,
    /// Who asks.
    pub owner: Owner,
    /// How long it is to be held without being renewed.
    pub ttl: Duration,
}

impl Lease {
    /// Shortest time for which a lease is given.
    pub const MIN_TTL: Duration = Duration::from_millis(100);

    /// Longest time for which a lease is given: an hour.
    pub const MAX_TTL: Duration = Duration::from_hours(1);

    /// Tells whether it is what another acquisition asks for once more: the same one, by the same owner.
    pub fn is_that_of(&self, wanted: &Self) -> bool {
        self.lease_id == wanted.lease_id && self.owner == wanted.owner
    }

    /// Tells whether others may take it over.
    pub fn has_expired(&self, now: DateTime<Utc>) -> bool {
        self.expires_at <= now
    }

    /// Returns when a lease expires that is given or renewed now.
    pub fn expiry(now: DateTime<Utc>, ttl: Duration) -> Result<DateTime<Utc>, Invalid> {
        if !(Self::MIN_TTL..=Self::MAX_TTL).contains(&ttl) {
            let (min, max) = (Self::MIN_TTL.as_millis(), Self::MAX_TTL.as_millis());
            return Err(Invalid::value("/ttl_ms", format!("must be {min} to {max} milliseconds")));
        }
        Ok(now + TimeDelta::from_std(ttl).unwrap_or(TimeDelta::MAX))
    }
}

impl NewLease {
    /// Returns the lease that is given now, the next of its chat.
    pub fn given(
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
