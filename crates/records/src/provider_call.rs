use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::clock::whole_milliseconds;
use crate::ids::{NAME_RULE, is_name};
use crate::json::{Digest, Hasher, Limits};
use crate::{CallId, Ids, Invalid, MicroDollars};

/// A call of a model at its provider, with its tokens and its cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderCall {
    /// The id of the call, unique within its chat.
    pub call_id: CallId,
    /// The name of the agent that made the call.
    pub agent: Option<String>,
    /// The model that was asked for.
    pub requested: Model,
    /// The model that answered.
    pub used: Model,
    /// The kind of the provider that answered, such as `openai-compatible`.
    pub provider_kind: Option<String>,
    /// The tokens of the call.
    pub tokens: Tokens,
    /// The cost of the call.
    pub cost: MicroDollars,
    /// The duration of the call, in milliseconds.
    pub duration_ms: u64,
    /// The id that the provider or gateway gave to the request.
    pub request_id: Option<String>,
    /// When the call was made.
    pub called_at: DateTime<Utc>,
}

/// A model and its provider.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// The provider, such as `anthropic`.
    pub provider: Option<String>,
    /// The provider's name of the model.
    pub model: Option<String>,
}

/// The tokens of one or more calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Tokens sent.
    pub prompt: u64,
    /// Tokens received.
    pub completion: u64,
    /// All tokens, which may be more than the sum of both.
    pub total: u64,
}

/// A call to record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewProviderCall {
    /// The id of the call; the store mints one if it is missing. Only a call with an id is safe to repeat.
    pub call_id: Option<CallId>,
    /// The name of the agent that made the call.
    pub agent: Option<String>,
    /// The model that was asked for.
    pub requested: Model,
    /// The model that answered; the requested model if provider and model are missing.
    pub used: Model,
    /// The kind of the provider that answered.
    pub provider_kind: Option<String>,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// All tokens; the sum of both if it is missing.
    pub total_tokens: Option<u64>,
    /// The cost of the call.
    pub cost: MicroDollars,
    /// The duration of the call, in milliseconds.
    pub duration_ms: u64,
    /// The id that the provider or gateway gave to the request.
    pub request_id: Option<String>,
    /// When the call was made, truncated to milliseconds; the time of the write if it is missing.
    pub called_at: Option<DateTime<Utc>>,
}

/// The sum of tokens, cost and duration of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of calls.
    pub calls: u64,
    /// The tokens.
    pub tokens: Tokens,
    /// The cost, in micro-dollars.
    pub cost_micros: u64,
    /// The sum of their durations, in milliseconds.
    pub duration_ms: u64,
}

impl NewProviderCall {
    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        let names = [
            ("/agent", &self.agent),
            ("/requested_provider", &self.requested.provider),
            ("/requested_model", &self.requested.model),
            ("/provider", &self.used.provider),
            ("/model", &self.used.model),
            ("/provider_kind", &self.provider_kind),
            ("/request_id", &self.request_id),
        ];
        for (pointer, name) in names {
            if name.as_deref().is_some_and(|name| !is_name(name)) {
                return Err(Invalid::value(pointer, NAME_RULE));
            }
        }
        let numbers = [
            ("/prompt_tokens", self.prompt_tokens, Limits::CALL_TOKENS),
            ("/completion_tokens", self.completion_tokens, Limits::CALL_TOKENS),
            ("/total_tokens", self.total_tokens.unwrap_or(0), Limits::CALL_TOKENS),
            ("/duration_ms", self.duration_ms, Limits::CALL_DURATION_MS),
        ];
        for (pointer, number, max) in numbers {
            if number > max {
                return Err(Invalid::value(pointer, format!("must be at most {max}")));
            }
        }
        let parts = self.prompt_tokens + self.completion_tokens;
        if self.total_tokens.is_some_and(|total| total < parts) {
            let detail =
                format!("must be at least the sum of prompt and completion tokens, {parts}");
            return Err(Invalid::value("/total_tokens", detail));
        }
        Ok(())
    }

    /// Returns the digest that distinguishes a repeated call from another one with the same id.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        let texts = [
            ("agent", &self.agent),
            ("requested_provider", &self.requested.provider),
            ("requested_model", &self.requested.model),
            ("provider", &self.used.provider),
            ("model", &self.used.model),
            ("request_id", &self.request_id),
        ];
        for (name, text) in texts {
            hasher.field(name, &Value::from(text.as_deref()));
        }
        // Calls of earlier releases have none, and keep their digest.
        if let Some(kind) = &self.provider_kind {
            hasher.field("provider_kind", &Value::from(kind.as_str()));
        }
        let numbers = [
            ("prompt_tokens", Some(self.prompt_tokens)),
            ("completion_tokens", Some(self.completion_tokens)),
            ("total_tokens", self.total_tokens),
            ("cost_micros", Some(self.cost.micros())),
            ("duration_ms", Some(self.duration_ms)),
        ];
        for (name, number) in numbers {
            hasher.field(name, &Value::from(number));
        }
        let called_at = self.called_at.map(|time| time.timestamp_millis());
        hasher.field("called_at", &Value::from(called_at));
        hasher.finish()
    }

    /// Returns the call to store at the time `now`.
    #[must_use]
    pub fn kept_at(self, now: DateTime<Utc>, ids: &dyn Ids) -> ProviderCall {
        let names_model = self.used != Model::default();
        ProviderCall {
            call_id: self.call_id.unwrap_or_else(|| CallId::mint(ids)),
            agent: self.agent,
            used: if names_model { self.used } else { self.requested.clone() },
            requested: self.requested,
            provider_kind: self.provider_kind,
            tokens: Tokens {
                prompt: self.prompt_tokens,
                completion: self.completion_tokens,
                total: self.total_tokens.unwrap_or(self.prompt_tokens + self.completion_tokens),
            },
            cost: self.cost,
            duration_ms: self.duration_ms,
            request_id: self.request_id,
            called_at: self.called_at.map_or(now, whole_milliseconds),
        }
    }
}

