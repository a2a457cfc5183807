use serde_json::{Map, Value};

use super::content::part;
use crate::canonical::taken;
use crate::dialect::parsed::content;

/// What has been told of a call of a tool: an update has only what has changed, or null for the rest.
#[derive(Debug, Default)]
pub(crate) struct Call {
    told: Map<String, Value>,
}

impl Call {
    /// Takes in what is told next.
    pub(crate) fn tell(&mut self, update: &Value) {
        for field in ["name", "title", "rawInput", "status", "content", "rawOutput"] {
            if let Some(value) = update.get(field).filter(|value| !value.is_null()) {
                self.told.insert(field.to_owned(), value.clone());
            }
        }
    }

    /// Returns what the tool is called; people see the title.
    pub(crate) fn name(&self) -> Option<&str> {
        let text = |field: &str| self.told.get(field).and_then(Value::as_str);
        text("name").or_else(|| text("title"))
    }

    /// Returns what the tool is given.
    pub(crate) fn input(&self) -> Option<&Value> {
        self.told.get("rawInput")
    }

    /// Tells whether it has failed, once it has ended.
    pub(crate) fn has_failed(&self) -> Option<bool> {
        match self.told.get("status")?.as_str()? {
            "completed" => Some(false),
            "failed" => Some(true),
            _ => None,
        }
    }

    /// Returns what came of it, or else what was shown of it.
    pub(crate) fn output(&self) -> Value {
        if let Some(output) = self.told.get("rawOutput") {
            return output.clone();
        }
        let shown = self.told.get("content").and_then(Value::as_array).into_iter().flatten();
        content(shown.cloned().map(shown_part).collect())
    }
}

/// Changes of files and terminals are kept as they are.
fn shown_part(mut item: Value) -> Value {
    if item["type"] == "content" { part(taken(&mut item, "content")) } else { item }
}
