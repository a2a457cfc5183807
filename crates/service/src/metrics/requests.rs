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

/// The metrics of HTTP requests.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    responses: Family<ResponseLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    in_flight: Gauge,
    by_app: Family<AppLabels, Counter>,
    /// The apps that have a label of their own.
    apps: Vec<Arc<str>>,
    /// The label of all other apps.
    other_apps: Arc<str>,
}

/// The labels of a finished request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
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

/// The template of a route, never a path: this bounds the number of series.
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
            responses: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(duration_bounds_sec())),
            in_flight: Gauge::default(),
            by_app: Family::default(),
            apps: apps.iter().map(|app| Arc::from(app.as_str())).collect(),
            other_apps: Arc::from("other"),
        };
        let help = "HTTP requests, by method, route and class of status";
        registry.register("reprise_http_requests", help, metrics.responses.clone());
        let help = "Time from the request to the start of its response";
        let name = "reprise_http_request_duration_seconds";
        registry.register(name, help, metrics.durations.clone());
        let help = "Requests whose response has not started";
        registry.register("reprise_http_requests_in_flight", help, metrics.in_flight.clone());
        let help = "HTTP requests of an app, by app and class of status";
        registry.register("reprise_app_requests", help, metrics.by_app.clone());
        metrics
    }

    /// Counts a request when its response starts, or when the client aborts it before that.
    pub(crate) fn begin(
        &self,
        method: &Method,
        route: Option<MatchedPath>,
        path: &str,
    ) -> InFlight<'_> {
        self.in_flight.inc();
        let labels = RouteLabels { method: method_label(method), route: Route(route) };
        let app = app_in(labels.route.as_str(), path).map(|app| self.app_label(app));
        InFlight { metrics: self, labels, app, start: Instant::now(), status: "aborted" }
    }

    fn app_label(&self, app: &str) -> Arc<str> {
        let named = self.apps.iter().find(|named| &***named == app);
        Arc::clone(named.unwrap_or(&self.other_apps))
    }
}

/// A request whose response has not started; dropping it counts the request.
#[derive(Debug)]
pub(crate) struct InFlight<'a> {
    metrics: &'a RequestMetrics,
    labels: RouteLabels,
    app: Option<Arc<str>>,
    start: Instant,
    status: &'static str,
}

impl InFlight<'_> {
    /// Returns the method, or `other` for an unknown one.
    pub(crate) fn method(&self) -> &'static str {
        self.labels.method
    }

    /// Ends the request with the status of its response.
    pub(crate) fn end(mut self, status: StatusCode) {
        self.status = status_class(status);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        let (metrics, status) = (self.metrics, self.status);
        metrics.in_flight.dec();
        let elapsed = self.start.elapsed().as_secs_f64();
        metrics.durations.get_or_create(&self.labels).observe(elapsed);
        let RouteLabels { method, route } = self.labels.clone();
        metrics.responses.get_or_create(&ResponseLabels { method, route, status }).inc();
        if let Some(app) = self.app.take() {
            metrics.by_app.get_or_create(&AppLabels { app, status }).inc();
        }
    }
}

/// Returns the label of a method. Unknown methods share one label: a client can invent any number of them.
fn method_label(method: &Method) -> &'static str {
    const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    METHODS.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

fn status_class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        ..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}

/// Returns the segment of a path at the position of `{app_id}` in its route.
fn app_in<'p>(route: &str, path: &'p str) -> Option<&'p str> {
    let mut segments = iter::zip(route.split('/'), path.split('/'));
    segments.find(|(name, _)| *name == "{app_id}").map(|(_, app)| app)
}
