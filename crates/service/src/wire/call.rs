use records::ProviderCall;
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;

/// A call of a model provider.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProviderCall)]
pub(crate) struct CallFields {
    #[schema(example = "call_0198d4b2")]
    call_id: String,
    /// The agent that made the call.
    #[schema(example = "interviewer")]
    agent: Option<String>,
    /// The requested provider.
    #[schema(example = "anthropic")]
    requested_provider: Option<String>,
    /// The requested model.
    #[schema(example = "claude-sonnet-4")]
    requested_model: Option<String>,
    /// The provider that answered.
    #[schema(example = "anthropic")]
    provider: Option<String>,
    /// The model that answered.
    #[schema(example = "claude-sonnet-4")]
    model: Option<String>,
    /// The kind of the provider that answered.
    #[schema(example = "cloud")]
    provider_kind: Option<String>,
    #[schema(example = 12)]
    prompt_tokens: u64,
    #[schema(example = 4)]
    completion_tokens: u64,
    #[schema(example = 16)]
    total_tokens: u64,
    /// The cost, in millionths of a US dollar.
    #[schema(example = 1234)]
    cost_micros_usd: u64,
    /// The same amount in US dollars.
    #[schema(example = "0.001234")]
    cost_usd: String,
    /// The duration, in milliseconds.
    #[schema(example = 850)]
    duration_ms: u64,
    /// The request id that the provider or gateway assigned.
    #[schema(example = "req_7f3a")]
    request_id: Option<String>,
    /// When the call was made.
    called_at: Time,
}

impl From<ProviderCall> for CallFields {
    fn from(call: ProviderCall) -> Self {
        Self {
            call_id: call.call_id.into(),
            agent: call.agent,
            requested_provider: call.requested.provider,
            requested_model: call.requested.model,
            provider: call.used.provider,
            model: call.used.model,
            provider_kind: call.provider_kind,
            prompt_tokens: call.tokens.prompt,
            completion_tokens: call.tokens.completion,
            total_tokens: call.tokens.total,
            cost_micros_usd: call.cost.micros(),
            cost_usd: call.cost.to_string(),
            duration_ms: call.duration_ms,
            request_id: call.request_id,
            called_at: call.called_at.into(),
        }
    }
}
