use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{BoundToolCall, ChatId, Closed, Closing, InputRequest, Permission, Question, Scope};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// How many questions are read at a time, and the most that are examined for an id.
const READ_AT_ONCE: usize = 100;
const MAX_EXAMINED: usize = 1_000;

/// The question to return.
#[derive(Debug, IntoParams)]
pub(crate) struct QuestionQuery {
    /// The id of the tool call that asks. Without it, the question that waits longest.
    #[param(rename = "toolUseID")]
    tool_use_id: Option<String>,
}

impl FromParams for QuestionQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let id = params.take_with("toolUseID", |text| Ok::<_, String>(text.to_owned()))?;
        Ok(Self { tool_use_id: id.filter(|id| !id.is_empty()) })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A question, and with `toolUseID` its status.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QuestionStatus)]
pub(crate) struct QuestionResponse {
    /// `pending`, `answered` or `expired`; missing without `toolUseID`. A question that is not known has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "pending")]
    status: Option<&'static str>,
    /// Null if no question waits for an answer.
    question: Option<PendingQuestion>,
}

/// A question that waits for an answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PendingQuestion {
    /// The id of the tool call that asks; that of the input request if it is not bound to a call.
    #[serde(rename = "toolUseID")]
    #[schema(example = "toolu_1")]
    tool_use_id: String,
    /// Each with `question`, `header`, `options` and `multiSelect`.
    #[schema(value_type = Vec<Object>)]
    questions: Value,
}

impl From<InputRequest> for PendingQuestion {
    fn from(request: InputRequest) -> Self {
        let tool_use_id = id_of(&request).to_owned();
        let Question { prompt, agent, options, tool_call, .. } = request.question;
        let of_call = tool_call.and_then(|BoundToolCall { arguments, .. }| {
            // Some formats have the arguments of a call as a text.
            let mut arguments = match arguments {
                Value::String(text) => serde_json::from_str(&text).ok()?,
                arguments => arguments,
            };
            arguments.get_mut("questions").map(Value::take)
        });
        let questions = of_call.filter(Value::is_array).unwrap_or_else(|| {
            let options =
                options.into_iter().map(|label| json!({"label": label, "description": ""}));
            json!([{
                "question": prompt, "header": agent.unwrap_or_default(),
                "options": options.collect::<Value>(), "multiSelect": false,
            }])
        });
        Self { tool_use_id, questions }
    }
}

/// Returns the question that waits for an answer.
///
/// An agent asks by an input request that is bound to its tool call.
#[operation(answers = "The question")]
pub(crate) async fn get_question(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(query): ForeignQuery<QuestionQuery>,
    _: Reserve<36>,
) -> Result<Json<QuestionResponse>, Problem> {
    let Some(id) = query.tool_use_id else {
        let pending = pending(&*store, &scope, &chat_id).await?;
        let question = pending.into_iter().next().map(Into::into);
        return Ok(Json(QuestionResponse { status: None, question }));
    };
    let found = find(&*store, &scope, &chat_id, &id).await?;
    let status = match found.as_ref().map(|request| &request.closing) {
        Some(None) => "pending",
        Some(Some(Closing { how: Closed::Answered(_), .. })) => "answered",
        Some(Some(_)) | None => "expired",
    };
    let question = found.filter(|request| request.closing.is_none()).map(Into::into);
    Ok(Json(QuestionResponse { status: Some(status), question }))
}

/// Returns the id by which clients know a question.
fn id_of(request: &InputRequest) -> &str {
    let of_call = request.question.tool_call.as_ref().map(|call| &*call.id);
    of_call.unwrap_or(request.request_id.as_str())
}

/// Finds the questions that wait for an answer, the oldest first. A session that does not exist has none.
async fn pending(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Vec<InputRequest>, StoreError> {
    let scope = &scope.needing(Permission::Read);
    let Some(chat) = store.get_chat(scope, chat_id).await? else { return Ok(Vec::new()) };
    let mut pending = Vec::new();
    for request_id in &chat.pending_inputs {
        let request = store.get_input_request(scope, chat_id, request_id).await?;
        pending.extend(Some(request).filter(|request| request.closing.is_none()));
    }
    Ok(pending)
}

/// Finds a question: one that waits for an answer, or else the newest one with the id.
pub(super) async fn find(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    id: &str,
) -> Result<Option<InputRequest>, StoreError> {
    let pending = pending(store, scope, chat_id).await?;
    if let Some(found) = pending.into_iter().find(|request| id_of(request) == id) {
        return Ok(Some(found));
    }
    let scope = &scope.needing(Permission::Read);
    let (mut examined, mut after) = (0, None);
    loop {
        let page = store.list_input_requests(scope, chat_id, READ_AT_ONCE, after.as_ref()).await;
        let page = match page {
            Err(StoreError::ChatNotFound(_)) => return Ok(None),
            page => page?,
        };
        examined += page.requests.len();
        let found = page.requests.into_iter().find(|request| id_of(request) == id);
        after = page.next;
        if found.is_some() || after.is_none() || examined >= MAX_EXAMINED {
            return Ok(found);
        }
    }
}

/// Cancels the questions that wait for an answer.
pub(super) async fn cancel_pending(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<(), StoreError> {
    for request in pending(store, scope, chat_id).await? {
        let reason = Some("the completion was cancelled");
        match store.cancel_input_request(scope, chat_id, &request.request_id, reason).await {
            Err(StoreError::InputClosed(_)) => {}
            cancelled => drop(cancelled?),
        }
    }
    Ok(())
}
