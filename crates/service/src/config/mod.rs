use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use persistence::Billing;
use records::{Retention, Visibility};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer, Serialize};

use crate::paced_stream::Pace;

mod adapters;
pub(crate) use adapters::Mount;
pub use adapters::{
    AdaptersConfig, ChatsgConfig, DiscobotConfig, HecateConfig, MozaiksConfig, YaoConfig,
};

mod error;
pub use error::ConfigError;

mod listed;
use listed::listed;

mod listen_address;
pub use listen_address::listen_address;

mod hidden;
pub use hidden::hidden;
use hidden::without_query;

mod metrics;
pub use metrics::MetricsConfig;

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

/// The settings of the network.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The address to listen on.
    #[serde(deserialize_with = "listen_address::deserialize")]
    pub listen: SocketAddr,
    /// The networks of the proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8`.
    #[serde(deserialize_with = "listed")]
    pub trusted_proxies: Vec<String>,
    /// How long the service goes on after it was asked to stop, while its readiness is 503.
    pub drain_ms: u64,
    /// TLS.
    pub tls: TlsConfig,
}

/// The settings of TLS on all listeners. It is off without a certificate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// The file with the certificate of the service, and those between it and its root, in PEM. All files are read again
    /// when they change.
    #[serde(deserialize_with = "unless_empty")]
    pub cert_file: Option<PathBuf>,
    /// The file with the private key of the certificate, in PEM.
    #[serde(deserialize_with = "unless_empty")]
    pub key_file: Option<PathBuf>,
    /// The file with the roots of clients, in PEM: with it, every client needs a certificate of one of them.
    #[serde(deserialize_with = "unless_empty")]
    pub client_ca_file: Option<PathBuf>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 8080));
        Self { listen, trusted_proxies: Vec::new(), drain_ms: 0, tls: TlsConfig::default() }
    }
}

impl ServerConfig {
    /// Returns the scheme of the addresses at which the listeners are reached.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.cert_file.is_some() { "https" } else { "http" }
    }

    pub(crate) fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

/// The settings of authentication.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// Whether callers must send a token.
    pub mode: AuthMode,
    /// The only algorithm that tokens may be signed with.
    pub algorithm: Option<Algorithm>,
    /// The shared secret of HS256, at least 32 bytes.
    #[serde(deserialize_with = "unless_empty", serialize_with = "hidden")]
    pub secret: Option<SecretString>,
    /// The file with the public keys of RS256 or ES256: PEM or JWKS. It is read again when it changes.
    #[serde(deserialize_with = "unless_empty")]
    pub key_file: Option<PathBuf>,
    /// The address at which the issuer lists its public keys as JWKS: https, or http on a loopback address.
    #[serde(deserialize_with = "unless_empty", serialize_with = "without_query")]
    pub jwks_url: Option<String>,
    /// How often the keys are fetched, in seconds, from 1 to 86,400.
    pub jwks_refresh_sec: u64,
    /// The `iss` that every token must have; not checked if missing.
    #[serde(deserialize_with = "unless_empty")]
    pub issuer: Option<String>,
    /// The `aud` that every token must have; not checked if missing.
    #[serde(deserialize_with = "unless_empty")]
    pub audience: Option<String>,
    /// The tolerated clock difference in seconds for `exp` and `nbf`, from 0 to 60.
    pub leeway_sec: u64,
    /// The origins whose pages may call the API and open a WebSocket, besides the origin of the service, such
    /// as `https://app.example.org`.
    #[serde(deserialize_with = "listed")]
    pub allowed_origins: Vec<String>,
    /// How people sign in, in a browser.
    pub sign_in: SignInConfig,
}

