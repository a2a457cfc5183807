use persistence::{Outcome, Store};
use records::json::{Hasher, hex};
use records::{BoundToolCall, EventId, InputRequest, Location, NewInputAnswer, Permission, Scope};
use serde_json::Value;

use crate::joining;
use crate::problem::Problem;

/// Answers a question with any content, as the caller. Returns whether the answer is new.
///
/// The same content again is a repeat of the answer. A question that is bound to a tool call is answered for that call: the
/// client was shown this question and no other.
pub(super) async fn answer(
    store: &dyn Store,
    scope: &Scope,
    request: &InputRequest,
    content: Value,
    field: &'static str,
) -> Result<Outcome, Problem> {
    let scope = scope.needing(Permission::Say);
    let name = scope.caller.person().map_or("user", |person| person.as_str()).to_owned();
    let answer = NewInputAnswer {
        event_id: Some(answer_id(request, &content)),
        name: Some(name),
        author: None,
        content,
        tool_call: request.question.tool_call.as_ref().map(BoundToolCall::reference),
    };
    let (chat_id, request_id) = (&request.chat_id, &request.request_id);
    let answered = joining::answer(store, &scope, chat_id, request_id, answer).await;
    let place = |_| Location::from(field);
    let answered = answered.map_err(|error| Problem::located(error, place))?;
    Ok(answered.append.messages[0].outcome)
}

/// Derives the id of an answer from the question and the content, so that its repeat has the same.
fn answer_id(request: &InputRequest, content: &Value) -> EventId {
    let mut hasher = Hasher::default();
    hasher.field("content", content);
    EventId::of_answer(&[
        ("chat", request.chat_id.as_str()),
        ("request", request.request_id.as_str()),
        ("content", &hex(&hasher.finish())),
    ])
}
