use axum::extract::State;
use operation::operation;
use persistence::{MessageRange, StoreError, Transcript};
use records::json::{Hasher, ListLimit, hex};
use records::{
    CallId, ChatId, ChatSession, EventId, Item, JsonObject, Location, MessageBody, NewMessage,
    NewProviderCall, Permission, Scope,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::exchange::{MESSAGES, ProviderCallRequest, message, store};
use super::get::session_of;
use super::overlap::{NewPart, Said, Speaker, comparison, continuation};
use crate::adapters::ForeignQuery;
use crate::adapters::said_fields::SaidFields;
use crate::admission::Reserve;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Bill;
use crate::extract::{ChatScope, Json, Keyed, LimitedLists, ListJson};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::unset_values::null_as_default;

/// How often a recording starts again because another one came between.
const MAX_ATTEMPTS: usize = 16;

/// The newest messages of a session with which a history is compared that does not continue it.
const COMPARED: usize = 2_000;

/// A request to a provider with its whole history, and the response.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatExchangeRecord)]
pub(crate) struct RecordRequest {
    /// Names the request; a repeat is recognised by it.
    request_id: String,
    /// The messages that the provider was sent: the whole history, or its end.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    messages: Vec<JsonObject>,
    /// The response in the form of Chat Completions; its first choice is stored.
    #[schema(value_type = Option<Object>)]
    response: Option<JsonObject>,
    call: ProviderCallRequest,
}

impl Keyed for RecordRequest {}

impl LimitedLists for RecordRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

/// What a recording has stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatExchangeRecorded)]
pub(crate) struct RecordResponse {
    #[schema(example = "chat_exchange")]
    object: &'static str,
    /// The number of messages that were stored, with the response; 0 for a repeat.
    recorded: usize,
    /// Whether the request was recorded before.
    duplicate: bool,
    /// Whether the history differs from what the session has, apart from its beginning: the client has edited it.
    diverged: bool,
}

/// Records a request to a provider and its response.
///
/// The history comes again with each request, so what the session does not have yet is found out: a leading system message
/// that equals the system prompt of the session is left out, and what follows the stored messages is new. Recordings of one session
/// may run at the same time; each sees what the others have stored.
#[operation(
    answers = "What was stored",
    problems = [CHAT_ENDED, EVENT_CONFLICT, CALL_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE, SEQUENCE_CONFLICT],
)]
pub(crate) async fn record_exchange(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Bill, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<16>,
    ListJson(request): ListJson<RecordRequest>,
) -> Result<Json<RecordResponse>, Problem> {
    let recording = Recording::new(request)?;
    for _ in 0..MAX_ATTEMPTS {
        match recording.store(&state, &scope, &chat_id).await {
            Err(problem) if problem.kind() == ProblemKind::SEQUENCE_CONFLICT => {}
            stored => return stored.map(Json),
        }
    }
    let detail = "other requests were recorded in the session all the time; send this one again";
    Err(Problem::new(ProblemKind::SEQUENCE_CONFLICT, detail))
}

/// A checked request.
struct Recording {
    messages: Vec<NewMessage>,
    response: Option<NewMessage>,
    call: NewProviderCall,
}

