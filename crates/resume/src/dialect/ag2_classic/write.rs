use serde_json::{Map, Value, json};

use super::profile::Profile;
use crate::Repair;
use crate::canonical::{
    CanonicalMessage, ResultName, Role, are_parts, is_empty_value, serialise_content,
};
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes each message separately. The results that an agent ran together become one message; for a pattern, all results do.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    profile: Profile,
    has_begun: bool,
    /// The results that are not written yet.
    pending: Option<PendingResults>,
}

/// Results of one message.
#[derive(Debug)]
struct PendingResults {
    executor: String,
    /// The message that holds them as stored.
    sequence: u64,
    responses: Vec<Value>,
}

impl MessagesWriter {
    pub(super) fn new(profile: Profile) -> Self {
        Self { profile, has_begun: false, pending: None }
    }

    /// Adds a result to those of its executor, or writes it by itself if it has none.
    fn add_result(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let content = message.take_text();
        let response = json!({"tool_call_id": message.call_id, "role": "tool", "content": content});
        let executor = self.executor_of(&mut message);
        message.report_repairs(rendered);
        let sequence = message.origin.sequence;
        let Some(executor) = executor else {
            self.write_pending(rendered);
            rendered.messages.push(response);
            return;
        };
        let joins_all = self.profile == Profile::Pattern;
        let is_same = |it: &&mut PendingResults| {
            it.executor == executor && (joins_all || it.sequence == sequence)
        };
        if let Some(pending) = self.pending.as_mut().filter(is_same) {
            pending.responses.push(response);
            return;
        }
        self.write_pending(rendered);
        self.pending = Some(PendingResults { executor, sequence, responses: vec![response] });
    }

    /// Returns the agent whose message has the result; `None` if it is a message of its own.
    fn executor_of(&self, message: &mut CanonicalMessage) -> Option<String> {
        let name = message.result_name.take();
        let name = match name.map(ResultName::into_string) {
            Some(name) if self.profile.accepts(&name, false) => return Some(name),
            name => name,
        };
        if name.is_some_and(|name| name != ResultName::OF_PATTERN) {
            message.repairs.push(Repair::FieldRemoved { field: "name" });
        }
        (self.profile == Profile::Pattern).then(|| ResultName::OF_PATTERN.to_owned())
    }

    fn write_pending(&mut self, rendered: &mut Rendered) {
        let Some(PendingResults { executor, responses, .. }) = self.pending.take() else { return };
        let texts: Vec<_> = responses.iter().filter_map(|it| it["content"].as_str()).collect();
        // So AG2 joins them.
        let separator = if executor == ResultName::OF_PATTERN { "\n" } else { "\n\n" };
        rendered.messages.push(json!({
            "role": "tool", "name": executor, "content": texts.join(separator),
            "tool_responses": responses,
        }));
    }

    fn write_speech(&mut self, message: &mut CanonicalMessage) -> Value {
        let mut object = Map::new();
        let mut put = |field: &str, value: Value| object.insert(field.to_owned(), value);
        put("role", message.role.as_str().into());
        if let Some(name) = message.name.take() {
            if self.profile.accepts(&name, !self.has_begun) {
                put("name", name.into());
            } else {
                message.repairs.push(Repair::FieldRemoved { field: "name" });
            }
        }
        put("content", write_content(message));
        if let Some(refusal) = message.refusal.take() {
            put("refusal", refusal.into());
        }
        let reasoning = message.reasoning.take();
        if !is_empty_value(&reasoning) {
            put("reasoning_content", reasoning);
        }
        if !message.calls.is_empty() {
            put("tool_calls", write_calls(message));
        }
        object.into()
    }
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            self.add_result(message, rendered);
            return;
        }
        self.write_pending(rendered);
        let object = self.write_speech(&mut message);
        self.has_begun = true;
        message.report_repairs(rendered);
        rendered.messages.push(object);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.write_pending(rendered);
    }
}

fn write_content(message: &mut CanonicalMessage) -> Value {
    let fits = |part: &Value| match part["type"].as_str() {
        Some("text") => part["text"].is_string(),
        Some("image_url") => part["image_url"]["url"].is_string(),
        _ => false,
    };
    let makes_calls = !message.calls.is_empty();
    match message.content.take() {
        Value::Null => match message.refusal.take_if(|_| !makes_calls) {
            Some(refusal) => {
                message.repairs.push(Repair::RefusalGivenAsText);
                refusal.into()
            }
            None => empty_text(message),
        },
        Value::String(text) if makes_calls && text == "None" => empty_text(message),
        text @ Value::String(_) => text,
        Value::Array(parts) if are_parts(&parts) => message.fit_parts(parts, fits),
        other => serialise_content(other, &mut message.repairs).into(),
    }
}

/// Returns the empty text in place of null, and reports that.
fn empty_text(message: &mut CanonicalMessage) -> Value {
    message.repairs.push(Repair::NullContentFilled);
    "".into()
}

fn write_calls(message: &mut CanonicalMessage) -> Value {
    let calls = message.calls.iter_mut().map(|call| {
        let arguments = call.take_arguments_text();
        let (id, name) = (&call.id, &call.target.name);
        json!({
            "id": id, "type": "function", "function": {"name": name, "arguments": arguments},
        })
    });
    calls.collect()
}
