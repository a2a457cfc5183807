//! What only updates of the protocol have.

use records::{JsonObject, MessageBody};
use serde_json::{Value, json};

use super::NAME;
use crate::canonical::{CONTINUED, CanonicalMessage, ContinuedMark, take_list, take_object};
use crate::dialect::parsed::keep_own;

/// The fields of one stored message.
#[derive(Debug, Default)]
pub(super) struct OwnFields {
    /// The fields of the chunks of its thoughts, in order; null for a chunk that has none.
    pub(super) thoughts: Vec<Value>,
    /// The fields of the chunks of its content, in order.
    pub(super) chunks: Vec<Value>,
    /// The fields of its calls, in order; of a result, those of its call.
    pub(super) calls: Vec<Value>,
    /// A plan, which is no part of any message.
    pub(super) plan: JsonObject,
    /// The message that the chunks continue.
    pub(super) continued: Option<ContinuedMark>,
    /// Whether the chunks came without the id of their message.
    pub(super) is_without_id: bool,
}

impl OwnFields {
    /// Takes the fields that a message came with; values of a wrong type are ignored.
    pub(super) fn take(message: &mut CanonicalMessage) -> Self {
        let stored = &mut message.provider;
        let is_without_id = stored.get(CONTINUED).is_some_and(Value::is_boolean);
        Self {
            thoughts: take_list(stored, "thoughts"),
            chunks: take_list(stored, "chunks"),
            calls: take_list(stored, "calls"),
            plan: take_object(stored, "plan"),
            continued: ContinuedMark::of(NAME, stored),
            is_without_id,
        }
    }

    /// Stores the fields with their message.
    pub(super) fn keep(self, body: &mut MessageBody) {
        let mut stored = JsonObject::new();
        let Self { thoughts, chunks, calls, plan, continued, is_without_id } = self;
        for (field, list) in [("thoughts", thoughts), ("chunks", chunks), ("calls", calls)] {
            if list.iter().any(|item| !item.is_null()) {
                stored.insert(field.to_owned(), list.into());
            }
        }
        if !plan.is_empty() {
            stored.insert("plan".to_owned(), plan.into());
        }
        let mark = continued.map(Value::from).or(is_without_id.then_some(Value::Bool(false)));
        stored.extend(mark.map(|mark| (CONTINUED.to_owned(), mark)));
        keep_own(body, NAME, stored);
    }
}

/// Removes whether the chunks came with the id of their message: those of a window may begin elsewhere.
pub(super) fn remove_continued(body: &mut MessageBody) {
    let mut own = take_object(&mut take_object(&mut body.extra, MessageBody::PROVIDER), NAME);
    own.shift_remove(CONTINUED);
    keep_own(body, NAME, own);
}

/// Returns the fields of a chunk that are not stored otherwise, and those of its content.
pub(super) fn of_chunk(update: &Value, content: &Value, written: &Value) -> Value {
    const READ: [&str; 4] = ["sessionUpdate", "messageId", "content", "_meta"];
    let mut own = copied_of(update, |field, _| !READ.contains(&field));
    own.extend(own_meta(update.get("_meta")));
    let content = copied_of(content, |field, value| written.get(field) != Some(value));
    if !content.is_empty() {
        let mut content = Value::Object(content);
        // What a resource holds is stored as a text or as media.
        for field in ["text", "blob"] {
            content["resource"].as_object_mut().map(|resource| resource.shift_remove(field));
        }
        own.insert("content".to_owned(), content);
    }
    if own.is_empty() { Value::Null } else { own.into() }
}

/// Returns the fields of an update of a call that are written otherwise without them.
pub(super) fn of_call(given: &JsonObject, written: &Value) -> Value {
    let differs =
        |field: &str, value: &Value| field != "_meta" && written.get(field) != Some(value);
    let mut own = copied(given, differs);
    own.extend(own_meta(given.get("_meta")));
    let is_absent = |field: &&str| given.get(*field).is_none() && written.get(*field).is_some();
    let absent: Vec<_> =
        ["rawOutput", "content", "rawInput"].into_iter().filter(is_absent).collect();
    if !absent.is_empty() {
        own.insert("absent".to_owned(), json!(absent));
    }
    if own.is_empty() { Value::Null } else { own.into() }
}

/// Notes that a call came without the id of its message, which the chunks before it have.
pub(super) fn mark_without_id(call: &mut Value) {
    if call.is_null() {
        *call = json!({});
    }
    match call["absent"].as_array_mut() {
        Some(absent) => absent.push(CONTINUED.into()),
        None => call["absent"] = json!([CONTINUED]),
    }
}

/// Returns whether a call came without the id of its message.
pub(super) fn is_without_id(call: &Value) -> bool {
    call["absent"].as_array().is_some_and(|absent| absent.iter().any(|it| it == CONTINUED))
}

