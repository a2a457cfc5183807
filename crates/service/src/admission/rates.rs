use std::hash::Hash;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};
use records::{AppId, Scope, UserId};

use super::subject::Subject;
use crate::config::LimitsConfig;
use crate::problem::{Problem, ProblemKind};

/// A quota of requests may be used up at once, after this time without any use; one of a minute after a minute.
const BURST_SEC: u32 = 10;

const NEW_CHATS: &str = "new chats per minute";
const QUESTIONS: &str = "questions per minute";

/// The requests per second of each user, app and address, and what they create per minute.
#[derive(Debug)]
pub(crate) struct Rates {
    users: Option<Limiter<UserId>>,
    apps: Option<Limiter<AppId>>,
    addresses: Option<Limiter<IpAddr>>,
    new_chats_of_users: Option<Limiter<UserId>>,
    new_chats_of_apps: Option<Limiter<AppId>>,
    questions_of_apps: Option<Limiter<AppId>>,
}

#[derive(Debug)]
struct Limiter<K: Clone + Eq + Hash> {
    /// Whose quota it is, in the words of a problem.
    holder: &'static str,
    /// What it counts, in the words of a problem.
    counted: &'static str,
    limit: NonZeroU32,
    /// How many may come at once.
    size: u32,
    /// How long a quota that is used up takes to be whole again.
    fills_in: Duration,
    states: RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>,
    checks: AtomicU32,
}

/// What is left of a quota.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remaining {
    limit: u32,
    requests: u32,
    /// When all of it is left.
    reset: Duration,
}

impl Rates {
    pub(crate) fn new(limits: &LimitsConfig) -> Self {
        Self {
            users: requests("the user", limits.requests_per_sec_per_user),
            apps: requests("the app", limits.requests_per_sec_per_app),
            addresses: requests("the address", limits.requests_per_sec_per_address),
            new_chats_of_users: per_minute(
                "the user",
                NEW_CHATS,
                limits.new_chats_per_min_per_user,
            ),
            new_chats_of_apps: per_minute("the app", NEW_CHATS, limits.new_chats_per_min_per_app),
            questions_of_apps: per_minute("the app", QUESTIONS, limits.questions_per_min_per_app),
        }
    }

    /// Counts a request, and returns what is left of the narrowest quota that it counts for; refuses it if
    /// a quota is used up.
    ///
    /// A service acts for many people, so it counts only for its app and its address.
    pub(crate) fn check(
        &self,
        subject: &Subject,
        app_id: Option<&AppId>,
        address: Option<IpAddr>,
    ) -> Result<Option<Remaining>, (Problem, Remaining)> {
        let of_address = check(self.addresses.as_ref(), address.as_ref())?;
        let user_id = if let Subject::User(user_id) = subject { Some(user_id) } else { None };
        // First, so that what is refused of a person is not counted for the app.
        let of_user = check(self.users.as_ref(), user_id)?;
        let of_app = check(self.apps.as_ref(), app_id)?;
        Ok(of_user.or(of_app).or(of_address))
    }

    /// Counts something for a person that was not counted as a request of theirs: a frame, or a request that told only
    /// later whose it is.
    pub(crate) fn check_person(&self, person: Option<&UserId>) -> Result<(), Problem> {
        count(self.users.as_ref(), person)
    }

    /// Counts a chat that a caller creates or forks, for the person and the app; refuses it if a quota is used up.
    pub(crate) fn check_new_chat(&self, scope: &Scope) -> Result<(), Problem> {
        count(self.new_chats_of_users.as_ref(), scope.caller.person())?;
        count(self.new_chats_of_apps.as_ref(), Some(&scope.app_id))
    }

    /// Counts a question for the app in which it is asked; refuses it if the quota is used up.
    pub(crate) fn check_question(&self, app_id: &AppId) -> Result<(), Problem> {
        count(self.questions_of_apps.as_ref(), Some(app_id))
    }
}

fn requests<K: Clone + Eq + Hash>(holder: &'static str, per_second: u32) -> Option<Limiter<K>> {
    let per_second = NonZeroU32::new(per_second)?;
    let burst = per_second.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SEC - 1));
    let quota = Quota::per_second(per_second).allow_burst(burst);
    Some(Limiter::new(holder, "requests per second", per_second, quota))
}

fn per_minute<K: Clone + Eq + Hash>(
    holder: &'static str,
    counted: &'static str,
    limit: u32,
) -> Option<Limiter<K>> {
    let limit = NonZeroU32::new(limit)?;
    Some(Limiter::new(holder, counted, limit, Quota::per_minute(limit)))
}

fn count<K: Clone + Eq + Hash>(
    limiter: Option<&Limiter<K>>,
    key: Option<&K>,
) -> Result<(), Problem> {
    check(limiter, key).map(drop).map_err(|(problem, _)| problem)
}

fn check<K: Clone + Eq + Hash>(
    limiter: Option<&Limiter<K>>,
    key: Option<&K>,
) -> Result<Option<Remaining>, (Problem, Remaining)> {
    let (Some(limiter), Some(key)) = (limiter, key) else { return Ok(None) };
    limiter.check(key).map(Some)
}

impl<K: Clone + Eq + Hash> Limiter<K> {
    fn new(holder: &'static str, counted: &'static str, limit: NonZeroU32, quota: Quota) -> Self {
        let states = RateLimiter::keyed(quota).with_middleware::<StateInformationMiddleware>();
        let size = quota.burst_size().get();
        let fills_in = quota.replenish_interval().saturating_mul(size);
        Self { holder, counted, limit, size, fills_in, states, checks: AtomicU32::new(0) }
    }

    fn check(&self, key: &K) -> Result<Remaining, (Problem, Remaining)> {
        const CHECKS_BETWEEN_SWEEPS: u32 = 1 << 14;
        if self.checks.fetch_add(1, Ordering::Relaxed).is_multiple_of(CHECKS_BETWEEN_SWEEPS) {
            // Keys that were not seen for a while have their whole quota again, and are forgotten.
            self.states.retain_recent();
        }
        let limit = self.limit.get();
        match self.states.check_key(key) {
            Ok(state) => {
                let requests = state.remaining_burst_capacity();
                let quota = state.quota();
                let used = quota.burst_size().get().saturating_sub(requests);
                let reset = quota.replenish_interval().saturating_mul(used);
                Ok(Remaining { limit: self.size, requests, reset })
            }
            Err(until) => {
                let wait = until.wait_time_from(DefaultClock::default().now());
                let detail = format!(
                    "{} has reached its limit of {limit} {}; retry after Retry-After seconds",
                    self.holder, self.counted
                );
                let problem = Problem::new(ProblemKind::TOO_MANY_REQUESTS, detail);
                let remaining = Remaining { limit: self.size, requests: 0, reset: self.fills_in };
                Err((problem.with_retry_after(wait), remaining))
            }
        }
    }
}

impl Remaining {
    /// Returns what is left of a quota that is used up.
    pub(super) fn none(limit: u32, reset: Duration) -> Self {
        Self { limit, requests: 0, reset }
    }

    /// Adds the header fields that tell the caller.
    pub(crate) fn describe(self, headers: &mut HeaderMap) {
        let reset = self.reset.as_millis().div_ceil(1_000);
        for (name, value) in [
            ("ratelimit-limit", u128::from(self.limit)),
            ("ratelimit-remaining", u128::from(self.requests)),
            ("ratelimit-reset", reset),
        ] {
            if let Ok(value) = HeaderValue::try_from(value.to_string()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}
