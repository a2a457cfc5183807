use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::media;
use super::own::{LeftPart, PartKind};
use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, are_parts, take_field};
use crate::dialect::gemini::MEDIA_PROCESSING;
use crate::dialect::gemini::call_ids::CallIdResolver;
use crate::dialect::parsed::{self, add_missing, text_part};
use crate::dialect::shapes::{Shape, retain};

/// The field of a result that is not an object, and that of a failed call.
const RESULT: &str = "result";
const ERROR: &str = "error";

/// What a medium of a result has beside its payload.
const BESIDES: &str = "part";

/// Reads the results of an event.
#[derive(Default)]
pub(super) struct ResultReader {
    results: Vec<StoredResult>,
    left: Vec<LeftPart>,
}

struct StoredResult {
    call_id: String,
    content: Value,
    is_error: bool,
}

impl ResultReader {
    pub(super) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Adds a part, without its result and with it.
    pub(super) fn read(
        &mut self,
        part: Map<String, Value>,
        mut result: Value,
        resolver: &mut CallIdResolver,
    ) {
        let call_id = resolver.id_of_answered_call(&result);
        let mut left = LeftPart::new(PartKind::Result, part);
        for field in ["scheduling", "willContinue"] {
            let value = take_field(&mut result, field);
            if !value.is_null() {
                left.payload.insert(field.to_owned(), value);
            }
        }
        let response = take_field(&mut result, "response");
        let (content, is_error) = match take_field(&mut result, "parts") {
            Value::Array(media) if !media.is_empty() => {
                let (content, of_media) = with_media(&response, media);
                if of_media.iter().any(|left| *left != json!({})) {
                    left.payload.insert("media".to_owned(), of_media.into());
                }
                let text = content.get(0).filter(|part| part["type"] == "text");
                let expected = text.map_or(json!({}), |part| json!({RESULT: part["text"]}));
                if response != expected {
                    left.payload.insert("response".to_owned(), response);
                }
                (content, false)
            }
            _ => {
                let (content, is_error) = read_response(response.clone());
                if write_response(content.clone(), is_error) != response {
                    left.payload.insert("response".to_owned(), response);
                }
                (content, is_error)
            }
        };
        if !left.is_empty() {
            left.payload.insert("id".to_owned(), call_id.as_str().into());
            self.left.push(left);
        }
        self.results.push(StoredResult { call_id, content, is_error });
    }

    /// Returns what is left of the results that are not stored whole.
    pub(super) fn take_left(&mut self) -> Option<Vec<LeftPart>> {
        Some(std::mem::take(&mut self.left)).filter(|left| !left.is_empty())
    }

    /// Returns the message with all results.
    pub(super) fn into_message(mut self) -> NewMessage {
        if self.results.len() == 1
            && let Some(StoredResult { call_id, content, is_error }) = self.results.pop()
        {
            return parsed::stored_result(&call_id, content, is_error);
        }
        let mut body = MessageBody::new("tool", None, Value::Null);
        let responses: Vec<_> = self.results.into_iter().map(Value::from).collect();
        body.extra.insert("tool_responses".to_owned(), responses.into());
        body.into()
    }
}

impl From<StoredResult> for Value {
    fn from(result: StoredResult) -> Self {
        let StoredResult { call_id, content, is_error } = result;
        let mut response = json!({"tool_call_id": call_id, "role": "tool", "content": content});
        if is_error {
            response["is_error"] = true.into();
        }
        response
    }
}

/// Returns the content of a response, and whether the call failed.
fn read_response(mut response: Value) -> (Value, bool) {
    let field = single_field(&response);
    let is_error = field == Some(ERROR);
    let field = if is_error { ERROR } else { RESULT };
    let is_wrapped = match response.get(field).filter(|_| single_field(&response) == Some(field)) {
        Some(content) => !is_part_list(content) && (is_error || is_wrapped(content)),
        None => false,
    };
    if is_wrapped { (take_field(&mut response, field), is_error) } else { (response, false) }
}

/// Returns the response with a content that is not a list of content parts.
fn write_response(content: Value, is_error: bool) -> Value {
    match content {
        content if is_error => json!({ERROR: content}),
        content if is_wrapped(&content) => json!({RESULT: content}),
        object => object,
    }
}

