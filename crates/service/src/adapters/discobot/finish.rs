use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::json::ListLimit;
use records::{Item, Location, NewTurn, TurnId, TurnOutcome};
use resume::dialect::TranscriptPosition;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::answer_streams::stop_streams;
use super::completion::{check_begun, turn_without_messages};
use super::message;
use crate::adapters::ForeignQuery;
use crate::api::messages::turn_messages;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, LimitedLists, ListJson, Path};
use crate::problem::Problem;

/// How a completion ended: with messages of the agent, or with an error. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = FinishCompletion, example = json!({"messages": [
    {"id": "msg-2", "role": "assistant", "parts": [{"type": "text", "text": "Hi there!"}]}
]}))]
pub(crate) struct FinishRequest {
    /// `UIMessage`s of the agent, at least one; none with an error.
    #[serde(default)]
    #[schema(value_type = Vec<Object>, max_items = 10_000)]
    messages: Vec<Value>,
    /// Why the completion failed, at most 16 KiB.
    error: Option<String>,
}

impl Keyed for FinishRequest {}

impl LimitedLists for FinishRequest {
    const LISTS: &'static [ListLimit] =
        &[ListLimit { field: "messages", items: NewTurn::MAX_MESSAGES }];
}

/// The completion that has ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = FinishedCompletion)]
pub(crate) struct FinishedResponse {
    success: bool,
    #[schema(example = "msg-1")]
    completion_id: String,
    /// `finished` or `failed`.
    #[schema(example = "finished")]
    status: &'static str,
}

/// Ends a completion: stores the messages of the agent as one turn, or why it failed.
///
/// A completion that fails leaves the message of the user and a resume point, and no part of an answer. The same request
/// again changes nothing; a completion that has ended otherwise, or was cancelled, refuses it with 409.
#[operation(
    answers = "The completion has ended",
    problems = [MESSAGE_NOT_FOUND, CHAT_ENDED, TURN_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn finish_completion(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Path(completion_id): Path<TurnId>,
    ForeignQuery(()): ForeignQuery<()>,
    ListJson(request): ListJson<FinishRequest>,
) -> Result<Json<FinishedResponse>, Problem> {
    check_begun(&*store, &scope, &chat_id, &completion_id).await?;
    let status = if request.error.is_some() { "failed" } else { "finished" };
    let (turn, positions) = request.into_turn(completion_id.clone()).await?;
    let ended = store.append_turn(&scope, &chat_id, turn).await;
    ended.map_err(|error| Problem::located(error, |at| place(at, &positions)))?;
    stop_streams(&*store, &scope, &chat_id, Some(&completion_id)).await?;
    Ok(Json(FinishedResponse { success: true, completion_id: completion_id.into(), status }))
}

impl FinishRequest {
    /// Returns the turn that ends a completion, and where its messages come from.
    async fn into_turn(self, id: TurnId) -> Result<(NewTurn, Vec<TranscriptPosition>), Problem> {
        if self.error.is_some() {
            if !self.messages.is_empty() {
                let detail = "must be empty with an error: a failed completion has no messages";
                return Err(Problem::invalid_body("/messages", detail));
            }
            let turn = turn_without_messages(id, TurnOutcome::Failed, self.error)?;
            return Ok((turn, Vec::new()));
        }
        if self.messages.is_empty() {
            let detail = "must have a message, unless the completion failed with an error";
            return Err(Problem::invalid_body("/messages", detail));
        }
        if let Some(index) = self.messages.iter().position(|it| it["role"] != "assistant") {
            return Err(Problem::invalid_body(Item::Message(index), "must be of the assistant"));
        }
        let (messages, positions) = turn_messages(message::read(self.messages).await?);
        let turn = NewTurn {
            request_id: id,
            outcome: TurnOutcome::Completed,
            messages,
            steps: Vec::new(),
            connector: None,
            mode: None,
        };
        Ok((turn, positions))
    }
}

/// Returns where in the request the value is that the store names.
fn place(at: Location, positions: &[TranscriptPosition]) -> Location {
    match at.item {
        Some(Item::Step(_)) => "/error".into(),
        _ => message::place(at, positions),
    }
}
