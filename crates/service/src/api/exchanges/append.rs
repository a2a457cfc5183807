use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{Billing, Exchange, Store};
use records::json::ListLimit;
use records::{ChatId, Invalid, Item, Location};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::calls::record::{CallRequest, RecordedCallFields};
use crate::api::messages::{MESSAGES, MessageRequest};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Bill;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, ListJson, Query};
use crate::problem::Problem;
use crate::wire;
use crate::wire::PaymentFields;
use crate::wire::{AppendedResponse, NotedResponse, Stated};

/// Messages to append, and the call that produced the assistant's messages.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewExchange, example = json!({
    "messages": [{"event_id": "evt_msg_001", "role": "assistant", "name": "planner", "content": "The park."}],
    "call": {"call_id": "call_0198d4b2", "agent": "planner", "prompt_tokens": 812, "completion_tokens": 9}
}))]
pub(crate) struct ExchangeRequest {
    /// 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    #[schema(min_items = 1, max_items = 1000)]
    messages: Vec<MessageRequest>,
    /// Its `call_id` is the idempotency key of the exchange.
    call: CallRequest,
}

impl Keyed for ExchangeRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        for (index, message) in self.messages.iter_mut().enumerate() {
            message.set_key(&key.nth("messages", index))?;
        }
        self.call.set_key(&key.within("call"))
    }
}

impl LimitedLists for ExchangeRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

/// The result of an exchange.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExchangeResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The chat's counter afterwards: the sequence of the next message.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each message of the request, in order.
    messages: Vec<AppendedResponse>,
    call: RecordedCallFields,
    /// The payment for the call, if it is new; null if nothing had to be paid.
    payment: Option<PaymentFields>,
    /// What the caller should know although everything is stored; missing if there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    noted: Vec<NotedResponse>,
}

impl ExchangeResponse {
    fn new(chat_id: ChatId, exchange: Exchange, stated: &[Stated]) -> Self {
        let noted = NotedResponse::of_stated(stated, &exchange.append.messages);
        Self {
            chat_id: chat_id.into(),
            last_sequence: exchange.append.last_sequence,
            messages: exchange.append.messages.into_iter().map(Into::into).collect(),
            call: exchange.call.into(),
            payment: PaymentFields::from_payment(exchange.payment),
            noted,
        }
    }
}

/// Appends messages and records the call that produced them, atomically.
///
/// Messages with the role `assistant` and without `produced_by_call_id` get the id of the call. A repeated
/// exchange returns the first response, with `"duplicate": true` on what was stored before.
#[operation(
    answers = "At least one record is new",
    repeated = "All records were stored before",
    problems = [CHAT_ENDED, EVENT_CONFLICT, CALL_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn append_exchange(
    State(store): State<Arc<dyn Store>>,
    State(billing): State<Billing>,
    ChatScope { scope, chat_id, .. }: ChatScope<Bill, Fenced>,
    Query(()): Query<()>,
    ListJson(ExchangeRequest { messages, call }): ListJson<ExchangeRequest>,
) -> Result<(StatusCode, Json<ExchangeResponse>), Problem> {
    let stated: Vec<_> = messages.iter().map(MessageRequest::stated).collect();
    let numbered = messages.into_iter().enumerate();
    let messages = numbered
        .map(|(index, message)| {
            message.into_message(None).map_err(|e| e.below(Item::Message(index)))
        })
        .collect::<Result<_, Invalid>>()?;
    let call = call.into_call().map_err(|e| e.below("/call"))?;
    let exchange = store.append_exchange(&scope, &chat_id, messages, call, billing).await;
    let exchange = exchange.map_err(|error| Problem::located(error, in_exchange))?;
    let outcomes = exchange.append.messages.iter().map(|message| message.outcome);
    let status = wire::write_status(outcomes.chain([exchange.call.outcome]));
    Ok((status, Json(ExchangeResponse::new(chat_id, exchange, &stated))))
}

/// Returns the place in a request with an exchange, which has one call: that is no item of a list.
pub(crate) fn in_exchange(at: Location) -> Location {
    match at.item {
        Some(Item::Call(_)) => Location { item: None, ..at }.below("/call"),
        _ => at,
    }
}
