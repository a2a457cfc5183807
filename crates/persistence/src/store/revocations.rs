use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use records::{Actor, NewRevocation, Revocation, RevocationKey};

use crate::StoreError;

/// Stores which tokens are revoked.
///
/// These calls are for operators, and for service processes that follow the list. They take no scope. A change takes its
/// actor, and writes an entry of the [audit log](super::AuditLog) about the user whose tokens are meant.
#[async_trait]
pub trait Revocations: Send + Sync {
    /// Revokes a token, or the tokens of a user.
    ///
    /// Safe to repeat, with one more entry. If the target is revoked already, the revocation afterwards covers what either
    /// of the two covers, and is kept as long as the longer one. A list of [`Revocation::MAX`] is
    /// [`TooManyRevocations`](StoreError::TooManyRevocations); racing calls may exceed it a little.
    async fn revoke(
        &self,
        actor: &Actor,
        revocation: NewRevocation,
    ) -> Result<Revocation, StoreError>;

    /// Lifts a revocation, and tells whether the list has it.
    ///
    /// Safe to repeat: a lifted revocation stays on the list for [`RevocationEntry::KEPT_LIFTED`], marked. Lifting it
    /// again changes nothing.
    async fn lift_revocation(&self, actor: &Actor, key: &RevocationKey)
    -> Result<bool, StoreError>;

    /// Lists the revocations after a position, in the order of their last changes. Lifted ones are on the list, so that
    /// a process that follows it learns that they were lifted.
    ///
    /// `limit` must be at least 1. Two changes may have the same time, and a change may become visible a little later
    /// than one with a later time. A process that follows the list therefore begins each time some time before the
    /// newest change that it has seen ([`RevocationCursor::before`]).
    async fn list_revocations(
        &self,
        limit: usize,
        after: Option<&RevocationCursor>,
    ) -> Result<RevocationPage, StoreError>;
}

/// A revocation on the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationEntry {
    /// The revocation.
    pub revocation: Revocation,
    /// Whether the revocation was lifted.
    pub is_lifted: bool,
    /// When it was last changed, by the clock of the store.
    pub changed_at: DateTime<Utc>,
}

impl RevocationEntry {
    /// How long a lifted revocation stays on the list.
    pub const KEPT_LIFTED: TimeDelta = TimeDelta::hours(1);

    /// Tells whether the revocation holds.
    pub fn is_in_force(&self, now: DateTime<Utc>) -> bool {
        !self.is_lifted && !self.revocation.has_expired(now)
    }

    fn cursor(&self) -> RevocationCursor {
        let key = Some(self.revocation.key.clone());
        RevocationCursor { changed_at: self.changed_at, key }
    }
}

/// A position in the list of revocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationCursor {
    /// The time of the change.
    pub changed_at: DateTime<Utc>,
    /// The revocation; `None` for the position before every change with that time.
    pub key: Option<RevocationKey>,
}

impl RevocationCursor {
    /// Returns the position some time before a change.
    pub fn before(changed_at: DateTime<Utc>, overlap: TimeDelta) -> Self {
        Self { changed_at: changed_at - overlap, key: None }
    }
}

/// A page of revocations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevocationPage {
    /// The revocations, lifted ones too.
    pub entries: Vec<RevocationEntry>,
    /// The position after which the next page begins, if there is a next page.
    pub next: Option<RevocationCursor>,
}

impl RevocationPage {
    /// Makes a page of the first `limit` entries.
    pub(crate) fn cut(mut entries: Vec<RevocationEntry>, limit: usize) -> Self {
        let next = super::cut(&mut entries, limit).map(RevocationEntry::cursor);
        Self { entries, next }
    }
}
