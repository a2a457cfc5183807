use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AssistantFilter, Store};
use utoipa::openapi::path::Parameter;

use super::filter::filter_of;
use super::list::FilterParameters;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::assistants::delete_several::{AT_ONCE, DeleteAssistantsResponse};
use crate::api::assistants::list::PAGE_MIB;
use crate::config::LimitsConfig;
use crate::extract::needs::Manage;
use crate::extract::{AssistantsScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// The assistants to delete.
#[derive(Debug)]
pub(crate) struct DeleteQuery(AssistantFilter);

impl FromParams for DeleteQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let filter = filter_of(params)?;
        if filter == AssistantFilter::default() {
            return Err(Problem::invalid_parameter(
                "assistant_ids",
                "or another filter is required",
            ));
        }
        Ok(Self(filter))
    }

    fn described() -> Vec<Parameter> {
        declared::<FilterParameters>()
    }
}

/// Deletes the assistants of a filter that the caller manages, at most 500 at a time. At least one filter is required.
#[operation(answers = "How many were deleted")]
pub(crate) async fn delete_yao_assistants(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Manage>,
    ForeignQuery(DeleteQuery(filter)): ForeignQuery<DeleteQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<DeleteAssistantsResponse>, Problem> {
    Ok(Json(store.delete_assistants(&scope, &filter, AT_ONCE).await?.into()))
}
