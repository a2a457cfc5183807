use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{AssistantId, FieldChange, NewAssistant, Uuid7Ids};
use serde::Serialize;
use utoipa::ToSchema;

use super::model::AssistantModel;
use crate::adapters::ForeignQuery;
use crate::api::assistants::owned_by;
use crate::extract::needs::Manage;
use crate::extract::{AssistantsScope, Json};
use crate::problem::Problem;

/// The path below the assistants at which the list of their tags is.
const TAGS: &str = "tags";

/// The assistant that was saved.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SavedAssistant)]
pub(crate) struct SavedAssistantResponse {
    #[schema(example = "weather_assistant")]
    assistant_id: String,
}

impl From<AssistantId> for SavedAssistantResponse {
    fn from(assistant_id: AssistantId) -> Self {
        Self { assistant_id: assistant_id.into() }
    }
}

/// Saves an assistant of the caller, in place of the one that has its id. Idempotent under an `assistant_id`.
#[operation(
    answers = "The assistant is saved",
    problems = [FORBIDDEN_PERMISSION, ASSISTANT_TAKEN, ASSISTANT_TOO_LARGE, UPGRADE_PENDING],
)]
pub(crate) async fn create_yao_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantsScope { scope, .. }: AssistantsScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(mut model): Json<AssistantModel>,
) -> Result<Json<SavedAssistantResponse>, Problem> {
    let given = model.assistant_id.take();
    if given.as_ref().is_some_and(|id| id.as_str() == TAGS) {
        let detail = "must not be the name of the list of tags";
        return Err(Problem::invalid_body("/assistant_id", detail));
    }
    let assistant_id = given.unwrap_or_else(|| AssistantId::mint(&Uuid7Ids));
    let content = model.new_content(&scope.caller)?;
    let user_id = owned_by(&scope.caller, FieldChange::Keep, None)?;
    store.put_assistant(&scope, &assistant_id, NewAssistant { user_id, content }).await?;
    Ok(Json(assistant_id.into()))
}
