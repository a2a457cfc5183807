use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{hidden, unless_empty, without_secrets};

/// The settings of webhooks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WebhooksConfig {
    /// The address of the receiver. Without it no events are kept, and none are sent.
    #[serde(deserialize_with = "unless_empty", serialize_with = "without_secrets")]
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
