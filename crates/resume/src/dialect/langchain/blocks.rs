//! The blocks of a content that other formats keep apart from it: reasoning, calls, and what only Bedrock knows.

use std::mem;

use serde_json::{Value, json};

use super::{reasoning, server_tools};
use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, PlacedReasoning, interleave};
use crate::dialect::call_places;
use crate::dialect::parsed::text_part;
use crate::dialect::thinking;

/// What was taken from a content.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) reasoning: Vec<Value>,
    /// The blocks with their positions, without what is stored elsewhere.
    pub(super) blocks: Vec<Value>,
    /// What is left of the content.
    parts: Vec<Value>,
    /// How many blocks of calls there are so far.
    calls: usize,
}

/// The blocks that Bedrock has without a type: a mark for its cache, and a text that its guardrails check.
const CACHE_POINT: &str = "cachePoint";
const GUARD: &str = "guardContent";
const GUARDED_TEXT: &str = "/guardContent/text/text";

/// Takes the blocks that repeat one of the calls, reasoning, and marks of Bedrock from a content.
pub(super) fn take(
    content: &mut Value,
    calls: &[Value],
    reader: Option<&reasoning::Reader>,
) -> Taken {
    let mut taken = Taken::default();
    let Some(list) = content.as_array_mut() else {
        return taken;
    };
    let mut list = mem::take(list).into_iter().enumerate().peekable();
    while let Some((at, block)) = list.next() {
        let item = |(_, next): &(usize, Value)| server_tools::item_of_openai(&block, next);
        if let Some(item) = list.peek().and_then(item) {
            taken.add_server_tool(at, &block, item);
            let result = list.next().map(|(at, result)| json!({"at": at, GIVEN: result}));
            taken.blocks.extend(result);
            continue;
        }
        let block = match reader.and_then(|reader| reader.read(&block)) {
            Some(divided) => {
                taken.add_reasoning(at, divided);
                continue;
            }
            None => block,
        };
        taken.add(at, block, calls);
    }
    let parts = mem::take(&mut taken.parts);
    *content =
        if parts.is_empty() && !taken.blocks.is_empty() { Value::Null } else { parts.into() };
    taken
}

impl Taken {
    fn add(&mut self, at: usize, mut block: Value, calls: &[Value]) {
        if let Some(part) = server_tools::take_of_anthropic(&mut block) {
            self.add_server_tool(at, &block, part);
        } else if let Some(text) = block.pointer_mut(GUARDED_TEXT).filter(|text| text.is_string()) {
            self.parts.push(text_part(text.take()));
            self.blocks.push(json!({"at": at, BLOCK: block}));
        } else if block.get("type").is_none() && block[CACHE_POINT].is_object() {
            self.blocks.push(json!({"at": at, BLOCK: block}));
        } else if call_id(native(&block)).is_some_and(|id| calls.iter().any(|it| it["id"] == id)) {
            self.calls += 1;
            if let Some(fields) = native_mut(&mut block).as_object_mut() {
                fields.retain(|field, _| !INPUTS.contains(&field.as_str()));
            }
            self.blocks.push(json!({"at": at, BLOCK: block}));
        } else if is_wrapped(&block) {
            let part = block["value"].take();
            block["value"] = json!({"type": part["type"]});
            self.blocks.push(json!({"at": at, WRAPPER: block}));
            self.parts.push(part);
        } else {
            self.parts.push(block);
        }
    }

    fn add_reasoning(&mut self, at: usize, divided: reasoning::Divided) {
        let field = if divided.stored.is_null() { GIVEN } else { BLOCK };
        if let mut stored @ Value::Object(_) = divided.stored {
            thinking::place(&mut stored, self.parts.len(), self.calls);
            self.reasoning.push(stored);
        }
        self.blocks.push(json!({"at": at, field: divided.rest}));
    }

    /// Adds a block of a tool that a provider runs, with the part that the log has for it.
    fn add_server_tool(&mut self, at: usize, block: &Value, part: Value) {
        self.blocks.push(json!({"at": at, SERVER_TOOL: block, KIND: part["type"]}));
        self.parts.push(part);
    }
}

/// The fields of a block with the input of a call.
const INPUTS: [&str; 3] = ["input", "args", "arguments"];

/// The field of an entry with those parts of a block that the log does not have.
const BLOCK: &str = "block";

/// The field of an entry with a whole block: the log stores no part of it.
const GIVEN: &str = "given";

/// The field of an entry with what the library puts around a block that only an integration knows.
const WRAPPER: &str = "wrapper";

/// The field of an entry with a block of a tool that a provider runs, which the log has in the form of the provider.
const SERVER_TOOL: &str = "server_tool";

/// The field of such an entry with the type of the block in the form of the provider.
const KIND: &str = "kind";

fn is_wrapped(block: &Value) -> bool {
    block["type"] == "non_standard" && block["value"]["type"].is_string()
}

/// Returns the block of an integration, without what the library puts around it.
fn native(block: &Value) -> &Value {
    if is_wrapped(block) { &block["value"] } else { block }
}

fn native_mut(block: &mut Value) -> &mut Value {
    if is_wrapped(block) { &mut block["value"] } else { block }
}

/// Returns the id of the call that a block repeats: as Anthropic, as `OpenAI` Responses or as the library itself writes it.
fn call_id(block: &Value) -> Option<&str> {
    let field = match block["type"].as_str()? {
        "tool_use" | "tool_call" => "id",
        "function_call" | CUSTOM_CALL => "call_id",
        _ => return None,
    };
    block[field].as_str()
}

/// The block of a call of a custom tool, and the argument with its input in the call that repeats it.
const CUSTOM_CALL: &str = "custom_tool_call";
const CUSTOM_INPUT: &str = "__arg1";

