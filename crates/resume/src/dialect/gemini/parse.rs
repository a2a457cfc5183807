use records::NewMessage;
use serde_json::{Map, Value, json};

use super::call_ids::CallIdResolver;
use super::own_calls::OwnCallFields;
use super::own_parts::NAME;
use super::part_fields::{SIGNATURE, THOUGHT, is_of_part, is_payload, may_be_alone};
use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, Reasoning, take_field};
use crate::dialect::base64_text;
use crate::dialect::call_places::CallPlaces;
use crate::dialect::parsed::{self, MessageBuilder, Parsed, as_object, keep_unread, take_text};
use crate::dialect::prepare::{items_of, rename, without_null_fields, without_null_fields_of};

pub(super) fn parse(system: Vec<Value>, contents: Vec<Value>) -> Parsed {
    let mut resolver = CallIdResolver::new(&contents);
    Parsed::from_blocks(NAME, system, contents, |message| read(message, &mut resolver))
}

/// The names that the library for Python gives to fields, and those of the API.
const ALIASES: [(&str, &str); 32] = [
    ("audio_metadata", "audioMetadata"),
    ("audio_transcription", "audioTranscription"),
    ("code_execution_result", "codeExecutionResult"),
    ("content_layers", "contentLayers"),
    ("display_name", "displayName"),
    ("document_metadata", "documentMetadata"),
    ("end_offset", "endOffset"),
    ("end_page", "endPage"),
    ("executable_code", "executableCode"),
    ("file_data", "fileData"),
    ("file_uri", "fileUri"),
    ("function_call", "functionCall"),
    ("function_response", "functionResponse"),
    ("inline_data", "inlineData"),
    ("media_processing", "mediaProcessing"),
    ("media_resolution", "mediaResolution"),
    ("mime_type", "mimeType"),
    ("num_tokens", "numTokens"),
    ("part_metadata", "partMetadata"),
    ("partial_args", "partialArgs"),
    ("sheet_index", "sheetIndex"),
    ("speech_metadata", "speechMetadata"),
    ("spreadsheet_metadata", "spreadsheetMetadata"),
    ("start_offset", "startOffset"),
    ("start_page", "startPage"),
    ("thought_signature", "thoughtSignature"),
    ("tool_call", "toolCall"),
    ("tool_response", "toolResponse"),
    ("tool_type", "toolType"),
    ("video_metadata", "videoMetadata"),
    ("visible_cells", "visibleCells"),
    ("will_continue", "willContinue"),
];

/// The objects in a part that have such fields themselves.
const OBJECTS: [&str; 14] = [
    "audioMetadata",
    "audioTranscription",
    "documentMetadata",
    "executableCode",
    "codeExecutionResult",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "mediaResolution",
    "spreadsheetMetadata",
    "toolCall",
    "toolResponse",
    "videoMetadata",
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
    for payload in OBJECTS {
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
    let parts = match object.remove("parts") {
        Some(Value::Array(parts)) if !parts.is_empty() => parts,
        _ => return Err(DropReason::NullContent),
    };
    resolver.begin_content(role, &parts);
    let mut messages = Vec::new();
    let mut builder = MessageBuilder::default();
    let mut places = CallPlaces::default();
    for part in parts {
        if part.get("functionCall").is_some() {
            places.add_call();
            builder.calls.push(read_call(&part, resolver));
        } else if part.get("functionResponse").is_some() {
            messages.push(read_result(part, resolver));
        } else if let Some(text) = read_thought(&part) {
            builder.push_reasoning(Reasoning::Text { text, signature: None });
        } else {
            places.add_other();
            builder.parts.push(read_part(part));
        }
    }
    places.keep(&mut object);
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
    let mut extra = Map::new();
    if let Some(signature) = part[SIGNATURE].as_str() {
        extra.insert("google".to_owned(), json!({"thought_signature": signature}));
    }
    let own = OwnCallFields::of_part(part, "functionCall", &["id", "name", "args"]);
    extra.extend(own.into_stored().map(|own| (NAME.to_owned(), own)));
    if !extra.is_empty() {
        stored["extra_content"] = extra.into();
    }
    stored
}

fn read_result(mut part: Value, resolver: &mut CallIdResolver) -> NewMessage {
    let read = ["id", "name", "response", "parts"];
    let mut own = OwnCallFields::of_part(&part, "functionResponse", &read);
    let mut response = take_field(&mut part, "functionResponse");
    let id = resolver.id_of_answered_call(&response);
    let mut object = take_field(&mut response, "response");
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
    let content = match take_field(&mut response, "parts") {
        Value::Array(media) if !media.is_empty() => with_media(output, media, &mut own),
        _ => output,
    };
    let extra = own.into_stored().map(|own| json!({NAME: own}));
    parsed::stored_result_with(&id, content, is_error, extra)
}

/// Returns the content of a result that holds media beside its output.
fn with_media(output: Value, media: Vec<Value>, own: &mut OwnCallFields) -> Value {
    let text = match output {
        Value::String(text) => text,
        Value::Null => String::new(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => {
            own.is_json = true;
            other.to_string()
        }
    };
    let text = Some(text).filter(|text| !text.is_empty()).map(parsed::text_part);
    text.into_iter().chain(media.into_iter().map(read_part)).collect()
}

fn read_thought(part: &Value) -> Option<String> {
    part["text"].as_str().filter(|_| part[THOUGHT] == true).map(str::to_owned)
}

/// Returns the content part to store for a part.
///
/// The name of its payload becomes the type of a part that is neither a text nor media. Other fields of the part, such as a
/// signature, are stored in it, those that are not known in one field. A part with such fields alone is stored as it is.
fn read_part(part: Value) -> Value {
    let media = read_media(&part).map(Value::from);
    let Value::Object(mut fields) = part else {
        return part;
    };
    fields.retain(|_, value| !value.is_null());
    let mut stored = if let Some(media) = media {
        fields.shift_remove("fileData");
        fields.shift_remove("inlineData");
        media
    } else if let Some(payload) = payload(&fields) {
        json!({"type": payload})
    } else if fields.keys().any(|field| may_be_alone(field)) {
        return json!({"type": NAME, NAME: fields});
    } else {
        // The last chunk of a stream may have a signature alone.
        json!({"type": "text", "text": ""})
    };
    let (known, unknown): (Map<_, _>, Map<_, _>) =
        fields.into_iter().partition(|(field, _)| is_of_part(field));
    parsed::keep_other_fields(&mut stored, known);
    if !unknown.is_empty() {
        stored[NAME] = unknown.into();
    }
    stored
}

/// Returns the name of the payload of a part.
fn payload(fields: &Map<String, Value>) -> Option<&str> {
    let text = fields.get("text").map(|_| "text");
    text.or_else(|| fields.keys().map(String::as_str).find(|field| is_payload(field)))
}

fn read_media(part: &Value) -> Option<Media> {
    let text = |pointer: &str| part.pointer(pointer)?.as_str().map(str::to_owned);
    if let Some(url) = text("/fileData/fileUri") {
        let media_type = text("/fileData/mimeType");
        let kind = media_type.as_deref().map_or(MediaKind::File, Media::kind_of);
        let media = Media::new(kind, MediaSource::Url(url), text("/fileData/displayName"));
        return Some(media.with_url_type(media_type.as_deref()));
    }
    let (media_type, data) = (text("/inlineData/mimeType")?, text("/inlineData/data")?);
    let source = MediaSource::Data { media_type, data };
    Some(Media::new(MediaKind::File, source, text("/inlineData/displayName")))
}
