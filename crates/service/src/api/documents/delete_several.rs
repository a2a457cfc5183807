use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{DeletedDocuments, DocumentFilter, Store};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use super::list::FilterQuery;
use crate::config::LimitsConfig;
use crate::extract::needs::Run;
use crate::extract::{DocumentsScope, FromParams, Json, Params, Query};
use crate::problem::Problem;

/// How many documents one request deletes at most.
const AT_ONCE: usize = 500;

/// The documents to delete.
#[derive(Debug)]
pub(crate) struct DeleteDocumentsQuery(DocumentFilter);

impl FromParams for DeleteDocumentsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let filter = FilterQuery::from_params(params, limits)?.0;
        if filter == DocumentFilter::default() {
            return Err(Problem::invalid_parameter("namespace", "or chat_id is required"));
        }
        Ok(Self(filter))
    }

    fn described() -> Vec<Parameter> {
        FilterQuery::described()
    }
}

/// How many documents were deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedDocuments)]
pub(crate) struct DeleteDocumentsResponse {
    #[schema(example = 2)]
    deleted: u64,
    /// Whether there may be more: repeat the request.
    has_more: bool,
}

impl From<DeletedDocuments> for DeleteDocumentsResponse {
    fn from(DeletedDocuments { deleted, has_more }: DeletedDocuments) -> Self {
        Self { deleted, has_more }
    }
}

/// Deletes the first documents of a list that the caller may write, at most 500 at a time, all together.
///
/// A namespace or a chat is required.
#[operation(answers = "How many were deleted", problems = [UPGRADE_PENDING])]
pub(crate) async fn delete_documents(
    State(store): State<Arc<dyn Store>>,
    DocumentsScope { scope, .. }: DocumentsScope<Run>,
    Query(DeleteDocumentsQuery(filter)): Query<DeleteDocumentsQuery>,
) -> Result<Json<DeleteDocumentsResponse>, Problem> {
    Ok(Json(store.delete_documents(&scope, &filter, AT_ONCE).await?.into()))
}
