use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use persistence::{Store, StoreError};
use records::{ChatId, Clock as _, Scope, SystemClock};
use tokio::time::sleep;

use super::Shutdown;
use crate::problem::Problem;
use crate::registry::AppRegistry;
use crate::state::AppState;

/// What ends the listening of somebody who does not end it.
#[derive(Debug)]
pub(crate) struct Ends {
    shutdown: Shutdown,
    /// When their token is no longer good; `None` for never.
    expires_at: Option<DateTime<Utc>>,
    scope: Scope,
    chat_id: ChatId,
    store: Arc<dyn Store>,
    registry: Arc<AppRegistry>,
    recheck: Duration,
}

/// Why the listening ends.
#[derive(Debug)]
pub(super) enum End {
    /// The process is asked to stop.
    Shutdown,
    /// The token has expired.
    Expired,
    /// They may not listen any longer.
    Revoked(Problem),
}

impl Ends {
    pub(crate) fn new(
        scope: &Scope,
        chat_id: &ChatId,
        expires_at: Option<DateTime<Utc>>,
        shutdown: Shutdown,
        state: &AppState,
    ) -> Self {
        Self {
            shutdown,
            expires_at,
            scope: scope.clone(),
            chat_id: chat_id.clone(),
            store: Arc::clone(&state.store),
            registry: Arc::clone(&state.registry),
            recheck: state.limits.recheck(),
        }
    }

    /// Returns when one of them is reached.
    pub(super) async fn reached(&self) -> End {
        tokio::select! {
            biased;
            () = self.shutdown.asked() => End::Shutdown,
            () = self.expired() => End::Expired,
            problem = self.revoked() => End::Revoked(problem),
        }
    }

    async fn expired(&self) {
        match self.expires_at {
            Some(expires_at) => {
                let left = (expires_at - SystemClock.now()).to_std();
                sleep(left.unwrap_or_default()).await;
            }
            None => std::future::pending().await,
        }
    }

    /// Returns when the app is disabled, or the chat is not to be seen any longer.
    async fn revoked(&self) -> Problem {
        loop {
            // Those who came together are not checked together.
            sleep(self.recheck.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            match self.check().await {
                Err(problem) if problem.kind().status.is_client_error() => return problem,
                Err(problem) => tracing::debug!(?problem, "could not check who listens"),
                Ok(()) => {}
            }
        }
    }

    async fn check(&self) -> Result<(), Problem> {
        self.registry.check(&self.scope.app_id).await?;
        let chat = self.store.get_chat(&self.scope, &self.chat_id).await?;
        chat.map(|_| ()).ok_or_else(|| StoreError::ChatNotFound(self.chat_id.clone()).into())
    }
}
