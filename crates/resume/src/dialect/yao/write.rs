//! Messages of other formats: one typed message for each of their parts.

use std::mem;

use records::{JsonObject, Message};
use serde_json::{Value, json};

use super::stored::{TEXT_FIELDS, removes_fields};
use crate::canonical::{
    Call, CanonicalMessage, ContentPart, Media, MediaKind, MediaSource, Reasoning, Role, are_parts,
    is_empty_value, read_message,
};
use crate::dialect::gemini::is_only_mark;
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// Renders a stored message from what it says.
pub(super) fn write(index: usize, message: Message, rendered: &mut Rendered) {
    let extra = &message.body.extra;
    let text = |field: &'static str| Some((field, extra.get(field)?.as_str()?.to_owned()));
    let shown: Vec<_> = TEXT_FIELDS.into_iter().filter_map(text).collect();
    read_message(index, message, rendered, |message, rendered| {
        let mut message = message.with_call_ids();
        if matches!(message.role, Role::System | Role::Developer) {
            let reason = DropReason::unsupported_role(message.role.as_str());
            rendered.drop(message.origin, reason);
            return;
        }
        if message.says_nothing() && is_empty_value(&message.reasoning) {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        if message.malformed_calls.take().is_some() {
            if !message.has_content_without_calls() {
                rendered.drop(message.origin, DropReason::MalformedCalls);
                return;
            }
            message.repairs.push(Repair::MalformedCallsRemoved);
        }
        if removes_fields(&message.provider) {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
        let mut typed = TypedMessages::new(&mut message, &shown);
        match message.role {
            Role::Tool => typed.write_result(&mut message),
            Role::Assistant => typed.write_answer(&mut message),
            _ => typed.write_input(&mut message),
        }
        if typed.written.is_empty() {
            rendered.drop(message.origin, DropReason::NullContent);
            return;
        }
        message.report_repairs(rendered);
        rendered.messages.append(&mut typed.written);
    });
}

/// The typed messages of one stored message.
struct TypedMessages<'a> {
    written: Vec<Value>,
    id: String,
    role: &'static str,
    /// The agent that speaks.
    assistant_id: Option<String>,
    metadata: JsonObject,
    /// Further fields, which every format may have.
    shown: &'a [(&'static str, String)],
}

impl<'a> TypedMessages<'a> {
    fn new(message: &mut CanonicalMessage, shown: &'a [(&'static str, String)]) -> Self {
        let is_user = !matches!(message.role, Role::Assistant | Role::Tool);
        let role = if is_user { "user" } else { "assistant" };
        let name = message.name.take_if(|_| !is_user);
        Self {
            written: Vec::new(),
            id: mem::take(&mut message.event_id),
            role,
            assistant_id: name.filter(|name| name != role),
            metadata: mem::take(&mut message.metadata),
            shown,
        }
    }

    /// Adds a message; the first has the id of the stored message, the others have a number behind it.
    fn add(&mut self, kind: &str, props: &Value) {
        let id = match self.written.len() {
            0 => self.id.clone(),
            number => format!("{}_{number}", self.id),
        };
        let mut typed = json!({"message_id": id, "role": self.role, "type": kind, "props": props});
        for (field, text) in self.shown {
            typed[*field] = text.as_str().into();
        }
        if let Some(agent) = &self.assistant_id {
            typed["assistant_id"] = agent.as_str().into();
        }
        if !self.metadata.is_empty() {
            typed["metadata"] = self.metadata.clone().into();
        }
        self.written.push(typed);
    }

    fn write_input(&mut self, message: &mut CanonicalMessage) {
        let content = match &message.content {
            Value::Array(parts) if !parts.is_empty() && are_parts(parts) => message.content.take(),
            _ => message.take_text().into(),
        };
        let mut props = json!({"content": content, "role": "user"});
        if let Some(name) = message.name.take().filter(|name| name != "user") {
            props["name"] = name.into();
        }
        self.add("user_input", &props);
    }

    fn write_result(&mut self, message: &mut CanonicalMessage) {
        let content = message.take_text();
        if mem::take(&mut message.is_error) {
            message.repairs.push(Repair::FieldRemoved { field: "is_error" });
        }
        if !message.result_fields.is_null() && !is_only_mark(&message.result_fields) {
            message.repairs.push(Repair::CallFieldsRemoved);
        }
        let call_id = mem::take(&mut message.call_id);
        self.metadata.insert("tool_call_id".to_owned(), call_id.into());
        self.metadata.insert("is_tool_result".to_owned(), true.into());
        self.add("text", &json!({"content": content}));
    }

    fn write_answer(&mut self, message: &mut CanonicalMessage) {
        // A text is the result of a call if its metadata say so.
        self.metadata.remove("tool_call_id");
        let reasoning = message.take_reasoning();
        let mut removes_any = reasoning.is_none();
        for block in reasoning.unwrap_or_default() {
            match block {
                Reasoning::Text { text, .. } => self.add("thinking", &json!({"content": text})),
                Reasoning::Redacted(_) => removes_any = true,
            }
        }
        if removes_any {
            message.repairs.push(Repair::ReasoningRemoved);
        }
        for part in message.take_parts() {
            match part {
                ContentPart::Media(media) => self.write_media(media, message),
                text @ ContentPart::Text(_) => {
                    let text = message.part_text(text);
                    self.add("text", &json!({"content": text}));
                }
            }
        }
        if message.calls.iter().any(|call| !call.extra_content.is_null()) {
            message.repairs.push(Repair::CallFieldsRemoved);
        }
        for call in &mut message.calls {
            self.write_call(call);
        }
    }

    fn write_media(&mut self, media: Media, message: &mut CanonicalMessage) {
        let is_video = matches!(
            &media.source,
            MediaSource::Data { media_type, .. } if media_type.starts_with("video/")
        );
        let kind = match media.kind {
            MediaKind::Image => Some("image"),
            MediaKind::Audio => Some("audio"),
            MediaKind::File => is_video.then_some("video"),
        };
        if let Some((kind, url)) = kind.zip(media.source.url()) {
            if media.name.is_some() {
                message.repairs.push(Repair::PartFieldsRemoved);
            }
            self.add(kind, &json!({"url": url}));
        } else {
            let text = message.part_text(ContentPart::Media(media));
            self.add("text", &json!({"content": text}));
        }
    }

    fn write_call(&mut self, call: &mut Call) {
        call.convert_custom();
        let arguments = call.take_arguments_text();
        let props = json!({"id": call.id, "name": call.target.name, "arguments": arguments});
        self.add("tool_call", &props);
    }
}
