use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::content::{
    Piece, read_json, read_prompt, read_result, take_items, take_joined_text, take_pieces,
    write_kept,
};
use super::media::kept_part;
use super::own::{ContentForm, OwnFields, add_fields, remove_empty};
use crate::canonical::{CanonicalMessage, Role, are_parts};
use crate::dialect::parsed::{self, take_text};
use crate::{DropReason, Repair};

/// Parts of a request that stay as they are, each a content part of a message of the user.
const KEPT: [&str; 2] = ["compaction", "speech"];

/// Reads a part of a request.
pub(super) fn read_part(part: Value) -> Result<(NewMessage, OwnFields), DropReason> {
    let mut fields = remove_empty(parsed::as_object(part)?);
    let kind = take_text(&mut fields, "part_kind").ok_or(DropReason::MissingRole)?;
    let content = fields.remove("content").unwrap_or_default();
    let mut own = OwnFields::default();
    let has_call = fields.get("tool_name").is_some_and(Value::is_string);
    let message: NewMessage = match kind.as_str() {
        "system-prompt" => MessageBody::new("system", None, content).into(),
        "user-prompt" => MessageBody::new("user", None, read_prompt(content, &mut own)).into(),
        "tool-return" => read_result_part(content, &mut fields, &mut own),
        "retry-prompt" if has_call => {
            fields.insert("part_kind".to_owned(), kind.into());
            fields.insert("outcome".to_owned(), "retried".into());
            read_result_part(content, &mut fields, &mut own)
        }
        "retry-prompt" | "retry-feedback" => {
            fields.insert("part_kind".to_owned(), kind.into());
            let content = match content {
                Value::Array(items) => read_json(items, &mut own),
                other => other,
            };
            MessageBody::new("user", None, content).into()
        }
        kind if KEPT.contains(&kind) => {
            if !content.is_null() {
                fields.insert("content".to_owned(), content);
            }
            let part = kept_part(kind, std::mem::take(&mut fields));
            MessageBody::new("user", None, vec![part]).into()
        }
        other => return Err(DropReason::unsupported_role(other)),
    };
    own.parts.push(fields.into());
    Ok((message, own))
}

fn read_result_part(
    content: Value,
    fields: &mut Map<String, Value>,
    own: &mut OwnFields,
) -> NewMessage {
    let id = take_text(fields, "tool_call_id").unwrap_or_default();
    fields.remove("tool_name");
    let outcome = take_text(fields, "outcome").filter(|outcome| outcome != "success");
    let failed = outcome.is_some();
    fields.extend(outcome.map(|outcome| ("outcome".to_owned(), outcome.into())));
    parsed::stored_result(&id, read_result(content, own), failed)
}

/// Writes a message as a part of a request; `function` is the one that a result answers.
pub(super) fn write_part(
    message: &mut CanonicalMessage,
    own: &OwnFields,
    function: Option<&str>,
    default_user_name: &str,
) -> Value {
    let stored = own.parts.first().unwrap_or(&Value::Null);
    let mut part = match message.role {
        Role::Tool => write_result(message, own, stored, function),
        Role::System | Role::Developer => {
            let content = take_joined_text(message, default_user_name);
            json!({"part_kind": "system-prompt", "content": content})
        }
        _ => match take_special(message, own, stored) {
            Some(part) => part,
            None => write_prompt(message, own, default_user_name),
        },
    };
    add_fields(&mut part, stored);
    part
}

fn write_prompt(message: &mut CanonicalMessage, own: &OwnFields, default_user_name: &str) -> Value {
    let content: Value = if is_part_list(&message.content) {
        take_items(message, own, default_user_name).into()
    } else {
        take_joined_text(message, default_user_name).into()
    };
    json!({"part_kind": "user-prompt", "content": content})
}

/// Takes a message of the user that is a part of another kind, if it still is what was stored.
fn take_special(message: &mut CanonicalMessage, own: &OwnFields, stored: &Value) -> Option<Value> {
    let kind = stored["part_kind"].as_str();
    let kind = kind.filter(|kind| *kind == "retry-prompt" || *kind == "retry-feedback");
    if let Some(kind) = kind {
        let is_whole = kind == "retry-prompt" || stored["retry"].is_object();
        let fits = message.content.is_string() || own.content == Some(ContentForm::Json);
        return (is_whole && fits && message.name.is_none())
            .then(|| json!({"part_kind": kind, "content": message.content.take()}));
    }
    let only = message.content.as_array().filter(|parts| parts.len() == 1)?;
    let may_stay = is_kept(&only[0]) && message.name.is_none();
    let pieces = may_stay.then(|| take_pieces(message, is_kept, ""))?;
    pieces.into_iter().find_map(|piece| match piece {
        Piece::Kept(part) => Some(write_kept(part, "part_kind")),
        Piece::Content(_) => None,
    })
}

/// Returns whether a content part is a part of a request that stays as it is.
fn is_kept(part: &Value) -> bool {
    let kind = &part["type"];
    kind == "compaction" || kind == "speech" && part["speaker"] == "user"
}

fn write_result(
    message: &mut CanonicalMessage,
    own: &OwnFields,
    stored: &Value,
    function: Option<&str>,
) -> Value {
    let failed = message.is_error;
    let is_list = is_part_list(&message.content) && own.content != Some(ContentForm::Json);
    let content = if is_list { take_list(message, own) } else { message.content.take() };
    let mut part = json!({
        "part_kind": "tool-return", "tool_name": function, "content": content,
        "tool_call_id": message.call_id,
    });
    if failed && stored["part_kind"] == "retry-prompt" {
        part["part_kind"] = "retry-prompt".into();
        part["outcome"] = Value::Null;
    } else {
        let outcome = stored["outcome"].as_str().filter(|outcome| {
            failed && ["failed", "denied", "interrupted", "retried"].contains(outcome)
        });
        let default = if failed { "failed" } else { "success" };
        part["outcome"] = outcome.unwrap_or(default).into();
    }
    part
}

/// Takes content parts: one text if all are texts, or a list of texts and media.
fn take_list(message: &mut CanonicalMessage, own: &OwnFields) -> Value {
    let mut items = take_items(message, own, "");
    if items.iter().all(Value::is_string) {
        if items.len() > 1 {
            message.repairs.push(Repair::PartsJoined);
        }
        let texts: Vec<_> = items.iter().filter_map(Value::as_str).collect();
        return texts.join("\n").into();
    }
    match &mut items[..] {
        [item] if own.content == Some(ContentForm::Single) => item.take(),
        _ => items.into(),
    }
}

fn is_part_list(content: &Value) -> bool {
    content.as_array().is_some_and(|list| !list.is_empty() && are_parts(list))
}
