use records::NewMessage;
use serde_json::{Map, Value, json};

use super::call_ids::CallIdResolver;
use super::write::NO_SIGNATURE;
use crate::DropReason;
use crate::canonical::{
    Media, MediaKind, MediaSource, Reasoning, URL_TYPE, take_field, type_of_ending,
};
use crate::dialect::base64_text;
use crate::dialect::parsed::{self, MessageBuilder, Parsed, as_object, keep_unread, take_text};
use crate::dialect::prepare::{items_of, rename, without_null_fields, without_null_fields_of};

pub(super) fn parse(system: Vec<Value>, contents: Vec<Value>) -> Parsed {
    let mut resolver = CallIdResolver::new(&contents);
    Parsed::from_transcript(system, contents, |message| read(message, &mut resolver))
}

/// The field of a part with the signature of a thought.
pub(super) const SIGNATURE: &str = "thoughtSignature";

/// The names that the library for Python gives to fields, and those of the API.
const ALIASES: [(&str, &str); 12] = [
    ("code_execution_result", "codeExecutionResult"),
    ("display_name", "displayName"),
    ("executable_code", "executableCode"),
    ("file_data", "fileData"),
    ("file_uri", "fileUri"),
    ("function_call", "functionCall"),
    ("function_response", "functionResponse"),
    ("inline_data", "inlineData"),
    ("media_resolution", "mediaResolution"),
    ("mime_type", "mimeType"),
    ("thought_signature", "thoughtSignature"),
    ("video_metadata", "videoMetadata"),
];

/// What the library for Python writes: fields that are null, names with underscores, and bytes in the base64 for URLs.
pub(super) fn prepare(contents: &mut [Value]) {
    without_null_fields(contents);
    without_null_fields_of("parts", contents);
    for part in items_of("parts", contents) {
        clean_part(part);
        let media = part.get_mut("functionResponse").and_then(|it| it.get_mut("parts"));
        let media = media.and_then(Value::as_array_mut).into_iter().flatten();
        media.filter_map(Value::as_object_mut).for_each(clean_part);
    }
}

fn clean_part(part: &mut Map<String, Value>) {
    rename_fields(part);
    for payload in ["fileData", "functionCall", "functionResponse", "inlineData"] {
        if let Some(Value::Object(fields)) = part.get_mut(payload) {
            fields.retain(|_, value| !value.is_null());
            rename_fields(fields);
            if payload == "inlineData" {
                base64_text::normalise(fields, "data");
            }
        }
    }
}

fn rename_fields(object: &mut Map<String, Value>) {
    for (from, to) in ALIASES {
        rename(object, from, to);
    }
}

fn read(message: Value, resolver: &mut CallIdResolver) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = match take_text(&mut object, "role").as_deref() {
        None | Some("user" | "function") => "user",
        Some("model") => "assistant",
        Some(other) => return Err(DropReason::unsupported_role(other)),
    };
    let Some(Value::Array(parts)) = object.remove("parts") else {
        return Err(DropReason::NullContent);
    };
    resolver.begin_content(role, &parts);
    let mut messages = Vec::new();
    let mut builder = MessageBuilder::default();
    for mut part in parts {
        if part.get("functionCall").is_some() {
            builder.calls.push(read_call(&part, resolver));
        } else if let Some(response) = part.get_mut("functionResponse") {
            messages.push(read_result(response, resolver));
        } else if let Some(text) = read_thought(&part) {
            builder.push_reasoning(Reasoning::Text { text, signature: None });
        } else {
            builder.parts.push(read_part(part));
        }
    }
    if !builder.is_empty() || messages.is_empty() {
        messages.push(builder.into_body(role, None).into());
    }
    if let Some(last) = messages.last_mut() {
        keep_unread(&mut last.body, "gemini", object);
    }
    Ok(messages)
}

fn read_call(part: &Value, resolver: &mut CallIdResolver) -> Value {
    let call = &part["functionCall"];
    let id = resolver.id_of_call(call);
    let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
    let mut stored =
        parsed::stored_call(&id, call["name"].as_str().unwrap_or_default(), &arguments);
    let signature = part[SIGNATURE].as_str();
    if let Some(signature) = signature.filter(|signature| *signature != NO_SIGNATURE) {
        stored["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    stored
}

fn read_result(response: &mut Value, resolver: &mut CallIdResolver) -> NewMessage {
    let id = resolver.id_of_answered_call(response);
    let mut object = take_field(response, "response");
    let single = object.as_object().filter(|object| object.len() == 1);
    let field = single.and_then(|object| object.keys().next()).map(String::as_str);
    let is_error = field == Some("error");
    let output = match field {
        Some(field @ ("error" | "output")) => {
            let field = field.to_owned();
            take_field(&mut object, &field)
        }
        _ => object,
    };
    let content = match take_field(response, "parts") {
        Value::Array(media) if !media.is_empty() => with_media(output, media),
        _ => output,
    };
    parsed::stored_result(&id, content, is_error)
}

/// Returns the content of a result that holds media beside its output.
fn with_media(output: Value, media: Vec<Value>) -> Value {
    let text = match output {
        Value::String(text) => text,
        Value::Null => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    };
    let text = Some(text).filter(|text| !text.is_empty()).map(parsed::text_part);
    text.into_iter().chain(media.into_iter().map(read_part)).collect()
}

fn read_thought(part: &Value) -> Option<String> {
    part["text"].as_str().filter(|_| part["thought"] == true).map(str::to_owned)
}

/// Returns the content part to store for a part.
///
/// The name of the first field becomes the type of an unknown part. Other fields of the part, such as a
/// signature, are stored in it.
fn read_part(part: Value) -> Value {
    let media = read_media(&part).map(Value::from);
    let Value::Object(mut fields) = part else {
        return part;
    };
    let mut stored = if let Some(mut media) = media {
        let file = fields.shift_remove("fileData").unwrap_or_default();
        fields.shift_remove("inlineData");
        if let Value::String(media_type) = &file["mimeType"]
            && type_of_ending(file["fileUri"].as_str().unwrap_or_default()) != Some(media_type)
        {
            media[URL_TYPE] = media_type.as_str().into();
        }
        media
    } else {
        json!({"type": part_type(&fields)})
    };
    parsed::keep_other_fields(&mut stored, fields);
    stored
}

fn part_type(fields: &Map<String, Value>) -> &str {
    const ANNOTATIONS: [&str; 5] =
        ["mediaResolution", "partMetadata", "thought", "thoughtSignature", "videoMetadata"];
    let own = fields.get("type").and_then(Value::as_str);
    let text = fields.get("text").map(|_| "text");
    let first = fields.keys().map(String::as_str).find(|field| !ANNOTATIONS.contains(field));
    own.or(text).or(first).unwrap_or("unknown")
}

fn read_media(part: &Value) -> Option<Media> {
    let text = |pointer: &str| part.pointer(pointer)?.as_str().map(str::to_owned);
    if let Some(url) = text("/fileData/fileUri") {
        let kind = text("/fileData/mimeType").map_or(MediaKind::File, |it| Media::kind_of(&it));
        let source = MediaSource::Url(url);
        return Some(Media { kind, source, name: text("/fileData/displayName") });
    }
    let (media_type, data) = (text("/inlineData/mimeType")?, text("/inlineData/data")?);
    let kind = Media::kind_of(&media_type);
    let source = MediaSource::Data { media_type, data };
    Some(Media { kind, source, name: text("/inlineData/displayName") })
}
