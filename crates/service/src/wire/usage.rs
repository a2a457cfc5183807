use records::{MicroDollars, Usage};
use serde::Serialize;
use utoipa::ToSchema;

/// The summed usage of several calls.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(crate) struct UsageFields {
    /// The number of calls.
    #[schema(example = 1)]
    calls: u64,
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
    /// The sum of the durations, in milliseconds.
    #[schema(example = 850)]
    duration_ms: u64,
}

impl From<Usage> for UsageFields {
    fn from(usage: Usage) -> Self {
        Self {
            calls: usage.calls,
            prompt_tokens: usage.tokens.prompt,
            completion_tokens: usage.tokens.completion,
            total_tokens: usage.tokens.total,
            cost_micros_usd: usage.cost_micros,
            cost_usd: MicroDollars::from_sum(usage.cost_micros).to_string(),
            duration_ms: usage.duration_ms,
        }
    }
}
