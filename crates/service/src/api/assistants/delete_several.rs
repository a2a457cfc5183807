use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AssistantFilter, DeletedAssistants, Store};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use super::list::{FilterQuery, PAGE_MIB};
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::needs::Manage;
use crate::extract::{AssistantsScope, FromParams, Json, Params, Query};
use crate::problem::Problem;

/// How many assistants one request deletes at most.
pub(crate) const AT_ONCE: usize = 500;

/// The assistants to delete.
#[derive(Debug)]
pub(crate) struct DeleteAssistantsQuery(AssistantFilter);

impl FromParams for DeleteAssistantsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let filter = FilterQuery::from_params(params, limits)?.0;
        if filter == AssistantFilter::default() {
            return Err(Problem::invalid_parameter("ids", "or another filter is required"));
        }
        Ok(Self(filter))
    }

    fn described() -> Vec<Parameter> {
        FilterQuery::described()
    }
}

/// How many assistants were deleted.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DeletedAssistants)]
pub(crate) struct DeleteAssistantsResponse {
    #[schema(example = 2)]
    deleted: u64,
    /// Whether there may be more: repeat the request.
    has_more: bool,
}

impl From<DeletedAssistants> for DeleteAssistantsResponse {
    fn from(DeletedAssistants { deleted, has_more }: DeletedAssistants) -> Self {
        Self { deleted, has_more }
    }
}

/// Deletes the assistants of a list that the caller manages, at most 500 at a time.
///
/// At least one filter is required. An assistant that is changed meanwhile stays.
#[operation(answers = "How many were deleted")]
pub(crate) async fn delete_assistants(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Manage>,
    Query(DeleteAssistantsQuery(filter)): Query<DeleteAssistantsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<DeleteAssistantsResponse>, Problem> {
    Ok(Json(store.delete_assistants(&scope, &filter, AT_ONCE).await?.into()))
}
