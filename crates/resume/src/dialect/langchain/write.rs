use std::mem;

use records::{EventId, JsonObject};
use serde_json::{Value, json};

use super::{NAME, blocks};
use crate::Repair;
use crate::canonical::{
    Call, CanonicalMessage, Media, MediaSource, PlacedReasoning, Role, URL_TYPE, is_empty_value,
    serialise_content, take_list, take_object,
};
use crate::dialect::call_places;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// The field with which `LangChain` marks developer instructions.
pub(super) const ROLE_MARK: &str = "__openai_role__";

/// The field with the calls whose arguments the library could not parse, and the mark of such a stored call.
pub(super) const INVALID_CALLS: &str = "invalid_tool_calls";
pub(super) const INVALID_MARK: &str = "invalid_call";

/// The field with Gemini's signatures of calls, by the ids of the calls.
pub(super) const CALL_SIGNATURES: &str = "__gemini_function_call_thought_signatures__";

/// The own field of a message whose content has files for which [`file_of_library`] would write others.
pub(super) const AS_GIVEN: &str = "as_given";

/// The own field of a message whose content is an empty list.
pub(super) const EMPTY_LIST: &str = "empty_list";

/// Writes each message separately, with every field that `messages_to_dict` writes.
#[derive(Debug)]
pub(super) struct MessagesWriter;

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let places = call_places::take(&mut message);
        let mut own = mem::take(&mut message.provider);
        let kind = kind_of(&message, &own);
        let blocks = take_list(&mut own, "blocks");
        let invalid_calls = take_invalid_calls(&mut message);
        let calls = write_calls(&mut message, &blocks);
        let is_as_given = own.shift_remove(AS_GIVEN).is_some();
        let is_list = own.shift_remove(EMPTY_LIST).is_some() && is_empty_value(&message.content);
        let is_of_another = kind == "ai" && blocks.is_empty() && own.is_empty();
        let signed = if is_of_another { take_signed(&mut message) } else { Vec::new() };
        let has_blocks = !blocks.is_empty() || !signed.is_empty();
        let mut content = if is_list { json!([]) } else { write_content(&mut message, has_blocks) };
        if let (false, Value::Array(parts)) = (is_as_given, &mut content) {
            for part in parts {
                if let Some(file) = file_of_library(part) {
                    *part = file;
                }
            }
        }
        if !blocks.is_empty() {
            blocks::put_back(&mut content, blocks, &calls, &mut message);
        }
        let mut metadata = json!({});
        if !signed.is_empty() {
            content = blocks::with_signed(content, signed, &calls, &places);
            metadata["model_provider"] = "anthropic".into();
        }
        let kwargs = write_kwargs(&mut message, &mut own);
        let mut data = JsonObject::new();
        let mut put = |field: &str, value: Value| data.insert(field.to_owned(), value);
        put("content", content);
        put("additional_kwargs", kwargs.into());
        put("response_metadata", metadata);
        put("type", kind.into());
        // The role of a message with any role is stored as its speaker, too.
        let name = message.name.take().filter(|name| kind != "chat" || own["role"] != **name);
        put("name", name.into());
        put("id", Some(mem::take(&mut message.event_id)).filter(|id| !id.is_empty()).into());
        match message.role {
            Role::Assistant if kind == "ai" => {
                put("tool_calls", calls.into());
                put(INVALID_CALLS, invalid_calls.into());
                put("usage_metadata", Value::Null);
            }
            Role::Tool => {
                put("tool_call_id", mem::take(&mut message.call_id).into());
                put("artifact", Value::Null);
                put("status", if message.is_error { "error" } else { "success" }.into());
            }
            _ => {}
        }
        add_own_fields(&mut data, own);
        message.report_repairs(rendered);
        rendered.messages.push(json!({"type": kind, "data": data}));
    }
}

/// Takes the reasoning if Anthropic has signed all of it: integrations send it back to Claude from blocks of the content alone.
fn take_signed(message: &mut CanonicalMessage) -> Vec<PlacedReasoning> {
    let reasoning = message.read_reasoning().unwrap_or_default();
    if !reasoning.iter().all(|placed| placed.reasoning.is_signed()) {
        return Vec::new();
    }
    if !reasoning.is_empty() {
        message.reasoning = Value::Null;
    }
    reasoning
}

/// Takes the calls that came as invalid ones: the library sends the provider their arguments as the model wrote them.
fn take_invalid_calls(message: &mut CanonicalMessage) -> Vec<Value> {
    let is_invalid = |call: &Call| call.extra_content[NAME][INVALID_MARK].is_object();
    let (invalid, calls) = mem::take(&mut message.calls).into_iter().partition(is_invalid);
    message.calls = calls;
    let invalid: Vec<Call> = invalid;
    let as_given = invalid.into_iter().map(|mut call| {
        let mut given = call.extra_content[NAME][INVALID_MARK].take();
        given["id"] = call.id.into();
        given
    });
    as_given.collect()
}

