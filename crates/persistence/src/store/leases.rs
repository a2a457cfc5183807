use std::time::Duration;

use async_trait::async_trait;
use records::{AppId, ChatId, Lease, NewLease, Scope};

use crate::StoreError;

/// Keeps the right to carry a chat on with one owner at a time.
///
/// A write whose [`Scope`] carries the fencing token of a lease that is gone, because it was released,
/// taken over or swept away, or because the chat has ended, is [`Fenced`](StoreError::Fenced); the
/// write itself decides that. A lease that has merely expired still holds until somebody takes it over.
/// What was stored under its id before is answered as ever, and calls of models are recorded whoever
/// carries the chat on: they have cost what they cost.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Gives the caller the lease of a chat that nobody holds, or whose lease has expired.
    ///
    /// Of callers that race exactly one gets it, with a fencing token greater than all before; the others are
    /// told [`LeaseHeld`](StoreError::LeaseHeld). Safe to repeat: who holds the lease under that
    /// `lease_id` already is answered with it, as it stands. A chat that has ended is
    /// [`ChatEnded`](StoreError::ChatEnded); a `ttl` beyond [`Lease::MIN_TTL`] and [`Lease::MAX_TTL`] is
    /// [`Invalid`](StoreError::Invalid).
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Lease, StoreError>;

    /// Has a lease expire `ttl` from now, also if it has expired and nobody has taken it over.
    ///
    /// One that is gone is [`Fenced`](StoreError::Fenced).
    async fn renew_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
        ttl: Duration,
    ) -> Result<Lease, StoreError>;

    /// Gives a lease back; one that is gone already is none to give back, and that is no error.
    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError>;

    /// Pauses up to `limit` running chats, of whichever app, whose lease has expired, and takes the lease
    /// away; the reason of the pause is [`Interrupted::PAUSE_REASON`].
    ///
    /// Any number of processes may do so at a time: each chat is interrupted once.
    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError>;
}

/// A chat whose owner has not come back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The app it belongs to.
    pub app_id: AppId,
    /// The chat.
    pub chat_id: ChatId,
    /// The lease that has expired.
    pub lease: Lease,
}

impl Interrupted {
    /// Why such a chat is paused.
    pub const PAUSE_REASON: &'static str = "interrupted";
}
