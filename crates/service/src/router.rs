use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{from_fn, from_fn_with_state};
use persistence::Store;
use tower::util::option_layer;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::set_header::SetResponseHeaderLayer;
use utoipa::openapi::OpenApi as Description;
use utoipa::{Modify as _, OpenApi as _};
use utoipa_axum::routes;

use crate::admission::{FailedAttempts, MemoryBudget, Rates, TrustedProxies, admit};
use crate::api::{
    apps, artifacts, calls, chat_sessions as chats, contexts, events, exchanges, health,
    input_requests as inputs, leases, members, messages, metrics, participants, presence, resume,
    resume_points, sign_in, stats, tickets, tokens, turns, user_input, wallets,
};
use crate::auth::Authenticator;
use crate::config::{Config, ConfigError};
use crate::dashboard;
use crate::extract::{answer_if_none_match, refuse_if_match};
use crate::layers::{deadline, observe, panicked};
use crate::live::Hub;
use crate::metrics::Metrics;
use crate::openapi::{Api, DescribedRouter, IdempotencyHeader, complete, served};
use crate::problem::{Problem, ProblemKind, problem_pages, respond};
use crate::registry::AppRegistry;
use crate::state::AppState;

/// The header that names the version of the service, in every response.
const REPRISE_VERSION: HeaderName = HeaderName::from_static("reprise-version");

/// Builds the whole API over a store.
///
/// Reads the key file that the settings name, and does no other I/O: the store may be unreachable. In a runtime, tasks
/// keep the keys and the revocations current as long as the router lives.
pub fn router(store: Arc<dyn Store>, config: Config) -> Result<Router, ConfigError> {
    config.limits.check()?;
    config.apps.check()?;
    let limits = Arc::new(config.limits);
    let registry = Arc::new(AppRegistry::new(Arc::clone(&store), &config.apps));
    let memory = Arc::new(MemoryBudget::new(&limits));
    let (registered, budget) = (Arc::clone(&registry), Arc::clone(&memory));
    let hub = Hub::new(Arc::clone(&store), registered, Arc::clone(&limits), budget);
    let metrics = Metrics::new(&config.metrics, Arc::clone(&store));
    let authenticator = Authenticator::new(&config.auth, &store, limits.recheck(), &metrics)?;
    authenticator.follow(&metrics);
    let failed_attempts = FailedAttempts::new(&limits, metrics.auth.clone());
    let state = AppState {
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
    };
    let (health, document) = health_routes(&state).split_for_parts();
    let (router, mut document) = routes(&state, document).split_for_parts();
    IdempotencyHeader.modify(&mut document);
    let router = router
        .route("/openapi.json", served(&complete(&document)))
        .merge(dashboard::routes())
        .merge(problem_pages());
    Ok(with_layers(admitted(router, &state).merge(with_method_check(health)), state))
}

/// Declares the routes that are answered even to a caller whose quotas are used up: a probe that is refused would stop
/// the process.
fn health_routes(state: &AppState) -> DescribedRouter {
    DescribedRouter::new(Api::openapi())
        .routes(routes!(health::live::live))
        .routes(routes!(health::ready::ready))
        .route_layer(from_fn_with_state(state.clone(), deadline))
}

