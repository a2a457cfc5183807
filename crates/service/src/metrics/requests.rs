use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;
use std::{fmt, iter};

use axum::extract::MatchedPath;
use axum::http::{Method, StatusCode};
use persistence::metrics::duration_bounds_sec;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use records::AppId;

/// The requests and how they were answered.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    answered: Family<AnswerLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    by_app: Family<AppLabels, Counter>,
    /// The names of the apps that have one, and of all others.
    apps: Vec<Arc<str>>,
    other_apps: Arc<str>,
}

/// How a request was answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    method: &'static str,
    route: Route,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    method: &'static str,
    route: Route,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AppLabels {
    app: Arc<str>,
    status: &'static str,
}

/// The template of a route, never a path: there are as many as there are routes.
#[derive(Debug, Clone)]
struct Route(Option<MatchedPath>);

impl Route {
    fn as_str(&self) -> &str {
        self.0.as_ref().map_or("unmatched", MatchedPath::as_str)
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Route {}

impl Hash for Route {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl EncodeLabelValue for Route {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        EncodeLabelValue::encode(&self.as_str(), encoder)
    }
}

impl RequestMetrics {
    pub(super) fn new(apps: &[AppId], registry: &mut Registry) -> Self {
        let metrics = Self {
            answered: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(duration_bounds_sec())),
            in_flight: Gauge::default(),
            by_app: Family::default(),
            apps: apps.iter().map(|app| Arc::from(app.as_str())).collect(),
            other_apps: Arc::from("other"),
        };
        let help = "Requests, by how they were answered";
        registry.register("reprise_http_requests", help, metrics.answered.clone());
        let help = "How long requests took until their answer began";
        let name = "reprise_http_request_duration_seconds";
        registry.register(name, help, metrics.durations.clone());
        let help = "Requests whose answer has not begun";
        registry.register("reprise_http_requests_in_flight", help, metrics.in_flight.clone());
        let help = "Requests that concern an app, by the app and how they were answered";
        registry.register("reprise_app_requests", help, metrics.by_app.clone());
        metrics
    }

    /// Counts a request when its answer begins, or when it is broken off before.
    pub(crate) fn begin(
        &self,
        method: &Method,
        route: Option<MatchedPath>,
        path: &str,
    ) -> InFlight<'_> {
        self.in_flight.inc();
        let labels = RouteLabels { method: known(method), route: Route(route) };
        let app = app_in(labels.route.as_str(), path).map(|app| self.name(app));
        InFlight { metrics: self, labels, app, start: Instant::now(), status: "aborted" }
    }

    fn name(&self, app: &str) -> Arc<str> {
        let named = self.apps.iter().find(|named| &***named == app);
        Arc::clone(named.unwrap_or(&self.other_apps))
    }
}

/// A request whose answer has not begun.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    metrics: &'a RequestMetrics,
    labels: RouteLabels,
    app: Option<Arc<str>>,
    start: Instant,
    status: &'static str,
}

impl InFlight<'_> {
    /// Ends it with its answer.
    pub(crate) fn end(mut self, status: StatusCode) {
        self.status = class(status);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let (metrics, status) = (self.metrics, self.status);
        metrics.in_flight.dec();
        let elapsed = self.start.elapsed().as_secs_f64();
        metrics.durations.get_or_create(&self.labels).observe(elapsed);
        let RouteLabels { method, route } = self.labels.clone();
        metrics.answered.get_or_create(&AnswerLabels { method, route, status }).inc();
        if let Some(app) = self.app.take() {
            metrics.by_app.get_or_create(&AppLabels { app, status }).inc();
        }
    }
}

/// Returns the name of a method; those that no route has share one, because anybody can make them up.
fn known(method: &Method) -> &'static str {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        ..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}

/// Returns what stands in a path where its route has the app.
fn app_in<'p>(route: &str, path: &'p str) -> Option<&'p str> {
    let mut segments = iter::zip(route.split('/'), path.split('/'));
    segments.find(|(name, _)| *name == "{app_id}").map(|(_, app)| app)
}
