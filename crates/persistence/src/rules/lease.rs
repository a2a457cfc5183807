//! The rule by which a lease is given.

use chrono::{DateTime, Utc};
use records::{Acquisition, ChatId, ChatStatus, Lease};

use crate::StoreError;

/// What decides about a lease of a chat.
#[derive(Debug)]
pub(crate) struct LeaseState {
    pub(crate) status: ChatStatus,
    /// The current lease.
    pub(crate) lease: Option<Lease>,
    /// The token of the newest lease; 0 if there was none.
    pub(crate) fencing_token: u64,
    /// By what the newest lease was acquired, if it is known.
    pub(crate) newest: Option<Acquisition>,
}

impl LeaseState {
    /// Returns the lease that an earlier call of the same acquisition has got, and `None` if one may be given.
    ///
    /// A repeat that arrives after its lease is gone gets no other one: its caller has finished, and would not release it.
    pub(crate) fn repeated(
        &self,
        chat_id: &ChatId,
        wanted: &Acquisition,
        now: DateTime<Utc>,
    ) -> Result<Option<Lease>, StoreError> {
        let status = self.status;
        if status.is_ended() {
            return Err(StoreError::ChatEnded { chat_id: chat_id.clone(), status });
        }
        match &self.lease {
            Some(held) if held.acquisition() == *wanted => Ok(Some(held.clone())),
            Some(held) if !held.has_expired(now) => Err(StoreError::held(chat_id, held.clone())),
            _ if self.newest.as_ref() == Some(wanted) => {
                Err(StoreError::fenced(chat_id, self.fencing_token))
            }
            _ => Ok(None),
        }
    }
}