/// Copies fields that are not null, if they are chosen by name and value.
fn copied(fields: &JsonObject, is_chosen: impl Fn(&str, &Value) -> bool) -> JsonObject {
    let chosen = fields.iter().filter(|(field, value)| !value.is_null() && is_chosen(field, value));
    chosen.map(|(field, value)| (field.clone(), value.clone())).collect()
}

fn copied_of(object: &Value, is_chosen: impl Fn(&str, &Value) -> bool) -> JsonObject {
    object.as_object().map(|fields| copied(fields, is_chosen)).unwrap_or_default()
}

/// Returns the field `_meta` without what is written anyway.
fn own_meta(meta: Option<&Value>) -> Option<(String, Value)> {
    let meta = copied_of(meta?, |field, _| !["name", "messageId"].contains(&field));
    (!meta.is_empty()).then(|| ("_meta".to_owned(), meta.into()))
}

/// Adds the fields of a chunk.
pub(super) fn add_to_chunk(update: &mut Value, own: &Value) {
    for (field, value) in own.as_object().into_iter().flatten() {
        match field.as_str() {
            "_meta" => add_meta(update, value),
            "content" => {
                let resource = value["resource"].as_object().filter(|it| it["uri"].is_string());
                if let Some(resource) = resource
                    && update["content"]["type"] == "text"
                {
                    let mut resource = resource.clone();
                    resource.insert("text".to_owned(), update["content"]["text"].take());
                    update["content"] = json!({"type": "resource", "resource": resource});
                }
                for field in
                    ["annotations", "_meta", "uri", "title", "description", "mimeType", "size"]
                {
                    if let Some(value) = value.get(field).filter(|value| fits(field, value)) {
                        update["content"][field] = value.clone();
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds the fields of an update of a call.
pub(super) fn add_to_call(update: &mut Value, own: &Value) {
    for (field, value) in own.as_object().into_iter().flatten() {
        match field.as_str() {
            "_meta" => add_meta(update, value),
            "title" | "kind" | "locations" | "content" | "name" | "rawInput"
                if fits(field, value) =>
            {
                update[field] = value.clone();
            }
            "status" if value == "in_progress" && update["status"] == "pending" => {
                update["status"] = value.clone();
            }
            _ => {}
        }
    }
    let absent = own["absent"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for field in absent.filter(|field| ["rawOutput", "content", "rawInput"].contains(field)) {
        if let Some(update) = update.as_object_mut() {
            update.shift_remove(field);
        }
    }
}

fn add_meta(update: &mut Value, own: &Value) {
    for (field, value) in own.as_object().into_iter().flatten() {
        if update["_meta"].get(field).is_none() {
            update["_meta"][field] = value.clone();
        }
    }
}

/// Returns whether a value may be that of a field in the protocol.
fn fits(field: &str, value: &Value) -> bool {
    const KINDS: [&str; 10] = [
        "read",
        "edit",
        "delete",
        "move",
        "search",
        "execute",
        "think",
        "fetch",
        "switch_mode",
        "other",
    ];
    match field {
        "title" | "name" | "uri" | "description" | "mimeType" => value.is_string(),
        "size" => value.is_u64(),
        "annotations" | "_meta" => value.is_object(),
        "kind" => value.as_str().is_some_and(|kind| KINDS.contains(&kind)),
        "locations" => value.as_array().is_some_and(|list| list.iter().all(is_location)),
        "content" => value.as_array().is_some_and(|list| list.iter().all(is_shown)),
        _ => field == "rawInput",
    }
}

fn is_location(location: &Value) -> bool {
    location["path"].is_string()
        && location.get("line").is_none_or(|line| line.is_null() || line.is_u64())
}

/// Returns whether an item may be shown for a call: content, a diff or a terminal.
fn is_shown(item: &Value) -> bool {
    let has = |field: &str| item[field].is_string();
    match item["type"].as_str() {
        Some("content") => is_block(&item["content"]),
        Some("diff") => {
            let old = item.get("oldText");
            has("path") && has("newText") && old.is_none_or(|old| old.is_null() || old.is_string())
        }
        Some("terminal") => has("terminalId"),
        _ => false,
    }
}

fn is_block(block: &Value) -> bool {
    let has = |field: &str| block[field].is_string();
    match block["type"].as_str() {
        Some("text") => has("text"),
        Some("image" | "audio") => has("mimeType") && has("data"),
        Some("resource_link") => has("uri") && has("name"),
        Some("resource") => {
            let resource = &block["resource"];
            let has = |field: &str| resource[field].is_string();
            has("uri") && (has("text") || has("blob"))
        }
        _ => false,
    }
}

/// Returns whether an update shows a plan. A client shows it in the chat, though no message has it.
pub(super) fn is_plan(update: &Value) -> bool {
    update["sessionUpdate"] == "plan" && update["entries"].is_array()
}
