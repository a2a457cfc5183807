use std::collections::HashSet;

use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::NAME;
use super::items::{ClientTool, OUTPUT, kept_item_role, read_output};
use super::part::read_parts;
use super::reasoning::stored_block;
use super::validate::is_reference;
use crate::DropReason;
use crate::canonical::{ANSWER, is_empty_value, take_object};
use crate::dialect::parsed::{
    Parsed, TranscriptPosition, as_object, content_from_parts, event_id, keep_own, set_extra,
    take_text,
};

/// Parses items; each becomes a message.
pub(super) fn parse(system: Vec<Value>, items: Vec<Value>) -> Parsed {
    let mut reader = Reader { parsed: Parsed::from_system(system), ..Reader::default() };
    for (index, item) in items.into_iter().enumerate() {
        if let Err(reason) = reader.read(index, item) {
            reader.parsed.drop(index, reason);
        }
    }
    reader.parsed
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    /// The ids of all messages so far: two stored messages cannot have the same one.
    ids: HashSet<String>,
}

impl Reader {
    fn read(&mut self, index: usize, item: Value) -> Result<(), DropReason> {
        if is_reference(&item) {
            return Err(DropReason::unsupported_role("item_reference"));
        }
        let mut object = as_object(item)?;
        let has_role = object.get("role").is_some_and(Value::is_string);
        let kind = match object.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            None | Some(Value::Null) if has_role => "message".to_owned(),
            _ => return Err(DropReason::MissingRole),
        };
        match kind.as_str() {
            "message" => return self.read_message(index, object),
            "reasoning" => {
                let mut body = MessageBody::new("assistant", None, Value::Null);
                set_extra(&mut body, "reasoning_content", vec![stored_block(object)]);
                self.add_piece(index, None, body, Map::new());
            }
            "function_call" | "custom_tool_call" => self.read_call(index, &kind, object),
            OUTPUT if object.get("call_id").is_none_or(Value::is_null) => {
                return self.read_built_in(index, object);
            }
            OUTPUT | "custom_tool_call_output" => {
                object.remove("type");
                let id = take_text(&mut object, "call_id").unwrap_or_default();
                let content = match object.remove("output") {
                    Some(Value::Array(parts)) => read_parts(parts).into(),
                    other => other.unwrap_or_default(),
                };
                self.add_result(index, &id, content, object);
            }
            _ => return self.read_built_in(index, object),
        }
        Ok(())
    }

    fn read_message(
        &mut self,
        index: usize,
        mut object: Map<String, Value>,
    ) -> Result<(), DropReason> {
        let role = take_text(&mut object, "role").ok_or(DropReason::MissingRole)?;
        if !["user", "system", "developer", "assistant"].contains(&role.as_str()) {
            return Err(DropReason::unsupported_role(&role));
        }
        let id = object.get("id").and_then(Value::as_str).map(str::to_owned);
        let content = match object.remove("content") {
            Some(Value::Array(parts)) => read_parts(parts).into(),
            other => other.unwrap_or_default(),
        };
        if role == "assistant" {
            self.read_answer(index, id, content, object);
            return Ok(());
        }
        let mut body = MessageBody::new(&role, None, content);
        keep_filled(&mut body, object);
        self.add(index, id, body);
        Ok(())
    }

    fn read_answer(
        &mut self,
        index: usize,
        id: Option<String>,
        content: Value,
        mut own: Map<String, Value>,
    ) {
        // An answer with an id that the API gave is complete unless it says otherwise.
        if id.is_some() {
            own.retain(|field, value| {
                field != "type" && (field != "status" || value != "completed")
            });
        }
        let mut parts = match content {
            Value::Array(parts) => parts,
            Value::Null => Vec::new(),
            text => vec![json!({"type": "text", "text": text})],
        };
        let refusal = parts.pop_if(|part| is_plain_refusal(part));
        let mut body = MessageBody::new("assistant", None, content_from_parts(parts));
        set_extra(&mut body, "refusal", refusal.map(|part| part["refusal"].clone()));
        self.add_piece(index, id, body, own);
    }

    fn read_call(&mut self, index: usize, kind: &str, mut object: Map<String, Value>) {
        object.remove("type");
        let mut field = |field: &str| object.remove(field).unwrap_or_default();
        let (id, name) = (field("call_id"), field("name"));
        let mut call = if kind == "function_call" {
            let arguments = field("arguments");
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        } else {
            json!({"id": id, "type": "custom", "custom": {"name": name, "input": field("input")}})
        };
        if let Some(own) = own_fields(object) {
            call["extra_content"] = json!({"openai": own});
        }
        self.add_call(index, call);
    }

    /// Reads an item of a tool that the API defines.
    fn read_built_in(
        &mut self,
        index: usize,
        mut object: Map<String, Value>,
    ) -> Result<(), DropReason> {
        let kind = object.get("type").cloned().unwrap_or_default();
        if let Some(tool) = ClientTool::of_call(&kind)
            && let Some(id) = object.remove("call_id").filter(Value::is_string)
        {
            let (arguments, own) = ClientTool::split_call(object);
            let target = json!({"name": tool.name, "arguments": arguments.to_string()});
            let own = own_fields(own);
            self.add_call(index, json!({
                "id": id, "type": "function", "function": target, "extra_content": {"openai": own},
            }));
            return Ok(());
        }
        if let Some(tool) = ClientTool::of_output(&kind)
            && let Some(Value::String(id)) = tool.take_output_id(&mut object)
        {
            let output = read_output(object.remove("output").unwrap_or_default());
            self.add_result(index, &id, output, object);
            return Ok(());
        }
        let item = Value::Object(object);
        match kept_item_role(&item) {
            Some("user") => {
                self.add(index, None, MessageBody::new("user", None, json!([item])));
            }
            Some(_) => {
                let body = MessageBody::new("assistant", None, json!([item]));
                self.add_piece(index, None, body, Map::new());
            }
            None => return Err(DropReason::unsupported_role(kind.as_str().unwrap_or_default())),
        }
        Ok(())
    }

    fn add_call(&mut self, index: usize, call: Value) {
        let mut body = MessageBody::new("assistant", None, Value::Null);
        set_extra(&mut body, "tool_calls", vec![call]);
        self.add_piece(index, None, body, Map::new());
    }

    fn add_result(&mut self, index: usize, id: &str, content: Value, own: Map<String, Value>) {
        let mut body = MessageBody::new("tool", None, content);
        body.extra.insert("tool_call_id".to_owned(), id.into());
        keep_filled(&mut body, own);
        self.add(index, None, body);
    }

    /// Adds what a model said: an item of its turn.
    fn add_piece(
        &mut self,
        index: usize,
        id: Option<String>,
        mut body: MessageBody,
        own: Map<String, Value>,
    ) {
        let mut own = own_fields(own).unwrap_or_default();
        own.insert(ANSWER.to_owned(), true.into());
        keep_own(&mut body, NAME, own);
        self.add(index, id, body);
    }

    /// Adds a message; an id of the API becomes its event id.
    fn add(&mut self, index: usize, id: Option<String>, mut body: MessageBody) {
        let is_new = |id: &String| id.starts_with("msg_") && self.ids.insert(id.clone());
        let event_id = event_id(id.filter(is_new));
        if event_id.is_some() && body.role == "assistant" {
            let mut own = take_object(&mut body.extra, MessageBody::PROVIDER);
            let mut own = take_object(&mut own, NAME);
            own.shift_remove("id");
            keep_own(&mut body, NAME, own);
        }
        let message = NewMessage { event_id, ..body.into() };
        self.parsed.add(TranscriptPosition::Message(index), message);
    }
}

/// Returns whether a content part may be stored as the refusal of its message.
fn is_plain_refusal(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.len() == 2)
        && part["type"] == "refusal"
        && part["refusal"].as_str().is_some_and(|text| !text.is_empty())
}

/// Returns the fields that have a value.
fn own_fields(object: Map<String, Value>) -> Option<Map<String, Value>> {
    let own = object.into_iter().filter(|(_, value)| !is_empty_value(value));
    Some(own.collect::<Map<_, _>>()).filter(|own| !own.is_empty())
}

/// Keeps the fields that have a value with their message.
fn keep_filled(body: &mut MessageBody, object: Map<String, Value>) {
    keep_own(body, NAME, own_fields(object).unwrap_or_default());
}
