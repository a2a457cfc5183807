use std::collections::VecDeque;
use std::mem;

use records::JsonObject;
use serde_json::{Value, json};

use super::call::OpenCall;
use super::own::{OwnFields, PartKind};
use super::{fields, reasoning};
use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, Media, MediaKind, Role};
use crate::dialect::instructions;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes messages; delays the last one, because the results of its calls and further steps become part of it.
#[derive(Debug, Default)]
pub(super) struct MessagesWriter {
    has_begun: bool,
    open: Option<OpenMessage>,
}

/// A message that still grows.
#[derive(Debug)]
struct OpenMessage {
    role: Role,
    fields: JsonObject,
    parts: Vec<OpenPart>,
}

/// A part, before the results of the calls are known.
#[derive(Debug)]
enum OpenPart {
    Written(Value),
    Call(Box<OpenCall>),
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        if message.role == Role::Tool {
            if let Some(open) = &mut self.open {
                open.add_result(&mut message);
            }
            message.report_repairs(rendered);
            return;
        }
        let mut own = OwnFields::take(&mut message);
        let steering = own.steering.take().filter(|_| message.role == Role::User);
        let role = if steering.is_some() { Role::Assistant } else { message.role };
        let continued = self.open.as_mut().filter(|open| own.continues && open.role == role);
        if let Some(open) = continued {
            open.add_metadata(mem::take(&mut message.metadata));
            let parts = write_parts(&mut message, own);
            match steering {
                Some(id) => open.parts.push(steering_part(&id, parts)),
                None => open.parts.extend(parts),
            }
            message.report_repairs(rendered);
            return;
        }
        self.finish(rendered);
        if matches!(message.role, Role::System | Role::Developer) {
            instructions::write_apart(&mut message, self.has_begun, rendered);
            return;
        }
        self.has_begun = true;
        if !own.fields.is_empty() {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
        let metadata = own.metadata.clone();
        let parts = write_parts(&mut message, own);
        self.open = Some(OpenMessage::begin(&mut message, parts, metadata));
        message.report_repairs(rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        rendered.messages.extend(self.open.take().map(OpenMessage::into_message));
    }
}

impl OpenMessage {
    fn begin(message: &mut CanonicalMessage, parts: Vec<OpenPart>, other_metadata: Value) -> Self {
        let role = if message.role == Role::Assistant { "assistant" } else { "user" };
        let mut fields = JsonObject::new();
        fields.insert("id".to_owned(), mem::take(&mut message.event_id).into());
        fields.insert("role".to_owned(), role.into());
        let mut metadata = mem::take(&mut message.metadata);
        if let Some(name) = message.name.take() {
            metadata.insert("name".to_owned(), name.into());
        }
        let metadata = if metadata.is_empty() { other_metadata } else { metadata.into() };
        if !metadata.is_null() {
            fields.insert("metadata".to_owned(), metadata);
        }
        Self { role: message.role, fields, parts }
    }

    /// Adds the metadata of a step that came later than the message.
    fn add_metadata(&mut self, later: JsonObject) {
        if later.is_empty() {
            return;
        }
        let metadata = self.fields.shift_remove("metadata");
        let mut metadata = metadata.and_then(|it| it.as_object().cloned()).unwrap_or_default();
        metadata.extend(later);
        self.fields.insert("metadata".to_owned(), metadata.into());
    }

    fn add_result(&mut self, result: &mut CanonicalMessage) {
        let calls = self.parts.iter_mut().rev().filter_map(|part| match part {
            OpenPart::Call(call) => Some(&mut **call),
            OpenPart::Written(_) => None,
        });
        if let Some(call) = calls.into_iter().find(|call| call.id() == result.call_id) {
            call.add_result(result);
        }
    }