/// Returns the input of a call of a custom tool, if it is one by its block.
pub(super) fn custom_input<'a>(content: &'a Value, call: &Value) -> Option<&'a str> {
    let mut blocks = content.as_array()?.iter().map(native);
    let is_same = |block: &&Value| block["type"] == CUSTOM_CALL && block["call_id"] == call["id"];
    let input = blocks.find(is_same)?["input"].as_str()?;
    (call["args"] == json!({CUSTOM_INPUT: input})).then_some(input)
}

/// Returns whether the blocks that are kept beside a message have that of a call of a custom tool.
pub(super) fn have_custom_call(blocks: &[Value], id: &str) -> bool {
    blocks
        .iter()
        .map(|entry| native(&entry[BLOCK]))
        .any(|block| block["type"] == CUSTOM_CALL && block["call_id"] == id)
}

/// Returns how many other blocks that the log has are before each call, by the entries of a content.
pub(in crate::dialect) fn calls_after(entries: &[Value]) -> Option<Value> {
    // The blocks before an entry that are no others: calls, and what the log does not have.
    let mut not_others = 0;
    let mut places = Vec::new();
    for entry in entries {
        let block = native(&entry[BLOCK]);
        let at = entry["at"].as_u64()?;
        if call_id(block).is_some() {
            places.push(at.saturating_sub(not_others));
            not_others += 1;
        } else if entry.get(GIVEN).is_some() || block.get(CACHE_POINT).is_some() {
            not_others += 1;
        }
    }
    (!places.is_empty()).then(|| places.into())
}

/// Returns the arguments of a call of a custom tool, in the form of the library.
pub(super) fn custom_arguments(input: &str) -> Value {
    json!({CUSTOM_INPUT: input})
}

/// Puts signed reasoning, and the calls as blocks, into the content of a message that came in another format: in the order that
/// Claude is to have them again.
pub(super) fn with_signed(
    content: Value,
    signed: Vec<PlacedReasoning>,
    calls: &[Value],
    places: &[usize],
) -> Value {
    let calls = calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]})
    });
    let others = interleave(signed, into_parts(content), Value::from);
    call_places::place(others, calls.collect(), places).into()
}

fn into_parts(content: Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts,
        Value::String(text) if !text.is_empty() => vec![text_part(text)],
        _ => Vec::new(),
    }
}

/// Puts the blocks back; a call that is not in the message any more has no block.
pub(super) fn put_back(
    content: &mut Value,
    blocks: Vec<Value>,
    calls: &[Value],
    message: &mut CanonicalMessage,
) {
    let mut reasoning = reasoning::take_stored(message);
    let mut parts = into_parts(content.take());
    for mut placed in blocks {
        let at =
            placed["at"].as_u64().and_then(|at| usize::try_from(at).ok()).unwrap_or(usize::MAX);
        if let Some(given) = placed.get_mut(GIVEN).map(Value::take) {
            parts.insert(at.min(parts.len()), given);
            continue;
        }
        if placed.get(WRAPPER).is_some() || placed.get(SERVER_TOOL).is_some() {
            if !convert_back(parts.get_mut(at), placed) {
                message.repairs.push(Repair::ProviderFieldsRemoved);
            }
            continue;
        }
        let Value::Object(block) = placed[BLOCK].take() else { continue };
        if block.contains_key(GUARD) {
            let Some(part) = parts.get_mut(at).filter(|part| part["type"] == "text") else {
                message.repairs.push(Repair::ProviderFieldsRemoved);
                continue;
            };
            let text = part["text"].take();
            *part = block.into();
            if let Some(guarded) = part.pointer_mut(GUARDED_TEXT) {
                *guarded = text;
            }
            continue;
        }
        if block.contains_key(CACHE_POINT) {
            parts.insert(at.min(parts.len()), block.into());
            continue;
        }
        let block = Value::Object(block);
        let block = match call_id(native(&block)) {
            Some(id) => {
                let call = calls.iter().find(|call| call["id"] == id);
                call.map(|call| with_input(block, call))
            }
            None => reasoning.pop_front().map(|stored| reasoning::join(block, &stored)),
        };
        if let Some(block) = block {
            parts.insert(at.min(parts.len()), block);
        }
    }
    *content = parts.into();
    message.reasoning = thinking::into_stored(reasoning.into());
}

/// Gives a part the form of the library, if it is the one of an entry; returns whether it is.
fn convert_back(part: Option<&mut Value>, mut entry: Value) -> bool {
    let kind = entry.get(KIND).unwrap_or(&entry[WRAPPER]["value"]["type"]);
    let Some(part) = part.filter(|part| part["type"] == *kind) else { return false };
    if let Some(mut wrapper) = entry.get_mut(WRAPPER).map(Value::take) {
        wrapper["value"] = part.take();
        *part = wrapper;
    } else {
        let mut block = entry[SERVER_TOOL].take();
        server_tools::put_back(&mut block, part);
        *part = block;
    }
    true
}

fn with_input(mut block: Value, call: &Value) -> Value {
    let fields = native_mut(&mut block);
    let arguments = &call["args"];
    let (field, input) = match fields["type"].as_str() {
        Some("tool_use") => ("input", arguments.clone()),
        Some("tool_call") => ("args", arguments.clone()),
        Some(CUSTOM_CALL) => ("input", arguments[CUSTOM_INPUT].clone()),
        _ => ("arguments", arguments.to_string().into()),
    };
    fields[field] = input;
    block
}

/// Returns whether the calls in the format of a provider are those of the message.
pub(super) fn repeat_calls(raw: &Value, calls: &[Call]) -> bool {
    let ids = raw.as_array().into_iter().flatten().map(|call| call["id"].as_str());
    ids.eq(calls.iter().map(|call| Some(call.id.as_str())))
}
