use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{IfMatch, NewAssistant, Scope};

use super::create::SavedAssistantResponse;
use super::model::AssistantModel;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Manage;
use crate::extract::{AssistantScope, Json};
use crate::problem::Problem;

/// How often a change is made again that another one has overtaken.
const MAX_ATTEMPTS: usize = 8;

/// Changes what is given of an assistant; settings that are not given stay.
#[operation(
    answers = "The assistant is changed",
    problems = [ASSISTANT_TOO_LARGE, PRECONDITION_FAILED, UPGRADE_PENDING],
)]
pub(crate) async fn update_yao_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(model): Json<AssistantModel>,
) -> Result<Json<SavedAssistantResponse>, Problem> {
    for _ in 0..MAX_ATTEMPTS {
        let stored = store.get_assistant(&scope, &assistant_id).await?;
        let stored = stored.ok_or_else(|| StoreError::AssistantNotFound(assistant_id.clone()))?;
        let seen = Some(IfMatch::Tags(vec![stored.entity_tag()]));
        let content = model.clone().onto(stored.content, &scope.caller)?;
        let new = NewAssistant { content, ..NewAssistant::default() };
        let scope = Scope { if_match: seen, ..scope.clone() };
        match store.put_assistant(&scope, &assistant_id, new).await {
            Err(StoreError::AssistantChanged(_)) => {}
            changed => return changed.map(|_| Json(assistant_id.into())).map_err(Into::into),
        }
    }
    Err(StoreError::AssistantChanged(assistant_id).into())
}
