use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::tool::ToolPart;

/// A message while its chunks arrive.
#[derive(Debug, Default)]
pub(super) struct PartialMessage {
    pub(super) id: String,
    pub(super) role: &'static str,
    pub(super) metadata: Value,
    parts: Vec<MessagePart>,
    /// How many parts belong to the message that this one continues: its calls. `None` if it continues none.
    continued: Option<usize>,
    /// How many of them, from the first one, had no output.
    waiting: usize,
    /// The position of the first part of the last step.
    step: usize,
    /// The position of the last tool part of each call.
    tools: HashMap<String, usize>,
    /// The position of the last tool part.
    last_tool: Option<usize>,
    /// The position of the data part of each type and id.
    data: HashMap<(String, String), usize>,
    /// The open text or reasoning part of each kind and id.
    open: HashMap<(&'static str, String), OpenPart>,
    /// The kinds and ids of the texts and reasonings that have ended.
    ended: HashSet<(&'static str, String)>,
}

/// A text or a reasoning that goes on.
#[derive(Debug)]
struct OpenPart {
    /// The position of the part.
    at: usize,
    /// Whether a chunk has begun it. Then it goes on until a chunk ends it, also behind a tool part.
    has_start: bool,
}

#[derive(Debug)]
enum MessagePart {
    /// A text, a reasoning, or any other part that is stored as received.
    Plain(Value),
    Tool(Box<ToolPart>),
}

impl PartialMessage {
    pub(super) fn new(role: &'static str) -> Self {
        Self { role, ..Self::default() }
    }

    /// Begins what a stream adds to a UI message.
    pub(super) fn continuing(message: &Value) -> Self {
        let mut rest = Self::new("assistant");
        if let Some(id) = message["id"].as_str() {
            id.clone_into(&mut rest.id);
        }
        let parts = message["parts"].as_array().into_iter().flatten();
        let (ended, waiting): (Vec<_>, Vec<_>) =
            parts.filter_map(ToolPart::read).partition(ToolPart::has_ended);
        rest.waiting = waiting.len();
        waiting.into_iter().chain(ended).for_each(|tool| rest.add_tool(tool));
        rest.continued = Some(rest.parts.len());
        rest
    }

    pub(super) fn continues(&self) -> bool {
        self.continued.is_some()
    }

    /// Returns whether there is something to write; a message that continues another one may have nothing more to say.
    pub(super) fn adds(&self) -> bool {
        let is_more = |continued| self.parts.len() > continued || !self.metadata.is_null();
        self.continued.is_none_or(is_more)
    }

    /// Returns the parts of the calls of the continued message that have ended.
    pub(super) fn ended_calls(&self) -> impl Iterator<Item = Value> {
        let tools = self.parts.iter().take(self.waiting);
        tools.filter_map(|part| match part {
            MessagePart::Tool(tool) if tool.has_ended() => Some(Value::from(&**tool)),
            _ => None,
        })
    }

    /// Begins a text or reasoning part.
    pub(super) fn begin(&mut self, kind: &'static str, id: &str) {
        self.open_new(kind, id, true);
    }

    fn open_new(&mut self, kind: &'static str, id: &str, has_start: bool) {
        let key = (kind, id.to_owned());
        self.ended.remove(&key);
        self.open.insert(key, OpenPart { at: self.parts.len(), has_start });
        self.parts.push(MessagePart::Plain(json!({"type": kind, "text": ""})));
    }

    /// Appends to a text or reasoning part, unless it has ended.
    pub(super) fn append_text(&mut self, kind: &'static str, id: &str, delta: &str) {
        let part = self.open_part(kind, id);
        if let Some(Value::String(text)) = part.and_then(|part| part.get_mut("text")) {
            text.push_str(delta);
        }
    }

    /// Returns the open text or reasoning part. One that no chunk has begun begins here, and again after a tool part.
    pub(super) fn open_part(&mut self, kind: &'static str, id: &str) -> Option<&mut Value> {
        let key = (kind, id.to_owned());
        if self.ended.contains(&key) {
            return None;
        }
        let is_before_tool = |open: &OpenPart| !open.has_start && self.last_tool >= Some(open.at);
        if self.open.get(&key).is_none_or(is_before_tool) {
            self.open_new(kind, id, false);
        }
        match self.parts.get_mut(self.open.get(&key)?.at) {
            Some(MessagePart::Plain(part)) => Some(part),
            _ => None,
        }
    }

    /// Ends a text or reasoning part: later chunks do not change it.
    pub(super) fn end(&mut self, kind: &'static str, id: &str) {
        let key = (kind, id.to_owned());
        self.open.remove(&key);
        self.ended.insert(key);
    }

    /// Closes the open parts of all kinds but one: their next chunks begin new parts.
    pub(super) fn close_others(&mut self, kind: &str) {
        self.open.retain(|(open, _), _| *open == kind);
    }

    /// Adds a complete part.
    pub(super) fn add(&mut self, part: Value) {
        self.parts.push(MessagePart::Plain(part));
    }

    /// Adds a data part, or replaces the part with the same type and id.
    pub(super) fn put_data(&mut self, kind: &str, id: &Value, part: Value) {
        let end = self.parts.len();
        let at = *self.data.entry((kind.to_owned(), id.to_string())).or_insert(end);
        match self.parts.get_mut(at) {
            Some(existing) => *existing = MessagePart::Plain(part),
            None => self.add(part),
        }
    }

    /// Returns the tool part of a call.
    pub(super) fn tool(&mut self, call_id: &str) -> Option<&mut ToolPart> {
        match self.parts.get_mut(*self.tools.get(call_id)?)? {
            MessagePart::Tool(tool) => Some(tool),
            MessagePart::Plain(_) => None,
        }
    }

    pub(super) fn tools(&mut self) -> impl Iterator<Item = &mut ToolPart> {
        self.parts.iter_mut().filter_map(|part| match part {
            MessagePart::Tool(tool) => Some(&mut **tool),
            MessagePart::Plain(_) => None,
        })
    }

    pub(super) fn add_tool(&mut self, tool: ToolPart) {
        self.last_tool = Some(self.parts.len());
        self.tools.insert(tool.call_id.clone(), self.parts.len());
        self.parts.push(MessagePart::Tool(tool.into()));
    }

    /// Begins a step.
    pub(super) fn begin_step(&mut self) {
        self.add(json!({"type": "step-start"}));
        self.step = self.parts.len();
    }

    /// Returns whether the last step has the call.
    pub(super) fn has_tool_in_step(&self, call_id: &str) -> bool {
        self.tools.get(call_id).is_some_and(|at| *at >= self.step)
    }

    /// Removes the parts that were added since the last step began.
    pub(super) fn reset_step(&mut self) {
        let begin = self.step.max(self.continued.unwrap_or_default());
        self.parts.truncate(begin);
        self.open.retain(|_, open| open.at < begin);
        // A call of an earlier step may have the id of one that is removed.
        self.tools = tool_positions(&self.parts);
        self.data.retain(|_, at| *at < begin);
        self.last_tool = self.tools.values().copied().max();
    }

    /// Returns the UI message; without an id of its own, it gets the id of its stream and its number.
    pub(super) fn write(&self, stream: &str, number: usize) -> Value {
        let id = if self.id.is_empty() { format!("{stream}_{number}") } else { self.id.clone() };
        let own = self.parts.iter().skip(self.continued.unwrap_or_default());
        let parts = own.map(|part| match part {
            MessagePart::Plain(part) => part.clone(),
            MessagePart::Tool(tool) => Value::from(&**tool),
        });
        let mut object = json!({"id": id, "role": self.role});
        if !self.metadata.is_null() {
            object["metadata"] = self.metadata.clone();
        }
        object["parts"] = parts.collect();
        object
    }
}

/// Returns the position of the last tool part of each call.
fn tool_positions(parts: &[MessagePart]) -> HashMap<String, usize> {
    let tools = parts.iter().enumerate().filter_map(|(at, part)| match part {
        MessagePart::Tool(tool) => Some((tool.call_id.clone(), at)),
        MessagePart::Plain(_) => None,
    });
    tools.collect()
}
