//! From when to when a certificate is valid.

use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use simple_asn1::ASN1Block;
use tokio::time::Instant;

/// How often the log says again that clients refuse the certificate.
const REMINDER_INTERVAL: Duration = Duration::from_hours(24);

/// When a certificate, and those that lead to it, are valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Validity {
    pub(crate) from: DateTime<Utc>,
    pub(crate) until: DateTime<Utc>,
}

impl Validity {
    /// Reads it from a certificate; `None` if that cannot be read.
    ///
    /// RFC 5280, section 4.1, lists the signed fields. Only one of them is a sequence of two times: the validity.
    pub(crate) fn of(certificate: &[u8]) -> Option<Self> {
        let parts = |block: &ASN1Block| match block {
            ASN1Block::Sequence(_, parts) => Some(parts.clone()),
            _ => None,
        };
        let certificate = parts(simple_asn1::from_der(certificate).ok()?.first()?)?;
        let signed = parts(certificate.first()?)?;
        signed.iter().filter_map(parts).find_map(|parts| match parts.as_slice() {
            [from, until] => Some(Self { from: time(from)?, until: time(until)? }),
            _ => None,
        })
    }

    /// Returns when both are valid.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }

    /// Returns why clients refuse the certificate at a time; `None` if they accept it.
    pub(crate) fn objection(self, now: DateTime<Utc>) -> Option<String> {
        let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Secs, true);
        let Self { from, until } = self;
        if now > until {
            return Some(format!(
                "it has expired, on {}, and clients refuse it: renew it",
                text(until)
            ));
        }
        let is_early = now < from;
        is_early.then(|| {
            format!(
                "it is not valid before {}, and clients refuse it until then: use another one, or correct the clock of this \
                 machine",
                text(from)
            )
        })
    }
}

fn time(block: &ASN1Block) -> Option<DateTime<Utc>> {
    match block {
        ASN1Block::UTCTime(_, at) | ASN1Block::GeneralizedTime(_, at) => {
            DateTime::from_timestamp(at.assume_utc().unix_timestamp(), 0)
        }
        _ => None,
    }
}

/// Decides when the log says that clients refuse the certificate: at once, and then every day.
#[derive(Debug, Default)]
pub(crate) struct Reminder(Option<Instant>);

impl Reminder {
    /// Returns whether it is to be said now.
    pub(crate) fn is_due(&mut self, is_refused: bool, now: Instant) -> bool {
        let was_said = self.0.filter(|_| is_refused);
        let is_due =
            is_refused && was_said.is_none_or(|at| now.duration_since(at) >= REMINDER_INTERVAL);
        self.0 = if is_due { Some(now) } else { was_said };
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_certificate_is_logged_at_once_and_every_day() {
        let mut reminder = Reminder::default();
        let start = Instant::now();
        let mut at = |hours: u64, is_refused| {
            reminder.is_due(is_refused, start + Duration::from_hours(hours))
        };
        assert!(!at(0, false));
        assert!(at(1, true));
        assert!(!at(2, true) && !at(24, true));
        assert!(at(25, true));
        assert!(!at(26, true));
        // One that is accepted meanwhile, and then refused again.
        assert!(!at(27, false));
        assert!(at(28, true));
    }
}
