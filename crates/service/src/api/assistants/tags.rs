use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Serialize;
use utoipa::ToSchema;

use super::list::{FilterQuery, PAGE_MIB};
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{AssistantsScope, Json, Query};
use crate::problem::Problem;

/// The tags of assistants.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AssistantTags)]
pub(crate) struct ListAssistantTagsResponse {
    /// By name.
    data: Vec<AssistantTagFields>,
    /// Whether there may be more tags: 10,000 assistants were examined, or 1,000 tags found.
    truncated: bool,
}

/// A tag, and how many assistants have it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AssistantTag)]
struct AssistantTagFields {
    #[schema(example = "weather")]
    tag: String,
    #[schema(example = 3)]
    assistants: u64,
}

/// Lists the tags of the assistants that the list with the same filter has.
#[operation(answers = "The tags")]
pub(crate) async fn list_assistant_tags(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Read>,
    Query(FilterQuery(filter)): Query<FilterQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<ListAssistantTagsResponse>, Problem> {
    let tags = store.list_assistant_tags(&scope, &filter).await?;
    let data =
        tags.tags.into_iter().map(|(tag, assistants)| AssistantTagFields { tag, assistants });
    Ok(Json(ListAssistantTagsResponse { data: data.collect(), truncated: tags.is_truncated }))
}
