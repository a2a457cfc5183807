use std::collections::HashSet;
use std::mem;

use serde_json::{Map, Value, json};

use crate::Repair;
use crate::dropped::shown;

/// A tool call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    kind: Kind,
    pub(crate) target: Target,
    /// The provider's signature of the call.
    pub(crate) signature: Option<String>,
    /// Reported only when the call is kept.
    pub(crate) repairs: Vec<Repair>,
}

/// What is called, and with what.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) name: String,
    input: String,
}

/// Calls that are not well formed; their results are still to be told from others.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Custom,
}

/// Reads the value of `tool_calls`.
pub(crate) fn read_all(tool_calls: Value) -> Result<Vec<Call>, Malformed> {
    let items = match tool_calls {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => return Err(Malformed { ids: Vec::new() }),
    };
    let count = items.len();
    let ids = items.iter().filter_map(|item| item.get("id")?.as_str());
    let ids: HashSet<_> = ids.map(str::to_owned).collect();
    let calls: Vec<_> = items.into_iter().filter_map(Call::read).collect();
    if ids.len() == count && calls.len() == count {
        return Ok(calls);
    }
    Err(Malformed { ids: ids.into_iter().collect() })
}

impl Call {
    fn read(call: Value) -> Option<Self> {
        let Value::Object(mut call) = call else {
            return None;
        };
        let id = take_text(&mut call, "id")?;
        let mut repairs = Vec::new();
        let kind = match call.get("type").unwrap_or(&Value::Null) {
            Value::Null => {
                repairs.push(Repair::CallTypeAdded { call_id: shown(&id) });
                Kind::Function
            }
            Value::String(kind) if kind == "function" => Kind::Function,
            Value::String(kind) if kind == "custom" => Kind::Custom,
            _ => return None,
        };
        let target = Target::read(call.remove(kind.as_str())?, kind, &mut repairs)?;
        let signature = call.get("extra_content").and_then(|extra| {
            extra.pointer("/google/thought_signature")?.as_str().map(str::to_owned)
        });
        Some(Self { id, kind, target, signature, repairs })
    }

    /// Gives an older call of a function an id.
    pub(crate) fn of_function(target: Target) -> Self {
        let id = function_call_id(&target.name);
        Self { id, kind: Kind::Function, target, signature: None, repairs: Vec::new() }
    }

    /// Takes the arguments as an object: what is none becomes its field `input`.
    pub(crate) fn take_arguments(&mut self) -> Value {
        let input = mem::take(&mut self.target.input);
        if let (Kind::Function, Ok(object @ Value::Object(_))) =
            (self.kind, records::json::parse(input.as_bytes()))
        {
            return object;
        }
        self.repairs.push(Repair::ArgumentsWrapped { name: shown(&self.target.name) });
        json!({"input": input})
    }

    /// Takes the arguments as they are meant: what is no JSON stays text.
    pub(crate) fn take_input(&mut self) -> Value {
        if self.kind == Kind::Custom {
            return self.take_arguments();
        }
        let input = mem::take(&mut self.target.input);
        match records::json::parse(input.as_bytes()) {
            Ok(value) if !value.is_string() => value,
            _ => input.into(),
        }
    }

    /// Takes the arguments as the text of a function's.
    pub(crate) fn take_arguments_text(&mut self) -> String {
        match self.kind {
            Kind::Function => mem::take(&mut self.target.input),
            Kind::Custom => self.take_arguments().to_string(),
        }
    }
}

impl From<Call> for Value {
    fn from(call: Call) -> Self {
        Value::from_iter([
            ("id", Value::from(call.id)),
            ("type", call.kind.as_str().into()),
            (call.kind.as_str(), call.target.write(call.kind)),
        ])
    }
}

impl Target {
    /// Reads the value of `function_call`.
    pub(crate) fn read_function(call: Value, repairs: &mut Vec<Repair>) -> Option<Self> {
        Self::read(call, Kind::Function, repairs)
    }

    fn read(target: Value, kind: Kind, repairs: &mut Vec<Repair>) -> Option<Self> {
        let Value::Object(mut target) = target else {
            return None;
        };
        let name = take_text(&mut target, "name")?;
        let input = match target.remove(kind.input_field()).unwrap_or_default() {
            Value::String(text) => text,
            other => {
                repairs.push(Repair::ArgumentsSerialised { name: shown(&name) });
                if other.is_null() { "{}".to_owned() } else { other.to_string() }
            }
        };
        Some(Self { name, input })
    }

    /// Returns the value of `function_call`.
    pub(crate) fn write_function(self) -> Value {
        self.write(Kind::Function)
    }

    fn write(self, kind: Kind) -> Value {
        Value::from_iter([("name", self.name), (kind.input_field(), self.input)])
    }
}

impl Kind {
    /// Returns the type of the call, which is also the field that holds the target.
    fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Custom => "custom",
        }
    }

    fn input_field(self) -> &'static str {
        match self {
            Self::Function => "arguments",
            Self::Custom => "input",
        }
    }
}

/// Returns the id that stands for an older call of a function.
pub(super) fn function_call_id(name: &str) -> String {
    format!("function_{name}")
}

/// Takes a text that is not empty.
fn take_text(object: &mut Map<String, Value>, field: &str) -> Option<String> {
    match object.remove(field)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}
