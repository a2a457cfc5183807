use std::collections::{HashMap, HashSet};
use std::mem;

use records::JsonObject;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::Repair;
use crate::dropped::shorten;

/// The field in which `LiteLLM` has what a provider says about a call, such as the signature of Gemini.
const LITELLM_FIELDS: &str = "provider_specific_fields";

/// The text in place of an unknown signature of Gemini: its API then skips the check.
pub(crate) const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The type of a call of a function that Kimi has built in.
const BUILTIN: &str = "builtin_function";

/// A tool call that an assistant message makes.
#[derive(Debug)]
pub(crate) struct Call {
    /// Unique among the calls of its message.
    pub(crate) id: String,
    /// The id by which results name the call.
    pub(crate) stored_id: String,
    kind: CallKind,
    /// Whether the provider, Kimi, has the function built in.
    pub(crate) is_builtin: bool,
    pub(crate) target: CallTarget,
    /// The signature with which the provider marks its reasoning before the call.
    pub(crate) signature: Option<String>,
    /// What formats of providers say about the call, as stored.
    pub(crate) extra_content: Value,
    /// Whether the signature came, and is written, in the field of `LiteLLM`.
    has_litellm_signature: bool,
    /// The other fields that Anthropic gave the call.
    pub(crate) anthropic_fields: JsonObject,
    /// What reading the call repaired; reported only if the call is rendered.
    pub(crate) repairs: Vec<Repair>,
}

/// The function or tool that a call names, and the input for it.
#[derive(Debug)]
pub(crate) struct CallTarget {
    pub(crate) name: String,
    input: String,
}

