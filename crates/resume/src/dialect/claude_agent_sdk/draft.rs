use chrono::SecondsFormat;
use records::JsonObject;
use serde_json::{Value, json};

use super::chain::{Chain, digest, is_sidechain, is_time, uuid_from};
use super::own::OwnEntry;
use crate::Repair;
use crate::canonical::CanonicalMessage;
use crate::dialect::parsed::add_missing;
use crate::rendered::{Origin, Rendered};

/// An entry before it is written.
#[derive(Debug)]
pub(super) struct Draft {
    origin: Origin,
    /// The id from which its UUID is made, unless it has one.
    id: String,
    /// When the message was said or stored, if its fields do not say it.
    timestamp: Option<String>,
    pub(super) own: OwnEntry,
    /// Whether the own fields are those that the SDK gave the entry.
    is_own: bool,
    kind: &'static str,
    pub(super) content: Value,
}

impl Draft {
    pub(super) fn new(
        message: &mut CanonicalMessage,
        own: Option<OwnEntry>,
        kind: &'static str,
        content: Value,
    ) -> Self {
        let id = match (message.event_id.as_str(), message.call_id.as_str()) {
            // A result that was added is not stored.
            ("", call_id) => format!("result_{call_id}"),
            (event_id, _) => event_id.to_owned(),
        };
        let is_own = own.is_some();
        let said = message.timestamp.take().filter(|text| is_time(text));
        let stored_at =
            || message.created_at.map(|at| at.to_rfc3339_opts(SecondsFormat::Millis, true));
        let timestamp = if is_own { said } else { said.or_else(stored_at) };
        let own = own.unwrap_or_else(|| OwnEntry {
            message: if kind == "assistant" {
                new_answer(&id, &content)
            } else {
                JsonObject::new()
            },
            ..OwnEntry::default()
        });
        Self { origin: message.origin, id, timestamp, own, is_own, kind, content }
    }
}

/// Returns the fields of the message of an answer that another system gave.
fn new_answer(id: &str, content: &Value) -> JsonObject {
    let id = format!("msg_{}", &digest(id)[..24]);
    let mut blocks = content.as_array().into_iter().flatten();
    let makes_calls = blocks.any(|block| block["type"] == "tool_use");
    let reason = if makes_calls { "tool_use" } else { "end_turn" };
    let fields = json!({
        "id": id, "type": "message", "model": "<synthetic>", "stop_reason": reason,
        "stop_sequence": null, "usage": {"input_tokens": 0, "output_tokens": 0},
    });
    fields.as_object().cloned().unwrap_or_default()
}

/// Adds entries to the rendering, each with a UUID of its own and an entry before it as its parent.
#[derive(Debug, Default)]
pub(super) struct EntryLog {
    chain: Chain,
    pub(super) has_begun: bool,
    /// The session of the last entry that named one.
    session_id: Option<String>,
    /// The time of the last entry that has one.
    timestamp: Option<String>,
}

impl EntryLog {
    /// Writes an entry with a message.
    pub(super) fn write(&mut self, draft: Draft, rendered: &mut Rendered) {
        let Draft { origin, id, timestamp, own, is_own, kind, content } = draft;
        let mut message = json!({"role": kind});
        if let Some(role) = own.message.get("role").filter(|role| role.is_string()) {
            message["role"] = role.clone();
        }
        message["content"] = content;
        add_missing(&mut message, own.message);
        let mut fields = own.fields;
        fields.insert("type".to_owned(), kind.into());
        if !fields.get("uuid").is_some_and(Value::is_string)
            && fields.insert("uuid".to_owned(), uuid_from(&id).into()).is_some()
        {
            rendered.repair(origin, Repair::FieldRemoved { field: "uuid" });
        }
        if !own.is_unlinked && !fields.contains_key("parentUuid") {
            let last = self.chain.last(is_sidechain(&fields));
            fields.insert("parentUuid".to_owned(), last);
        }
        let mut timestamp = timestamp;
        if !is_own {
            self.add_common_fields(&id, &mut fields);
            timestamp = timestamp.or_else(|| self.timestamp.clone());
        }
        if let Some(timestamp) = timestamp {
            fields.entry("timestamp").or_insert_with(|| timestamp.into());
        }
        fields.insert("message".to_owned(), message);
        self.push(origin, &id, fields, rendered);
    }

    /// Adds the fields that each entry has, to one that the SDK did not write.
    fn add_common_fields(&mut self, id: &str, fields: &mut JsonObject) {
        fields.insert("isSidechain".to_owned(), false.into());
        fields.insert("userType".to_owned(), "external".into());
        let new_id = || uuid_from(&format!("session_{id}"));
        let session_id = self.session_id.get_or_insert_with(new_id);
        fields.insert("sessionId".to_owned(), session_id.as_str().into());
    }

    /// Writes an entry that may be any; `id` is the one from which a new UUID is made if another entry has its UUID.
    pub(super) fn push(
        &mut self,
        origin: Origin,
        id: &str,
        mut fields: JsonObject,
        rendered: &mut Rendered,
    ) {
        let uuid = fields.get("uuid").and_then(Value::as_str).unwrap_or_default();
        if self.chain.contains(uuid) {
            let mut new_ids = (1..).map(|number| uuid_from(&format!("{id}_{number}")));
            let new_id = new_ids.find(|uuid| !self.chain.contains(uuid));
            fields.insert("uuid".to_owned(), new_id.into());
            rendered.repair(origin, Repair::FieldRemoved { field: "uuid" });
        }
        let last = self.chain.last(is_sidechain(&fields));
        if let Some(Value::String(parent)) = fields.get("parentUuid")
            && !self.chain.contains(parent)
            && !last.is_null()
        {
            // Loaders follow the parents back from the last entry: they would not find those before this one.
            fields.insert("parentUuid".to_owned(), last);
            rendered.repair(origin, Repair::FieldRemoved { field: "parentUuid" });
        }
        let text = |field: &str| fields.get(field).and_then(Value::as_str).map(str::to_owned);
        self.session_id = text("sessionId").or_else(|| self.session_id.take());
        self.timestamp = text("timestamp").or_else(|| self.timestamp.take());
        self.chain.add(&fields);
        self.has_begun = true;
        rendered.messages.push(fields.into());
    }
}
