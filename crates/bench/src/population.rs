//! The sessions of an app that has been in use for a year.

use anyhow::Result;
use chacha20::ChaCha8Rng;
use chrono::{DateTime, TimeDelta, Utc};
use indicatif::ProgressBar;
use rand::{RngExt as _, SeedableRng as _};
use records::{title_key, title_trigrams};

use crate::floor::{Copies, SessionRow};
use crate::messages::SharedSource;

pub(crate) const USERS: u32 = 10_000;
pub(crate) const TEAMS: u32 = 500;
const ASSISTANTS: u32 = 50;
const WORKFLOWS: u32 = 20;
const CUSTOMERS: u32 = 1_000;

const DAYS: i64 = 365;
const MOST_DAYS_OF_A_CHAT: i64 = 30;
const INSERTED_AT_ONCE: usize = 1_000;

const COMPLETED: i32 = 3;

/// Makes sessions; the same ones for the same seed and time.
pub(crate) struct Population {
    rng: ChaCha8Rng,
    source: SharedSource,
    now: DateTime<Utc>,
    made: u64,
}

impl Population {
    pub(crate) fn new(source: &SharedSource, now: DateTime<Utc>) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(1), source: source.clone(), now, made: 0 }
    }

    /// Fills the database with sessions. Their order of insertion is that of their creation by chance.
    pub(crate) async fn fill(
        &mut self,
        copies: &Copies,
        total: usize,
        progress: &ProgressBar,
        row: impl Fn(&mut Self) -> SessionRow,
    ) -> Result<()> {
        let mut left = total;
        while left > 0 {
            let count = left.min(INSERTED_AT_ONCE);
            let rows: Vec<_> = (0..count).map(|_| row(self)).collect();
            copies.insert(&rows).await?;
            progress.inc(count as u64);
            left -= count;
        }
        Ok(())
    }

    /// Returns a session of any kind.
    pub(crate) fn any(&mut self) -> SessionRow {
        let last_active = self.now - self.up_to(DAYS);
        self.session(last_active)
    }

    /// Returns a completed session that was last active before a year.
    pub(crate) fn past_retention(&mut self) -> SessionRow {
        let last_active = self.now - TimeDelta::days(DAYS) - self.up_to(DAYS);
        let session = self.session(last_active);
        let (lifecycle, pending_inputs) = (None, Vec::new());
        SessionRow { status: COMPLETED, lifecycle, pending_inputs, ..session }
    }

    fn session(&mut self, last_active: DateTime<Utc>) -> SessionRow {
        let created_at = last_active - self.up_to(MOST_DAYS_OF_A_CHAT);
        let owner = self.user();
        let (visibility, is_listed) = match self.percent() {
            0..70 => ("private", false),
            70..90 => ("team", false),
            90..95 => ("app", false),
            _ => ("app", true),
        };
        let title = self.happens(90).then(|| self.title());
        let trigrams = title.as_deref().map(title_trigrams).unwrap_or_default();
        let members = if self.happens(10) { self.rng.random_range(1..=5) } else { 0 };
        SessionRow {
            chat_id: self.chat_id(created_at),
            workflow_name: workflow(self.skewed(WORKFLOWS)),
            user_id: Some(user(owner)),
            team_id: Some(team_of(owner)),
            visibility,
            is_listed,
            assistant_id: self.happens(80).then(|| assistant(self.skewed(ASSISTANTS))),
            status: match self.percent() {
                0..15 => 1,
                15..25 => 2,
                25..95 => COMPLETED,
                _ => 4,
            },
            lifecycle: match self.percent() {
                0..80 => None,
                80..95 => Some(2),
                _ => Some(3),
            },
            title_key: title_key(title.as_deref()),
            title,
            title_trigrams: trigrams.into_iter().collect(),
            customer: self.happens(80).then(|| customer(self.skewed(CUSTOMERS))),
            sort: if self.happens(20) { self.rng.random_range(1..100) } else { 0 },
            created_at: created_at.timestamp_millis(),
            active_at: last_active.timestamp_millis(),
            members: (0..members).map(|_| user(self.user())).collect(),
            pending_inputs: self.happens(1).then(|| "input_1".to_owned()).into_iter().collect(),
            last_turn: match self.percent() {
                0..50 => Some("completed"),
                50..57 => Some("interrupted"),
                57..60 => Some("failed"),
                _ => None,
            },
        }
    }

    /// Returns an id like those that the store mints.
    fn chat_id(&mut self, created_at: DateTime<Utc>) -> String {
        self.made += 1;
        let (millis, number, random) =
            (created_at.timestamp_millis(), self.made, self.rng.random_range(0..0x1000));
        let (high, low) = (millis >> 16, millis & 0xffff);
        format!("chat_{high:08x}-{low:04x}-7{random:03x}-8000-{number:012x}")
    }

    fn title(&mut self) -> String {
        let bytes = self.rng.random_range(15..45);
        self.source.text(bytes).replace('\n', " ")
    }

    /// Draws a number below a bound; the lower ones are drawn more often.
    fn skewed(&mut self, bound: u32) -> u32 {
        let share: f64 = self.rng.random();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below bound")]
        let number = (share * share * f64::from(bound)) as u32;
        number
    }

    fn user(&mut self) -> u32 {
        self.skewed(USERS)
    }

    fn up_to(&mut self, days: i64) -> TimeDelta {
        TimeDelta::milliseconds(self.rng.random_range(0..days * 86_400_000))
    }

    fn percent(&mut self) -> u32 {
        self.rng.random_range(0..100)
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.percent() < percent
    }
}

pub(crate) fn user(number: u32) -> String {
    format!("user_{number}")
}

/// Returns the team of a user.
pub(crate) fn team_of(user: u32) -> String {
    format!("team_{}", user % TEAMS)
}

pub(crate) fn assistant(number: u32) -> String {
    format!("assistant_{number}")
}

pub(crate) fn customer(number: u32) -> String {
    format!("customer_{number}")
}

pub(crate) fn workflow(number: u32) -> String {
    format!("workflow_{number}")
}