/// The ids of calls that are malformed.
///
/// Such calls are never rendered. Their ids are kept, so that a result of theirs is reported as the
/// result of a removed call, not as a result without a call.
#[derive(Debug)]
pub(crate) struct MalformedCalls {
    pub(crate) ids: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CallKind {
    Function,
    Custom,
}

/// Reads the value of `tool_calls`.
///
/// The calls of a message are valid together or not at all: every provider refuses a message if one
/// of its calls is broken. The same call twice is one call. Of different calls with one id the later ones get a suffix;
/// their results are matched with them in order.
pub(crate) fn read_all(tool_calls: Value) -> Result<Vec<Call>, MalformedCalls> {
    let items = match tool_calls {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        _ => return Err(MalformedCalls { ids: Vec::new() }),
    };
    let ids = items.iter().filter_map(|item| item.get("id")?.as_str());
    let ids: HashSet<_> = ids.map(str::to_owned).collect();
    let read: Option<Vec<_>> = items.into_iter().map(Call::read).collect();
    let Some(read) = read else {
        return Err(MalformedCalls { ids: ids.into_iter().collect() });
    };
    if read.len() == ids.len() {
        return Ok(read);
    }
    Ok(distinguished(read, ids))
}

/// Merges equal calls, and gives each of the others an id of its own.
fn distinguished(read: Vec<Call>, mut ids: HashSet<String>) -> Vec<Call> {
    let mut calls: Vec<Call> = Vec::with_capacity(read.len());
    let mut seen: HashMap<(String, CallKind, String, String), usize> = HashMap::new();
    // The last suffix that was tried for each id: each of many calls with one id tries the next ones only.
    let mut suffixes: HashMap<String, usize> = HashMap::new();
    for mut call in read {
        let CallTarget { name, input } = &call.target;
        let what = (call.stored_id.clone(), call.kind, name.clone(), input.clone());
        if let Some(same) = seen.get(&what) {
            let call_id = shorten(&call.stored_id);
            calls[*same].repairs.push(Repair::CallMerged { call_id });
            continue;
        }
        match suffixes.get_mut(&call.stored_id) {
            None => _ = suffixes.insert(call.stored_id.clone(), 1),
            Some(suffix) => {
                while !ids.insert(call.id.clone()) {
                    *suffix += 1;
                    call.id = format!("{}_{suffix}", call.stored_id);
                }
                call.repairs.push(call.renamed());
            }
        }
        seen.insert(what, calls.len());
        calls.push(call);
    }
    calls
}

impl CallTarget {
    /// Returns the size of the input.
    pub(crate) fn input_bytes(&self) -> usize {
        self.input.len()
    }
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
                repairs.push(Repair::CallTypeAdded { call_id: shorten(&id) });
                CallKind::Function
            }
            Value::String(kind) if kind == "function" || kind == BUILTIN => CallKind::Function,
            Value::String(kind) if kind == "custom" => CallKind::Custom,
            _ => return None,
        };
        let is_builtin = call.get("type").is_some_and(|kind| kind == BUILTIN);
        let target = CallTarget::read(call.remove(kind.as_str())?, kind, &mut repairs)?;
        let mut extra_content = call.remove("extra_content").unwrap_or_default();
        let of_litellm = call.remove(LITELLM_FIELDS).unwrap_or_default();
        let litellm_signature = of_litellm["thought_signature"].as_str();
        let has_litellm_signature = litellm_signature.is_some() && extra_content.is_null();
        if let Some(signature) = litellm_signature.filter(|_| has_litellm_signature) {
            extra_content = json!({"google": {"thought_signature": signature}});
        }
        if of_litellm.as_object().is_some_and(|it| it.len() > litellm_signature.iter().len()) {
            repairs.push(Repair::CallFieldsRemoved);
        }
        let signature = extra_content["google"]["thought_signature"].as_str().map(str::to_owned);
        let anthropic_fields = extra_content["anthropic"].as_object().cloned().unwrap_or_default();
        let stored_id = id.clone();
        Some(Self {
            id,
            stored_id,
            kind,
            is_builtin,
            target,
            signature,
            extra_content,
            has_litellm_signature,
            anthropic_fields,
            repairs,
        })
    }

    /// Returns the signature that Gemini gave the call.
    pub(crate) fn gemini_signature(&self) -> Option<&str> {
        self.signature.as_deref().filter(|signature| *signature != NO_SIGNATURE)
    }

    /// Returns the repair that reports the id.
    pub(crate) fn renamed(&self) -> Repair {
        Repair::CallIdRenamed { original: shorten(&self.stored_id), renamed: shorten(&self.id) }
    }

    /// Creates a call with an id from a legacy function call, which has none.
    pub(crate) fn from_function(target: CallTarget) -> Self {
        let id = function_call_id(&target.name);
        Self {
            stored_id: id.clone(),
            id,
            kind: CallKind::Function,
            is_builtin: false,
            target,
            signature: None,
            extra_content: Value::Null,
            has_litellm_signature: false,
            anthropic_fields: JsonObject::new(),
            repairs: Vec::new(),
        }
    }

    /// Turns a call of a custom tool into a function call with its input as the argument `input`.
    pub(crate) fn convert_custom(&mut self) {
        if self.kind == CallKind::Custom {
            self.kind = CallKind::Function;
            self.repairs.push(self.target.wrap_input());
        }
    }

    /// Turns the arguments of a function call into the text of an object, if they are not.
    pub(crate) fn require_object(&mut self) {
        if self.kind == CallKind::Function {
            self.repairs.extend(self.target.require_object());
        }
    }

    /// Takes the input of a call of a custom tool; `None` for any other call.
    pub(crate) fn take_custom_input(&mut self) -> Option<String> {
        (self.kind == CallKind::Custom).then(|| mem::take(&mut self.target.input))
    }

    /// Takes the arguments as an object; any other value becomes the field `input` of one.
    pub(crate) fn take_arguments(&mut self) -> Value {
        let input = mem::take(&mut self.target.input);
        if let (CallKind::Function, Ok(object @ Value::Object(_))) =
            (self.kind, records::json::parse(input.as_bytes()))
        {
            return object;
        }
        self.repairs.push(Repair::ArgumentsWrapped { name: shorten(&self.target.name) });
        json!({"input": input})
    }

    /// Returns the text of the arguments.
    pub(crate) fn input_text(&self) -> &str {
        &self.target.input
    }

    /// Takes the arguments as the JSON value that their text holds; text that is not JSON stays text.
    pub(crate) fn take_input(&mut self) -> Value {
        if self.kind == CallKind::Custom {
            return self.take_arguments();
        }
        let input = mem::take(&mut self.target.input);
        json_input(&input).unwrap_or_else(|| input.into())
    }

    /// Takes the arguments as JSON text, as a function call holds them.
    pub(crate) fn take_arguments_text(&mut self) -> String {
        match self.kind {
            CallKind::Function => mem::take(&mut self.target.input),
            CallKind::Custom => self.take_arguments().to_string(),
        }
    }
}

