use axum::extract::State;
use operation::operation;
use records::{Caller, ChatId, EventId, Item, NewMessage, Permission, Reach, Relations, UserId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::message::{AGENT, SentMessage, USER_ID};
use crate::adapters::ForeignQuery;
use crate::adapters::new_session::{NewSession, title_of};
use crate::api::messages::append_within;
use crate::extract::needs::Create;
use crate::extract::{AppScope, IdempotencyKey, Json, Keyed};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::unset_values::unless_empty;

/// What a person said, and what an agent replied. Other fields are ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RecordChat, example = json!({
    "sessionId": "session_abc123",
    "requestId": "r1",
    "message": "Hello",
    "reply": {"content": "Hi there!", "agent": "AnalyticalAgent", "confidence": 0.9, "processingTime": 150}
}))]
pub(crate) struct RecordChatRequest {
    /// A text, not blank.
    message: String,
    /// The session, which is created if it does not exist. Minted if it is missing.
    #[serde(rename = "sessionId", default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::ChatId>)]
    session_id: Option<ChatId>,
    /// The owner of a new session. A person may name only themselves.
    #[serde(rename = "userId", default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// An id of this exchange: with it and with `sessionId` the request is safe to repeat. At most 118 characters.
    #[serde(rename = "requestId", default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<EventId>,
    /// Without it only the message of the person is stored.
    reply: Option<ReplyRequest>,
}

impl Keyed for RecordChatRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("requestId", &mut self.request_id)
    }
}

/// What an agent replied.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RecordReply)]
pub(super) struct ReplyRequest {
    /// Mostly a text.
    content: Value,
    #[schema(value_type = Option<values::Name>)]
    agent: Option<Value>,
    #[schema(value_type = Option<f64>)]
    confidence: Option<Value>,
    /// In milliseconds.
    #[serde(rename = "processingTime")]
    #[schema(value_type = Option<u64>)]
    processing_time: Option<Value>,
    #[serde(rename = "toolsUsed")]
    #[schema(value_type = Option<Vec<String>>)]
    tools_used: Option<Value>,
}

/// The session to which the messages belong.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedChat)]
pub(crate) struct RecordChatResponse {
    success: bool,
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    /// The number of messages that were ever stored in the session.
    #[serde(rename = "messageCount")]
    message_count: u64,
}

/// Records what a person said and what an agent replied, both or none.
///
/// The session is created if it does not exist; its title is the beginning of the message. No agent is run: the caller has
/// run it. A reply needs the permission `run`.
#[operation(
    answers = "The messages are stored",
    problems = [CHAT_NOT_FOUND, CHAT_EXISTS, CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE, FORBIDDEN_OWNER],
)]
pub(crate) async fn record_chat(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Create>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<RecordChatRequest>,
) -> Result<Json<RecordChatResponse>, Problem> {
    if request.message.trim().is_empty() {
        return Err(Problem::invalid_body("/message", "must not be blank"));
    }
    let RecordChatRequest { message, session_id, user_id, request_id, reply } = request;
    let new = NewSession {
        chat_id: session_id,
        user_id: user_id.clone(),
        title: Some(title_of(&message)),
        workflow_name: state.adapters.chatsg.workflow_name.clone(),
        ..NewSession::default()
    };
    let said = said(message, user_id, request_id.as_ref())?;
    let replied = reply.map(|reply| reply.into_sent(request_id.as_ref()));
    let converted = std::iter::once(said).chain(replied).enumerate().map(|(index, sent)| {
        let converted = sent.into_new(&scope.caller);
        converted.map_err(|invalid| located(invalid.below(Item::Message(index))))
    });
    let messages = converted.collect::<Result<Vec<NewMessage>, _>>()?;
    check_may_append(&scope.caller, &messages)?;
    let chat_id = new.ensure(&state, &scope).await?.chat_id;
    let append = append_within(&state, &scope, &chat_id, messages).await.map_err(located)?;
    Ok(Json(RecordChatResponse {
        success: true,
        session_id: chat_id.into(),
        message_count: append.last_sequence,
    }))
}

impl ReplyRequest {
    /// Converts the reply; what is known of it is kept in its metadata.
    fn into_sent(self, request_id: Option<&EventId>) -> SentMessage {
        let known = [
            (AGENT, self.agent),
            ("confidence", self.confidence),
            ("processingTime", self.processing_time),
            ("toolsUsed", self.tools_used),
        ];
        let metadata = known.into_iter().filter_map(|(field, value)| Some((field.into(), value?)));
        SentMessage {
            event_id: request_id.map(|id| EventId::of_answer(&[("requestId", id.as_str())])),
            kind: "assistant".to_owned(),
            content: self.content,
            timestamp: None,
            metadata: metadata.collect(),
        }
    }
}

fn said(
    message: String,
    user_id: Option<UserId>,
    request_id: Option<&EventId>,
) -> Result<SentMessage, Problem> {
    let metadata = user_id.map(|user_id| (USER_ID.to_owned(), user_id.as_str().into()));
    Ok(SentMessage {
        event_id: id_of_said(request_id)?,
        kind: "user".to_owned(),
        content: message.into(),
        timestamp: None,
        metadata: metadata.into_iter().collect(),
    })
}

/// Refuses a caller that may append such messages to no chat, before a session is created for them.
fn check_may_append(caller: &Caller, messages: &[NewMessage]) -> Result<(), Problem> {
    let needed = Permission::to_append(messages.iter().map(|message| &message.body));
    match caller.reach(needed) {
        Reach::None | Reach::Related(Relations { owner: false, .. }) => {
            let detail = format!("the messages need the permission {needed}");
            Err(Problem::new(ProblemKind::FORBIDDEN_PERMISSION, detail))
        }
        Reach::Every | Reach::Related(_) => Ok(()),
    }
}

/// Returns the id of what the person said.
fn id_of_said(request_id: Option<&EventId>) -> Result<Option<EventId>, Problem> {
    let id = request_id.map(|request_id| EventId::parse(format!("{request_id}:user")));
    id.transpose().map_err(|error| Problem::invalid_body("/requestId", error.to_string()))
}

/// Places the errors of the two messages where they are in the body.
fn located(error: impl Into<Problem>) -> Problem {
    Problem::located(error, |location| {
        let path = location.to_string();
        match path.strip_prefix("/messages/1") {
            _ if path.ends_with("/event_id") => "/requestId".into(),
            _ if path.ends_with("/metadata/userId") => "/userId".into(),
            Some("/content") => "/reply/content".into(),
            Some("/name" | "/metadata/agent") => "/reply/agent".into(),
            Some(_) => "/reply".into(),
            None => "/message".into(),
        }
    })
}
