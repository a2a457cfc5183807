//! The one place that chooses the store: the configured MongoDB, or a private mongod.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use directories::ProjectDirs;
use local_mongod::{Attached, LocalMongod, Lookup, Options};
use persistence::mongo::{MongoOptions, MongoStore};
use records::{AppId, Clock, SystemClock, Uuid7Ids};
use secrecy::SecretString;

use crate::logging;
use crate::settings::{LogFormat, Settings};

/// A store, and the private mongod behind it if this process started one.
pub(crate) struct Backend {
    pub(crate) store: MongoStore,
    pub(crate) mongod: Option<LocalMongod>,
    /// The private mongod that another process started.
    attached: Option<Attached>,
    /// How long writes without a caller may take to end.
    grace: Duration,
}

impl Backend {
    /// Opens the store for a server, which owns the private mongod.
    pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Self> {
        Self::open_with(settings, Arc::new(SystemClock)).await
    }

    async fn open_with(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        if let Some(uri) = &settings.mongo.uri {
            return Self::at(settings, uri.clone(), clock).await;
        }
        let (data_dir, place) = (data_dir(settings)?, place(settings)?);
        if let Some(attached) = local_mongod::attach_to_left(&data_dir).await? {
            logging::tell(settings.log.format, &format!("using the private mongod in {place}"));
            return Self::attached(settings, attached, clock).await;
        }
        let message = format!("starting a private mongod, data in {place}");
        logging::tell(settings.log.format, &message);
        let options = Options {
            data_dir: Some(data_dir),
            cache_size_gb: settings.mongod.cache_size_gb,
            ..mongod_options(settings)
        };
        let mongod = LocalMongod::start(options).await?;
        let uri = mongod.uri_with_credentials();
        Ok(Self { mongod: Some(mongod), ..Self::at(settings, uri, clock).await? })
    }

    /// Opens the store for a command, and uses the private mongod of a running server if there is one.
    pub(crate) async fn join(settings: &Settings) -> anyhow::Result<Self> {
        Self::join_with(settings, Arc::new(SystemClock)).await
    }

    async fn join_with(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        if settings.mongo.uri.is_none() {
            let data_dir = data_dir(settings)?;
            if let Some(attached) = local_mongod::attach(&data_dir).await? {
                return Self::attached(settings, attached, clock).await;
            }
        }
        Self::open_with(settings, clock).await
    }

    async fn attached(
        settings: &Settings,
        attached: Attached,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let opened = Self::at(settings, attached.uri().clone(), clock).await?;
        Ok(Self { attached: Some(attached), ..opened })
    }

    /// Runs a command on the store, and closes the store whatever becomes of the command.
    pub(crate) async fn with_store<T>(
        settings: &Settings,
        command: impl AsyncFnOnce(&MongoStore) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        Self::with_store_and_clock(settings, Arc::new(SystemClock), command).await
    }

    /// Runs a command on the store, with the clock by which the store gives times.
    pub(crate) async fn with_store_and_clock<T>(
        settings: &Settings,
        clock: Arc<dyn Clock>,
        command: impl AsyncFnOnce(&MongoStore) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let backend = Self::join_with(settings, clock).await?;
        let done = command(&backend.store).await;
        backend.close().await;
        done
    }

    async fn at(
        settings: &Settings,
        uri: SecretString,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let options = mongo_options(settings, uri)?;
        let store = MongoStore::connect_with(&options, clock, Arc::new(Uuid7Ids)).await?;
        let grace = Duration::from_millis(settings.limits.shutdown_grace_ms);
        Ok(Self { store, mongod: None, attached: None, grace })
    }

    /// Ends writes whose callers have disconnected, then stops the private mongod, if there is one.
    pub(crate) async fn close(self) {
        if tokio::time::timeout(self.grace, self.store.finish_tasks()).await.is_err() {
            tracing::warn!("some writes did not end before the shutdown");
        }
        drop(self.attached);
        if let Some(mongod) = self.mongod {
            mongod.stop().await;
        }
    }
}

/// Fails if the database has nothing of an app. A chat, or another record, is enough: an app need not be registered.
pub(crate) async fn expect_app(store: &MongoStore, app_id: Option<&AppId>) -> anyhow::Result<()> {
    let Some(app_id) = app_id else { return Ok(()) };
    ensure!(
        store.knows_app(app_id).await?,
        "there is no app {app_id}: it is not registered, and has no chats or other records; check its name, and that \
         mongo.uri and mongo.database name the right database"
    );
    Ok(())
}

/// Returns the options with which every private mongod starts.
pub(crate) fn mongod_options(settings: &Settings) -> Options {
    let show_progress = settings.log.format == LogFormat::Text;
    Options {
        lookup: Lookup { show_progress, ..Lookup::from_env() },
        credentials_for: Some(settings.mongo.database.clone()),
        ..Options::from_env()
    }
}

/// Returns the options with which the store connects to a server.
pub(crate) fn mongo_options(
    settings: &Settings,
    uri: SecretString,
) -> Result<MongoOptions, service::ConfigError> {
    let mut options = MongoOptions::new(uri, &settings.mongo.database);
    options.deadline = Duration::from_millis(settings.mongo.deadline_ms);
    options.max_pool_size = settings.mongo.max_pool_size;
    options.command_spans = settings.traces.endpoint.is_some();
    options.stable_api = settings.mongo.stable_api;
    options.context_history = settings.limits.context_history;
    options.context_history_bytes = settings.limits.context_history_bytes;
    options.audit_keep = settings.audit.keep();
    options.webhook_events = settings.webhooks.url.is_some();
    options.integrity = service::integrity_keys(&settings.integrity)?;
    Ok(options)
}

/// Returns where the data are, as text for people.
pub(crate) fn place(settings: &Settings) -> anyhow::Result<String> {
    if settings.mongo.uri.is_some() {
        return Ok("the MongoDB of mongo.uri".to_owned());
    }
    Ok(data_dir(settings)?.display().to_string())
}

/// Returns where the private mongod keeps its data.
pub(crate) fn data_dir(settings: &Settings) -> anyhow::Result<PathBuf> {
    if let Some(data_dir) = &settings.mongod.data_dir {
        return Ok(data_dir.clone());
    }
    let project = ProjectDirs::from("", "", "reprise")
        .context("there is no home directory to keep data in: set mongod.data_dir or mongo.uri")?;
    Ok(project.data_dir().join("mongod"))
}