/// Returns the value that a text of arguments is the JSON of; `None` if it is none, or that of a text, which stays as it is.
pub(crate) fn json_input(text: &str) -> Option<Value> {
    records::json::parse(text.as_bytes()).ok().filter(|value| !value.is_string())
}

impl From<Call> for Value {
    fn from(call: Call) -> Self {
        let mut written = Value::from_iter([
            ("id", Value::from(call.id)),
            ("type", if call.is_builtin { BUILTIN } else { call.kind.as_str() }.into()),
            (call.kind.as_str(), call.target.write(call.kind)),
        ]);
        let signature = &call.extra_content["google"]["thought_signature"];
        if call.has_litellm_signature && signature.is_string() {
            written[LITELLM_FIELDS] = json!({"thought_signature": signature});
        } else if call.extra_content.is_object() {
            written["extra_content"] = call.extra_content;
        }
        written
    }
}

impl CallTarget {
    /// Reads the value of `function_call`.
    pub(crate) fn read_function(call: Value, repairs: &mut Vec<Repair>) -> Option<Self> {
        Self::read(call, CallKind::Function, repairs)
    }

    fn read(target: Value, kind: CallKind, repairs: &mut Vec<Repair>) -> Option<Self> {
        let Value::Object(mut target) = target else {
            return None;
        };
        let name = take_text(&mut target, "name")?;
        let input = match target.remove(kind.input_field()).unwrap_or_default() {
            Value::String(text) => text,
            other => {
                repairs.push(Repair::ArgumentsSerialised { name: shorten(&name) });
                if other.is_null() { "{}".to_owned() } else { other.to_string() }
            }
        };
        Some(Self { name, input })
    }

    /// Turns the arguments into the text of an object, if they are not; empty ones become `{}`.
    ///
    /// A model that is cut off leaves arguments like `{"city": `, which no provider reads again.
    pub(crate) fn require_object(&mut self) -> Option<Repair> {
        let text = self.input.trim();
        if text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok() {
            return None;
        }
        if !text.is_empty() {
            return Some(self.wrap_input());
        }
        "{}".clone_into(&mut self.input);
        Some(Repair::ArgumentsWrapped { name: shorten(&self.name) })
    }

    fn wrap_input(&mut self) -> Repair {
        self.input = json!({"input": mem::take(&mut self.input)}).to_string();
        Repair::ArgumentsWrapped { name: shorten(&self.name) }
    }

    /// Returns the value of `function_call`.
    pub(crate) fn write_function(self) -> Value {
        self.write(CallKind::Function)
    }

    fn write(self, kind: CallKind) -> Value {
        Value::from_iter([("name", self.name), (kind.input_field(), self.input)])
    }
}

impl CallKind {
    /// Returns the `type` of the call, which is also the name of the field with the target.
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

/// Returns the id given to a legacy call of this function, and to its result.
pub(super) fn function_call_id(name: &str) -> String {
    format!("function_{name}")
}

/// Removes a field and returns its text, unless it is empty or not a text.
fn take_text(object: &mut Map<String, Value>, field: &str) -> Option<String> {
    match object.remove(field)? {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}
