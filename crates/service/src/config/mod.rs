use std::path::PathBuf;

use persistence::Billing;
use serde::{Deserialize, Serialize};

mod adapters;
pub(crate) use adapters::Mount;
pub use adapters::{
    AdaptersConfig, ChatsgConfig, DiscobotConfig, HecateConfig, MozaiksConfig, YaoConfig,
};

mod apps;
pub use apps::{AppSettings, AppsConfig};

mod auth;
pub use auth::{Algorithm, AuthConfig, AuthMode, SignInConfig};

mod error;
pub use error::ConfigError;

mod hidden;
pub use hidden::{hidden, without_secrets};

mod integrity;
pub use integrity::IntegrityConfig;

mod limits;
pub use limits::LimitsConfig;

mod listed;
use listed::listed;

mod listen_address;
pub use listen_address::listen_address;

mod metrics;
pub use metrics::MetricsConfig;

mod server;
pub use server::{ServerConfig, TlsConfig};

use crate::unset_values::unless_empty;

mod webhooks;
pub use webhooks::WebhooksConfig;

/// The settings of the service.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The network.
    pub server: ServerConfig,
    /// Authentication.
    pub auth: AuthConfig,
    /// The registry of apps.
    pub apps: AppsConfig,
    /// Wallets.
    pub wallets: WalletsConfig,
    /// Erasures.
    pub erasure: ErasureConfig,
    /// The integrity of what is stored.
    pub integrity: IntegrityConfig,
    /// Webhooks.
    pub webhooks: WebhooksConfig,
    /// Search in what was said.
    pub search: SearchConfig,
    /// Limits and timeouts.
    pub limits: LimitsConfig,
    /// Metrics.
    pub metrics: MetricsConfig,
    /// Other systems whose clients are served.
    pub adapters: AdaptersConfig,
}

impl Config {
    /// Returns what is permitted and dangerous in these settings, as sentences for people.
    pub fn warnings(&self) -> Vec<&'static str> {
        let AuthConfig { mode, issuer, audience, .. } = &self.auth;
        let accepts_any = *mode == AuthMode::Jwt && issuer.is_none() && audience.is_none();
        let any = "auth.issuer and auth.audience are both missing: tokens that the same keys signed for other \
                   services and by other issuers are accepted; set at least auth.audience";
        let IntegrityConfig { key_file, earlier_key_files, .. } = &self.integrity;
        let has_only_earlier = key_file.is_none() && !earlier_key_files.is_empty();
        let only_earlier = "integrity.earlier_key_files is set without integrity.key_file: nothing is signed, and nothing is \
                            verified; set integrity.key_file, or remove both";
        let found = [(accepts_any, any), (has_only_earlier, only_earlier)];
        found.into_iter().filter_map(|(is_found, warning)| is_found.then_some(warning)).collect()
    }

    /// Returns whether the settings name an issuer by an address.
    pub fn has_issuers(&self) -> bool {
        let AuthConfig { mode, jwks_url, sign_in, .. } = &self.auth;
        *mode == AuthMode::Jwt && (jwks_url.is_some() || sign_in.issuer.is_some())
    }
}

/// The settings of wallets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WalletsConfig {
    /// Whether the tokens of calls are debited from the wallet of the chat's user. A balance that is too low
    /// pauses the chat.
    pub debit_usage: bool,
}

impl WalletsConfig {
    pub(crate) fn billing(&self) -> Billing {
        if self.debit_usage { Billing::Wallet } else { Billing::Free }
    }
}

/// The settings of erasures.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ErasureConfig {
    /// The file with the private Ed25519 key that signs receipts: PEM, in PKCS#8. Without it, receipts are unsigned.
    pub signing_key_file: Option<PathBuf>,
}

/// The settings of the search in what was said.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// Whether this process keeps the search index up to date, and answers searches.
    pub enabled: bool,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self { enabled: true }
    }
}
