use serde_json::{Value, json};

use super::media::{is_media, kept_part, read_media, write_media};
use super::own::{ContentForm, OwnFields, add_fields, remove_empty};
use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, are_parts, serialise_part};
use crate::dialect::parsed::{add_missing, text_part};
pub(super) use crate::dialect::pieces::{Piece, take_pieces};

/// Marks the text of an item of a result that was another value.
const JSON_ITEM: &str = "json";

/// Takes the content as one text.
pub(super) fn take_joined_text(message: &mut CanonicalMessage, default_user_name: &str) -> String {
    let pieces = take_pieces(message, |_| false, default_user_name);
    let texts: Vec<_> = pieces.into_iter().map(|piece| write_text(message, piece)).collect();
    if texts.len() > 1 {
        message.repairs.push(Repair::PartsJoined);
    }
    texts.join("\n")
}

fn write_text(message: &mut CanonicalMessage, piece: Piece) -> String {
    match piece {
        Piece::Content(part) => message.part_text(part),
        Piece::Kept(part) => serialise_part(part, &mut message.repairs),
    }
}

/// Takes a content as a list of texts and media.
pub(super) fn take_items(
    message: &mut CanonicalMessage,
    own: &OwnFields,
    default_user_name: &str,
) -> Vec<Value> {
    let pieces = take_pieces(message, is_structured, default_user_name);
    let is_mark = |item: &Value| item["kind"] == "cache-point";
    let marks = own.items.iter().filter(|item| is_mark(item)).count();
    let fits = own.items.len() == pieces.len() + marks;
    let mut own = own.items.iter().filter(|_| fits).peekable();
    let mut items = Vec::new();
    for piece in pieces {
        items.extend(std::iter::from_fn(|| own.next_if(|item| is_mark(item))).cloned());
        items.push(write_item(message, piece, own.next().unwrap_or(&Value::Null)));
    }
    items.extend(own.cloned());
    items
}

fn is_structured(part: &Value) -> bool {
    part["type"] == "structured-content" && part.get("value").is_some()
}

fn write_item(message: &mut CanonicalMessage, piece: Piece, own: &Value) -> Value {
    match piece {
        Piece::Content(ContentPart::Text(text)) if own["kind"] == "text-content" => {
            let mut item = json!({"content": text});
            add_fields(&mut item, own);
            item
        }
        Piece::Content(ContentPart::Text(text)) if own["kind"] == JSON_ITEM => {
            serde_json::from_str(&text).unwrap_or_else(|_| text.into())
        }
        Piece::Content(ContentPart::Media(media)) => match write_media(&media, own) {
            Some(item) => item,
            None => message.part_text(ContentPart::Media(media)).into(),
        },
        Piece::Kept(part) => write_kept(part, "kind"),
        Piece::Content(part) => message.part_text(part).into(),
    }
}

/// Writes a part that stayed as it was; the field `tag` holds its type.
pub(super) fn write_kept(part: Value, tag: &str) -> Value {
    let mut written = json!({tag: part["type"]});
    if let Value::Object(mut fields) = part {
        fields.remove("type");
        add_missing(&mut written, fields);
    }
    written
}

/// Reads the content of a prompt: a text, or a list of texts and media.
pub(super) fn read_prompt(content: Value, own: &mut OwnFields) -> Value {
    match content {
        Value::Array(items) => read_items(items, own),
        other => other,
    }
}

/// Reads the content of a result, which may be any JSON.
pub(super) fn read_result(content: Value, own: &mut OwnFields) -> Value {
    match content {
        Value::Array(items) if items.iter().any(is_media) => {
            items.into_iter().map(|item| read_result_item(item, own)).collect()
        }
        Value::Array(items) => read_json(items, own),
        item if is_media(&item) => {
            own.content = Some(ContentForm::Single);
            read_items(vec![item], own)
        }
        other => other,
    }
}

/// Reads an item of a result with media: other values than texts become their JSON text, as the library gives them to models.
fn read_result_item(item: Value, own: &mut OwnFields) -> Value {
    if is_media(&item) {
        let (part, fields) = read_media(item);
        own.items.push(fields);
        return part;
    }
    let is_text = item.is_string();
    own.items.push(if is_text { Value::Null } else { json!({"kind": JSON_ITEM}) });
    text_part(if is_text { item } else { item.to_string().into() })
}

/// Marks a list if it would be taken for one of stored content parts.
pub(super) fn read_json(items: Vec<Value>, own: &mut OwnFields) -> Value {
    if !items.is_empty() && are_parts(&items) {
        own.content = Some(ContentForm::Json);
    }
    items.into()
}

fn read_items(items: Vec<Value>, own: &mut OwnFields) -> Value {
    let mut parts = Vec::new();
    for item in items {
        match item["kind"].as_str() {
            None if item.is_string() => {
                parts.push(text_part(item));
                own.items.push(Value::Null);
            }
            Some("cache-point") => own.items.push(item),
            Some("text-content") if item["content"].is_string() => {
                let Value::Object(fields) = item else { continue };
                let mut fields = remove_empty(fields);
                parts.push(text_part(fields.remove("content").unwrap_or_default()));
                own.items.push(fields.into());
            }
            Some(_) if is_media(&item) => {
                let (part, fields) = read_media(item);
                parts.push(part);
                own.items.push(fields);
            }
            Some(kind) => {
                let kind = kind.to_owned();
                let Value::Object(mut fields) = item else { continue };
                fields.remove("kind");
                parts.push(kept_part(&kind, fields));
                own.items.push(Value::Null);
            }
            None => {
                parts.push(item);
                own.items.push(Value::Null);
            }
        }
    }
    parts.into()
}
