use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Lease, NewLease, Scope};

use super::Written;
use crate::StoreError;

/// Stores leases, which give one owner at a time the right to continue a chat.
///
/// A write whose [`Scope`] has the fencing token of a lease that is gone is
/// [`Fenced`](StoreError::Fenced). A lease is gone when it was released, taken over or swept, or
/// when the chat has ended. The write itself checks the token. An expired lease stays valid until
/// another worker takes it over.
///
/// A repeat of a stored write gets its first result regardless of the lease. Model calls are
/// recorded regardless of the lease, because their cost was incurred.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Acquires the lease of a chat that has no lease, or whose lease has expired.
    ///
    /// If workers race, exactly one gets the lease, with a greater fencing token than all before;
    /// the others get [`LeaseHeld`](StoreError::LeaseHeld). Safe to repeat: the owner that already
    /// holds the lease under this `lease_id` gets the current lease. An ended chat is
    /// [`ChatEnded`](StoreError::ChatEnded). A `ttl` outside [`Lease::MIN_TTL`] to
    /// [`Lease::MAX_TTL`] is [`Invalid`](StoreError::Invalid).
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Written<Lease>, StoreError>;

    /// Makes a lease expire `ttl` from now. An expired lease can be renewed if it was not taken over.
    ///
    /// A lease that is gone is [`Fenced`](StoreError::Fenced).
    async fn renew_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
        ttl: Duration,
    ) -> Result<Lease, StoreError>;

    /// Releases a lease; idempotent: it is no error if the lease is already gone.
    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError>;

    /// Takes the lease that was acquired at this time from its holder, as a manager. The holder is fenced from then on.
    ///
    /// The time is what the caller has seen, so that a repeat does not take the lease of the next holder. It is no error if
    /// that lease is already gone. A fencing token of the scope is ignored.
    async fn revoke_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        acquired_at: DateTime<Utc>,
    ) -> Result<(), StoreError>;

    /// Pauses up to `limit` running chats of any app whose lease has expired, and removes their
    /// leases. The reason of the pause is [`Interrupted::PAUSE_REASON`].
    ///
    /// Several processes may sweep at the same time: each chat is interrupted once.
    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError>;
}

/// A chat that was paused because its lease expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The app of the chat.
    pub app_id: AppId,
    /// The chat.
    pub chat_id: ChatId,
    /// The expired lease.
    pub lease: Lease,
}

impl Interrupted {
    /// The status reason of such a chat.
    pub const PAUSE_REASON: &'static str = "interrupted";
}
