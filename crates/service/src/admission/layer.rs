use axum::body::{Body, HttpBody as _};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use records::AppId;

use super::held_body::HeldBody;
use super::request_memory::RequestMemory;
use super::subject::Subject;
use crate::state::AppState;

/// Counts the request for its caller, and holds the memory that it reserves until its response is written.
pub(crate) async fn admit(
    State(state): State<AppState>,
    params: Result<RawPathParams, RawPathParamsRejection>,
    mut request: Request,
    next: Next,
) -> Response {
    let app_id = params.ok().and_then(|params| app_id(&params));
    let identity = state.authenticator.identify(request.headers()).ok();
    let subject = Subject::new(identity.as_ref(), app_id.as_ref(), None);
    let memory = RequestMemory::new(state.memory.of(subject));
    request.extensions_mut().insert(memory.clone());
    let response = next.run(request).await;
    if let Some(bytes) = response.body().size_hint().exact() {
        memory.shrink_to(usize::try_from(bytes).unwrap_or(usize::MAX));
    }
    response.map(|body| Body::new(HeldBody::new(body, memory)))
}

fn app_id(params: &RawPathParams) -> Option<AppId> {
    let (_, text) = params.iter().find(|(name, _)| *name == "app_id")?;
    AppId::parse(text).ok()
}
