use std::net::SocketAddr;
use std::path::PathBuf;

use super::Algorithm;

/// Why the service refuses its settings; each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Without authentication, any machine on the network could read and write everything.
    #[error(
        "auth.mode = \"none\" requires a loopback address, and {listen} is not one: \
         listen on 127.0.0.1, or set auth.mode = \"jwt\" with auth.algorithm and a key"
    )]
    OpenToTheNetwork {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// The paths of an adapter's own listener name no app, and neither do the settings.
    #[error(
        "adapters.{adapter}.listen needs adapters.{adapter}.app_id: the paths of that listener name no app, so set the app \
         whose chats it serves"
    )]
    ListenerWithoutApp {
        /// The adapter.
        adapter: &'static str,
    },
    /// Two listeners have the same address.
    #[error(
        "{setting} is {address}, where {other} listens already: choose another port for one of them"
    )]
    SameAddress {
        /// The setting of the second listener.
        setting: String,
        /// Its address.
        address: SocketAddr,
        /// The setting of the first listener.
        other: String,
    },
    /// A setting is missing.
    #[error("auth.{name} is missing: {hint}")]
    Missing {
        /// The name of the setting.
        name: &'static str,
        /// What to set it to.
        hint: &'static str,
    },
    /// A setting of `auth` is given that the algorithm does not use.
    #[error("auth.{name} is not used with {algorithm:?}: remove it")]
    Unused {
        /// The name of the setting.
        name: &'static str,
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// The secret is too short.
    #[error("auth.secret has {bytes} bytes: HS256 needs at least 32 random bytes")]
    WeakSecret {
        /// The length of the secret.
        bytes: usize,
    },
    /// A setting is not usable.
    #[error("{name} is not usable: {rule}")]
    Unusable {
        /// The name of the setting.
        name: &'static str,
        /// What it must be.
        rule: String,
    },
    /// The tolerated clock difference is too large.
    #[error("auth.leeway_sec is {leeway_sec}: it must be from 0 to 60")]
    Leeway {
        /// The value.
        leeway_sec: u64,
    },
    /// The status of an app would be cached for too long.
    #[error("apps.cache_ms is {cache_ms}: it must be from 0 to 60000")]
    Cache {
        /// The value.
        cache_ms: u64,
    },
    /// Chats would be kept for too long a time to count.
    #[error("a retention of the table apps is {days} days: it must be from 0 to 36500")]
    Retention {
        /// The value.
        days: u32,
    },
    /// An allowed origin is not an origin.
    #[error(
        "auth.allowed_origins has {origin:?}: write an origin such as \"https://app.example.org\""
    )]
    Origin {
        /// The invalid text.
        origin: String,
    },
    /// A trusted proxy is not a network.
    #[error("server.trusted_proxies has {network:?}: write a network such as \"10.0.0.0/8\"")]
    Proxy {
        /// The invalid text.
        network: String,
    },
    /// The rights of live streams would be checked too seldom.
    #[error("limits.recheck_ms is {recheck_ms}: it must be from 1 to 60000")]
    Recheck {
        /// The value.
        recheck_ms: u64,
    },
    /// The keys would be fetched too often or too seldom.
    #[error("auth.jwks_refresh_sec is {refresh_sec}: it must be from 1 to 86400")]
    Refresh {
        /// The value.
        refresh_sec: u64,
    },
    /// The address of the keys is not acceptable. It is not repeated, because it may hold a secret.
    #[error("auth.jwks_url is not usable: {detail}")]
    JwksUrl {
        /// What is wrong with it.
        detail: &'static str,
    },
    /// What an issuer publishes cannot be fetched, or cannot be used. The address is not repeated, because it may hold
    /// a secret.
    #[error("what auth.{name} names cannot be used: {detail}")]
    Unreachable {
        /// The name of the setting.
        name: &'static str,
        /// Why it cannot be used.
        detail: String,
    },
    /// A setting of sign-in is not usable. It is not repeated, because it may hold a secret.
    #[error("auth.sign_in.{name} is not usable: {detail}")]
    SignIn {
        /// The name of the setting.
        name: &'static str,
        /// What is wrong with it.
        detail: &'static str,
    },
    /// Two places are named for the keys.
    #[error("auth.key_file and auth.jwks_url are both set: remove one")]
    TwoKeySources,
    /// The key file cannot be read.
    #[error("failed to read auth.key_file {}", path.display())]
    KeyFile {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The key file has no key for the algorithm.
    #[error("auth.key_file {} has no usable {algorithm:?} key: {detail}", path.display())]
    Key {
        /// The path.
        path: PathBuf,
        /// The algorithm the key is for.
        algorithm: Algorithm,
        /// What is wrong with it.
        detail: String,
    },
    /// A file with a key that signs cannot be read.
    #[error("failed to read {setting} {}", path.display())]
    SigningKeyFile {
        /// The name of the setting.
        setting: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// The file has no key that can sign.
    #[error(
        "{setting} {} has no usable private Ed25519 key: it must be PEM, in PKCS#8, as `openssl genpkey \
         -algorithm ed25519` writes it",
        path.display()
    )]
    SigningKey {
        /// The name of the setting.
        setting: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// The time between two passes is out of bounds.
    #[error("integrity.interval_ms must be from 100 to 3,600,000")]
    IntegrityInterval,
    /// A limit is 0 that must be positive.
    #[error("limits.{name} must be at least 1")]
    Zero {
        /// The name of the setting.
        name: &'static str,
    },
    /// One caller could hold more memory than there is.
    #[error("limits.memory_bytes_per_subject must be at most limits.memory_bytes")]
    ShareAboveMemory,
    /// The largest body would not fit.
    #[error("limits.memory_bytes_per_subject must be at least three times limits.body_bytes")]
    ShareBelowBody,
    /// The default size of a page exceeds its maximum.
    #[error("limits.{name}_default must be at most limits.{name}_max")]
    DefaultAboveMax {
        /// The kind of page.
        name: &'static str,
    },
}
