use records::MessageBody;
use records::json::{Digest, Hasher};
use serde_json::Value;

/// The key by which a result is matched to its call.
///
/// It is a digest, not the id itself: an id may be as long as a message, and the keys of all calls
/// of a conversation are in memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CallKey(Digest);

impl CallKey {
    /// Creates the key of a tool call.
    pub(crate) fn from_id(id: &str) -> Self {
        Self::new("id", id)
    }

    /// Creates the key of a legacy function call, which has no id, only a function name.
    pub(crate) fn from_function(name: &str) -> Self {
        Self::new("function", name)
    }

    fn new(kind: &str, text: &str) -> Self {
        // The kind is part of the digest, so that a function name never matches an equal call id.
        let mut hasher = Hasher::default();
        hasher.field(kind, &Value::from(text));
        Self(hasher.finish())
    }
}

/// Returns the keys of the calls that a message makes.
pub(crate) fn calls_made(body: &MessageBody) -> impl Iterator<Item = CallKey> {
    let calls = items(body, "tool_calls").filter_map(|call| text_at(call, "id"));
    let function = body.extra.get("function_call");
    let function = function.and_then(|call| text_at(call, "name"));
    calls.map(CallKey::from_id).chain(function.map(CallKey::from_function))
}

/// Returns the keys of the calls that a message answers.
pub(crate) fn calls_answered(body: &MessageBody) -> impl Iterator<Item = CallKey> {
    let own = body.extra.get("tool_call_id").and_then(Value::as_str);
    let several =
        items(body, "tool_responses").filter_map(|result| text_at(result, "tool_call_id"));
    let function = body.name.as_deref().filter(|_| body.role == "function");
    let ids = own.into_iter().chain(several);
    ids.map(CallKey::from_id).chain(function.map(CallKey::from_function))
}

fn items<'a>(body: &'a MessageBody, field: &str) -> impl Iterator<Item = &'a Value> {
    let list = body.extra.get(field).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
