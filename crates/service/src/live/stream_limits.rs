use std::sync::Arc;
use std::time::Duration;

use persistence::{Store, StoreError};
use records::{Caller, ChatId, Scope};
use tokio::time::sleep;

use super::shutdown::Shutdown;
use crate::auth::{TokenEnd, TokenWatch};
use crate::problem::Problem;
use crate::registry::AppRegistry;

/// The limits of a stream that its client does not end: the shutdown of the process, the end of the
/// client's token, and the loss of its right to read.
#[derive(Debug)]
pub(crate) struct StreamLimits {
    shutdown: Shutdown,
    /// On the heap, because the futures of sockets hold several copies.
    token: Box<TokenWatch>,
    rights: RightsCheck,
}

/// Which limit has ended a stream.
#[derive(Debug)]
pub(crate) enum StreamEnd {
    /// The process has been asked to stop.
    Shutdown,
    /// The token has expired.
    TokenExpired,
    /// The token was revoked.
    TokenRevoked,
    /// The key of the token was removed from the valid keys.
    KeyRemoved,
    /// The client may no longer read the chat.
    Revoked(Problem),
}

impl StreamLimits {
    pub(super) fn new(shutdown: Shutdown, token: TokenWatch, rights: RightsCheck) -> Self {
        Self { shutdown, token: Box::new(token), rights }
    }

    /// Returns once a limit is reached.
    pub(crate) async fn reached(&self) -> StreamEnd {
        tokio::select! {
            biased;
            () = self.shutdown.requested() => StreamEnd::Shutdown,
            end = self.token.ended() => end.into(),
            problem = self.rights.revoked() => StreamEnd::Revoked(problem),
        }
    }
}

/// The limits of a download of a chat: the withdrawal of the client's token, and the loss of its right to read the chat.
///
/// A download has an end. So it may outlive a token that expires, and a shutdown waits for it.
#[derive(Debug)]
pub(crate) struct DownloadLimits {
    token: TokenWatch,
    rights: RightsCheck,
}

impl DownloadLimits {
    pub(super) fn new(token: TokenWatch, rights: RightsCheck) -> Self {
        Self { token, rights }
    }

    /// Returns once a limit is reached.
    pub(crate) async fn reached(&self) -> StreamEnd {
        tokio::select! {
            biased;
            end = self.token.withdrawn() => end.into(),
            problem = self.rights.revoked() => StreamEnd::Revoked(problem),
        }
    }
}

impl From<TokenEnd> for StreamEnd {
    fn from(end: TokenEnd) -> Self {
        match end {
            TokenEnd::Expired => Self::TokenExpired,
            TokenEnd::Revoked => Self::TokenRevoked,
            TokenEnd::KeyRemoved => Self::KeyRemoved,
        }
    }
}

/// Checks from time to time whether a client may still read its chat, or still call its app.
#[derive(Debug)]
pub(super) struct RightsCheck {
    pub(super) scope: Scope,
    /// The chat that the client reads, if it reads one.
    pub(super) chat_id: Option<ChatId>,
    pub(super) store: Arc<dyn Store>,
    pub(super) registry: Arc<AppRegistry>,
    /// The longest time between two checks.
    pub(super) interval: Duration,
}

impl RightsCheck {
    /// Returns once the app is disabled, it no longer admits support, or the chat is no longer visible to the client.
    async fn revoked(&self) -> Problem {
        loop {
            // A random pause spreads the checks of clients that connected at the same moment, such as
            // after a restart: otherwise thousands of them would read the store at once, every time.
            sleep(self.interval.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
            match self.check().await {
                Err(problem) if problem.kind().status.is_client_error() => return problem,
                // A store that is away ends no stream: the right was valid at the last check.
                Err(problem) => tracing::debug!(?problem, "failed to check the rights of a stream"),
                Ok(()) => {}
            }
        }
    }

    async fn check(&self) -> Result<(), Problem> {
        let settings = self.registry.check(&self.scope.app_id).await?;
        if matches!(self.scope.caller, Caller::Support { .. }) {
            settings.admit_support()?;
        }
        let Some(chat_id) = &self.chat_id else { return Ok(()) };
        let chat = self.store.get_chat(&self.scope, chat_id).await?;
        chat.map(|_| ()).ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()).into())
    }
}
