use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::tool::Tool;

/// A message that is being put together.
#[derive(Debug, Default)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) role: &'static str,
    pub(super) metadata: Map<String, Value>,
    parts: Vec<Part>,
    /// Where the tool part of each call is, and the last one of all.
    tools: HashMap<String, usize>,
    last_tool: Option<usize>,
    /// Where the data of each type and id is.
    data: HashMap<(String, String), usize>,
    /// Where the text or reasoning of that kind and id goes on.
    open: HashMap<(&'static str, String), usize>,
    ended: HashSet<(&'static str, String)>,
}

#[derive(Debug)]
enum Part {
    /// A text, reasoning, or anything else that is a part as it is.
    Plain(Value),
    Tool(Box<Tool>),
}

impl Message {
    pub(super) fn new(role: &'static str) -> Self {
        Self { role, ..Self::default() }
    }

    /// Begins a text or a reasoning.
    pub(super) fn begin(&mut self, kind: &'static str, id: &str) {
        let key = (kind, id.to_owned());
        self.ended.remove(&key);
        self.open.insert(key, self.parts.len());
        self.parts.push(Part::Plain(json!({"type": kind, "text": ""})));
    }

    /// Adds to a text or a reasoning; one that has ended stays as it is.
    pub(super) fn extend(&mut self, kind: &'static str, id: &str, delta: &str) {
        let part = self.going_on(kind, id);
        if let Some(Value::String(text)) = part.and_then(|part| part.get_mut("text")) {
            text.push_str(delta);
        }
    }

    /// Returns a text or a reasoning that goes on; behind a tool part, another one.
    pub(super) fn going_on(&mut self, kind: &'static str, id: &str) -> Option<&mut Value> {
        let key = (kind, id.to_owned());
        if self.ended.contains(&key) {
            return None;
        }
        let is_behind = |at: &usize| self.last_tool >= Some(*at);
        if self.open.get(&key).is_none_or(is_behind) {
            self.begin(kind, id);
        }
        match self.parts.get_mut(*self.open.get(&key)?) {
            Some(Part::Plain(part)) => Some(part),
            _ => None,
        }
    }

    /// Ends a text or a reasoning: what comes for it now changes nothing.
    pub(super) fn end(&mut self, kind: &'static str, id: &str) {
        let key = (kind, id.to_owned());
        self.open.remove(&key);
        self.ended.insert(key);
    }

    /// Lets the next text and the next reasoning begin anew, but for one that is of this kind.
    pub(super) fn turn_to(&mut self, kind: &str) {
        self.open.retain(|(open, _), _| *open == kind);
    }

    /// Adds a part that is whole.
    pub(super) fn add(&mut self, part: Value) {
        self.parts.push(Part::Plain(part));
    }

    /// Adds data, or puts it where what has its type and id was.
    pub(super) fn put_data(&mut self, kind: &str, id: &Value, part: Value) {
        let end = self.parts.len();
        let at = *self.data.entry((kind.to_owned(), id.to_string())).or_insert(end);
        match self.parts.get_mut(at) {
            Some(place) => *place = Part::Plain(part),
            None => self.add(part),
        }
    }

    /// Returns the tool part of a call.
    pub(super) fn tool(&mut self, call_id: &str) -> Option<&mut Tool> {
        match self.parts.get_mut(*self.tools.get(call_id)?)? {
            Part::Tool(tool) => Some(tool),
            Part::Plain(_) => None,
        }
    }

    pub(super) fn tools(&mut self) -> impl Iterator<Item = &mut Tool> {
        self.parts.iter_mut().filter_map(|part| match part {
            Part::Tool(tool) => Some(&mut **tool),
            Part::Plain(_) => None,
        })
    }

    pub(super) fn add_tool(&mut self, tool: Tool) {
        self.last_tool = Some(self.parts.len());
        self.tools.insert(tool.call_id.clone(), self.parts.len());
        self.parts.push(Part::Tool(tool.into()));
    }

    /// Takes away what was added since the last step began.
    pub(super) fn reset_step(&mut self) {
        let is_start =
            |part: &Part| matches!(part, Part::Plain(part) if part["type"] == "step-start");
        let begin = self.parts.iter().rposition(is_start).map_or(0, |at| at + 1);
        self.parts.truncate(begin);
        self.open.retain(|_, at| *at < begin);
        self.tools.retain(|_, at| *at < begin);
        self.data.retain(|_, at| *at < begin);
        self.last_tool = self.tools.values().copied().max();
    }

    /// Returns the UI message; one without an id is named after its stream.
    pub(super) fn write(&self, stream: &str, number: usize) -> Value {
        let id = if self.id.is_empty() { format!("{stream}_{number}") } else { self.id.clone() };
        let parts = self.parts.iter().map(|part| match part {
            Part::Plain(part) => part.clone(),
            Part::Tool(tool) => Value::from(&**tool),
        });
        let mut object = json!({"id": id, "role": self.role});
        if !self.metadata.is_empty() {
            object["metadata"] = self.metadata.clone().into();
        }
        object["parts"] = parts.collect();
        object
    }
}