/// The settings of sign-in by OIDC. It is off without an issuer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignInConfig {
    /// The address of the issuer, which has its description below `/.well-known/openid-configuration`: https, or
    /// http on a loopback address.
    #[serde(deserialize_with = "unless_empty")]
    pub issuer: Option<String>,
    /// The name under which the issuer knows this service.
    pub client_id: String,
    /// The secret that the issuer has given to this service; none for a public client.
    #[serde(deserialize_with = "unless_empty", serialize_with = "hidden")]
    pub client_secret: Option<SecretString>,
    /// The algorithm of the ID tokens: RS256 or ES256.
    pub algorithm: Algorithm,
    /// The address under which browsers reach this service, such as `https://chats.example.org`: https, or http on a
    /// loopback address, without a path. The issuer sends them back to `/api/sign-in/callback` below it.
    pub public_url: String,
    /// The scopes that are requested besides `openid`.
    #[serde(deserialize_with = "listed")]
    pub scopes: Vec<String>,
    /// How long a person stays signed in, in minutes, from 1 to 43,200.
    pub session_minutes: u64,
}

impl Default for SignInConfig {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: String::new(),
            client_secret: None,
            algorithm: Algorithm::RS256,
            public_url: String::new(),
            scopes: Vec::new(),
            session_minutes: 480,
        }
    }
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            mode: AuthMode::None,
            algorithm: None,
            secret: None,
            key_file: None,
            jwks_url: None,
            jwks_refresh_sec: 300,
            issuer: None,
            audience: None,
            leeway_sec: 5,
            allowed_origins: Vec::new(),
            sign_in: SignInConfig::default(),
        }
    }
}

/// Reads an empty setting as a missing one, because an environment variable can be empty but not null.
fn unless_empty<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: From<String>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()).map(T::from))
}

/// Whether callers must send a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// Open mode: every caller may do everything. Allowed only on a loopback address.
    None,
    /// Every request, except for health, must have a JSON Web Token.
    Jwt,
}

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256 and a shared secret.
    HS256,
    /// RSA with SHA-256.
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
}

/// The settings of the registry of apps.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "AppsFields", into = "AppsFields")]
pub struct AppsConfig {
    /// Whether apps that are not registered are refused.
    pub require_registered: bool,
    /// How long the status and the settings of an app are cached, from 0 to 60,000. A change by another process
    /// applies after that time at the latest.
    pub cache_ms: u64,
    /// What holds for the chats of every app that has no settings of its own.
    pub settings: AppSettings,
}

/// The settings of the registry of apps as they are written, in one table.
///
/// A flattened struct would not read them from the environment, where every value is a string.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AppsFields {
    require_registered: bool,
    cache_ms: u64,
    default_visibility: Visibility,
    users_may_run: bool,
    support_access: bool,
    completed_days: u32,
    failed_days: u32,
    abandoned_days: u32,
    deleted_days: u32,
    tool_run_days: u32,
    archive_after_days: u32,
}

impl Default for AppsFields {
    fn default() -> Self {
        AppsConfig::default().into()
    }
}

impl From<AppsConfig> for AppsFields {
    fn from(config: AppsConfig) -> Self {
        let AppsConfig { require_registered, cache_ms, settings } = config;
        let AppSettings { default_visibility, users_may_run, support_access, retention } = settings;
        let Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        } = retention;
        Self {
            require_registered,
            cache_ms,
            default_visibility,
            users_may_run,
            support_access,
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        }
    }
}

impl From<AppsFields> for AppsConfig {
    fn from(fields: AppsFields) -> Self {
        let AppsFields { require_registered, cache_ms, .. } = fields;
        let AppsFields { default_visibility, users_may_run, support_access, .. } = fields;
        let AppsFields {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
            ..
        } = fields;
        let retention = Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        };
        let settings = AppSettings { default_visibility, users_may_run, support_access, retention };
        Self { require_registered, cache_ms, settings }
    }
}

/// The settings of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppSettings {
    /// The visibility of a new chat that states none: `private`, `team`, `link` or `app`.
    pub default_visibility: Visibility,
    /// Whether users may run the workflows of their own chats, instead of a program with the role `service`.
    pub users_may_run: bool,
    /// Whether people with the role `support` may read, say and manage in every chat.
    pub support_access: bool,
    /// For how long chats and runs of tools are kept, and when chats are archived, each from 0, for ever, to 36,500 days.
    pub retention: Retention,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            default_visibility: Visibility::default(),
            users_may_run: false,
            support_access: false,
            retention: Retention { deleted_days: 30, tool_run_days: 30, ..Retention::default() },
        }
    }
}

