use records::NewMessage;
use serde_json::{Map, Value, json};

use super::pairing::Pairing;
use super::write::NO_SIGNATURE;
use crate::DropReason;
use crate::canonical::{Media, MediaKind, MediaSource, Reasoning, taken};
use crate::dialect::parsed::{self, Parsed, Said, as_object, take_text};

pub(super) fn parse(system: Vec<Value>, contents: Vec<Value>) -> Parsed {
    let mut pairing = Pairing::new(&contents);
    Parsed::of(system, contents, |message| read(message, &mut pairing))
}

fn read(message: Value, pairing: &mut Pairing) -> Result<Vec<NewMessage>, DropReason> {
    let mut object = as_object(message)?;
    let role = match take_text(&mut object, "role").as_deref() {
        None | Some("user" | "function") => "user",
        Some("model") => "assistant",
        Some(other) => return Err(DropReason::unsupported_role(other)),
    };
    let Some(Value::Array(parts)) = object.remove("parts") else {
        return Err(DropReason::NullContent);
    };
    pairing.begin(role, &parts);
    let mut messages = Vec::new();
    let mut said = Said::default();
    for mut part in parts {
        if part.get("functionCall").is_some() {
            said.calls.push(call(&part, pairing));
        } else if let Some(response) = part.get_mut("functionResponse") {
            messages.push(result(response, pairing));
        } else if let Some(text) = thought(&part) {
            said.reasoning.push(Reasoning::Text { text, signature: None });
        } else {
            said.parts.push(stored(part));
        }
    }
    if !said.is_empty() || messages.is_empty() {
        messages.push(said.into_body(role, None).into());
    }
    Ok(messages)
}

fn call(part: &Value, pairing: &mut Pairing) -> Value {
    let call = &part["functionCall"];
    let id = pairing.call(call);
    let arguments = call.get("args").cloned().unwrap_or_else(|| json!({}));
    let mut read = parsed::call(&id, call["name"].as_str().unwrap_or_default(), &arguments);
    let signature = part["thoughtSignature"].as_str();
    if let Some(signature) = signature.filter(|signature| *signature != NO_SIGNATURE) {
        read["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    read
}

fn result(response: &mut Value, pairing: &mut Pairing) -> NewMessage {
    let id = pairing.answer(response);
    let mut wrapped = taken(response, "response");
    let single = wrapped.as_object().filter(|object| object.len() == 1);
    let field = single.and_then(|object| object.keys().next()).map(String::as_str);
    match field {
        Some("error") => parsed::result(&id, taken(&mut wrapped, "error"), true),
        Some("output") => parsed::result(&id, taken(&mut wrapped, "output"), false),
        _ => parsed::result(&id, wrapped, false),
    }
}

fn thought(part: &Value) -> Option<String> {
    part["text"].as_str().filter(|_| part["thought"] == true).map(str::to_owned)
}

/// Returns the stored form of a part: what has none gets its field for a type. What stands beside,
/// such as a signature, is kept beside.
fn stored(part: Value) -> Value {
    let media = media(&part).map(Value::from);
    let Value::Object(mut fields) = part else {
        return part;
    };
    let mut stored = if let Some(media) = media {
        fields.retain(|field, _| field != "inlineData" && field != "fileData");
        media
    } else {
        json!({"type": kind(&fields)})
    };
    parsed::keep_beside(&mut stored, fields);
    stored
}

fn kind(fields: &Map<String, Value>) -> &str {
    const BESIDE: [&str; 5] =
        ["mediaResolution", "partMetadata", "thought", "thoughtSignature", "videoMetadata"];
    let own = fields.get("type").and_then(Value::as_str);
    let text = fields.get("text").map(|_| "text");
    let first = fields.keys().map(String::as_str).find(|field| !BESIDE.contains(field));
    own.or(text).or(first).unwrap_or("unknown")
}

fn media(part: &Value) -> Option<Media> {
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