impl Recording {
    fn new(request: RecordRequest) -> Result<Self, Problem> {
        let RecordRequest { request_id, messages, response, call } = request;
        let call = call.into_call(Some(call_id(&request_id)?)).map_err(|e| e.below("/call"))?;
        let mut converted = Vec::with_capacity(messages.len() + 1);
        for (index, fields) in messages.into_iter().enumerate() {
            let mut message = message(fields, index)?;
            // What a client sends was not produced by this call.
            message.body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), Value::Null);
            message.event_id = Some(event_id(&request_id, &index.to_string()));
            converted.push(message);
        }
        let response = first_choice(response).map(|mut fields| {
            fields.entry("role").and_modify(|role| {
                if *role == "" {
                    *role = "assistant".into();
                }
            });
            fields.entry("role").or_insert_with(|| "assistant".into());
            fields.remove("id");
            let mut message = message(fields, 0).map_err(|e| Problem::located(e, in_response))?;
            message.event_id = Some(event_id(&request_id, "response"));
            Ok::<_, Problem>(message)
        });
        Ok(Self { messages: converted, response: response.transpose()?, call })
    }

    /// Stores what the chat does not have yet, unless messages were appended meanwhile.
    async fn store(
        &self,
        state: &AppState,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<RecordResponse, Problem> {
        let chat = session_of(state, scope, chat_id).await?;
        let answer = |recorded, duplicate, diverged| RecordResponse {
            object: "chat_exchange",
            recorded,
            duplicate,
            diverged,
        };
        if self.is_stored(state, scope, chat_id).await? {
            // The call is compared, so that another request under the id is a conflict.
            store(state, scope, chat_id, Vec::new(), self.call.clone()).await?;
            return Ok(answer(0, true, false));
        }
        let skipped = usize::from(self.messages.first().is_some_and(|it| is_prompt(it, &chat)));
        let sent: Vec<Said> = self.messages[skipped..].iter().map(|it| said(&it.body)).collect();
        let (stored, mut last_sequence) = newest(state, scope, chat_id, sent.len()).await?;
        let part = if let Some(part) = continuation(&stored, &sent) {
            part
        } else {
            let (stored, newest) = newest(state, scope, chat_id, COMPARED).await?;
            last_sequence = newest;
            comparison(&stored, &sent)
        };
        let NewPart { places, has_diverged } = part;
        let indices: Vec<_> = places.into_iter().map(|place| skipped + place).collect();
        let new = indices.iter().map(|index| &self.messages[*index]);
        let new: Vec<NewMessage> = new.chain(&self.response).cloned().collect();
        let recorded = new.len();
        let place = |at: Location| match at.item {
            Some(Item::Message(index)) => match indices.get(index) {
                Some(index) => Location { item: Some(Item::Message(*index)), ..at },
                None => in_response(at),
            },
            _ => at,
        };
        let scope = Scope { expected_last_sequence: Some(last_sequence), ..scope.clone() };
        let stored = store(state, &scope, chat_id, new, self.call.clone()).await;
        stored.map_err(|problem| Problem::located(problem, place))?;
        Ok(answer(recorded, false, has_diverged))
    }

    /// Returns whether the response, or the last message of a request without one, is stored already.
    async fn is_stored(
        &self,
        state: &AppState,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<bool, Problem> {
        let last = self.response.iter().chain(self.messages.last()).next();
        let Some(event_id) = last.and_then(|message| message.event_id.clone()) else {
            return Ok(false);
        };
        let scope = scope.needing(Permission::Read);
        let found = state.store.find_messages(&scope, chat_id, &[event_id]).await?;
        Ok(found.first().is_some_and(Option::is_some))
    }
}

/// Places what is refused of the response where the request has it.
fn in_response(at: Location) -> Location {
    Location { item: None, ..at }.below("/response/choices/0/message")
}

/// Returns the message of the first choice of a response.
fn first_choice(response: Option<JsonObject>) -> Option<JsonObject> {
    let mut choices = response?.remove("choices")?;
    let choice = choices.as_array_mut()?.first_mut()?;
    match choice.get_mut("message")?.take() {
        Value::Object(message) => Some(message),
        _ => None,
    }
}

/// Returns whether a message is the system prompt of the session, which the gateway put before the history.
fn is_prompt(message: &NewMessage, chat: &ChatSession) -> bool {
    let body = &message.body;
    body.role.eq_ignore_ascii_case("system")
        && chat.system_prompt.as_deref().is_some_and(|prompt| body.content == prompt)
}

fn said(body: &MessageBody) -> Said {
    let MessageBody { role, name, content, extra, .. } = body.clone();
    let speaker = match role.as_str() {
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        _ => Speaker::Other,
    };
    let fields = SaidFields::of(role, name, content, extra);
    let mut hasher = Hasher::default();
    hasher.field("said", &fields.compared());
    Said { digest: hasher.finish(), speaker }
}

/// Reads the newest messages, so many or all, and the number of messages that the chat has.
async fn newest(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    wanted: usize,
) -> Result<(Vec<Said>, u64), StoreError> {
    let scope = scope.needing(Permission::Read);
    let mut found = Vec::new();
    let (mut before, mut counter) = (None, None);
    loop {
        // One more than the history has tells a chat that is longer from one that was deleted.
        let range = MessageRange::Newest { before, limit: wanted.max(1) };
        let page = state.store.messages(&scope, chat_id, range).await?;
        let Transcript { last_sequence, messages, has_more } = page;
        counter.get_or_insert(last_sequence);
        before = messages.first().map(|message| message.sequence);
        let kept = messages.iter().rev().filter(|message| message.deleted_at.is_none());
        found.extend(kept.map(|message| said(&message.body)));
        if !has_more || found.len() >= wanted.max(1) {
            break;
        }
    }
    found.reverse();
    Ok((found, counter.unwrap_or_default()))
}

fn event_id(request_id: &str, part: &str) -> EventId {
    EventId::of_answer(&[("request_id", request_id), ("part", part)])
}

/// Derives the id of the call from that of its request, so that its repeat has the same.
fn call_id(request_id: &str) -> Result<CallId, Problem> {
    if request_id.is_empty() {
        let detail = "must not be empty: a repeat is recognised by it";
        return Err(Problem::invalid_body("/request_id", detail));
    }
    let mut hasher = Hasher::default();
    hasher.field("request_id", &Value::from(request_id));
    hasher.field("part", &Value::from("call"));
    CallId::parse(format!("call_{}", &hex(&hasher.finish())[..24]))
        .map_err(|error| Problem::invalid_body("/request_id", error.to_string()))
}
