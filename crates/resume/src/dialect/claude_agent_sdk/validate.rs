use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// Returns the rules that the entries break, ordered by position.
///
/// A result may come anywhere after its call, as the SDK puts both together, and a call may have none. Calls of
/// sub-agents are not checked in the session of another agent.
pub(super) fn violations(entries: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, entry) in entries.iter().enumerate() {
        validator.violations.report(index, shape_problem(entry));
        validator.violations.report(index, id_problem(entry));
        validator.check_chain(index, entry);
        validator.check_pairs(index, entry);
    }
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The ids of the entries so far that others may follow.
    uuids: HashSet<&'a str>,
    /// Whether one of them belongs to the main conversation.
    has_begun: bool,
    /// Whether one of them is a message of the main conversation; until then, a sub-agent speaks in its own session.
    has_main: bool,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn check_chain(&mut self, index: usize, entry: &'a Value) {
        // Other entries may have ids, too, and name parents that are no entries.
        let is_chained = matches!(
            entry["type"].as_str(),
            Some("user" | "assistant" | "system" | "attachment" | "progress")
        );
        if !is_chained {
            return;
        }
        let parent = entry["parentUuid"].as_str();
        // The first entries may follow one of another session, or one before the window.
        let is_main = entry["isSidechain"] != true;
        if parent.is_some_and(|uuid| !self.uuids.contains(uuid)) && is_main && self.has_begun {
            let detail = "no earlier entry is the parent";
            self.violations.push(Violation::new(index, "unknown_parent", detail));
        }
        self.has_begun |= is_main && entry["uuid"].is_string();
        let is_new = entry["uuid"].as_str().is_none_or(|uuid| self.uuids.insert(uuid));
        if !is_new {
            let detail = "an earlier entry has the same uuid";
            self.violations.push(Violation::new(index, "duplicate_id", detail));
        }
    }

    fn check_pairs(&mut self, index: usize, entry: &'a Value) {
        let says_any = match &entry["message"]["content"] {
            Value::Array(blocks) => !blocks.is_empty(),
            content => content.is_string(),
        };
        if entry["isSidechain"] == true {
            if self.has_main {
                return;
            }
        } else {
            self.has_main |= says_any && (entry["type"] == "user" || entry["type"] == "assistant");
        }
        for block in entry["message"]["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => {
                    let id = block["id"].as_str().unwrap_or_default();
                    self.violations.report(index, self.calls.add(id));
                    self.open.open(index, id);
                }
                Some("tool_result") => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    let problem = self.open.close_with_result(id);
                    // A call may be answered again.
                    self.violations.report(index, problem.filter(|_| !self.calls.contains(id)));
                }
                _ => {}
            }
        }
    }
}

fn shape_problem(entry: &Value) -> Option<Problem> {
    if !entry.is_object() {
        return Some(("not_an_object", "the entry is not a JSON object".to_owned()));
    }
    let kind = match entry["type"].as_str() {
        Some(kind @ ("user" | "assistant")) => kind,
        Some(_) => return None,
        None => return Some(("missing_type", "the entry has no type".to_owned())),
    };
    let speaker = if entry["isSidechain"] == true { "sub-agent" } else { kind };
    content_problem(speaker, &entry["message"]["content"])
}

fn id_problem(entry: &Value) -> Option<Problem> {
    let needs_id = entry["type"] == "user" || entry["type"] == "assistant";
    let is_missing = needs_id && !entry["uuid"].is_string();
    is_missing.then(|| ("missing_id", "the entry has no uuid".to_owned()))
}

fn content_problem(kind: &str, content: &Value) -> Option<Problem> {
    let invalid = |detail: &str| Some(("invalid_content", detail.to_owned()));
    match content {
        Value::String(_) => None,
        Value::Array(blocks) => blocks.iter().find_map(|block| block_problem(kind, block)),
        _ => invalid("the content is neither a text nor a list of blocks"),
    }
}

fn block_problem(kind: &str, block: &Value) -> Option<Problem> {
    let has = |field: &str| block[field].is_string();
    let problem = |rule, detail: &str| Some((rule, detail.to_owned()));
    match (block["type"].as_str(), kind) {
        (None, _) => problem("invalid_content", "a block has no type"),
        (_, "sub-agent") => None,
        (Some("tool_use"), "assistant") => {
            let is_whole = has("id") && has("name") && block["name"] != "" && block["id"] != "";
            (!is_whole).then(|| ("invalid_call", "a call lacks an id or a name".to_owned()))
        }
        (Some("tool_result"), "user") => {
            let content = &block["content"];
            let is_content = content.is_null() || content.is_string() || content.is_array();
            let is_whole = has("tool_use_id") && is_content;
            (!is_whole).then(|| ("invalid_result", "a result lacks an id or a content".to_owned()))
        }
        (Some("tool_use" | "thinking" | "redacted_thinking"), "user")
        | (Some("tool_result"), _) => {
            problem("unknown_block", "the entry cannot have such a block")
        }
        (Some("text"), _) if !has("text") => problem("invalid_content", "a text has no text"),
        (Some("thinking"), _) if !has("thinking") => {
            problem("invalid_content", "a thinking has no text")
        }
        _ => None,
    }
}
