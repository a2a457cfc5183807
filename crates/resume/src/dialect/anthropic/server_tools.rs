//! The blocks of tools that Anthropic runs itself: it accepts them again as it wrote them.

use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::violation::Problem;

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
    "mcp_tool_result",
];

/// The other blocks that a model writes by such tools, with the field that each must have.
const OTHERS: [(&str, &str); 2] = [("container_upload", "file_id"), ("compaction", "content")];

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
        return is_text("tool_use_id") && !part["content"].is_null();
    }
    OTHERS.iter().any(|(other, field)| *other == kind && is_text(field))
}

/// Returns the position of each part that may stay a block: its call and its result are in the same message, in this order.
///
/// A call without a result is one that the model has not finished: only the last message may have it, so it does not stay.
pub(super) fn paired(parts: &[Value]) -> HashSet<usize> {
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

/// Returns the problem of the blocks of a message that are not complete, or of which one lacks the other.
pub(super) fn unpaired(blocks: &[Value]) -> Option<Problem> {
    let paired = paired(blocks);
    let is_unpaired = |(at, block): &(usize, &Value)| {
        block["type"].as_str().is_some_and(is_known) && !paired.contains(at)
    };
    let (_, block) = blocks.iter().enumerate().find(is_unpaired)?;
    Some((
        "unpaired_server_tool",
        format!("the block {} lacks its call or its result", block["type"]),
    ))
}
