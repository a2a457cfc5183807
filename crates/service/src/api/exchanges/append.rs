use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::{Billing, Exchange, Store};
use records::ChatId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::api::calls::PaymentFields;
use crate::api::calls::record::{CallRequest, RecordedCallFields};
use crate::api::messages::{AppendedResponse, MessageRequest};
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{ExchangeProblems, Problem};
use crate::wire;

/// Messages to append, and the call that produced those of the assistant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewExchange)]
pub(crate) struct ExchangeRequest {
    /// 1 to 1,000 messages of at most 4 MiB each, together at most 8 MiB.
    messages: Vec<MessageRequest>,
    /// With a `call_id`, which makes the exchange safe to send again.
    call: CallRequest,
}

/// What came of an exchange.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ExchangeResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The chat's counter after it: the sequence the next message gets.
    #[schema(example = 2)]
    last_sequence: u64,
    /// One for each message sent, in their order.
    messages: Vec<AppendedResponse>,
    call: RecordedCallFields,
    /// What came of paying for the call, if it is new; null where nothing had to be paid.
    payment: Option<PaymentFields>,
}

impl ExchangeResponse {
    fn new(chat_id: ChatId, exchange: Exchange) -> Self {
        Self {
            chat_id: chat_id.into(),
            last_sequence: exchange.append.last_sequence,
            messages: exchange.append.messages.into_iter().map(Into::into).collect(),
            call: exchange.call.into(),
            payment: PaymentFields::from_payment(exchange.payment),
        }
    }
}

/// Appends messages and records the call that produced them, all of it or nothing.
///
/// Messages of the role `assistant` that do not say what produced them get the call's id as
/// `produced_by_call_id`. Sent again, an exchange is answered as the first time, with
/// `"duplicate": true` on what was there.
#[utoipa::path(
    post, path = "/api/chats/{app_id}/{chat_id}/exchanges", tag = "calls",
    operation_id = "append_exchange", params(ChatPath, FencingHeader), request_body = ExchangeRequest,
    responses(
        (status = 201, description = "Something was stored", body = ExchangeResponse),
        (status = 200, description = "All of it was there already", body = ExchangeResponse),
        ExchangeProblems,
    ),
)]
pub(crate) async fn append_exchange(
    State(store): State<Arc<dyn Store>>,
    State(billing): State<Billing>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(()): Query<()>,
    Json(ExchangeRequest { messages, call }): Json<ExchangeRequest>,
) -> Result<(StatusCode, Json<ExchangeResponse>), Problem> {
    let numbered = messages.into_iter().enumerate();
    let messages = numbered
        .map(|(index, message)| message.into_message(None, &format!("/messages/{index}")))
        .collect::<Result<_, _>>()?;
    let call = call.into_call("/call")?;
    let exchange = store.append_exchange(&scope, &chat_id, messages, call, billing).await;
    let exchange =
        exchange.map_err(|error| Problem::from(error).move_pointers("/calls/0", "/call"))?;
    let outcomes = exchange.append.messages.iter().map(|message| message.outcome);
    let status = wire::write_status(outcomes.chain([exchange.call.outcome]));
    Ok((status, Json(ExchangeResponse::new(chat_id, exchange))))
}