/// Returns whether a content is not itself the response: it is no object, or would be taken for a wrapped one.
fn is_wrapped(content: &Value) -> bool {
    match single_field(content) {
        Some(ERROR) => true,
        Some(RESULT) => is_wrapped(&content[RESULT]) && !is_part_list(&content[RESULT]),
        _ => !content.is_object(),
    }
}

/// Returns the name of the field of an object that has only one.
fn single_field(value: &Value) -> Option<&str> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object.keys().next().map(String::as_str)
}

fn is_part_list(content: &Value) -> bool {
    content.as_array().is_some_and(|list| !list.is_empty() && are_parts(list))
}

/// Returns the content of a result that holds media, and what is left of each of them.
fn with_media(response: &Value, media: Vec<Value>) -> (Value, Vec<Value>) {
    let text = match response {
        Value::Object(fields) if fields.is_empty() => None,
        Value::Null => None,
        other => match &other[RESULT] {
            Value::String(text) if single_field(other) == Some(RESULT) => Some(text.clone()),
            _ => Some(other.to_string()),
        },
    };
    let mut content: Vec<_> = text.map(text_part).into_iter().collect();
    let mut left = Vec::with_capacity(media.len());
    for part in media {
        let taken = match part {
            Value::Object(mut part) => match media::take(&mut part) {
                Some((media, mut payload)) => {
                    if !part.is_empty() {
                        payload.insert(BESIDES.to_owned(), part.into());
                    }
                    Ok((media, payload))
                }
                None => Err(Value::from(part).to_string()),
            },
            other => Err(other.to_string()),
        };
        match taken {
            Ok((part, payload)) => {
                content.push(part);
                left.push(payload.into());
            }
            Err(text) => content.push(text_part(text)),
        }
    }
    (content.into(), left)
}

/// Writes the part of a result, with what is left of it.
pub(super) fn write_part(
    message: &mut CanonicalMessage,
    function: &str,
    left: Option<&LeftPart>,
) -> Value {
    let none = Map::new();
    let payload = left.map_or(&none, |left| &left.payload);
    let mut result = json!({"id": message.call_id, "name": function});
    if is_part_list(&message.content) {
        let (response, media) = take_media(message, payload.get("media").unwrap_or(&Value::Null));
        result["response"] = response;
        if !media.is_empty() {
            result["parts"] = media.into();
        }
    } else {
        result["response"] = write_response(message.content.take(), message.is_error);
    }
    match payload.get("response") {
        Some(response @ Value::Object(_)) => result["response"] = response.clone(),
        Some(Value::Null) => {
            result.as_object_mut().map(|result| result.shift_remove("response"));
        }
        _ => {}
    }
    if let Some(scheduling @ Value::String(_)) = payload.get("scheduling") {
        result["scheduling"] = scheduling.clone();
    }
    if let Some(flag @ Value::Bool(_)) = payload.get("willContinue") {
        result["willContinue"] = flag.clone();
    }
    let mut part = json!({"functionResponse": result});
    if let Some(left) = left {
        left.add_to(&mut part);
    }
    part
}

/// Adds what media of a result have besides; returns whether the library refuses some of it, which has
/// `google.genai.types.FunctionResponsePart`, version 2.34.
fn add_besides(written: &mut Value, besides: &Value) -> bool {
    let mut besides = besides.as_object().cloned().unwrap_or_default();
    let removes_any = retain(&mut besides, &[(MEDIA_PROCESSING, Shape::Text)]);
    add_missing(written, besides);
    removes_any
}

/// Takes the texts of a result as its response, and its media as parts.
fn take_media(message: &mut CanonicalMessage, left: &Value) -> (Value, Vec<Value>) {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in message.take_parts() {
        let left = left.get(media.len()).unwrap_or(&Value::Null);
        if let ContentPart::Media(one) = &part
            && let Some(mut written) = media::write(one, left)
        {
            if add_besides(&mut written, &left[BESIDES]) {
                message.repairs.push(Repair::ProviderFieldsRemoved);
            }
            media.push(written);
        } else {
            texts.push(message.part_text(part));
        }
    }
    if texts.len() > 1 {
        message.repairs.push(Repair::PartsJoined);
    }
    let field = if message.is_error { ERROR } else { RESULT };
    let response = if texts.is_empty() { json!({}) } else { json!({field: texts.join("\n")}) };
    (response, media)
}
