use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{AssistantFilter, Store};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use super::filter::{filter_of, of_default_kind};
use super::list::FilterParameters;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::assistants::list::PAGE_MIB;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AssistantsScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// The assistants whose tags are listed.
#[derive(Debug)]
pub(crate) struct ListTagsQuery(AssistantFilter);

impl FromParams for ListTagsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self(of_default_kind(filter_of(params)?)))
    }

    fn described() -> Vec<Parameter> {
        declared::<FilterParameters>()
    }
}

/// A tag of assistants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tag)]
struct TagFields {
    #[schema(example = "weather")]
    value: String,
    /// The same, for people.
    #[schema(example = "weather")]
    label: String,
}

/// The tags of assistants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Tags)]
pub(crate) struct ListTagsResponse(Vec<TagFields>);

/// Lists the tags of assistants by name, at most 1,000.
#[operation(answers = "The tags")]
pub(crate) async fn list_yao_assistant_tags(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Read>,
    ForeignQuery(ListTagsQuery(filter)): ForeignQuery<ListTagsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<ListTagsResponse>, Problem> {
    let tags = store.list_assistant_tags(&scope, &filter).await?.tags.into_keys();
    let tags = tags.map(|tag| TagFields { value: tag.clone(), label: tag });
    Ok(Json(ListTagsResponse(tags.collect())))
}
