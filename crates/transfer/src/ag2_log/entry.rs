use chrono::{DateTime, NaiveDateTime, Utc};
use records::{JsonObject, NewProviderCall, json};
use serde::Deserialize;
use serde_json::Value;

use super::LineError;
use super::call::Invocation;

/// What a line of the log says.
#[derive(Debug)]
pub(super) enum Entry {
    /// An agent exists.
    Agent { name: String, class: String },
    /// An agent received a message.
    Received(Received),
    /// A model was called.
    Call(Box<NewProviderCall>),
    /// Something that a chat does not hold.
    Other,
}

/// A message, as an agent received it.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) by: String,
    pub(super) sender: String,
    pub(super) message: JsonObject,
    /// Whether the agent accepted it.
    pub(super) is_valid: bool,
    pub(super) at: Option<DateTime<Utc>>,
}

#[derive(Deserialize)]
struct Agent {
    agent_name: String,
    agent_type: String,
}

#[derive(Deserialize)]
struct Event {
    source_name: String,
    json_state: String,
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct State {
    message: Value,
    sender: String,
    #[serde(default = "valid")]
    valid: bool,
}

fn valid() -> bool {
    true
}

impl Entry {
    /// Reads a line.
    pub(super) fn read(object: JsonObject) -> Result<Self, LineError> {
        let is_message = object.get("event_name").is_some_and(|name| name == "received_message");
        let has = |field| object.contains_key(field);
        if is_message {
            let Event { source_name, json_state, timestamp } =
                Event::deserialize(Value::Object(object))?;
            let state = State::deserialize(json::parse(json_state.as_bytes())?)?;
            Ok(Self::Received(Received {
                by: source_name,
                sender: state.sender,
                message: object_of(state.message),
                is_valid: state.valid,
                at: timestamp.as_deref().and_then(time),
            }))
        } else if has("invocation_id") {
            let invocation = Invocation::deserialize(Value::Object(object))?;
            let call = NewProviderCall::from(invocation);
            call.check().map_err(LineError::Call)?;
            Ok(Self::Call(Box::new(call)))
        } else if has("agent_name") && has("agent_type") {
            let Agent { agent_name, agent_type } = Agent::deserialize(Value::Object(object))?;
            Ok(Self::Agent { name: agent_name, class: agent_type })
        } else {
            Ok(Self::Other)
        }
    }
}

/// A message that is a text is its content.
fn object_of(message: Value) -> JsonObject {
    match message {
        Value::Object(object) => object,
        content => JsonObject::from_iter([("content".to_owned(), content)]),
    }
}

/// Adds what the log says beside a message: who sent it, and in which role.
pub(super) fn with_speaker(mut message: JsonObject, sender: String, is_person: bool) -> JsonObject {
    let is_result = message.contains_key("tool_responses");
    let calls = message.contains_key("tool_calls") || message.contains_key("function_call");
    let role = match (is_result, is_person && !calls) {
        (true, _) => "tool",
        (false, true) => "user",
        (false, false) => "assistant",
    };
    if !message.get("role").is_some_and(Value::is_string) {
        message.insert("role".to_owned(), role.into());
    }
    message.entry("name").or_insert_with(|| sender.into());
    message
}

/// Reads a time of the log, which is in UTC.
pub(super) fn time(text: &str) -> Option<DateTime<Utc>> {
    let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").ok()?;
    Some(time.and_utc())
}
