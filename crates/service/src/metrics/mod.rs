//! The metrics that `GET /metrics` returns: those of requests and live subscribers, and those of the store.

mod auth;
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
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::config::MetricsConfig;
pub(crate) use auth::AuthMetrics;
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
        registry.register_collector(Box::new(StoreCollector(store)));
        Self { is_public: config.public, requests, live, keys, auth, search, registry }
    }

    /// Returns the current metrics as OpenMetrics text.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
