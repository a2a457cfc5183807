use records::MessageBody;
use serde_json::Value;

/// What a call and its result have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CallKey<'a> {
    /// The id of a tool call.
    Id(&'a str),
    /// The name of the function, for the older calls that have no id.
    Function(&'a str),
}

/// Returns the calls that a message makes.
pub(crate) fn made(body: &MessageBody) -> impl Iterator<Item = CallKey<'_>> {
    let calls = items(body, "tool_calls").filter_map(|call| text_at(call, "id"));
    let function = body.extra.get("function_call");
    let function = function.and_then(|call| text_at(call, "name"));
    calls.map(CallKey::Id).chain(function.map(CallKey::Function))
}

/// Returns the calls that a message answers.
pub(crate) fn answered(body: &MessageBody) -> impl Iterator<Item = CallKey<'_>> {
    let own = body.extra.get("tool_call_id").and_then(Value::as_str);
    let several =
        items(body, "tool_responses").filter_map(|result| text_at(result, "tool_call_id"));
    let function = body.name.as_deref().filter(|_| body.role == "function");
    own.into_iter().chain(several).map(CallKey::Id).chain(function.map(CallKey::Function))
}

fn items<'a>(body: &'a MessageBody, field: &str) -> impl Iterator<Item = &'a Value> {
    let list = body.extra.get(field).and_then(Value::as_array);
    list.into_iter().flatten()
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
