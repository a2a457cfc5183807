use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ConfigError, listed, unless_empty};

/// The settings of the signed checkpoints. The service signs nothing without a key.
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
