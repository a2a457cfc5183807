use serde_json::Value;

use crate::dialect::violation::Problem;

/// Returns the problems of the blocks of one message that only the service finds.
pub(super) fn problems(blocks: &[Value]) -> Vec<Problem> {
    let mut problems: Vec<_> = blocks.iter().flat_map(result_problems).collect();
    let has = |name: &str| blocks.iter().any(|block| block.get(name).is_some());
    if has("document") && !has("text") {
        let detail = "there is no text beside the documents";
        problems.push(("document_without_text", detail.to_owned()));
    }
    if blocks.last().is_some_and(|block| block.get("reasoningContent").is_some()) {
        let detail = "the last block of the message is reasoning";
        problems.push(("last_block_thinking", detail.to_owned()));
    }
    let wrong = document_names(blocks).find(|name| !is_document_name(name));
    problems.extend(
        wrong.map(|name| ("invalid_document_name", format!("the name of a document is {name:?}"))),
    );
    problems
}

/// Returns all documents in the blocks and in the results among them.
pub(super) fn documents(blocks: &[Value]) -> impl Iterator<Item = &Value> {
    let in_results = blocks.iter().filter_map(|block| block["toolResult"]["content"].as_array());
    blocks.iter().chain(in_results.flatten()).filter_map(|block| block.get("document"))
}

/// Returns the names of all documents.
pub(super) fn document_names(blocks: &[Value]) -> impl Iterator<Item = &str> {
    documents(blocks).filter_map(|document| document["name"].as_str())
}

/// Returns whether a document has more than 4.5 MB; this limit does not hold for PDF files.
pub(super) fn is_too_large(document: &Value) -> bool {
    let base64 = document["source"]["bytes"].as_str().unwrap_or_default();
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    let size = (base64.len() * 3 / 4).saturating_sub(padding);
    let text = document["source"]["text"].as_str().map_or(0, str::len);
    document["format"] != "pdf" && size.max(text) > 4_500_000
}

fn is_document_name(name: &str) -> bool {
    let is_accepted = |it: char| {
        it.is_ascii_alphanumeric() || matches!(it, ' ' | '-' | '_' | '(' | ')' | '[' | ']')
    };
    (1..=200).contains(&name.len()) && name.chars().all(is_accepted) && !name.contains("  ")
}

fn result_problems(block: &Value) -> Vec<Problem> {
    let result = &block["toolResult"];
    let blocks = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut problems = Vec::new();
    if blocks.iter().any(|block| block.get("json").is_some_and(|json| !json.is_object())) {
        let detail = "the JSON of a result is not an object";
        problems.push(("invalid_json", detail.to_owned()));
    }
    let is_media = |block: &Value| block.get("text").is_none() && block.get("json").is_none();
    if result["status"] == "error" && blocks.iter().any(is_media) {
        let detail = "the result of a failed call holds something other than text";
        problems.push(("media_in_error", detail.to_owned()));
    }
    problems
}