impl Default for AppsConfig {
    fn default() -> Self {
        Self { require_registered: false, cache_ms: 3_000, settings: AppSettings::default() }
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
        let Retention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        } = self.settings.retention;
        for days in [
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        ] {
            if days > Retention::MAX_DAYS {
                return Err(ConfigError::Retention { days });
            }
        }
        Ok(())
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

/// The settings of the integrity of what is stored. Nothing is signed without a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct IntegrityConfig {
    /// The file with the private Ed25519 key that signs checkpoints and tags changes: PEM, in PKCS#8. It must be the same in all
    /// processes.
    #[serde(deserialize_with = "unless_empty")]
    pub key_file: Option<PathBuf>,
    /// The files with the keys that signed before, in the same form. What they have signed still counts.
    #[serde(deserialize_with = "listed")]
    pub earlier_key_files: Vec<String>,
    /// How long it is from one pass over the changed chats to the next, from 100 ms to an hour.
    pub interval_ms: u64,
}

impl Default for IntegrityConfig {
    fn default() -> Self {
        Self { key_file: None, earlier_key_files: Vec::new(), interval_ms: 60_000 }
    }
}

impl IntegrityConfig {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let is_within = (100..=3_600_000).contains(&self.interval_ms);
        if is_within { Ok(()) } else { Err(ConfigError::IntegrityInterval) }
    }
}

/// The settings of webhooks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// The address of the receiver. Without it no events are kept, and none are sent.
    #[serde(deserialize_with = "unless_empty", serialize_with = "without_query")]
    pub url: Option<String>,
    /// The secret that signs what is sent: `whsec_`, and 24 to 64 bytes in base64.
    #[serde(deserialize_with = "unless_empty", serialize_with = "hidden")]
    pub secret: Option<SecretString>,
    /// How long the first retry waits. Each further one waits twice as long, up to an hour.
    pub retry_ms: u64,
}

