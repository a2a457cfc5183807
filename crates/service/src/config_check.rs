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
    /// Returns every reason for which a service that listens on `listen` refuses these settings.
    ///
    /// Without authentication that address and those of adapters must be loopback addresses. Reads the key files, to refuse those that
    /// cannot be used.
    pub fn objections(&self, listen: SocketAddr) -> Vec<ConfigError> {
        let of_listeners = [self.check_distinct(listen), self.check_loopback(listen)];
        self.checked_parts().into_iter().chain(of_listeners).filter_map(Result::err).collect()
    }

    /// Checks the settings for a service that listens on `listen`, and returns the first of the [`objections`](Self::objections).
    pub fn check(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        self.objections(listen).into_iter().next().map_or(Ok(()), Err)
    }

    /// Checks all settings that do not depend on where the service listens.
    pub(crate) fn check_parts(&self) -> Result<(), ConfigError> {
        self.checked_parts().into_iter().collect()
    }

    fn checked_parts(&self) -> [Result<(), ConfigError>; 10] {
        [
            self.limits.check(),
            self.apps.check(),
            self.adapters.check(),
            TrustedProxies::new(&self.server).map(drop),
            ReceiptSigner::new(&self.erasure).map(drop),
            self.integrity.check(),
            integrity_keys(&self.integrity).map(drop),
            WebhookSender::check(&self.webhooks),
            Tls::check(&self.server.tls),
            Authenticator::check(&self.auth),
        ]
    }

    /// Checks that no two listeners have the same address: the second one could not be bound.
    fn check_distinct(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        let mut earlier = vec![("server.listen".to_owned(), listen)];
        for listener in self.adapter_listeners() {
            let address = listener.address();
            let setting = format!("adapters.{}.listen", listener.name());
            if let Some((other, _)) = earlier.iter().find(|(_, other)| overlap(address, *other)) {
                return Err(ConfigError::SameAddress { setting, address, other: other.clone() });
            }
            earlier.push((setting, address));
        }
        Ok(())
    }

    fn check_loopback(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        let listeners = self.adapter_listeners();
        let mut addresses =
            iter::once(listen).chain(listeners.iter().map(AdapterListener::address));
        let is_open = |listen: &SocketAddr| !listen.ip().to_canonical().is_loopback();
        match addresses.find(is_open) {
            Some(listen) if self.auth.mode == AuthMode::None => {
                Err(ConfigError::OpenToTheNetwork { listen })
            }
            _ => Ok(()),
        }
    }

    /// Fetches what the settings name at the addresses of issuers, to refuse what cannot be fetched or used.
    ///
    /// A service starts without it, because an issuer may be away for a while. Its callers get 503 until then.
    pub async fn check_issuers(&self) -> Result<(), ConfigError> {
        Authenticator::check_issuers(&self.auth).await
    }
}

/// Returns whether only one of two listeners can be bound. The system chooses the port 0 itself.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let is_same_ip = one.ip() == other.ip();
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    let is_shared = is_same_ip || (is_any && one.is_ipv4() == other.is_ipv4());
    one.port() != 0 && one.port() == other.port() && is_shared
}
