use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum_extra::extract::Query;
use moka::sync::Cache;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::rates::Remaining;
use crate::auth::{offered_token, session};
use crate::config::LimitsConfig;
use crate::metrics::AuthMetrics;
use crate::problem::{Problem, ProblemKind};

/// The time in which failed attempts are counted; it begins with the first one.
const WINDOW: Duration = Duration::from_mins(1);

/// The most addresses whose failed attempts are counted.
const MAX_ADDRESSES: u64 = 100_000;

/// The failed attempts of each address to identify itself.
///
/// An address that has used up its attempts is refused before its credentials are verified. So an
/// attacker cannot try many tokens or tickets, and forged tokens do not cost the service a verification each.
#[derive(Debug)]
pub(crate) struct FailedAttempts {
    /// The attempts in one window; 0 for no limit.
    limit: u32,
    windows: Cache<IpAddr, Arc<Window>>,
    metrics: AuthMetrics,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    attempts: AtomicU32,
}

impl Window {
    fn new() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), attempts: AtomicU32::new(0) })
    }

    fn left(&self) -> Duration {
        WINDOW.saturating_sub(self.began.elapsed())
    }
}

impl FailedAttempts {
    pub(crate) fn new(limits: &LimitsConfig, metrics: AuthMetrics) -> Self {
        let windows = Cache::builder().max_capacity(MAX_ADDRESSES).time_to_live(WINDOW).build();
        Self { limit: limits.failed_attempts_per_min_per_address, windows, metrics }
    }

    /// Returns whether there is no limit.
    fn is_off(&self) -> bool {
        self.limit == 0
    }

    /// Refuses an address that has used up its attempts. One that is not known is never refused.
    pub(crate) fn check(&self, address: Option<IpAddr>) -> Result<(), (Problem, Remaining)> {
        let Some(address) = address.filter(|_| !self.is_off()) else { return Ok(()) };
        let Some(window) = self.windows.get(&address) else { return Ok(()) };
        let left = window.left();
        if left.is_zero() || window.attempts.load(Ordering::Relaxed) < self.limit {
            return Ok(());
        }
        self.metrics.refused_for_failed_attempts();
        let detail = format!(
            "too many failed attempts to authenticate from the address (limit {} per minute); retry after Retry-After seconds",
            self.limit
        );
        let problem = Problem::new(ProblemKind::TOO_MANY_REQUESTS, detail);
        Err((problem.with_retry_after(left), Remaining::none(self.limit, left)))
    }

    /// Counts the response to a request with credentials, if it says that they were not accepted.
    pub(crate) fn count_response(&self, status: StatusCode, address: Option<IpAddr>) {
        if status != StatusCode::UNAUTHORIZED {
            return;
        }
        self.metrics.attempt_failed();
        if let Some(address) = address.filter(|_| !self.is_off()) {
            let entry = self.windows.entry(address);
            let window = entry.or_insert_with_if(Window::new, |window| window.left().is_zero());
            window.into_value().attempts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The query parameter that carries a ticket.
#[derive(Deserialize)]
struct TicketQuery {
    #[expect(dead_code, reason = "only its presence matters")]
    ticket: IgnoredAny,
}

/// Tells whether the head of a request carries a token, a session or a ticket.
pub(crate) fn has_credentials(request: &Request) -> bool {
    let headers = request.headers();
    headers.contains_key(AUTHORIZATION)
        || session(headers).is_some()
        || offered_token(headers).is_some()
        || Query::<TicketQuery>::try_from_uri(request.uri()).is_ok()
}

#[cfg(test)]
mod tests {
    use persistence::memory::MemoryStore;

    use super::*;
    use crate::config::MetricsConfig;
    use crate::metrics::Metrics;

    fn attempts(limit: u32) -> FailedAttempts {
        let limits =
            LimitsConfig { failed_attempts_per_min_per_address: limit, ..LimitsConfig::default() };
        let metrics = Metrics::new(&MetricsConfig::default(), Arc::new(MemoryStore::default()));
        FailedAttempts::new(&limits, metrics.auth)
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_address_is_refused_until_its_window_ends() {
        let attempts = attempts(2);
        for _ in 0..2 {
            assert!(attempts.check(Some(address(1))).is_ok());
            attempts.count_response(StatusCode::OK, Some(address(1)));
            attempts.count_response(StatusCode::UNAUTHORIZED, Some(address(1)));
        }
        let (problem, _) = attempts.check(Some(address(1))).unwrap_err();
        assert!(problem.retry_after().is_some_and(|wait| wait <= WINDOW));
        assert!(attempts.check(Some(address(2))).is_ok());
        assert!(attempts.check(None).is_ok());
        let ended =
            Window { began: Instant::now().checked_sub(WINDOW).unwrap(), attempts: 2.into() };
        attempts.windows.insert(address(1), Arc::new(ended));
        assert!(attempts.check(Some(address(1))).is_ok());
        // A new window begins with the next failure.
        for is_allowed in [true, true, false] {
            assert_eq!(attempts.check(Some(address(1))).is_ok(), is_allowed);
            attempts.count_response(StatusCode::UNAUTHORIZED, Some(address(1)));
        }
    }

    #[test]
    fn what_is_not_limited_is_not_counted() {
        let off = attempts(0);
        let unknown = attempts(1);
        for _ in 0..3 {
            off.count_response(StatusCode::UNAUTHORIZED, Some(address(1)));
            unknown.count_response(StatusCode::UNAUTHORIZED, None);
        }
        assert!(off.check(Some(address(1))).is_ok() && unknown.check(Some(address(1))).is_ok());
        assert_eq!(off.windows.iter().count() + unknown.windows.iter().count(), 0);
    }

    #[test]
    fn a_ticket_is_a_credential_however_it_is_written() {
        for (uri, has_any) in [
            ("/a?ticket=x", true),
            ("/a?after=1&ticket=", true),
            ("/a?%74icket=x", true),
            ("/a?tickets=x", false),
            ("/a", false),
        ] {
            let request = Request::builder().uri(uri).body(axum::body::Body::empty()).unwrap();
            assert_eq!(has_credentials(&request), has_any, "{uri}");
        }
    }
}
