use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::turn_pairs::{self, PairedBlock};
use crate::dialect::violation::Violation;
use crate::dialect::violation_list::ViolationList;

mod block;
mod limits;

/// Returns the rules that the messages break, ordered by position.
pub(super) fn violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    for (index, message) in messages.iter().enumerate() {
        violations.report(index, block::problems_of_message(message));
    }
    let mut across_messages = turn_pairs::violations(messages, read_paired);
    for (message, index, rule) in [
        (messages.first(), 0, "first_not_user"),
        (messages.last(), messages.len().saturating_sub(1), "last_not_user"),
    ] {
        if message.is_some_and(|message| message["role"] != "user") {
            let detail = "the message does not have the role user";
            across_messages.push(Violation::new(index, rule, detail));
        }
    }
    violations.merged_with(across_messages)
}

fn read_paired(block: &Value) -> PairedBlock<'_> {
    let id = |field: &str| block[field]["toolUseId"].as_str();
    if block.get("toolUse").is_some() {
        PairedBlock::Call(id("toolUse").unwrap_or_default())
    } else if block["toolResult"]["type"].is_string() {
        PairedBlock::Served(id("toolResult").unwrap_or_default())
    } else if block.get("toolResult").is_some() {
        PairedBlock::Result(id("toolResult"))
    } else {
        PairedBlock::Other
    }
}

/// Returns what the API refuses although the service model allows it, ordered by position.
pub(super) fn provider_violations(messages: &[Value]) -> Vec<Violation> {
    let mut violations = ViolationList::default();
    if messages.is_empty() {
        violations.push(Violation::new(0, "no_messages", "there are no messages"));
    }
    let mut role = &Value::Null;
    let (mut names, mut documents) = (HashSet::new(), 0);
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == *role {
            let detail = "the message before it has the same role";
            violations.push(Violation::new(index, "same_role", detail));
        }
        role = &message["role"];
        let blocks = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        violations.report(index, limits::problems(blocks));
        for document in limits::documents(blocks) {
            documents += 1;
            if documents == 6 {
                let detail = "the request has more than five documents";
                violations.push(Violation::new(index, "too_many_documents", detail));
            }
            if limits::is_too_large(document) {
                let detail = "a document has more than 4.5 MB";
                violations.push(Violation::new(index, "large_document", detail));
            }
        }
        for name in limits::document_names(blocks) {
            if !names.insert(name.to_ascii_lowercase()) {
                let detail = format!("there is another document {name:?}");
                violations.push(Violation::new(index, "duplicate_document", detail));
            }
        }
    }
    violations.into_sorted()
}
