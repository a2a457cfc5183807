use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use config::{Config, Environment, File, FileFormat};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The default settings, as a file.
pub(crate) const DEFAULTS: &str = include_str!("../config.default.toml");

/// All settings; `deploy/config.default.toml` explains each of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) server: service::ServerConfig,
    pub(crate) mongo: Mongo,
    pub(crate) mongod: Mongod,
    pub(crate) auth: service::AuthConfig,
    pub(crate) apps: service::AppsConfig,
    pub(crate) wallets: service::WalletsConfig,
    pub(crate) adapters: service::AdaptersConfig,
    pub(crate) erasure: service::ErasureConfig,
    pub(crate) integrity: service::IntegrityConfig,
    pub(crate) webhooks: service::WebhooksConfig,
    pub(crate) search: service::SearchConfig,
    pub(crate) limits: service::LimitsConfig,
    pub(crate) metrics: service::MetricsConfig,
    pub(crate) audit: Audit,
    pub(crate) log: Log,
    pub(crate) traces: Traces,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mongo {
    /// A secret, because it may carry a password.
    #[serde(serialize_with = "service::hidden")]
    pub(crate) uri: Option<SecretString>,
    pub(crate) database: String,
    pub(crate) deadline_ms: u64,
    pub(crate) max_pool_size: u32,
    pub(crate) stable_api: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mongod {
    pub(crate) data_dir: Option<PathBuf>,
    pub(crate) cache_size_gb: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Audit {
    pub(crate) keep_days: u32,
}

impl Audit {
    /// Returns how long an entry is kept; `None` for ever.
    pub(crate) fn keep(&self) -> Option<Duration> {
        const DAY: Duration = Duration::from_hours(24);
        (self.keep_days > 0).then(|| DAY.saturating_mul(self.keep_days))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) filter: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traces {
    #[serde(serialize_with = "service::without_secrets")]
    pub(crate) endpoint: Option<String>,
    pub(crate) sample_ratio: f64,
    pub(crate) service_name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Why the settings are unusable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("the configuration file {} does not exist", .0.display())]
    NoFile(PathBuf),
    #[error("{} is a directory: --config takes a file in it, such as reprise.toml", .0.display())]
    Directory(PathBuf),
    #[error("{} is no regular file, such as --config takes: copy the settings into one", .0.display())]
    NotAFile(PathBuf),
    #[error("the configuration file {} cannot be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the configuration is invalid; deploy/config.default.toml lists every setting")]
    Unusable(#[from] config::ConfigError),
}

impl Settings {
    /// Reads the defaults, then the file, then the environment.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, SettingsError> {
        let environment =
            Environment::with_prefix("REPRISE").prefix_separator("__").separator("__");
        Self::layered(file, environment)
    }

    fn layered(file: Option<&Path>, environment: Environment) -> Result<Self, SettingsError> {
        let mut builder = Config::builder().add_source(File::from_str(DEFAULTS, FileFormat::Toml));
        if let Some(path) = file {
            readable(path)?;
            builder = builder.add_source(File::from(path).format(FileFormat::Toml));
        }
        Ok(builder.add_source(environment).build()?.try_deserialize()?)
    }

    /// Returns the part that the service reads.
    pub(crate) fn service(&self) -> service::Config {
        service::Config {
            server: self.server.clone(),
            auth: self.auth.clone(),
            apps: self.apps.clone(),
            wallets: self.wallets.clone(),
            adapters: self.adapters.clone(),
            erasure: self.erasure.clone(),
            integrity: self.integrity.clone(),
            webhooks: self.webhooks.clone(),
            search: self.search.clone(),
            limits: self.limits.clone(),
            metrics: self.metrics.clone(),
        }
    }
}

/// Fails for a path at which there is no file. The library would say of anything else that it does not exist.
fn readable(path: &Path) -> Result<(), SettingsError> {
    let path = path.to_owned();
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(SettingsError::Directory(path)),
        Ok(found) if !found.is_file() => Err(SettingsError::NotAFile(path)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(SettingsError::NoFile(path)),
        Err(source) => Err(SettingsError::Unreadable { path, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use persistence::mongo::MongoOptions;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        let source: HashMap<String, String> = variables.collect();
        let environment = Environment::with_prefix("REPRISE").prefix_separator("__");
        environment.separator("__").source(Some(source))
    }

    #[test]
    fn the_defaults_are_complete_and_agree_with_the_service() {
        let settings = Settings::layered(None, environment(&[])).unwrap();
        assert!(settings.mongo.uri.is_none());
        let kept = MongoOptions::new("mongodb://unused", "unused").audit_keep;
        assert_eq!(settings.audit.keep(), kept);
        let defaults = service::Config::default();
        assert_eq!(format!("{:?}", settings.limits), format!("{:?}", defaults.limits));
        assert_eq!(format!("{:?}", settings.server), format!("{:?}", defaults.server));
        assert_eq!(format!("{:?}", settings.apps), format!("{:?}", defaults.apps));
        assert_eq!(format!("{:?}", settings.wallets), format!("{:?}", defaults.wallets));
        assert_eq!(format!("{:?}", settings.erasure), format!("{:?}", defaults.erasure));
        assert_eq!(format!("{:?}", settings.integrity), format!("{:?}", defaults.integrity));
        assert_eq!(format!("{:?}", settings.webhooks), format!("{:?}", defaults.webhooks));
        assert_eq!(format!("{:?}", settings.auth), format!("{:?}", defaults.auth));
        assert_eq!(format!("{:?}", settings.metrics), format!("{:?}", defaults.metrics));
    }

    #[test]
    fn a_file_overrides_the_defaults_and_the_environment_overrides_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reprise.toml");
        let text = "[server]\nlisten = \"127.0.0.1:1\"\n[mongo]\ndatabase = \"other\"\n";
        std::fs::write(&path, text).unwrap();
        let variables = [
            ("REPRISE__SERVER__LISTEN", "127.0.0.1:2"),
            ("REPRISE__MONGO__DEADLINE_MS", "5"),
            ("REPRISE__AUTH__MODE", "jwt"),
            ("REPRISE__AUDIT__KEEP_DAYS", "0"),
            ("REPRISE__METRICS__PUBLIC", "true"),
            ("REPRISE__APPS__USERS_MAY_RUN", "true"),
            ("REPRISE__APPS__DEFAULT_VISIBILITY", "link"),
            ("REPRISE__METRICS__APPS", "acme_corp, globex"),
            ("REPRISE__AUTH__ALGORITHM", "HS256"),
            ("REPRISE__AUTH__SECRET", "00000000000000000000000000000000"),
        ];
        let settings = Settings::layered(Some(&path), environment(&variables)).unwrap();
        assert_eq!(settings.server.listen.port(), 2);
        assert_eq!(settings.mongo.database, "other");
        assert_eq!(settings.mongo.deadline_ms, 5);
        assert_eq!(settings.audit.keep(), None);
        assert_eq!(settings.auth.mode, service::AuthMode::Jwt);
        assert!(settings.auth.secret.is_some());
        assert!(settings.metrics.public);
        assert!(settings.apps.settings.users_may_run && !settings.apps.settings.support_access);
        assert_eq!(settings.apps.settings.default_visibility, records::Visibility::Link);
        assert_eq!(settings.metrics.apps.len(), 2);
    }

    #[test]
    fn unknown_keys_are_refused_by_name() {
        let variables = [("REPRISE__SERVER__LISTENN", "127.0.0.1:2")];
        let error = Settings::layered(None, environment(&variables)).unwrap_err();
        assert!(format!("{:#}", anyhow::Error::from(error)).contains("listenn"));
    }
}
