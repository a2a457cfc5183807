use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{
    BoundToolCall, Closed, Closing, EventId, InputKind, InputRequest, JsonObject, NewInputAnswer,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::clear::DoneResponse;
use super::question::find;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed};
use crate::joining;
use crate::problem::{Problem, ProblemKind};

/// Answers to the questions of a tool call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = AnswerQuestion, example = json!({
    "toolUseID": "toolu_1", "answers": {"Which database?": "MongoDB"}
}))]
pub(crate) struct AnswerRequest {
    /// The id of the tool call that asks.
    #[serde(default, rename = "toolUseID")]
    tool_use_id: String,
    /// The answer to each question.
    #[serde(default)]
    #[schema(value_type = Object)]
    answers: Option<JsonObject>,
}

impl Keyed for AnswerRequest {}

/// Answers a question. The answers become a message of the user.
///
/// The first answer wins. The same answers again change nothing; other ones are 404, as for a question that was never asked.
#[operation(
    answers = "The question is answered",
    problems = [INPUT_NOT_FOUND, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn answer_question(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<36>,
    Json(AnswerRequest { tool_use_id, answers }): Json<AnswerRequest>,
) -> Result<Json<DoneResponse>, Problem> {
    let Some(answers) = answers.filter(|_| !tool_use_id.is_empty()) else {
        return Err(Problem::invalid_body("", "toolUseID and answers are required"));
    };
    let found = find(&*store, &scope, &chat_id, &tool_use_id).await?;
    let request = found.ok_or_else(not_pending)?;
    let answer = answer_to(&request, answers);
    let is_repeated = match &request.closing {
        Some(Closing { how: Closed::Answered(given), .. }) => given.content == answer.content,
        Some(_) => return Err(not_pending()),
        None => false,
    };
    if !is_repeated {
        let answered = joining::answer(&*store, &scope, &chat_id, &request.request_id, answer);
        match answered.await {
            Err(StoreError::InputClosed(_) | StoreError::EventConflict { .. }) => {
                return Err(not_pending());
            }
            answered => answered?,
        };
    }
    Ok(Json(DoneResponse { success: true }))
}

fn not_pending() -> Problem {
    Problem::new(ProblemKind::INPUT_NOT_FOUND, "No pending question for this toolUseID")
}

/// Derives the id of an answer from the question.
fn answer_id(request: &InputRequest) -> EventId {
    EventId::of_answer(&[
        ("chat", request.chat_id.as_str()),
        ("request", request.request_id.as_str()),
    ])
}

/// Returns the answer to a request: all answers, or the only one if the request takes a choice or a decision.
fn answer_to(request: &InputRequest, answers: JsonObject) -> NewInputAnswer {
    let question = &request.question;
    let only = || answers.values().next().cloned().unwrap_or_default();
    let content: Value = match question.kind {
        InputKind::Text => answers.into(),
        InputKind::Choice => only(),
        InputKind::Confirm => match only().as_str() {
            Some("true" | "Yes" | "yes") => true.into(),
            Some("false" | "No" | "no") => false.into(),
            _ => only(),
        },
    };
    NewInputAnswer {
        // So that the same answers again are known.
        event_id: Some(answer_id(request)),
        tool_call: question.tool_call.as_ref().map(BoundToolCall::reference),
        ..NewInputAnswer::of(content)
    }
}
