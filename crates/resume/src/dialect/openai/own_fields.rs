//! The fields of an answer that only this format has.

use serde_json::{Value, json};

use super::Target;
use crate::Repair;
use crate::canonical::{CanonicalMessage, is_empty_value};

/// The speech of a model, which the provider keeps under an id.
pub(super) const AUDIO: &str = "audio";

/// What litellm and `OpenRouter` say of the reasoning of other providers.
pub(super) const REASONING: [&str; 2] = ["thinking_blocks", "reasoning_details"];

/// Returns the text of what was spoken, which is what every other format has of it.
pub(super) fn transcript(audio: &Value) -> Option<&str> {
    audio["transcript"].as_str().filter(|text| !text.trim().is_empty())
}

/// Leaves of each field what the target accepts again.
pub(super) fn lower(target: Target, message: &mut CanonicalMessage) {
    let mut removes_any = false;
    if let Some(audio) = message.provider.get_mut(AUDIO) {
        // The id stands for the speech, and so for its transcript.
        let is_said = transcript(audio).is_some_and(|text| message.content == text);
        if let Some(id) = audio["id"].as_str().filter(|id| !id.is_empty()) {
            *audio = json!({"id": id});
            if is_said && target == Target::OpenAi {
                message.content = Value::Null;
            }
        } else {
            message.provider.shift_remove(AUDIO);
            removes_any = true;
        }
    }
    for field in REASONING {
        if message.provider.get(field).is_some_and(|value| !is_block_list(value)) {
            message.provider.shift_remove(field);
            removes_any = true;
        }
    }
    if removes_any {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
}

/// Returns whether nothing is left of an answer that a provider accepts.
pub(super) fn leaves_nothing(message: &CanonicalMessage) -> bool {
    message.says_nothing() && !message.provider.contains_key(AUDIO)
}

/// Returns whether an answer has reasoning in the form of litellm or `OpenRouter`.
pub(super) fn has_reasoning(message: &CanonicalMessage) -> bool {
    REASONING.iter().any(|field| message.provider.contains_key(*field))
}

/// Returns whether a value is a list of objects that is not empty.
pub(super) fn is_block_list(value: &Value) -> bool {
    !is_empty_value(value) && value.as_array().is_some_and(|it| it.iter().all(Value::is_object))
}
