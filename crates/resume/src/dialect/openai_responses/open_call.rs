use serde_json::{Map, Value, json};

use super::content::take_output;
use super::items::{ClientTool, add_stored_fields};
use crate::canonical::{Call, CanonicalMessage, take_field};

/// A call that is not written yet: its output decides which item it is.
#[derive(Debug)]
pub(super) struct OpenCall {
    /// The reasoning that led to the call.
    pub(super) reasoning: Vec<Value>,
    /// The call as one of a function or a custom tool.
    item: Value,
    /// The call as the one of a tool of the API that it was when it was stored.
    original: Option<(&'static ClientTool, Value)>,
    /// Whether the output is none of that tool. Then both are those of a function.
    has_other_output: bool,
}

impl OpenCall {
    pub(super) fn new(mut call: Call) -> Self {
        let stored = match take_field(&mut call.extra_content, "openai") {
            Value::Object(stored) => stored,
            _ => Map::new(),
        };
        let id = call.id.clone();
        let mut call = Value::from(call);
        let is_custom = call["type"] == "custom";
        let target = take_field(&mut call, if is_custom { "custom" } else { "function" });
        let (kind, input) =
            if is_custom { ("custom_tool_call", "input") } else { ("function_call", "arguments") };
        let mut item =
            json!({"type": kind, "call_id": id, "name": target["name"], input: target[input]});
        let mut original = None;
        if let Some(tool) = stored.get("type").and_then(ClientTool::of_call) {
            original = tool.write_call(&id, &item["arguments"], stored).map(|call| (tool, call));
        } else {
            add_stored_fields(&mut item, stored);
        }
        Self { reasoning: Vec::new(), item, original, has_other_output: false }
    }

    /// Writes the output of the call.
    pub(super) fn write_output(
        &mut self,
        message: &mut CanonicalMessage,
        stored: Map<String, Value>,
    ) -> Value {
        let tool = self.original.as_ref().map(|(tool, _)| *tool);
        let is_of_tool = |tool: &&ClientTool| {
            stored.get("type").is_some_and(|kind| kind == tool.output)
                && (tool.takes_output)(&message.content)
        };
        if let Some(tool) = tool.filter(is_of_tool) {
            return tool.write_output(message, stored);
        }
        self.has_other_output = true;
        let kind = self.item["type"].as_str().unwrap_or_default();
        let mut item = json!({
            "type": format!("{kind}_output"), "call_id": message.call_id,
            "output": take_output(message),
        });
        if tool.is_none() {
            add_stored_fields(&mut item, stored);
        }
        item
    }

    /// Returns the reasoning and the call.
    pub(super) fn into_items(self) -> impl Iterator<Item = Value> {
        let original = self.original.filter(|_| !self.has_other_output);
        let item = original.map_or(self.item, |(_, original)| original);
        self.reasoning.into_iter().chain([item])
    }
}
