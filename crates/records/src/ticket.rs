use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};

use crate::Caller;

/// What is kept of the secret that a ticket is: its SHA-256, which lets nobody in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TicketDigest([u8; 32]);

impl TicketDigest {
    /// Takes the digest of a ticket.
    pub fn of(ticket: &str) -> Self {
        Self(Sha256::digest(ticket).into())
    }
}

/// 64 hexadecimal digits.
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

/// A ticket to keep: it lets whoever shows it into one chat, once, as who has asked for it.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// Its digest.
    pub digest: TicketDigest,
    /// How long it is good for.
    pub valid_for: Duration,
    /// When the token of who has asked for it is no longer good; `None` for never.
    pub caller_expires_at: Option<DateTime<Utc>>,
}

/// Who is let in by a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Who has asked for it.
    pub caller: Caller,
    /// When their token is no longer good; `None` for never.
    pub caller_expires_at: Option<DateTime<Utc>>,
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
