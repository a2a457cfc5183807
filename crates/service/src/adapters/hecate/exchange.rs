use std::collections::BTreeMap;

use axum::extract::State;
use operation::operation;
use records::json::ListLimit;
use records::{
    CallId, ChatId, Invalid, Item, JsonObject, Limits, Location, MessageBody, MicroDollars, Model,
    NewMessage, NewProviderCall, Permission, Scope,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::get::session_of;
use super::session;
use super::wire::SessionResponse;
use crate::adapters::sent_fields::{SentNames, sent_name};
use crate::adapters::{ForeignQuery, given_time};
use crate::admission::Reserve;
use crate::api::exchanges::append::in_exchange;
use crate::api::messages::MessageRequest;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Bill;
use crate::extract::{ChatDownload, IdempotencyKey, Json, Keyed, LimitedLists, ListJson, typed};
use crate::openapi::values;
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;
use crate::unset_values::{null_as_default, unless_empty};
use crate::wire::Time;

/// Messages, and the call of a provider that produced those of the assistant.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChatSessionExchange)]
pub(crate) struct ExchangeRequest {
    /// At most 1,000 messages, in the fields of a session's messages.
    #[serde(default, deserialize_with = "null_as_default")]
    #[schema(value_type = Vec<Object>, max_items = 1000)]
    messages: Vec<JsonObject>,
    call: ProviderCallRequest,
}

impl Keyed for ExchangeRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill_missing("messages", "id", self.messages.iter_mut().map(Some));
        match self.call.id {
            Some(_) => Ok(()),
            None => key.within("call").fill("id", &mut self.call.id),
        }
    }
}

impl LimitedLists for ExchangeRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

/// The limit of a list of messages.
pub(super) const MESSAGES: ListLimit =
    ListLimit { field: "messages", items: Limits::BATCH_MESSAGES };

/// A call of a provider.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewChatSessionProviderCall)]
pub(super) struct ProviderCallRequest {
    /// The id of the call, by which a repeated request is recognised.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    id: Option<CallId>,
    request_id: Option<String>,
    requested_provider: Option<String>,
    requested_model: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    /// The kind of the provider.
    provider_kind: Option<String>,
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
    total_tokens: Option<u64>,
    #[serde(default)]
    cost_micros_usd: u64,
    #[serde(default)]
    duration_ms: u64,
    created_at: Option<Time>,
}

impl ProviderCallRequest {
    /// Converts the call; `call_id` is its id if it has none.
    pub(super) fn into_call(self, call_id: Option<CallId>) -> Result<NewProviderCall, Invalid> {
        let cost = MicroDollars::new(self.cost_micros_usd)
            .map_err(|e| Invalid::value("/cost_micros_usd", e.to_string()))?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(NewProviderCall {
            call_id: self.id.or(call_id),
            agent: None,
            requested: Model {
                provider: given(self.requested_provider),
                model: given(self.requested_model),
            },
            used: Model { provider: given(self.provider), model: given(self.model) },
            provider_kind: given(self.provider_kind),
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            total_tokens: self.total_tokens,
            cost,
            duration_ms: self.duration_ms,
            request_id: given(self.request_id),
            called_at: self.created_at.map(|time| time.0).filter(given_time::is_given),
        })
    }
}

/// Converts a message in the fields of a session's messages; `index` is its place in the request.
pub(super) fn message(mut fields: JsonObject, index: usize) -> Result<NewMessage, Problem> {
    let place = |at: Location| as_sent(at.below(Item::Message(index)));
    let below = |e: Invalid| Problem::located(e, place);
    for (theirs, ours) in [("id", "event_id"), ("created_at", "timestamp")] {
        if let Some(value) = fields.remove(theirs).filter(|value| *value != "" && !value.is_null())
        {
            fields.insert(ours.to_owned(), value);
        }
    }
    // The session gives the sequences. A message without content has the empty one.
    fields.remove("sequence");
    // An empty id is that of no call.
    if fields.get(MessageBody::PRODUCED_BY).is_some_and(|id| *id == "") {
        fields.remove(MessageBody::PRODUCED_BY);
    }
    fields.entry("content").or_insert(Value::Null);
    let request: MessageRequest =
        typed(fields.into()).map_err(|problem| Problem::located(problem, place))?;
    request.into_message(Some("user")).map_err(below)
}

/// Returns the place in a request as clients call it.
fn as_sent(at: Location) -> Location {
    const MESSAGE: &SentNames = &[("event_id", "/id"), ("timestamp", "/created_at")];
    const CALL: &SentNames = &[("call_id", "/id"), ("called_at", "/created_at")];
    match at.item {
        Some(Item::Message(_)) => sent_name(at, MESSAGE),
        Some(Item::Call(_)) => in_exchange(sent_name(at, CALL)),
        _ => at,
    }
}

/// Appends messages and the call that produced those of the assistant, all or nothing.
#[operation(
    answers = "The session",
    problems = [CHAT_ENDED, EVENT_CONFLICT, CALL_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn append_session_exchange(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload<Bill, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
    request_id: RequestId,
    ListJson(ExchangeRequest { messages, call }): ListJson<ExchangeRequest>,
) -> Result<Prepared<Json<SessionResponse>>, Problem> {
    let messages = messages.into_iter().enumerate();
    let messages = messages.map(|(index, fields)| message(fields, index));
    let messages = messages.collect::<Result<Vec<_>, _>>()?;
    let minted = || CallId::parse(format!("call_{}", request_id.as_str())).ok();
    let call = call.into_call(minted()).map_err(|e| e.below("/call"))?;
    check_calls_exist(&state, &scope, &chat_id, &messages, &call).await?;
    store(&state, &scope, &chat_id, messages, call).await?;
    let chat = session_of(&state, &scope, &chat_id).await?;
    session::answer(&state, chat, scope, limits, request_id).await
}

/// Stores messages with their call, or a call without messages.
pub(super) async fn store(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    messages: Vec<NewMessage>,
    call: NewProviderCall,
) -> Result<(), Problem> {
    let (store, billing) = (&state.store, state.billing);
    if messages.is_empty() {
        let recorded = store.record_calls(scope, chat_id, vec![call], billing).await;
        recorded.map_err(|error| Problem::located(error, as_sent))?;
        return Ok(());
    }
    let stored = store.append_exchange(scope, chat_id, messages, call, billing).await;
    stored.map_err(|error| Problem::located(error, as_sent))?;
    Ok(())
}

/// Refuses messages of a call that the session does not have: the call comes with them, or was recorded before.
async fn check_calls_exist(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    messages: &[NewMessage],
    call: &NewProviderCall,
) -> Result<(), Problem> {
    const PAGE: usize = 1_000;
    let own = call.call_id.as_ref().map(CallId::as_str);
    let named = messages.iter().enumerate();
    let named = named.filter_map(|(index, message)| {
        Some((message.body.extra_text(MessageBody::PRODUCED_BY)?, index))
    });
    let mut missing: BTreeMap<_, _> = named.filter(|(id, _)| Some(*id) != own).collect();
    let (scope, mut after) = (scope.needing(Permission::Read), None);
    while !missing.is_empty() {
        let page = state.store.list_calls(&scope, chat_id, PAGE, after.as_ref()).await?;
        for call in &page.calls {
            missing.remove(call.call_id.as_str());
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let Some(index) = missing.into_values().min() else { return Ok(()) };
    let at = Location::from("/produced_by_call_id").below(Item::Message(index));
    Err(Problem::invalid_body(at, "must be the id of call, or of a call that the session has"))
}