impl Usage {
    /// Adds a call.
    pub fn add(&mut self, call: &ProviderCall) {
        self.merge(&Self {
            calls: 1,
            tokens: call.tokens,
            cost_micros: call.cost.micros(),
            duration_ms: call.duration_ms,
        });
    }

    /// Adds the calls of another sum.
    pub fn merge(&mut self, other: &Self) {
        self.calls += other.calls;
        self.tokens.prompt += other.tokens.prompt;
        self.tokens.completion += other.tokens.completion;
        self.tokens.total += other.tokens.total;
        self.cost_micros += other.cost_micros;
        self.duration_ms += other.duration_ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Uuid7Ids;

    fn call() -> NewProviderCall {
        let requested =
            Model { provider: Some("anthropic".into()), model: Some("claude-sonnet-4".into()) };
        NewProviderCall {
            requested,
            prompt_tokens: 12,
            completion_tokens: 4,
            cost: "0.001234".parse().unwrap(),
            ..NewProviderCall::default()
        }
    }

    #[test]
    fn missing_fields_are_derived() {
        let kept = call().kept_at(DateTime::UNIX_EPOCH, &Uuid7Ids);
        assert_eq!(kept.used, kept.requested);
        assert_eq!(kept.tokens.total, 16);
        assert_eq!(kept.called_at, DateTime::UNIX_EPOCH);
        assert!(kept.call_id.as_str().starts_with("call_"));
        let mut usage = Usage::default();
        usage.add(&kept);
        usage.add(&kept);
        assert_eq!((usage.calls, usage.tokens.total, usage.cost_micros), (2, 32, 2_468));
    }

    #[test]
    fn errors_point_at_their_fields() {
        let pointer = |call: NewProviderCall| call.check().unwrap_err().location.to_string();
        assert!(call().check().is_ok());
        assert_eq!(pointer(NewProviderCall { agent: Some(String::new()), ..call() }), "/agent");
        assert_eq!(pointer(NewProviderCall { total_tokens: Some(15), ..call() }), "/total_tokens");
        let tokens = Limits::CALL_TOKENS + 1;
        assert_eq!(pointer(NewProviderCall { prompt_tokens: tokens, ..call() }), "/prompt_tokens");
    }

    #[test]
    fn different_calls_have_different_digests() {
        let digest = call().digest();
        assert_eq!(digest, call().digest());
        assert_ne!(digest, NewProviderCall { duration_ms: 1, ..call() }.digest());
        assert_ne!(digest, NewProviderCall { total_tokens: Some(16), ..call() }.digest());
        assert_ne!(digest, NewProviderCall { agent: Some("planner".into()), ..call() }.digest());
        let provider_kind = Some("cloud".into());
        assert_ne!(digest, NewProviderCall { provider_kind, ..call() }.digest());
    }
}