/// Declares every other route of the API; the methods of one path are on one line.
#[rustfmt::skip]
fn routes(state: &AppState, description: Description) -> DescribedRouter {
    DescribedRouter::new(description)
        .routes(routes!(metrics::get::get_metrics))

        // /api/chats/{app_id}
        .routes(routes!(chats::list::list_chats, chats::create::create_chat))

        // /api/chats/{app_id}/{chat_id}, and below it meta, complete, pause, fail, reopen
        .routes(routes!(chats::get::get_chat, chats::ensure::ensure))
        .routes(routes!(chats::meta::get_chat_meta))
        .routes(routes!(chats::complete::complete_chat))
        .routes(routes!(chats::pause::pause_chat))
        .routes(routes!(chats::fail::fail_chat))
        .routes(routes!(chats::reopen::reopen_chat))

        // … fork
        .routes(routes!(chats::fork::fork_chat))

        // … messages, messages/{sequence}, initial-messages
        .routes(routes!(messages::list::list_messages, messages::append::append_messages))
        .routes(routes!(messages::get::get_message, messages::update::update_message, messages::delete::delete_message))
        .routes(routes!(messages::initial::persist_initial_messages))

        // … members, members/{user_id}, participants, participants/{user_id}, presence
        .routes(routes!(members::list::list_members))
        .routes(routes!(members::put::put_member, members::remove::remove_member))
        .routes(routes!(participants::list::list_participants, participants::join::join_chat))
        .routes(routes!(participants::leave::leave_chat))
        .routes(routes!(presence::get::get_presence))

        // … calls, calls/{call_id}, exchanges
        .routes(routes!(calls::list::list_calls, calls::record::record_calls))
        .routes(routes!(calls::delete::delete_call))
        .routes(routes!(exchanges::append::append_exchange))

        // … input-requests, and below it {request_id}, answer, cancel
        .routes(routes!(inputs::list::list_input_requests, inputs::request::request_input))
        .routes(routes!(inputs::get::get_input_request))
        .routes(routes!(inputs::answer::answer_input_request))
        .routes(routes!(inputs::cancel::cancel_input_request))

        // … turns, resume-points, stacks/{stack_id}, resume
        .routes(routes!(turns::append::append_turn))
        .routes(routes!(resume_points::list::list_resume_points, resume_points::delete::delete_resume_points))
        .routes(routes!(resume_points::stack::get_stack))
        .routes(routes!(resume::get::get_resume))

        // … lease, lease/{fencing_token}
        .routes(routes!(leases::get::get_lease, leases::acquire::acquire_lease))
        .routes(routes!(leases::renew::renew_lease, leases::release::release_lease))

        // … events, where the deadline applies until the stream begins; tickets
        .routes(routes!(events::listen::listen))
        .routes(routes!(tickets::create::create_ticket))

        // /ws/{workflow_name}/{app_id}/{chat_id}/{user_id}
        .routes(routes!(events::join::join))

        // … context, and below it history, history/{version}, diff, restore; artifact
        .routes(routes!(contexts::get::get_context, contexts::replace::replace_context, contexts::merge::merge_context))
        .routes(routes!(contexts::history::list_context_versions))
        .routes(routes!(contexts::version::get_context_version))
        .routes(routes!(contexts::diff::diff_context))
        .routes(routes!(contexts::restore::restore_context))
        .routes(routes!(artifacts::get::get_artifact, artifacts::put::put_artifact, artifacts::delete::delete_artifact))

        // /api/stats, and below it {app_id}, {workflow_name}, series, chats
        .routes(routes!(stats::apps::list_app_stats))
        .routes(routes!(stats::workflows::get_app_stats))
        .routes(routes!(stats::workflow::get_workflow_stats))
        .routes(routes!(stats::series::get_workflow_series))
        .routes(routes!(stats::chats::list_chat_stats))

        // /api/apps, and below it {app_id}, disable, enable
        .routes(routes!(apps::list::list_apps))
        .routes(routes!(apps::get::get_app, apps::register::register_app, apps::update::update_app))
        .routes(routes!(apps::disable::disable_app))
        .routes(routes!(apps::enable::enable_app))

        // /api/wallets/{app_id}/{user_id}, and below it ensure, credit, debit, entries
        .routes(routes!(wallets::get::get_wallet))
        .routes(routes!(wallets::ensure::ensure_wallet))
        .routes(routes!(wallets::credit::credit_wallet))
        .routes(routes!(wallets::debit::debit_wallet))
        .routes(routes!(wallets::entries::list_wallet_entries))

        // /api/tokens/{user_id}: balance, consume
        .routes(routes!(tokens::balance::token_balance))
        .routes(routes!(tokens::consume::consume_tokens))

        // /api/sign-in, /api/sign-in/callback, /api/sign-out, /api/session
        .routes(routes!(sign_in::begin::begin_sign_in))
        .routes(routes!(sign_in::finish::finish_sign_in))
        .routes(routes!(sign_in::end::sign_out))
        .routes(routes!(sign_in::session::get_session))

        // /chat/{app_id}/{chat_id}/{user_id}/input, /api/user-input/submit
        .routes(routes!(user_input::say::say))
        .routes(routes!(user_input::submit::submit_user_input))

        .route_layer(from_fn_with_state(state.clone(), deadline))

        // … history, without the deadline: it lasts as long as its reader needs, and each read has a timeout
        .routes(routes!(messages::history::get_history))
        .route_layer(from_fn(refuse_if_match))
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
