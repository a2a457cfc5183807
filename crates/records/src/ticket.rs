use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::{Caller, Credential, Grant};

/// The SHA-256 of a ticket. Only this is stored: a ticket is a secret, and its digest opens nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TicketDigest([u8; 32]);

impl TicketDigest {
    /// Returns the digest of a ticket.
    pub fn of(ticket: &str) -> Self {
        Self(Sha256::digest(ticket).into())
    }
}

/// Writes 64 hexadecimal digits.
impl fmt::Display for TicketDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TicketDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A ticket to store. Its bearer may enter one chat once, as the caller who requested the ticket.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// The digest of the ticket.
    pub digest: TicketDigest,
    /// How long the ticket is valid.
    pub valid_for: Duration,
    /// What the bearer may use of the caller's permissions.
    pub grant: Grant,
    /// When the caller's own token expires; `None` if it never does.
    pub caller_expires_at: Option<DateTime<Utc>>,
    /// What the caller's own token says about itself: a ticket is revoked with it.
    pub credential: Credential,
}

/// The caller whom a redeemed ticket identifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The caller who requested the ticket.
    pub caller: Caller,
    /// What the bearer may use of the caller's permissions.
    pub grant: Grant,
    /// When the caller's own token expires; `None` if it never does.
    pub caller_expires_at: Option<DateTime<Utc>>,
    /// What the caller's own token says about itself.
    pub credential: Credential,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_sha_256_of_the_text() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(TicketDigest::of("").to_string(), empty);
        assert_ne!(TicketDigest::of("a"), TicketDigest::of("b"));
    }
}
