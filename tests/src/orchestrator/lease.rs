use std::cell::Cell;
use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::stop::Stop;
use crate::client::{CallError, Chat};

/// The pause before a refused or failed request is repeated.
const RETRY_INTERVAL: Duration = Duration::from_millis(25);

/// The lease of a chat.
#[derive(Debug)]
pub(super) struct Lease {
    token: u64,
    ttl: Duration,
    /// The earliest time at which another orchestrator can take it over.
    held_until: Cell<Instant>,
}

#[derive(Deserialize)]
struct Given {
    fencing_token: u64,
}

impl Lease {
    /// Acquires the lease of a chat, waiting for it; `None`: the chat has ended.
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
            sleep(RETRY_INTERVAL).await;
        }
    }

    /// The fencing token for the owner's writes.
    pub(super) fn token(&self) -> u64 {
        self.token
    }

    /// Checks that the lease is still held, which may not be so after a long pause.
    pub(super) async fn confirm(&self, chat: &Chat) -> Result<(), Stop> {
        if Instant::now() < self.held_until.get() {
            return Ok(());
        }
        self.renew(chat).await
    }

    /// Renews it periodically, until it is lost.
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
                Err(error) if error.may_pass() => sleep(RETRY_INTERVAL).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Releases it.
    pub(super) async fn release(&self, chat: &Chat) -> Result<(), Stop> {
        chat.send(Method::DELETE, &format!("lease/{}", self.token), None).await?;
        Ok(())
    }
}
