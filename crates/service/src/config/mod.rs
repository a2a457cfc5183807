use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use persistence::Billing;
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};

mod error;
pub use error::ConfigError;

mod listed;
use listed::listed;

mod metrics;
pub use metrics::MetricsConfig;

/// How the service is reached, and by whom.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Who may call.
    pub auth: AuthConfig,
    /// Which apps may be called.
    pub apps: AppsConfig,
    /// What wallets pay for.
    pub wallets: WalletsConfig,
    /// How much a call may ask for.
    pub limits: LimitsConfig,
    /// Who may read the metrics, and which apps they name.
    pub metrics: MetricsConfig,
}

/// Who may call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// Whether callers show a token.
    pub mode: AuthMode,
    /// The one algorithm that tokens may be signed with.
    pub algorithm: Option<Algorithm>,
    /// The shared secret of HS256, at least 32 bytes.
    #[serde(deserialize_with = "unless_empty")]
    pub secret: Option<SecretString>,
    /// The public key of RS256 or ES256, as PEM, or a JWKS file with one or several.
    #[serde(deserialize_with = "unless_empty")]
    pub key_file: Option<PathBuf>,
    /// The `iss` every token must carry; not looked at when it is missing.
    #[serde(deserialize_with = "unless_empty")]
    pub issuer: Option<String>,
    /// The `aud` every token must name; not looked at when it is missing.
    #[serde(deserialize_with = "unless_empty")]
    pub audience: Option<String>,
    /// How far the clocks may differ when `exp` and `nbf` are checked, 0 to 60.
    pub leeway_sec: u64,
    /// The origins whose pages may open sockets besides the service's own, such as
    /// `https://app.example.org`.
    #[serde(deserialize_with = "listed")]
    pub allowed_origins: Vec<String>,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            mode: AuthMode::None,
            algorithm: None,
            secret: None,
            key_file: None,
            issuer: None,
            audience: None,
            leeway_sec: 60,
            allowed_origins: Vec::new(),
        }
    }
}

/// Takes an empty setting for a missing one: an environment variable cannot be anything less.
fn unless_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(T::from))
}

/// Whether callers show a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// Whoever reaches the service may do everything; only on a loopback address.
    None,
    /// Every call but those about health carries a JSON Web Token.
    Jwt,
}

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256, a shared secret.
    HS256,
    /// RSA with SHA-256.
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
}

/// Which apps may be called.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AppsConfig {
    /// Whether an app that is not registered is refused.
    pub require_registered: bool,
    /// How long the status of an app is remembered, 0 to 60,000: a change that another process makes
    /// is noticed after so long at most.
    pub cache_ms: u64,
}

impl Default for AppsConfig {
    fn default() -> Self {
        Self { require_registered: false, cache_ms: 3_000 }
    }
}

impl AppsConfig {
    pub(crate) fn cache(&self) -> Duration {
        Duration::from_millis(self.cache_ms)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const MAX_CACHE_MS: u64 = 60_000;
        if self.cache_ms > MAX_CACHE_MS {
            return Err(ConfigError::Cache { cache_ms: self.cache_ms });
        }
        Ok(())
    }
}

/// What wallets pay for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WalletsConfig {
    /// Whether the tokens of calls are taken from the wallet of the chat's user; an empty wallet
    /// pauses the chat.
    pub debit_usage: bool,
}

impl WalletsConfig {
    pub(crate) fn billing(&self) -> Billing {
        if self.debit_usage { Billing::Wallet } else { Billing::Free }
    }
}

