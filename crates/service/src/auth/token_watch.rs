use std::future::pending;
use std::sync::Arc;

use records::{AppId, Clock as _, SystemClock};
use tokio::time::sleep;

use super::{Authenticator, Identity};

/// Watches whether an identity stays valid, for a stream that outlives its request.
#[derive(Debug)]
pub(crate) struct TokenWatch {
    authenticator: Arc<Authenticator>,
    identity: Identity,
    app_id: AppId,
}

/// Why an identity is no longer valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenEnd {
    Expired,
    Revoked,
    /// The issuer has withdrawn the key of the token.
    KeyRemoved,
}

impl TokenWatch {
    pub(super) fn new(
        authenticator: Arc<Authenticator>,
        identity: Identity,
        app_id: AppId,
    ) -> Self {
        Self { authenticator, identity, app_id }
    }

    /// Returns once the identity is no longer valid in the app.
    pub(crate) async fn ended(&self) -> TokenEnd {
        tokio::select! {
            () = self.expired() => TokenEnd::Expired,
            end = self.withdrawn() => end,
        }
    }

    /// Returns once the identity is withdrawn in the app before it expires.
    pub(crate) async fn withdrawn(&self) -> TokenEnd {
        tokio::select! {
            () = self.revoked() => TokenEnd::Revoked,
            () = self.key_removed() => TokenEnd::KeyRemoved,
        }
    }

    async fn expired(&self) {
        match self.identity.expires_at {
            Some(expires_at) => {
                let left = (expires_at - SystemClock.now()).to_std();
                sleep(left.unwrap_or_default()).await;
            }
            None => pending().await,
        }
    }

    async fn revoked(&self) {
        match &*self.authenticator {
            Authenticator::Open => pending().await,
            Authenticator::Jwt { revocations, .. } => {
                revocations.revoked(&self.identity, &self.app_id).await;
            }
        }
    }

    async fn key_removed(&self) {
        let digest = self.identity.credentials.first().and_then(|it| it.key_digest.as_deref());
        match (&*self.authenticator, digest) {
            (Authenticator::Jwt { verifier, .. }, Some(digest)) => {
                verifier.key_removed(digest).await;
            }
            _ => pending().await,
        }
    }
}
