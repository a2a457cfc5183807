//! The metrics that `GET /metrics` returns: those of requests and live subscribers, those of the store, and what apps do.

mod apps;
mod auth;
mod integrity;
mod keys;
mod live;
mod requests;
mod search;
mod store;

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use persistence::Store;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::config::MetricsConfig;
use apps::AppMetrics;
pub(crate) use auth::AuthMetrics;
pub(crate) use integrity::IntegrityMetrics;
pub(crate) use keys::KeyMetrics;
pub(crate) use live::{LiveMetrics, SubscriberMetrics, Transport};
pub(crate) use requests::RequestMetrics;
pub(crate) use search::SearchIndexMetrics;
use store::StoreCollector;

/// The metrics of the service and its store.
#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) is_public: bool,
    pub(crate) requests: RequestMetrics,
    pub(crate) live: LiveMetrics,
    pub(crate) keys: KeyMetrics,
    pub(crate) auth: AuthMetrics,
    pub(crate) search: SearchIndexMetrics,
    pub(crate) integrity: IntegrityMetrics,
    apps: AppMetrics,
    certificate_expires_at: Gauge,
    registry: Registry,
}

impl Metrics {
    pub(crate) fn new(config: &MetricsConfig, store: Arc<dyn Store>) -> Self {
        let mut registry = Registry::default();
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("reprise_build", "The version of the service", build);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let started = ConstGauge::new(started.as_secs_f64());
        let help = "Start time of the service, in seconds since 1970";
        registry.register("process_start_time_seconds", help, started);
        let requests = RequestMetrics::new(&config.apps, &mut registry);
        let live = LiveMetrics::new(&mut registry);
        let keys = KeyMetrics::new(&mut registry);
        let auth = AuthMetrics::new(&mut registry);
        let search = SearchIndexMetrics::new(&mut registry);
        let integrity = IntegrityMetrics::new(&mut registry);
        let certificate_expires_at = Gauge::default();
        let help = "When the certificate of TLS, or one that leads to it, expires, in seconds since 1970; 0 without TLS";
        registry.register(
            "reprise_tls_certificate_expiry_timestamp_seconds",
            help,
            certificate_expires_at.clone(),
        );
        let apps = AppMetrics::new(&config.apps, Arc::clone(&store));
        registry.register_collector(Box::new(apps.collector()));
        registry.register_collector(Box::new(StoreCollector(store)));
        Self {
            is_public: config.public,
            requests,
            live,
            keys,
            auth,
            search,
            integrity,
            apps,
            certificate_expires_at,
            registry,
        }
    }

    /// Notes when the certificate with which the service proves its name expires.
    pub(crate) fn note_certificate(&self, expires_at: Option<i64>) {
        self.certificate_expires_at.set(expires_at.unwrap_or_default());
    }

    /// Returns the current metrics as OpenMetrics text.
    pub(crate) async fn text(&self) -> Result<String, fmt::Error> {
        self.apps.refresh().await;
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