    fn into_message(mut self) -> Value {
        let mut parts: Vec<_> = self.parts.into_iter().map(OpenPart::into_part).collect();
        // A message of a user that has nothing but fields of its own.
        if parts.is_empty() && self.role == Role::User {
            parts.push(json!({"type": "text", "text": ""}));
        }
        self.fields.insert("parts".to_owned(), parts.into());
        self.fields.into()
    }
}

impl OpenPart {
    fn into_part(self) -> Value {
        match self {
            Self::Written(part) => part,
            Self::Call(call) => call.into_part(),
        }
    }
}

/// Creates the part for what the user said while an assistant's message was made.
fn steering_part(id: &str, parts: Vec<OpenPart>) -> OpenPart {
    let parts: Vec<_> = parts.into_iter().map(OpenPart::into_part).collect();
    OpenPart::Written(json!({"type": "steering-message", "id": id, "parts": parts}))
}

/// Writes the parts of a message in the order in which they came: reasoning, then content, then calls if they came from
/// elsewhere.
fn write_parts(message: &mut CanonicalMessage, own: OwnFields) -> Vec<OpenPart> {
    let reasoning = reasoning::take_parts(message);
    let content = message.take_parts();
    let content: Vec<_> = content.into_iter().map(|part| write_part(message, part)).collect();
    let mut calls = mem::take(&mut message.calls);
    let open = calls.iter_mut().map(OpenCall::new).collect();
    let mut written = if own.parts.is_empty() {
        in_usual_order(reasoning, content, open)
    } else {
        let reasoning = reasoning.into_iter().map(|(_, part)| part).collect();
        in_own_order(message, own.parts, reasoning, content.into(), open)
    };
    // What reading the calls repaired is reported with their message.
    message.calls = calls;
    written.shrink_to_fit();
    written
}

fn in_usual_order(
    reasoning: Vec<(usize, Value)>,
    content: Vec<Value>,
    calls: VecDeque<OpenCall>,
) -> Vec<OpenPart> {
    let mut reasoning = reasoning.into_iter().peekable();
    let mut parts = Vec::new();
    for (position, part) in content.into_iter().enumerate() {
        while let Some((_, block)) = reasoning.next_if(|(after, _)| *after <= position) {
            parts.push(OpenPart::Written(block));
        }
        parts.push(OpenPart::Written(part));
    }
    parts.extend(reasoning.map(|(_, block)| OpenPart::Written(block)));
    parts.extend(calls.into_iter().map(Box::new).map(OpenPart::Call));
    parts
}

/// Writes the parts in the order of the entries.
///
/// If a message has not as many parts of a kind as entries, because the rendering leaves some out, the parts of that
/// kind get no fields from the entries.
fn in_own_order(
    message: &mut CanonicalMessage,
    entries: Vec<Value>,
    mut reasoning: VecDeque<Value>,
    mut content: VecDeque<Value>,
    mut calls: VecDeque<OpenCall>,
) -> Vec<OpenPart> {
    let count = |kind| entries.iter().filter(|entry| PartKind::of(entry) == Some(kind)).count();
    let fits_reasoning = count(PartKind::Reasoning) == reasoning.len();
    let fits_content = count(PartKind::Content) == content.len();
    let fits_calls = count(PartKind::Call) == calls.len();
    let mut parts = Vec::with_capacity(entries.len());
    for entry in entries {
        let kind = PartKind::of(&entry);
        let Value::Object(own) = entry else { continue };
        let (queue, fits) = match kind {
            Some(PartKind::Reasoning) => (&mut reasoning, fits_reasoning),
            Some(PartKind::Content) => (&mut content, fits_content),
            Some(PartKind::Call) => {
                if let Some(mut call) = calls.pop_front() {
                    if fits_calls {
                        call.add_own(own, message);
                    }
                    parts.push(OpenPart::Call(Box::new(call)));
                }
                continue;
            }
            None => {
                let part = Value::Object(own);
                if fields::is_kept(&part) {
                    parts.push(OpenPart::Written(part));
                } else {
                    message.repairs.push(Repair::ProviderFieldsRemoved);
                }
                continue;
            }
        };
        if let Some(mut part) = queue.pop_front() {
            if fits && !reasoning::add_own(&mut part, &own) {
                message.repairs.push(Repair::ProviderFieldsRemoved);
            }
            parts.push(OpenPart::Written(part));
        }
    }
    parts.extend(reasoning.into_iter().chain(content).map(OpenPart::Written));
    parts.extend(calls.into_iter().map(Box::new).map(OpenPart::Call));
    parts
}

fn write_part(message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let media = match part {
        ContentPart::Text(text) => return json!({"type": "text", "text": text}),
        ContentPart::Media(media) => media,
    };
    write_file(&media).unwrap_or_else(
        || json!({"type": "text", "text": message.part_text(ContentPart::Media(media))}),
    )
}

/// Creates the part of an image, a sound or a file; `None` if only a provider has the bytes.
pub(crate) fn write_file(media: &Media) -> Option<Value> {
    let url = media.source.url()?;
    let mut file = json!({"type": "file", "mediaType": media_type(media), "url": url});
    if let Some(name) = &media.name {
        file["filename"] = name.as_str().into();
    }
    Some(file)
}

fn media_type(media: &Media) -> &str {
    media.media_type().unwrap_or(match media.kind {
        MediaKind::Image => "image/*",
        MediaKind::Audio => "audio/*",
        MediaKind::File => "application/octet-stream",
    })
}