/// Returns the type of a message; what came with a role of its own is written with it, if that is how the log has it: an author may
/// give a message any own fields, and still speaks only in the role that the log says.
fn kind_of(message: &CanonicalMessage, own: &JsonObject) -> &'static str {
    let given = own.get("role").and_then(Value::as_str).filter(|role| !role.is_empty());
    match message.role {
        Role::Tool => "tool",
        role if given.is_some_and(|given| role_of_chat(given) == role)
            && message.calls.is_empty() =>
        {
            "chat"
        }
        Role::System | Role::Developer => "system",
        Role::Assistant => "ai",
        Role::User | Role::Function => "human",
    }
}

/// Returns the role in which a message with any role is stored.
pub(super) fn role_of_chat(given: &str) -> Role {
    match given {
        "human" | "user" => Role::User,
        "system" => Role::System,
        // The others are stored as the speaker.
        _ => Role::Assistant,
    }
}

/// Adds what the message came with. It never replaces what the log says.
fn add_own_fields(data: &mut JsonObject, own: JsonObject) {
    for (field, value) in own {
        let fits = match field.as_str() {
            "artifact" => true,
            "response_metadata" | "usage_metadata" => value.is_object(),
            INVALID_CALLS => value.is_array() && data.get(INVALID_CALLS).is_none_or(is_empty_value),
            "name" => value.is_string() && data["name"].is_null(),
            "id" => value.as_str().is_some_and(|id| EventId::parse(id).is_err()),
            "tool_calls" | "tool_call_id" => false,
            other => !data.contains_key(other),
        };
        if fits {
            data.insert(field, value);
        }
    }
}

fn write_content(message: &mut CanonicalMessage, has_blocks: bool) -> Value {
    match message.content.take() {
        Value::Null => {
            if !has_blocks {
                message.repairs.push(Repair::NullContentFilled);
            }
            "".into()
        }
        Value::Array(parts) if parts.iter().all(is_part) => parts.into(),
        text @ Value::String(_) => text,
        other => serialise_content(other, &mut message.repairs).into(),
    }
}

/// Returns a file in the form of the library, which takes one in the form of `OpenAI` for a PDF, and has no URL there; `None` for
/// any part that may stay as it is.
pub(super) fn file_of_library(part: &Value) -> Option<Value> {
    let media = Media::read(part).filter(|_| part["type"] == "file")?;
    let media_type = media.media_type().map(str::to_owned);
    let (field, payload) = match media.source {
        MediaSource::Data { media_type, .. } if media_type == "application/pdf" => return None,
        MediaSource::Data { data, .. } => ("base64", data),
        MediaSource::Url(url) => ("url", url),
        MediaSource::Id { .. } => return None,
    };
    let kind = match media_type.as_deref().and_then(|it| it.split_once('/')) {
        Some((kind @ ("audio" | "video" | "image"), _)) => kind,
        _ => "file",
    };
    let mut file = json!({"type": kind, field: payload});
    if let Some(media_type) = media_type {
        file["mime_type"] = media_type.into();
    }
    if let Some(name) = media.name {
        file["extras"] = json!({"filename": name});
    }
    // Integrations read what their providers say of a file from here, such as the context of a document.
    for (field, value) in part.as_object().into_iter().flatten() {
        if !OF_STORED_FILE.contains(&field.as_str()) {
            file["extras"][field] = value.clone();
        }
    }
    Some(file)
}

/// The fields of a stored file that the one of the library has in other ones.
const OF_STORED_FILE: [&str; 5] = ["type", "file", "filename", "kind", URL_TYPE];

/// A part is a text, or an object with its type.
fn is_part(part: &Value) -> bool {
    part.is_string() || part["type"].is_string()
}

fn write_kwargs(message: &mut CanonicalMessage, own: &mut JsonObject) -> JsonObject {
    let mut kwargs = take_object(own, "additional_kwargs");
    // The same calls in the format of a provider.
    if kwargs.get("tool_calls").is_some_and(|raw| !blocks::repeat_calls(raw, &message.calls)) {
        kwargs.shift_remove("tool_calls");
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    let mut signatures = take_object(&mut kwargs, CALL_SIGNATURES);
    for call in &message.calls {
        if let Some(signature) = call.gemini_signature() {
            signatures.insert(call.id.clone(), signature.into());
        }
    }
    if !signatures.is_empty() {
        kwargs.insert(CALL_SIGNATURES.to_owned(), signatures.into());
    }
    if message.role == Role::Developer {
        kwargs.insert(ROLE_MARK.to_owned(), "developer".into());
    }
    if let Some(refusal) = message.refusal.take() {
        kwargs.insert("refusal".to_owned(), refusal.into());
    }
    let reasoning = message.reasoning.take();
    if !is_empty_value(&reasoning) {
        kwargs.insert("reasoning_content".to_owned(), reasoning);
    }
    kwargs
}

/// Writes the calls; that of a custom tool, if its block comes back, with its input as the library has it.
fn write_calls(message: &mut CanonicalMessage, blocks: &[Value]) -> Vec<Value> {
    let calls = message.calls.iter_mut().map(|call| {
        let input = if blocks::have_custom_call(blocks, &call.id) {
            call.take_custom_input()
        } else {
            None
        };
        let arguments = match input {
            Some(input) => blocks::custom_arguments(&input),
            None => call.take_arguments(),
        };
        let (id, name) = (&call.id, &call.target.name);
        json!({"name": name, "args": arguments, "id": id, "type": "tool_call"})
    });
    calls.collect()
}
