//! The check of the settings, by the parts of the service that use them.

use std::iter;
use std::net::SocketAddr;

use crate::adapters::AdapterListener;
use crate::admission::TrustedProxies;
use crate::auth::Authenticator;
use crate::config::{AuthMode, Config, ConfigError};
use crate::integrity::integrity_keys;
use crate::receipts::ReceiptSigner;
use crate::tls::Tls;
use crate::webhooks::WebhookSender;

impl Config {
    /// Checks the settings for a service that listens on `listen`.
    ///
    /// Without authentication that address and those of adapters must be loopback addresses. Reads the key files, to refuse those that
    /// cannot be used.
    pub fn check(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        self.limits.check()?;
        self.apps.check()?;
        self.adapters.check()?;
        TrustedProxies::new(&self.server)?;
        ReceiptSigner::new(&self.erasure)?;
        self.integrity.check()?;
        integrity_keys(&self.integrity)?;
        WebhookSender::check(&self.webhooks)?;
        Tls::check(&self.server.tls)?;
        let listeners = self.adapter_listeners();
        let mut addresses =
            iter::once(listen).chain(listeners.iter().map(AdapterListener::address));
        let is_open = |listen: &SocketAddr| !listen.ip().to_canonical().is_loopback();
        if self.auth.mode == AuthMode::None
            && let Some(listen) = addresses.find(is_open)
        {
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
