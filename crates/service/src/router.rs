use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use persistence::Store;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::adapters::{self, Aliases};
use crate::admission::{FailedAttempts, MemoryBudget, Rates, TrustedProxies};
use crate::auth::Authenticator;
use crate::config::{Config, ConfigError};
use crate::dashboard;
use crate::extract::{answer_if_none_match, refuse_if_match, refuse_if_none_match};
use crate::integrity::IntegritySigner;
use crate::layers::{admit, close_unread, deadline, observe, panicked};
use crate::live::Hub;
use crate::metrics::Metrics;
use crate::openapi::Document;
use crate::operations::{OPERATIONS, PROBES, Section};
use crate::problem::{Problem, ProblemKind, problem_pages, respond};
use crate::receipts::ReceiptSigner;
use crate::registry::AppRegistry;
use crate::search_index::{SearchIndex, SearchIndexer};
use crate::state::AppState;

/// The header that names the version of the service, in every response.
const REPRISE_VERSION: HeaderName = HeaderName::from_static("reprise-version");

/// Builds the whole API over a store.
///
/// Reads the key files that the settings name, and does no other I/O: the store may be unreachable. In a runtime, tasks
/// keep the keys and the revocations current as long as the router lives.
pub fn router(store: Arc<dyn Store>, config: Config) -> Result<Router, ConfigError> {
    router_and_upkeep(store, config).map(|(router, _)| router)
}

/// Keeps what is derived from the chats of a store up to date: the search index, and what is signed.
#[derive(Debug)]
pub struct Upkeep {
    indexer: SearchIndexer,
    signer: IntegritySigner,
}

impl Upkeep {
    /// Works until the future is dropped. It may be dropped at any time.
    pub async fn run(self) {
        tokio::join!(self.indexer.run(), self.signer.run());
    }
}

/// Builds the whole API over a store as [`router`] does, and what keeps the rest of the store up to date.
pub fn router_and_upkeep(
    store: Arc<dyn Store>,
    config: Config,
) -> Result<(Router, Upkeep), ConfigError> {
    config.check_parts()?;
    let limits = Arc::new(config.limits);
    let registry = Arc::new(AppRegistry::new(Arc::clone(&store), &config.apps));
    let memory = Arc::new(MemoryBudget::new(&limits));
    let (registered, budget) = (Arc::clone(&registry), Arc::clone(&memory));
    let hub = Hub::new(Arc::clone(&store), registered, Arc::clone(&limits), budget);
    let metrics = Metrics::new(&config.metrics, Arc::clone(&store));
    let authenticator = Authenticator::new(&config.auth, &store, limits.recheck(), &metrics)?;
    authenticator.follow(&metrics);
    let search = Arc::new(SearchIndex::new(config.search.enabled, metrics.search.clone()));
    let indexer = SearchIndexer { store: Arc::clone(&store), index: Arc::clone(&search) };
    let signer = IntegritySigner {
        store: Arc::clone(&store),
        interval: Duration::from_millis(config.integrity.interval_ms),
        is_enabled: config.integrity.key_file.is_some(),
        metrics: metrics.integrity.clone(),
    };
    let failed_attempts = FailedAttempts::new(&limits, metrics.auth.clone());
    let state = AppState {
        search,
        receipts: Arc::new(ReceiptSigner::new(&config.erasure)?),
        hub: Arc::new(hub),
        registry,
        metrics: Arc::new(metrics),
        billing: config.wallets.billing(),
        memory,
        rates: Arc::new(Rates::new(&limits)),
        failed_attempts: Arc::new(failed_attempts),
        proxies: Arc::new(TrustedProxies::new(&config.server)?),
        store,
        authenticator: Arc::new(authenticator),
        limits,
        adapters: Arc::new(config.adapters.clone()),
    };
    let health = routes(&PROBES, &state);
    let adapters = adapters::enabled(&config.adapters).map(|(adapter, _)| {
        let text = Arc::new(LazyLock::new(|| adapter.description()));
        let description = move || async move { described((**text).clone()) };
        routes(&adapter.sections, &state).route(&adapter.description_path(), get(description))
    });
    let router = adapters
        .fold(routes(&OPERATIONS, &state), Router::merge)
        .route("/openapi.json", get(description))
        .merge(dashboard::routes())
        .merge(problem_pages());
    let aliases = Aliases::of(&config.adapters);
    let router = admitted(router, &state).merge(with_method_check(health));
    Ok((aliases.before(with_layers(router, state)), Upkeep { indexer, signer }))
}

/// The description of all operations, as JSON.
static DESCRIPTION: LazyLock<Bytes> = LazyLock::new(|| {
    let mut document = Document::new();
    document.sections(OPERATIONS.iter().chain(&*PROBES));
    document.to_json()
});

/// Returns the routes of a part of the table.
fn routes(sections: &[Section], state: &AppState) -> Router<AppState> {
    let mut router = Router::new();
    for row in sections.iter().flat_map(|section| &section.rows) {
        let mut route = row.route();
        if row.has_deadline {
            route = route.route_layer(from_fn_with_state(state.clone(), deadline));
        }
        if !row.honoured.if_match {
            route = route.route_layer(from_fn(refuse_if_match));
        }
        if !row.method.is_safe() && !row.honoured.if_none_match {
            route = route.route_layer(from_fn(refuse_if_none_match));
        }
        router = router.route(row.path, route);
    }
    router
}

async fn description() -> impl IntoResponse {
    described(DESCRIPTION.clone())
}

fn described(description: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], description)
}

/// Admits every request, also one to a path that does not exist: it counts for the quotas of its caller.
fn admitted(router: Router<AppState>, state: &AppState) -> Router<AppState> {
    with_method_check(router)
        .fallback(async || {
            Problem::new(
                ProblemKind::NO_SUCH_ROUTE,
                "no route has this path; GET /openapi.json lists them",
            )
        })
        .layer(from_fn_with_state(state.clone(), admit))
}

fn with_method_check(router: Router<AppState>) -> Router<AppState> {
    router.method_not_allowed_fallback(async || {
        let detail = "the route does not have this method; see the Allow header";
        Problem::new(ProblemKind::METHOD_NOT_ALLOWED, detail)
    })
}

/// Adds the middleware around all routes; the last layer is the outermost.
fn with_layers(router: Router<AppState>, state: AppState) -> Router {
    let cors = option_layer(state.authenticator.cors());
    let answering = router
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(answer_if_none_match))
        .layer(from_fn(respond));
    with_headers(answering)
        .layer(cors)
        .layer(from_fn(close_unread))
        .layer(from_fn_with_state(Arc::clone(&state.metrics), observe))
        .with_state(state)
}

/// Sets the headers that every response has.
pub(crate) fn with_headers<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router
        .layer(always(header::CACHE_CONTROL, "no-store"))
        // The dashboard sets its own policy.
        .layer(SetResponseHeaderLayer::if_not_present(
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
        ))
        .layer(always(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .layer(always(REPRISE_VERSION, env!("CARGO_PKG_VERSION")))
}

/// Sets a header of every response.
fn always(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}
