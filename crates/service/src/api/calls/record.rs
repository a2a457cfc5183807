use std::sync::Arc;

use axum::extract::{FromRequest, Request, State};
use axum::http::StatusCode;
use operation::operation;
use persistence::{Billing, Outcome, RecordedCall, Recording, Store};
use records::json::ListLimit;
use records::{CallId, Invalid, Item, Limits, MicroDollars, Model, NewProviderCall};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::needs::Bill;
use crate::extract::{BatchShape, ChatScope, IdempotencyKey, Json, Keyed, LimitedLists, Query};
use crate::openapi::values;
use crate::operation::{Description, Input};
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::{self, Time};
use crate::wire::{CallFields, PaymentFields};

/// A call to record; names of at most 128 characters, numbers of at most 1,000,000,000.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewProviderCall, example = json!({
    "call_id": "call_0198d4b2",
    "agent": "interviewer",
    "requested_provider": "anthropic",
    "requested_model": "claude-sonnet-4",
    "prompt_tokens": 12,
    "completion_tokens": 4,
    "cost_usd": "0.001234",
    "duration_ms": 850
}))]
pub(crate) struct CallRequest {
    /// The idempotency key of the call; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    call_id: Option<CallId>,
    /// The agent that made the call.
    agent: Option<String>,
    /// The requested provider.
    requested_provider: Option<String>,
    /// The requested model.
    requested_model: Option<String>,
    /// The provider that answered. If both this and `model` are missing, the requested ones are assumed.
    provider: Option<String>,
    /// The model that answered.
    model: Option<String>,
    /// The kind of the provider that answered, such as `cloud`.
    provider_kind: Option<String>,
    #[serde(default)]
    #[schema(maximum = 1_000_000_000)]
    prompt_tokens: u64,
    #[serde(default)]
    #[schema(maximum = 1_000_000_000)]
    completion_tokens: u64,
    /// At least `prompt_tokens` + `completion_tokens`, which is the default.
    #[schema(maximum = 1_000_000_000)]
    total_tokens: Option<u64>,
    /// The cost in millionths of a US dollar, at most a million dollars; 0 if missing.
    cost_micros_usd: Option<u64>,
    /// The cost in US dollars, with at most six decimals; an alternative to `cost_micros_usd`.
    #[schema(example = "0.001234")]
    cost_usd: Option<String>,
    /// The duration, in milliseconds.
    #[serde(default)]
    #[schema(maximum = 1_000_000_000)]
    duration_ms: u64,
    /// The request id that the provider or gateway assigned.
    request_id: Option<String>,
    /// When the call was made; the time of recording if missing.
    called_at: Option<Time>,
}

impl Keyed for CallRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("call_id", &mut self.call_id)
    }
}

/// Several calls to record atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewProviderCalls)]
pub(crate) struct CallsRequest {
    /// 1 to 1,000 calls.
    #[schema(min_items = 1, max_items = 1000)]
    calls: Vec<CallRequest>,
}

impl LimitedLists for CallsRequest {
    const LISTS: &'static [ListLimit] = &[ListLimit { field: "calls", items: Limits::BATCH_CALLS }];
}

impl From<CallsRequest> for Vec<CallRequest> {
    fn from(several: CallsRequest) -> Self {
        several.calls
    }
}

/// One call, or several in `calls`.
#[derive(Debug, ToSchema)]
#[schema(as = OneOrSeveralNewProviderCalls)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the two shapes that `CallsBody` reads")]
pub(crate) enum OneOrSeveralCalls {
    One(Box<CallRequest>),
    Several(CallsRequest),
}

/// The calls of a body.
#[derive(Debug)]
pub(crate) struct CallsBody {
    calls: Vec<NewProviderCall>,
    shape: BatchShape,
}