/// How much a call may ask for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Largest request body, in bytes.
    pub body_bytes: usize,
    /// How long a call may take, its body included; of a history, each of its reads.
    pub request_timeout_ms: u64,
    /// Most connections at a time; further ones wait to be accepted.
    pub connections: usize,
    /// How long a client may take to send the head of a request.
    pub header_timeout_ms: u64,
    /// How long a client may take to accept the next bytes of an answer.
    pub write_timeout_ms: u64,
    /// How many may listen to chats at a time, in this process.
    pub subscribers: usize,
    /// How many of them to one chat.
    pub subscribers_per_chat: usize,
    /// How long nothing may be sent to one who listens before a comment is; how often a WebSocket is
    /// pinged.
    pub keep_alive_ms: u64,
    /// How long a person counts as present after their process was last heard of.
    pub presence_expiry_ms: u64,
    /// How often it is checked that who listens still may, 1 to 60,000.
    pub recheck_ms: u64,
    /// How many frames a WebSocket may send in a second, lastingly.
    pub frames_per_sec: u32,
    /// How many it may send at once.
    pub frames_burst: u32,
    /// How long a shutdown waits for the calls already accepted.
    pub shutdown_grace_ms: u64,
    /// Chat sessions in a page when the caller does not say.
    pub list_default: usize,
    /// Most chat sessions in a page.
    pub list_max: usize,
    /// Messages in a page when the caller does not say.
    pub messages_default: usize,
    /// Most messages in a page.
    pub messages_max: usize,
    /// How many context snapshots are kept of a chat, the one in force among them.
    pub context_history: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            request_timeout_ms: 10_000,
            connections: 10_000,
            header_timeout_ms: 10_000,
            write_timeout_ms: 30_000,
            subscribers: 8_000,
            subscribers_per_chat: 4_000,
            keep_alive_ms: 15_000,
            presence_expiry_ms: 45_000,
            recheck_ms: 30_000,
            frames_per_sec: 20,
            frames_burst: 40,
            shutdown_grace_ms: 15_000,
            list_default: 20,
            list_max: 100,
            messages_default: 100,
            messages_max: 1_000,
            context_history: persistence::ContextVersionPage::KEPT,
        }
    }
}

impl LimitsConfig {
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub(crate) fn write_timeout(&self) -> Duration {
        Duration::from_millis(self.write_timeout_ms)
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }

    pub(crate) fn presence_expiry(&self) -> Duration {
        Duration::from_millis(self.presence_expiry_ms)
    }

    pub(crate) fn recheck(&self) -> Duration {
        Duration::from_millis(self.recheck_ms)
    }

    pub(crate) fn shutdown_grace(&self) -> Duration {
        Duration::from_millis(self.shutdown_grace_ms)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const MAX_RECHECK_MS: u64 = 60_000;
        let positive = [
            ("body_bytes", self.body_bytes as u64),
            ("request_timeout_ms", self.request_timeout_ms),
            ("connections", self.connections as u64),
            ("header_timeout_ms", self.header_timeout_ms),
            ("write_timeout_ms", self.write_timeout_ms),
            ("subscribers", self.subscribers as u64),
            ("subscribers_per_chat", self.subscribers_per_chat as u64),
            ("keep_alive_ms", self.keep_alive_ms),
            ("presence_expiry_ms", self.presence_expiry_ms),
            ("recheck_ms", self.recheck_ms),
            ("frames_per_sec", self.frames_per_sec.into()),
            ("frames_burst", self.frames_burst.into()),
            ("list_default", self.list_default as u64),
            ("messages_default", self.messages_default as u64),
            ("context_history", self.context_history),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero { name });
        }
        if self.recheck_ms > MAX_RECHECK_MS {
            return Err(ConfigError::Recheck { recheck_ms: self.recheck_ms });
        }
        if self.list_default > self.list_max {
            return Err(ConfigError::DefaultAboveMax { name: "list" });
        }
        if self.messages_default > self.messages_max {
            return Err(ConfigError::DefaultAboveMax { name: "messages" });
        }
        Ok(())
    }
}

impl Config {
    /// Checks that the service may listen on `listen` with these settings.
    ///
    /// Without authentication that is a loopback address only. Files are read by
    /// [`router`](crate::router()), which refuses the rest of what cannot work.
    pub fn check(&self, listen: SocketAddr) -> Result<(), ConfigError> {
        self.limits.check()?;
        self.apps.check()?;
        let is_local = listen.ip().to_canonical().is_loopback();
        if self.auth.mode == AuthMode::None && !is_local {
            return Err(ConfigError::OpenToTheNetwork { listen });
        }
        Ok(())
    }
}
