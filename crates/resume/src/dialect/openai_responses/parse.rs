use std::collections::HashSet;
use std::mem;

use records::{MessageBody, NewMessage};
use serde_json::{Map, Value, json};

use super::NAME;
use super::items::{ClientTool, kept_item_role};
use super::part::read_parts;
use super::turn::{Turn, keep_filled, own_fields};
use crate::DropReason;
use crate::canonical::take_object;
use crate::dialect::parsed::{
    Parsed, TranscriptPosition, as_object, event_id, keep_own, take_text,
};

/// Parses items; those that a model said in one turn become one message.
///
/// A stored message has its content before its calls. So a message between a call and its output
/// joins the message of the call, as long as a later item is the output.
pub(super) fn parse(system: Vec<Value>, items: Vec<Value>) -> Parsed {
    let parsed = Parsed::from_system(system);
    let answered = items.iter().filter_map(answered_id).map(str::to_owned).collect();
    let mut reader = Reader { parsed, answered, ..Reader::default() };
    for (index, item) in items.into_iter().enumerate() {
        if let Err(reason) = reader.read(index, item) {
            reader.parsed.drop(index, reason);
        }
    }
    reader.end_turn();
    reader.parsed
}

/// Returns the id of the call that an item answers.
fn answered_id(item: &Value) -> Option<&str> {
    item["type"].as_str().filter(|kind| kind.ends_with("_output"))?;
    let own = ClientTool::of_output(&item["type"]).and_then(|tool| item[tool.output_id].as_str());
    own.or_else(|| item["call_id"].as_str())
}

#[derive(Default)]
struct Reader {
    parsed: Parsed,
    turn: Turn,
    /// The ids of all messages so far: two stored messages cannot have the same one.
    ids: HashSet<String>,
    /// The ids of all calls that have an output.
    answered: HashSet<String>,
}

impl Reader {
    fn read(&mut self, index: usize, item: Value) -> Result<(), DropReason> {
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
                if self.turn.calls.is_empty() && self.turn.has_content() {
                    self.end_turn();
                }
                self.turn(index).push_reasoning(object);
            }
            "function_call" | "custom_tool_call" => self.read_call(index, &kind, object),
            "function_call_output" | "custom_tool_call_output" => {
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

    /// Returns the turn, which begins with the item at a position unless it has begun.
    fn turn(&mut self, index: usize) -> &mut Turn {
        if self.turn.is_empty() {
            self.turn.index = index;
        }
        &mut self.turn
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
        self.end_turn();
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
        self.end_turn_with_message();
        // An answer with an id that the API gave is complete unless it says otherwise.
        if id.is_some() {
            own.retain(|field, value| {
                field != "type" && (field != "status" || value != "completed")
            });
        }
        let turn = self.turn(index);
        if !turn.has_message {
            turn.id = id;
            turn.own = own;
        }
        turn.has_message = true;
        match content {
            Value::Array(parts) => turn.parts.extend(parts),
            Value::Null => {}
            text => turn.parts.push(json!({"type": "text", "text": text})),
        }
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
            let output = object.remove("output").unwrap_or_default();
            self.add_result(index, &id, output, object);
            return Ok(());
        }
        let item = Value::Object(object);
        match kept_item_role(&item) {
            Some("user") => {
                self.end_turn();
                self.add(index, None, MessageBody::new("user", None, json!([item])));
            }
            Some(_) => {
                self.end_turn_with_message();
                self.turn(index).parts.push(item);
            }
            None => return Err(DropReason::unsupported_role(kind.as_str().unwrap_or_default())),
        }
        Ok(())
    }

    fn add_call(&mut self, index: usize, call: Value) {
        // Beside calls, an empty content is removed when it is rendered: it stays a message of its own.
        if self.turn.is_empty_message() {
            self.end_turn();
        }
        let is_answered = call["id"].as_str().is_some_and(|id| self.answered.contains(id));
        self.turn(index).push_call(call, is_answered);
    }

    fn add_result(&mut self, index: usize, id: &str, content: Value, own: Map<String, Value>) {
        self.end_turn();
        let mut body = MessageBody::new("tool", None, content);
        body.extra.insert("tool_call_id".to_owned(), id.into());
        keep_filled(&mut body, own);
        self.add(index, None, body);
    }

    /// Ends a turn that has its message, unless the output of one of its calls comes later.
    fn end_turn_with_message(&mut self) {
        let is_complete = self.turn.has_message || !self.turn.calls.is_empty();
        if is_complete && !self.turn.awaits_output {
            self.end_turn();
        }
    }

    /// Ends the turn. Reasoning after its last call begins the next turn, which it led to.
    fn end_turn(&mut self) {
        let mut turn = mem::take(&mut self.turn);
        self.turn = turn.split_off_reasoning();
        if !turn.is_empty() {
            let (index, id) = (turn.index, turn.id.take());
            self.add(index, id, turn.into_body());
        }
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
