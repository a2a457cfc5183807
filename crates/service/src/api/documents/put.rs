use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{Outcome, PutCondition, Store};

use super::binding::BindingQuery;
use crate::extract::conditions::Seen;
use crate::extract::needs::Run;
use crate::extract::{AnyContent, DocumentScope, Json, OnlyNew, Query, Tagged};
use crate::problem::Problem;
use crate::wire::DocumentHeadResponse;

/// Stores a content under a path: in place of the one that is there, or as a new document.
///
/// A content of the type `application/json` must be JSON, and is returned as it was written. A repeated request is recognised by its
/// `Idempotency-Key` until 64 other writes have followed it, and changes nothing. Without a key it is recognised by its content.
#[operation(
    answers = "The document was created",
    repeated = "The document has this content now",
    problems = [APPEND_CONFLICT, CHAT_NOT_FOUND, DOCUMENT_TAKEN, DOCUMENT_TOO_LARGE, FORBIDDEN_OWNER, UPGRADE_PENDING]
)]
pub(crate) async fn put_document(
    State(store): State<Arc<dyn Store>>,
    DocumentScope { scope, id: path, .. }: DocumentScope<Run, Seen>,
    Query(binding): Query<BindingQuery>,
    OnlyNew(only_new): OnlyNew,
    content: AnyContent,
) -> Result<Tagged<(StatusCode, Json<DocumentHeadResponse>)>, Problem> {
    if only_new && scope.if_match.is_some() {
        let detail = "must be missing beside If-Match";
        return Err(Problem::invalid_parameter("If-None-Match", detail));
    }
    let (new, write_id) = binding.document(&scope.caller, content)?;
    let condition = PutCondition { only_new, write_id };
    let written = store.put_document(&scope, &path, new, condition).await?;
    let status =
        if written.outcome == Outcome::Stored { StatusCode::CREATED } else { StatusCode::OK };
    let head = written.record;
    Ok(Tagged { tag: Some(head.entity_tag()), response: (status, Json(head.into())) })
}
