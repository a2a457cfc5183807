//! Signs what is stored of messages, once a minute.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use jsonwebtoken::EncodingKey;
use persistence::{IntegrityKeys, Store, sign_all};
use records::{Clock as _, SystemClock};
use tokio::time::sleep;

use crate::config::{ConfigError, IntegrityConfig};
use crate::metrics::IntegrityMetrics;
use crate::sweeps::report;

/// How far before the last pass the next one looks: longer than a change takes to become visible, and than the clocks of
/// processes differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(3);

/// Reads the keys that sign what is stored of messages; `None` if the settings name none.
pub fn integrity_keys(config: &IntegrityConfig) -> Result<Option<IntegrityKeys>, ConfigError> {
    let Some(current) = &config.key_file else { return Ok(None) };
    let current_der = private_key("integrity.key_file", current)?;
    let setting = "integrity.earlier_key_files";
    let earlier = config.earlier_key_files.iter().map(|path| private_key(setting, Path::new(path)));
    let earlier = earlier.collect::<Result<Vec<_>, _>>()?;
    let unusable = |_| ConfigError::SigningKey { setting, path: current.clone() };
    IntegrityKeys::new(&current_der, &earlier).map(Some).map_err(unusable)
}

/// Reads a private Ed25519 key in PEM.
fn private_key(setting: &'static str, path: &Path) -> Result<Vec<u8>, ConfigError> {
    let unreadable =
        |source| ConfigError::SigningKeyFile { setting, path: path.to_owned(), source };
    let content = fs::read(path).map_err(unreadable)?;
    let unusable = || ConfigError::SigningKey { setting, path: path.to_owned() };
    let der = EncodingKey::from_ed_pem(&content).map_err(|_| unusable())?.as_bytes().to_vec();
    // PEM says only that it is a key.
    IntegrityKeys::new(&der, &[]).map_err(|_| unusable())?;
    Ok(der)
}

/// Commits to the messages of a store, and signs.
#[derive(Debug)]
pub(crate) struct IntegritySigner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) interval: Duration,
    pub(crate) is_enabled: bool,
    pub(crate) metrics: IntegrityMetrics,
}

impl IntegritySigner {
    /// Signs until the future is dropped, if there is a key.
    pub(crate) async fn run(self) {
        if !self.is_enabled {
            return;
        }
        // The first pass of a process looks at every chat: nothing tells what was stored while no process was running.
        let mut since = None;
        loop {
            let began_at = SystemClock.now();
            match sign_all(&*self.store, since).await {
                Ok(pass) => {
                    self.metrics.signed(&pass, began_at);
                    since = Some(began_at - OVERLAP);
                }
                Err(error) => report(&error, "failed to sign what is stored of chats"),
            }
            // Not all processes at the same time.
            sleep(self.interval.mul_f64(0.75 + 0.5 * fastrand::f64())).await;
        }
    }
}
