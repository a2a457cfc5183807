use std::net::SocketAddr;
use std::path::PathBuf;

use super::Algorithm;

/// Why the service does not start with the settings given; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Everybody on the network could read and write everything.
    #[error(
        "auth.mode = \"none\" is only allowed on a loopback address, and {listen} is none: \
         listen on 127.0.0.1, or set auth.mode = \"jwt\" with auth.algorithm and a key"
    )]
    OpenToTheNetwork {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// A setting is missing.
    #[error("auth.{name} is missing: {hint}")]
    Missing {
        /// Its name.
        name: &'static str,
        /// What to set it to.
        hint: &'static str,
    },
    /// A setting of `auth` is there that the algorithm does not use.
    #[error("auth.{name} is not used with {algorithm:?}: remove it")]
    Unused {
        /// Its name.
        name: &'static str,
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// The secret can be guessed.
    #[error("auth.secret is {bytes} bytes: HS256 needs at least 32 random ones")]
    WeakSecret {
        /// Its length.
        bytes: usize,
    },
    /// The clocks may differ too much.
    #[error("auth.leeway_sec is {leeway_sec}: it must be 0 to 60")]
    Leeway {
        /// The value.
        leeway_sec: u64,
    },
    /// A change to an app would go unnoticed for too long.
    #[error("apps.cache_ms is {cache_ms}: it must be 0 to 60000")]
    Cache {
        /// The value.
        cache_ms: u64,
    },
    /// What is to be allowed is not an origin.
    #[error("auth.allowed_origins has {origin:?}: an origin is like \"https://app.example.org\"")]
    Origin {
        /// The text.
        origin: String,
    },
    /// The streams of those who listen would be checked too seldom.
    #[error("limits.recheck_ms is {recheck_ms}: it must be 1 to 60000")]
    Recheck {
        /// The value.
        recheck_ms: u64,
    },
    /// The key file cannot be read.
    #[error("failed to read auth.key_file {}", path.display())]
    KeyFile {
        /// The path.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The key file holds no key that fits.
    #[error("auth.key_file {} holds no usable {algorithm:?} key: {detail}", path.display())]
    Key {
        /// The path.
        path: PathBuf,
        /// The algorithm the key is for.
        algorithm: Algorithm,
        /// What is wrong with it.
        detail: String,
    },
    /// A limit that must be positive is 0.
    #[error("limits.{name} must be at least 1")]
    Zero {
        /// Its name.
        name: &'static str,
    },
    /// A page would by default be larger than it may be.
    #[error("limits.{name}_default must be at most limits.{name}_max")]
    DefaultAboveMax {
        /// The kind of page.
        name: &'static str,
    },
}
