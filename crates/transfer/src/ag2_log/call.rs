use records::{CallId, MicroDollars, Model, NewProviderCall};
use serde::Deserialize;
use serde_json::Value;

use super::entry::time;

/// How the usage begins in an answer that the log shows as Python does. Texts of the answer come before it.
const USAGE: &str = "usage=CompletionUsage(";

/// A call of a model, as the log has it.
#[derive(Debug, Deserialize)]
pub(super) struct Invocation {
    #[serde(rename = "invocation_id")]
    id: CallId,
    request: Value,
    #[serde(default)]
    response: Value,
    #[serde(default)]
    cost: Option<f64>,
    start_time: Option<String>,
    end_time: Option<String>,
    source_name: Option<String>,
}

impl From<Invocation> for NewProviderCall {
    fn from(call: Invocation) -> Self {
        let began_at = call.start_time.as_deref().and_then(time);
        let ended_at = call.end_time.as_deref().and_then(time);
        let duration = began_at.zip(ended_at).map(|(from, to)| (to - from).num_milliseconds());
        let answer = Answer::of(&call.response);
        let model = |model| Model { provider: None, model };
        Self {
            call_id: Some(call.id),
            agent: call.source_name.filter(|name| !name.is_empty()),
            requested: model(call.request["model"].as_str().map(str::to_owned)),
            used: model(answer.model),
            prompt_tokens: answer.prompt_tokens,
            completion_tokens: answer.completion_tokens,
            cost: cost(call.cost.unwrap_or_default()),
            duration_ms: duration.and_then(|it| u64::try_from(it).ok()).unwrap_or_default(),
            called_at: began_at,
            ..Self::default()
        }
    }
}

/// Rounds an amount of dollars. One that is no amount is none.
fn cost(dollars: f64) -> MicroDollars {
    let micros = format!("{:.0}", (dollars * 1e6).round());
    let micros = micros.parse().ok().and_then(|micros| MicroDollars::new(micros).ok());
    micros.unwrap_or_default()
}

/// What is known of the answer of a model.
#[derive(Debug, Default, PartialEq, Eq)]
struct Answer {
    model: Option<String>,
    prompt_tokens: u64,
    completion_tokens: u64,
}

impl Answer {
    fn of(response: &Value) -> Self {
        let Some(text) = response.as_str() else { return Self::of_object(response) };
        match serde_json::from_str::<Value>(text) {
            Ok(object) if object.is_object() => Self::of_object(&object),
            _ => Self::of_text(text),
        }
    }

    fn of_object(object: &Value) -> Self {
        let tokens = |field| object["usage"][field].as_u64().unwrap_or_default();
        Self {
            model: object["model"].as_str().map(str::to_owned),
            prompt_tokens: tokens("prompt_tokens"),
            completion_tokens: tokens("completion_tokens"),
        }
    }

    /// Reads an object that is written as Python shows it.
    fn of_text(text: &str) -> Self {
        let Some(at) = text.rfind(USAGE) else { return Self::default() };
        let (before, usage) = text.split_at(at);
        let number = |field: &str| {
            let digits = usage.split_once(field).map_or("", |(_, rest)| rest);
            let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse().unwrap_or_default()
        };
        let model = before.rsplit_once(", model='").and_then(|(_, rest)| rest.split_once('\''));
        Self {
            model: model.map(|(model, _)| model.to_owned()),
            prompt_tokens: number("prompt_tokens="),
            completion_tokens: number("completion_tokens="),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ANSWER: &str = "ChatCompletion(id='1', choices=[Choice(message=ChatCompletionMessage(content=\"usage=\
                          CompletionUsage(prompt_tokens=9, model='x'\"))], created=1, model='gpt-4o-2024-08-06', \
                          usage=CompletionUsage(completion_tokens=3, prompt_tokens=12, total_tokens=15, \
                          prompt_tokens_details=None), cost=0.00006)";

    #[test]
    fn an_answer_is_read_as_python_shows_it_and_as_json() {
        let expected = Answer {
            model: Some("gpt-4o-2024-08-06".to_owned()),
            prompt_tokens: 12,
            completion_tokens: 3,
        };
        assert_eq!(Answer::of(&json!(ANSWER)), expected);
        let usage = json!({ "prompt_tokens": 12, "completion_tokens": 3 });
        let object = json!({ "model": "gpt-4o-2024-08-06", "usage": usage });
        assert_eq!(Answer::of(&object), expected);
        assert_eq!(Answer::of(&json!(object.to_string())), expected);
        assert_eq!(Answer::of(&json!("the server answered 500")), Answer::default());
    }

    #[test]
    fn costs_are_rounded_to_millionths() {
        for (dollars, micros) in [(5.999_999_999_999_999_5e-5, 60), (-1.0, 0), (f64::NAN, 0)] {
            assert_eq!(cost(dollars), MicroDollars::new(micros).unwrap(), "{dollars}");
        }
    }

    #[test]
    fn a_call_has_its_time_and_its_agent() {
        let invocation = json!({
            "invocation_id": "a", "request": { "model": "gpt-4o", "messages": [] }, "response": ANSWER, "cost": 6e-5,
            "start_time": "2026-11-27 11:41:19.206779", "end_time": "2026-11-27 11:41:19.265895",
            "source_name": "helper", "is_cached": 0,
        });
        let call = NewProviderCall::from(Invocation::deserialize(invocation).unwrap());
        assert_eq!((call.duration_ms, call.agent.as_deref()), (59, Some("helper")));
        assert_eq!(call.requested.model.as_deref(), Some("gpt-4o"));
        assert_eq!(call.cost.to_string(), "0.000060");
    }
}
