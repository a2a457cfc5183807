use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{listed, listen_address, unless_empty};

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