impl FromRequest<AppState> for CallsBody {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let (shape, calls) = BatchShape::read::<CallRequest, CallsRequest>(request, state).await?;
        let calls = calls.into_iter().enumerate();
        let calls = calls.map(|(index, call)| {
            call.into_call().map_err(|e| shape.problem(e.below(Item::Call(index))))
        });
        Ok(Self { calls: calls.collect::<Result<_, _>>()?, shape })
    }
}

impl Input for CallsBody {
    fn describe(description: &mut Description) {
        description.json_body::<OneOrSeveralCalls>();
    }
}

impl CallRequest {
    pub(crate) fn into_call(self) -> Result<NewProviderCall, Invalid> {
        let cost = self.cost()?;
        Ok(NewProviderCall {
            call_id: self.call_id,
            agent: self.agent,
            requested: Model { provider: self.requested_provider, model: self.requested_model },
            used: Model { provider: self.provider, model: self.model },
            provider_kind: self.provider_kind,
            prompt_tokens: self.prompt_tokens,
            completion_tokens: self.completion_tokens,
            total_tokens: self.total_tokens,
            cost,
            duration_ms: self.duration_ms,
            request_id: self.request_id,
            called_at: self.called_at.map(|time| time.0),
        })
    }

    fn cost(&self) -> Result<MicroDollars, Invalid> {
        let micros = self.cost_micros_usd.map(MicroDollars::new).transpose();
        let micros = micros.map_err(|e| Invalid::value("/cost_micros_usd", e.to_string()))?;
        let dollars = self.cost_usd.as_deref().map(str::parse::<MicroDollars>).transpose();
        let dollars = dollars.map_err(|e| Invalid::value("/cost_usd", e.to_string()))?;
        match (micros, dollars) {
            (Some(micros), Some(dollars)) if micros != dollars => {
                Err(Invalid::value("/cost_usd", "must be the same amount as cost_micros_usd"))
            }
            (micros, dollars) => Ok(micros.or(dollars).unwrap_or_default()),
        }
    }
}

/// The recorded calls and their payment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RecordCallsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// In the order of the request.
    calls: Vec<RecordedCallFields>,
    /// The payment for the new calls; null if nothing had to be paid.
    payment: Option<PaymentFields>,
}

/// A call, and whether it was recorded before.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RecordedCall)]
pub(crate) struct RecordedCallFields {
    #[serde(flatten)]
    call: CallFields,
    /// Whether the call was recorded before; a duplicate is not counted again.
    duplicate: bool,
}

impl From<RecordedCall> for RecordedCallFields {
    fn from(recorded: RecordedCall) -> Self {
        let duplicate = recorded.outcome == Outcome::Duplicate;
        Self { call: recorded.call.into(), duplicate }
    }
}

/// Records calls of model providers, all of them or none.
///
/// A `call_id` is an idempotency key: a repeated call is counted once, and returned with
/// `"duplicate": true`. Calls can also be recorded in a chat that has ended. With `wallets.debit_usage` the
/// tokens of new calls are debited from the wallet of the chat's user; if its balance is too low, nothing is
/// debited and the chat is paused.
#[operation(
    answers = "At least one call is new",
    repeated = "All calls were recorded before",
    problems = [CALL_CONFLICT, BATCH_TOO_LARGE],
)]
pub(crate) async fn record_calls(
    State(store): State<Arc<dyn Store>>,
    State(billing): State<Billing>,
    ChatScope { scope, chat_id, .. }: ChatScope<Bill>,
    Query(()): Query<()>,
    CallsBody { calls, shape }: CallsBody,
) -> Result<(StatusCode, Json<RecordCallsResponse>), Problem> {
    let recording = store.record_calls(&scope, &chat_id, calls, billing).await;
    let Recording { calls, payment } = recording.map_err(|error| shape.problem(error))?;
    let status = wire::write_status(calls.iter().map(|recorded| recorded.outcome));
    let calls = calls.into_iter().map(Into::into).collect();
    let payment = PaymentFields::from_payment(payment);
    Ok((status, Json(RecordCallsResponse { chat_id: chat_id.into(), calls, payment })))
}
