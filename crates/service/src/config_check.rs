//! The check of the settings, by the parts of the service that use them.

use std::net::SocketAddr;

use crate::admission::TrustedProxies;
use crate::auth::Authenticator;
use crate::config::{AuthMode, Config, ConfigError};
use crate::receipts::ReceiptSigner;

impl Config {
    /// Checks the settings for a service that listens on `listen`.
    ///
    /// Without authentication the address must be a loopback address. Reads the key files, to refuse those that
    /// cannot be used.
    pub fn check(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        self.limits.check()?;
        self.apps.check()?;
        TrustedProxies::new(&self.server)?;
        ReceiptSigner::new(&self.erasure)?;
        let is_local = listen.ip().to_canonical().is_loopback();
        if self.auth.mode == AuthMode::None && !is_local {
            return Err(ConfigError::OpenToTheNetwork { listen });
        }
        Authenticator::check(&self.auth)
    }

    /// Fetches what the settings name at the addresses of issuers, to refuse what cannot be fetched or used.
    ///
    /// A service starts without it, because an issuer may be away for a while. Its callers get 503 until then.
    pub async fn check_issuers(&self) -> Result<(), ConfigError> {
        Authenticator::check_issuers(&self.auth).await
    }
}
