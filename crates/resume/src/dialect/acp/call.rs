use serde_json::{Map, Value};

use super::content::read_part;
use crate::canonical::take_field;
use crate::dialect::parsed::content_from_parts;

/// The latest state of a tool call.
///
/// An update holds only the fields that changed; its other fields are missing or null.
#[derive(Debug, Default)]
pub(crate) struct CallState {
    fields: Map<String, Value>,
}

impl CallState {
    /// Applies the next update of the call.
    pub(crate) fn apply(&mut self, update: &Value) {
        const FIELDS: [&str; 9] = [
            "name",
            "title",
            "kind",
            "rawInput",
            "status",
            "content",
            "locations",
            "rawOutput",
            "_meta",
        ];
        for field in FIELDS {
            if let Some(value) = update.get(field).filter(|value| !value.is_null()) {
                self.fields.insert(field.to_owned(), value.clone());
            }
        }
    }

    /// Returns the name of the tool; agents without names for tools give only a title for people.
    pub(crate) fn name(&self) -> Option<&str> {
        let text = |field: &str| self.fields.get(field).and_then(Value::as_str);
        text("name").or_else(|| text("title"))
    }

    /// Returns the latest value of each field.
    pub(super) fn fields(&self) -> &Map<String, Value> {
        &self.fields
    }

    /// Returns the input of the tool.
    pub(crate) fn input(&self) -> Option<&Value> {
        self.fields.get("rawInput")
    }

    /// Returns whether the call failed; `None` until it has ended.
    pub(crate) fn has_failed(&self) -> Option<bool> {
        match self.fields.get("status")?.as_str()? {
            "completed" => Some(false),
            "failed" => Some(true),
            _ => None,
        }
    }

    /// Returns the raw output, or else the content that was shown to people.
    pub(crate) fn output(&self) -> Value {
        if let Some(output) = self.fields.get("rawOutput") {
            return output.clone();
        }
        let shown = self.fields.get("content").and_then(Value::as_array).into_iter().flatten();
        content_from_parts(shown.cloned().map(read_shown).collect())
    }
}

/// Reads an item that was shown to people; diffs and terminals stay unchanged.
fn read_shown(mut item: Value) -> Value {
    if item["type"] == "content" { read_part(take_field(&mut item, "content")) } else { item }
}
