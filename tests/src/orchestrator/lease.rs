use std::cell::Cell;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::stop::Stop;
use crate::client::{CallError, Chat};

/// How soon somebody asks again who was told to wait.
const PATIENCE: Duration = Duration::from_millis(25);

/// The right to carry a chat on, for a while.
#[derive(Debug)]
pub(super) struct Lease {
    token: u64,
    ttl: Duration,
    /// Until when nobody can have taken it over.
    held_until: Cell<Instant>,
}

#[derive(Deserialize)]
struct Given {
    fencing_token: u64,
}

impl Lease {
    /// Waits for the lease of a chat; `None`: the chat has ended.
    pub(super) async fn acquire(
        chat: &Chat,
        owner: &str,
        ttl: Duration,
    ) -> Result<Option<Self>, Stop> {
        let wanted = json!({
            "owner": owner, "lease_id": format!("lease-{owner}"), "ttl_ms": ttl.as_millis(),
        });
        loop {
            let asked_at = Instant::now();
            match chat.post("lease", &wanted).await {
                Ok(given) => {
                    let given: Given = serde_json::from_value(given).map_err(CallError::from)?;
                    let held_until = Cell::new(asked_at + ttl);
                    return Ok(Some(Self { token: given.fencing_token, ttl, held_until }));
                }
                Err(CallError::Refused(problem)) if problem.kind == "chat-ended" => {
                    return Ok(None);
                }
                Err(CallError::Refused(problem)) if problem.kind == "busy" => {}
                Err(error) if error.may_pass() => {}
                Err(error) => return Err(error.into()),
            }
            sleep(PATIENCE).await;
        }
    }

    /// What the writes of its holder carry.
    pub(super) fn token(&self) -> u64 {
        self.token
    }

    /// Makes sure that it is held, which it may no longer be after a long sleep.
    pub(super) async fn confirm(&self, chat: &Chat) -> Result<(), Stop> {
        if Instant::now() < self.held_until.get() {
            return Ok(());
        }
        self.renew(chat).await
    }

    /// Renews it again and again, until it is gone.
    pub(super) async fn keep(&self, chat: &Chat) -> Stop {
        loop {
            sleep(self.ttl / 4).await;
            if let Err(stop) = self.renew(chat).await {
                return stop;
            }
        }
    }

    async fn renew(&self, chat: &Chat) -> Result<(), Stop> {
        let what = format!("lease/{}", self.token);
        loop {
            let asked_at = Instant::now();
            match chat.put(&what, &json!({ "ttl_ms": self.ttl.as_millis() })).await {
                Ok(_) => {
                    self.held_until.set(asked_at + self.ttl);
                    return Ok(());
                }
                Err(error) if error.may_pass() => sleep(PATIENCE).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Gives it back.
    pub(super) async fn release(&self, chat: &Chat) -> Result<(), Stop> {
        chat.send(Method::DELETE, &format!("lease/{}", self.token), None).await?;
        Ok(())
    }
}
