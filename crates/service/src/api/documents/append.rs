use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{AppendCondition, AppendedDocument, Outcome, Store};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::binding::BindingQuery;
use crate::config::LimitsConfig;
use crate::extract::conditions::Seen;
use crate::extract::needs::Run;
use crate::extract::{
    AnyContent, DocumentScope, FromParams, Json, Params, Query, Tagged, declared,
};
use crate::problem::Problem;

/// Where an append begins, and to whom a document belongs that it creates.
#[derive(Debug)]
pub(crate) struct AppendQuery {
    offset: Option<u64>,
    binding: BindingQuery,
}

#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct AppendParameters {
    /// Where the content must end, in bytes; 0 for a document that does not exist. If it ends elsewhere, nothing is appended and the
    /// answer is `precondition-failed`; but a request that finds its bytes there already has been made before.
    #[param(minimum = 0, maximum = 1_073_741_824)]
    offset: Option<u64>,
}

impl FromParams for AppendQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let offset = params.take_in("offset", 0..=records::DocumentHead::MAX_BYTES)?;
        Ok(Self { offset, binding: BindingQuery::from_params(params, limits)? })
    }

    fn described() -> Vec<Parameter> {
        [declared::<AppendParameters>(), BindingQuery::described()].concat()
    }
}

/// What an append has done.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AppendedDocument)]
pub(crate) struct AppendResponse {
    /// Where the appended bytes begin.
    #[schema(example = 1024)]
    offset: u64,
    /// The size of the content now.
    #[schema(example = 2048)]
    size: u64,
    /// The `ETag` of the document now, without quotation marks.
    #[schema(example = "content_0198d4b27c1e7a3b9f552f6c1d0e8a41-2")]
    entity_tag: String,
    /// Whether an earlier request has appended these bytes.
    duplicate: bool,
}

impl From<AppendedDocument> for AppendResponse {
    fn from(appended: AppendedDocument) -> Self {
        let AppendedDocument { offset, size, entity_tag, outcome } = appended;
        Self { offset, size, entity_tag, duplicate: outcome == Outcome::Duplicate }
    }
}

/// Appends to the content of a document, or creates it, and returns where the appended bytes begin.
///
/// The cost does not grow with the document, and several writers may append at the same time. A repeated request is recognised
/// by its `Idempotency-Key` until 64 others have followed it, and refused if its bytes are others; one with `offset` at any time.
/// The content type and `ttl_seconds` only count for a document that is created.
#[operation(
    answers = "The bytes were appended",
    repeated = "An earlier request has appended them",
    problems = [APPEND_CONFLICT, CHAT_NOT_FOUND, DOCUMENT_TAKEN, DOCUMENT_TOO_LARGE, FORBIDDEN_OWNER, UPGRADE_PENDING]
)]
pub(crate) async fn append_document(
    State(store): State<Arc<dyn Store>>,
    DocumentScope { scope, id: path, .. }: DocumentScope<Run, Seen>,
    Query(AppendQuery { offset, binding }): Query<AppendQuery>,
    content: AnyContent,
) -> Result<Tagged<(StatusCode, Json<AppendResponse>)>, Problem> {
    let (new, write_id) = binding.document(&scope.caller, content)?;
    let condition = AppendCondition { offset, write_id };
    let appended = store.append_document(&scope, &path, new, condition).await?;
    let is_stored = appended.outcome == Outcome::Stored;
    let status = if is_stored { StatusCode::CREATED } else { StatusCode::OK };
    let tag = Some(appended.entity_tag.clone());
    Ok(Tagged { tag, response: (status, Json(appended.into())) })
}