impl Default for WebhooksConfig {
    fn default() -> Self {
        Self { url: None, secret: None, retry_ms: 5_000 }
    }
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

/// Limits and timeouts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// The memory for what is parsed and read on behalf of callers, in bytes.
    pub memory_bytes: usize,
    /// The part of it that one caller may hold: a person, or the services of an app.
    pub memory_bytes_per_subject: usize,
    /// How long a request waits for memory.
    pub memory_wait_ms: u64,
    /// How long a request may take, its body included; for a history, each read of it.
    pub request_timeout_ms: u64,
    /// The most requests per second of a person; 0 for no limit, as for the two after it.
    pub requests_per_sec_per_user: u32,
    /// The most requests per second to an app.
    pub requests_per_sec_per_app: u32,
    /// The most requests per second from an address.
    pub requests_per_sec_per_address: u32,
    /// The most chats that a person creates or forks per minute; 0 for no limit, as for the two after it.
    pub new_chats_per_min_per_user: u32,
    /// The most chats that are created or forked in an app per minute.
    pub new_chats_per_min_per_app: u32,
    /// The most questions that are asked in an app per minute.
    pub questions_per_min_per_app: u32,
    /// The most requests per minute from an address whose token or ticket is not accepted; 0 for no limit.
    pub failed_attempts_per_min_per_address: u32,
    /// The most live streams of a person in this process.
    pub streams_per_user: usize,
    /// The most live streams of an app in this process.
    pub streams_per_app: usize,
    /// The most open connections; further clients wait to be accepted.
    pub connections: usize,
    /// The most open connections of one address; further ones are closed at once.
    pub connections_per_address: usize,
    /// How long a client may take to send the head of a request.
    pub header_timeout_ms: u64,
    /// How long a connection is kept open between two requests.
    pub idle_timeout_ms: u64,
    /// How long a client may keep the service waiting before the bytes that it has accepted are counted.
    pub write_timeout_ms: u64,
    /// The bytes that a client must accept for each second in which it keeps the service waiting; at 0, any.
    pub min_bytes_per_sec: u64,
    /// The most live subscribers of this process.
    pub subscribers: usize,
    /// The most live subscribers of one chat in this process.
    pub subscribers_per_chat: usize,
    /// How often a comment is sent on an idle event stream, and a ping on a WebSocket.
    pub keep_alive_ms: u64,
    /// How long a person is shown as present after the last renewal by their service process.
    pub presence_expiry_ms: u64,
    /// How often the rights of live streams are checked, and how soon a revoked token is refused, from 1 to 60,000.
    pub recheck_ms: u64,
    /// The sustained limit of frames per second from a WebSocket client.
    pub frames_per_sec: u32,
    /// The most frames that a WebSocket client may send in a burst.
    pub frames_burst: u32,
    /// How long a shutdown waits for the requests in flight.
    pub shutdown_grace_ms: u64,
    /// The default size of a page of chat sessions and other records.
    pub list_default: usize,
    /// The largest page of chat sessions and other records.
    pub list_max: usize,
    /// The default size of a page of messages.
    pub messages_default: usize,
    /// The largest page of messages.
    pub messages_max: usize,
    /// How many versions of the context snapshot are retained for a chat, the current one included.
    pub context_history: u64,
    /// The most bytes of replaced snapshots that are retained for a chat; the newest few may come on top.
    pub context_history_bytes: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            memory_bytes: 512 << 20,
            memory_bytes_per_subject: 128 << 20,
            memory_wait_ms: 2_000,
            request_timeout_ms: 10_000,
            requests_per_sec_per_user: 100,
            requests_per_sec_per_app: 20_000,
            requests_per_sec_per_address: 20_000,
            new_chats_per_min_per_user: 3_000,
            new_chats_per_min_per_app: 300_000,
            questions_per_min_per_app: 300_000,
            failed_attempts_per_min_per_address: 60,
            streams_per_user: 64,
            streams_per_app: 6_000,
            connections: 10_000,
            connections_per_address: 5_000,
            header_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            write_timeout_ms: 30_000,
            min_bytes_per_sec: 8 << 10,
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
            context_history_bytes: persistence::ContextVersionPage::KEPT_BYTES,
        }
    }
}

impl LimitsConfig {
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub(crate) fn memory_wait(&self) -> Duration {
        Duration::from_millis(self.memory_wait_ms)
    }

    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(crate) fn pace(&self) -> Pace {
        let min_bytes = self.write_timeout_ms.saturating_mul(self.min_bytes_per_sec) / 1_000;
        Pace { period: Duration::from_millis(self.write_timeout_ms), min_bytes: min_bytes.max(1) }
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
            ("memory_wait_ms", self.memory_wait_ms),
            ("request_timeout_ms", self.request_timeout_ms),
            ("connections", self.connections as u64),
            ("connections_per_address", self.connections_per_address as u64),
            ("streams_per_user", self.streams_per_user as u64),
            ("streams_per_app", self.streams_per_app as u64),
            ("header_timeout_ms", self.header_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
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
        if self.memory_bytes_per_subject > self.memory_bytes {
            return Err(ConfigError::ShareAboveMemory);
        }
        if self.memory_bytes_per_subject / 3 < self.body_bytes {
            return Err(ConfigError::ShareBelowBody);
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
    /// Returns what is permitted and dangerous in these settings, as sentences for people.
    pub fn warnings(&self) -> Vec<&'static str> {
        let AuthConfig { mode, issuer, audience, .. } = &self.auth;
        let accepts_any = *mode == AuthMode::Jwt && issuer.is_none() && audience.is_none();
        let any = "auth.issuer and auth.audience are both missing: tokens that the same keys signed for other \
                   services and by other issuers are accepted; set at least auth.audience";
        if accepts_any { vec![any] } else { Vec::new() }
    }

    /// Returns whether the settings name an issuer by an address.
    pub fn has_issuers(&self) -> bool {
        let AuthConfig { mode, jwks_url, sign_in, .. } = &self.auth;
        *mode == AuthMode::Jwt && (jwks_url.is_some() || sign_in.issuer.is_some())
    }
}
