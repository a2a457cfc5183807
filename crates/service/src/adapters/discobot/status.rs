use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use serde::Serialize;
use utoipa::ToSchema;

use super::completion::{Completion, CompletionState, LastCompletion};
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;
use crate::wire::Time;

/// The last completion of a session. All is null if there was none.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CompletionStatus)]
pub(crate) struct CompletionStatusResponse {
    is_running: bool,
    #[schema(example = "msg-1")]
    completion_id: Option<String>,
    started_at: Option<Time>,
    /// Why it failed.
    error: Option<String>,
}

impl From<Completion> for CompletionStatusResponse {
    fn from(completion: Completion) -> Self {
        let (is_running, error) = match completion.state {
            CompletionState::Running => (true, None),
            CompletionState::Ended { error } => (false, error),
        };
        let started_at = completion.started_at.map(Into::into);
        Self { is_running, completion_id: Some(completion.id.into()), started_at, error }
    }
}

/// Tells whether a completion is running, and how the last one ended.
///
/// A completion is running from its message until it is finished or cancelled, or until another turn is stored.
#[operation(answers = "The status")]
pub(crate) async fn get_completion_status(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
) -> Result<Json<CompletionStatusResponse>, Problem> {
    let completion = match LastCompletion::find(&*store, &scope, &chat_id).await {
        Err(StoreError::ChatNotFound(_)) => None,
        last => last?.completion,
    };
    Ok(Json(completion.map(Into::into).unwrap_or_default()))
}
