use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, HttpBody as _};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use records::{AppId, Network, Origin};

use crate::adapters::token_cookies;
use crate::admission::{
    CallerAddress, HeldBody, Peer, Remaining, RequestMemory, Subject, has_credentials,
};
use crate::extract::{RequestOrigin, Verified};
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// Refuses the credentials of an address that has failed too often. Counts the request for its caller, its app and its address, and holds the memory that it reserves until its response is written.
pub(crate) async fn admit(
    State(state): State<AppState>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let app_id = params.ok().and_then(|params| app_id(&params));
    let peer = request.extensions().get().map(|Peer(peer)| *peer);
    let address = peer.map(|peer| state.proxies.caller(peer, request.headers()));
    let (names, method) = (token_cookies(request.uri().path()), request.method().clone());
    let accepted = state.authenticator.accept_token_cookie(names, &method, request.headers_mut());
    let attempts = (!state.authenticator.is_open() && has_credentials(&request))
        .then_some(&*state.failed_attempts);
    if let Some(Err(refusal)) = attempts.map(|attempts| attempts.check(address)) {
        return refused(refusal);
    }
    let verified = match accepted {
        Ok(()) => state.authenticator.identify(&method, request.headers()).await,
        Err(objection) => Err(objection),
    };
    let attempts = attempts.filter(|_| !verified.as_ref().is_err_and(Problem::is_of_known_caller));
    let origin = Arc::new(origin(&request, address));
    let verified = verified.map(|identity| identity.at(Some(Arc::clone(&origin))));
    let subject = Subject::new(verified.as_ref().ok(), app_id.as_ref(), address);
    // What is refused anyway must not use up what an app has for its own callers.
    let is_admitted = |app_id: &&AppId| verified.as_ref().is_ok_and(|it| it.may_use_app(app_id));
    let counted_app = app_id.as_ref().filter(is_admitted);
    let remaining = match state.rates.check(&subject, counted_app, address) {
        Ok(remaining) => remaining,
        Err(refusal) => return refused(refusal),
    };
    let memory = RequestMemory::new(state.memory.of(subject));
    request.extensions_mut().insert(memory.clone());
    request.extensions_mut().insert(Verified(verified));
    if let Some(address) = address {
        request.extensions_mut().insert(CallerAddress(address));
    }
    request.extensions_mut().insert(RequestOrigin(origin));
    let mut response = next.run(request).await;
    if let Some(attempts) = attempts {
        attempts.count_response(response.status(), address);
    }
    if let Some(remaining) = remaining {
        remaining.describe(response.headers_mut());
    }
    if let Some(bytes) = response.body().size_hint().exact() {
        memory.shrink_to(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    response.map(|body| Body::new(HeldBody::new(body, memory)))
}

fn refused((problem, remaining): (Problem, Remaining)) -> Response {
    let mut response = problem.into_response();
    remaining.describe(response.headers_mut());
    response
}

/// Returns where a request comes from, for the audit log. No more of the address than its network leaves the service.
fn origin(request: &Request, address: Option<IpAddr>) -> Origin {
    let id = request.extensions().get::<RequestId>();
    Origin {
        network: address.map(Network::containing),
        request_id: id.and_then(|id| id.as_str().parse().ok()),
    }
}

fn app_id(params: &RawPathParams) -> Option<AppId> {
    let (_, text) = params.iter().find(|(name, _)| *name == "app_id")?;
    AppId::parse(text).ok()
}
