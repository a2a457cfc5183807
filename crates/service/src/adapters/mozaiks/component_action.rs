use axum::extract::State;
use futures::future::try_join_all;
use operation::operation;
use persistence::{Store, StoreError};
use records::{ChatId, Clock as _, InputRequest, Permission, Scope, SystemClock};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::answer::answer;
use crate::adapters::ForeignQuery;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::wire::Time;

/// What a user did with a component; other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ComponentAction, example = json!({
    "component_id": "workflow_selector", "action_type": "select", "action_data": {"selected": "Todo"}
}))]
pub(crate) struct ComponentActionRequest {
    /// The component: the id of a pending question, or the `component_id` or `ui_tool_id` in its metadata.
    #[schema(example = "workflow_selector")]
    component_id: String,
    #[schema(example = "select")]
    action_type: String,
    #[serde(default)]
    #[schema(value_type = Option<Value>)]
    action_data: Value,
}

impl Keyed for ComponentActionRequest {}

/// The action is stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AppliedComponentAction)]
pub(crate) struct ComponentActionResponse {
    #[schema(example = "success")]
    status: &'static str,
    message: &'static str,
    /// The data of the action.
    applied: Value,
    timestamp: Time,
}

/// Answers the pending question that a component shows, with what the user did: `{component_id, action_type, action_data}`.
///
/// The workflow reads it as the answer of its input request. An action for which no question waits is refused, so that none is
/// lost without a word.
#[operation(
    answers = "The question is answered",
    problems = [CHAT_ENDED, INPUT_NOT_FOUND, INPUT_CLOSED, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn component_action(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<ComponentActionRequest>,
) -> Result<Json<ComponentActionResponse>, Problem> {
    let ComponentActionRequest { component_id, action_type, action_data } = request;
    for (field, text) in [("/component_id", &component_id), ("/action_type", &action_type)] {
        if text.trim().is_empty() {
            return Err(Problem::invalid_body(field, "is required"));
        }
    }
    let asked = waiting(&*state.store, &scope, &chat_id, &component_id).await?;
    let content = json!({
        "component_id": component_id,
        "action_type": action_type,
        "action_data": action_data,
    });
    answer(&*state.store, &scope, &asked, content, "/action_data").await?;
    Ok(Json(ComponentActionResponse {
        status: "success",
        message: "Component action applied",
        applied: action_data,
        timestamp: SystemClock.now().into(),
    }))
}

/// Finds the pending question that a component shows.
async fn waiting(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    component_id: &str,
) -> Result<InputRequest, Problem> {
    let scope = scope.needing(Permission::Read);
    let chat = store.get_chat(&scope, chat_id).await?;
    let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
    let pending = chat.pending_inputs.iter();
    let pending = pending.map(|request_id| store.get_input_request(&scope, chat_id, request_id));
    let shows = |request: &InputRequest| {
        let metadata = &request.question.metadata;
        let in_metadata = |field: &str| metadata.get(field).and_then(Value::as_str);
        request.request_id.as_str() == component_id
            || in_metadata("component_id") == Some(component_id)
            || in_metadata("ui_tool_id") == Some(component_id)
    };
    let found = try_join_all(pending).await?.into_iter().find(shows);
    found.ok_or_else(|| {
        let detail = format!("no question of the chat waits for the component {component_id}");
        Problem::new(ProblemKind::INPUT_NOT_FOUND, detail)
    })
}
