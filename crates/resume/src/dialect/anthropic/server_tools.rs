//! The blocks of tools that Anthropic runs itself: it accepts them again as it wrote them.

use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

/// The blocks that call a tool of the server, each with the object `input`.
const CALLS: [&str; 2] = ["server_tool_use", "mcp_tool_use"];

/// The blocks with a result, each with the `tool_use_id` of such a call. The types of `anthropic` 2.12,
/// `ContentBlockParam` and `BetaContentBlockParam`.
const RESULTS: [&str; 8] = [
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "advisor_tool_result",
    MCP_RESULT,
];

const MCP_RESULT: &str = "mcp_tool_result";

/// The other blocks that a model writes by such tools, with the field that says what they are about.
const OTHERS: [(&str, &str); 4] = [
    ("container_upload", "file_id"),
    ("compaction", "content"),
    ("fallback", "to"),
    ("mcp_tool_listing", "mcp_server_name"),
];

/// Returns whether a block of this type is one of a tool of the server.
pub(super) fn is_known(kind: &str) -> bool {
    CALLS.contains(&kind)
        || RESULTS.contains(&kind)
        || OTHERS.iter().any(|(other, _)| *other == kind)
}

/// Returns whether the API accepts a content part as the block that it was.
pub(super) fn is_block(part: &Value) -> bool {
    let is_text = |field: &str| part[field].as_str().is_some_and(|text| !text.is_empty());
    let kind = part["type"].as_str().unwrap_or_default();
    if CALLS.contains(&kind) {
        return is_text("id") && is_text("name") && part["input"].is_object();
    }
    if RESULTS.contains(&kind) {
        // The result of a tool of MCP may lack a content.
        let is_whole = !part["content"].is_null() || kind == MCP_RESULT;
        return is_text("tool_use_id") && is_whole;
    }
    OTHERS.iter().any(|(other, field)| {
        *other == kind
            && match kind {
                "fallback" => part[field].is_object(),
                // Without a content, the conversation could not be compacted.
                "compaction" => is_text(field) || part[field].is_null(),
                _ => is_text(field),
            }
    })
}

/// The calls of tools of the server that stay although their result is in a later message.
#[derive(Debug, Default)]
pub(super) struct OpenServerCalls(HashSet<String>);

/// What decides which blocks of a message may stay.
#[derive(Debug, Default)]
pub(super) struct Surroundings<'a> {
    /// The ids of the calls of the server that make calls of the message.
    pub(super) callers: HashSet<&'a str>,
    /// Whether the message ends the conversation, so that a provider goes on with it.
    pub(super) is_last: bool,
}

impl OpenServerCalls {
    /// Returns whether a call has no result so far.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.contains(id)
    }

    /// Returns the position of each part that may stay a block.
    ///
    /// The call and its result are in the same message, in this order. A call without a result is one that the model has not
    /// finished: it stays if it makes calls of the message, whose results come first, or if the message ends with it and
    /// nothing follows.
    pub(super) fn kept(&mut self, parts: &[Value], surroundings: &Surroundings) -> HashSet<usize> {
        let mut kept = paired(parts);
        for (at, part) in parts.iter().enumerate() {
            if kept.contains(&at) || !is_block(part) {
                continue;
            }
            let stays = match (part["tool_use_id"].as_str(), part["id"].as_str()) {
                (Some(call), _) => self.0.remove(call),
                (None, Some(id)) => {
                    let is_paused = surroundings.is_last && at + 1 == parts.len();
                    let stays = is_paused || surroundings.callers.contains(id);
                    stays && self.0.insert(id.to_owned())
                }
                (None, None) => true,
            };
            if stays {
                kept.insert(at);
            }
        }
        kept
    }
}

/// Returns the id of the call of the server with which a message ends, if its result is not in the message.
pub(super) fn last_call(parts: &[Value]) -> Option<&str> {
    let last = parts.last().filter(|last| is_block(last))?;
    last["id"].as_str().filter(|_| last.get("tool_use_id").is_none())
}

/// Returns whether a message has the result of a call of the server.
pub(super) fn has_result(parts: &[Value], id: &str) -> bool {
    parts.iter().any(|part| is_block(part) && part["tool_use_id"] == id)
}

/// Returns the id of the call of the server that makes a call, by the field `caller` of that.
pub(super) fn caller_id(caller: &Value) -> Option<&str> {
    caller.get("tool_id")?.as_str()
}

/// Returns the position of each block whose call and result are in the same message, in this order.
fn paired(parts: &[Value]) -> HashSet<usize> {
    let mut paired = HashSet::new();
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (at, part) in parts.iter().enumerate().filter(|(_, part)| is_block(part)) {
        if let Some(id) = part["tool_use_id"].as_str() {
            let call = open.iter().position(|(_, open)| *open == id);
            if let Some((call, _)) = call.map(|call| open.remove(call)) {
                paired.extend([call, at]);
            }
        } else if let Some(id) = part["id"].as_str() {
            open.push((at, id));
        } else {
            paired.insert(at);
        }
    }
    paired
}

/// Returns the problem of the blocks of messages that are not complete, or of which one lacks the other.
pub(super) fn unpaired(messages: &[Value]) -> ViolationList {
    let mut violations = ViolationList::default();
    let mut open = OpenServerCalls::default();
    for (index, message) in messages.iter().enumerate().filter(|(_, it)| it["role"] == "assistant")
    {
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
        let callers = calls.filter_map(|call| caller_id(&call["caller"])).collect();
        let kept =
            open.kept(blocks, &Surroundings { callers, is_last: index + 1 == messages.len() });
        let is_unpaired = |(at, block): &(usize, &Value)| {
            block["type"].as_str().is_some_and(is_known) && !kept.contains(at)
        };
        if let Some((_, block)) = blocks.iter().enumerate().find(is_unpaired) {
            let detail = format!("the block {} lacks its call or its result", block["type"]);
            violations.push(Violation::new(index, "unpaired_server_tool", detail));
        }
    }
    violations
}
