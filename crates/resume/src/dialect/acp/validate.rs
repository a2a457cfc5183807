use std::collections::HashSet;

use serde_json::Value;

use crate::dialect::open_calls::{CallIds, OpenCalls};
use crate::dialect::violation::{Problem, Violation};
use crate::dialect::violation_list::ViolationList;

/// The updates that are not part of a message.
pub(crate) const NON_MESSAGE_UPDATES: [&str; 11] = [
    "plan",
    "plan_update",
    "plan_removed",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
];

/// Returns the rules that the updates break, ordered by position.
pub(super) fn violations(updates: &[Value]) -> Vec<Violation> {
    let mut validator = Validator::default();
    for (index, update) in updates.iter().enumerate() {
        validator.check(index, update);
    }
    validator.violations.extend(validator.open.take_unanswered("never ends"));
    validator.violations.into_sorted()
}

#[derive(Default)]
struct Validator<'a> {
    violations: ViolationList,
    /// The id of the message to which the last chunk belongs.
    message: Option<&'a str>,
    /// The ids of all messages so far.
    messages: HashSet<&'a str>,
    /// The ids of all calls so far.
    calls: CallIds<'a>,
    open: OpenCalls<'a>,
}

impl<'a> Validator<'a> {
    fn check(&mut self, index: usize, update: &'a Value) {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default();
        let problem = match kind {
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
                self.check_chunk(update)
            }
            "tool_call" => self.check_call(index, update),
            "tool_call_update" => self.check_call_update(update),
            _ if NON_MESSAGE_UPDATES.contains(&kind) => None,
            _ => Some(("unknown_update", format!("the protocol has no update {kind:?}"))),
        };
        self.violations.report(index, problem);
    }

    fn check_chunk(&mut self, update: &'a Value) -> Option<Problem> {
        let id = update["messageId"].as_str();
        if id.is_none() || id != self.message {
            self.message = id;
            if id.is_some_and(|id| !self.messages.insert(id)) {
                return Some((
                    "repeated_message",
                    "chunks of one message are not neighbours".to_owned(),
                ));
            }
        }
        let detail = || "the content is not a known content block".to_owned();
        (!is_content(&update["content"])).then(|| ("invalid_content", detail()))
    }

    fn check_call(&mut self, index: usize, update: &'a Value) -> Option<Problem> {
        let id = update["toolCallId"].as_str();
        let Some(id) = id.filter(|_| update["title"].is_string()) else {
            return Some(("invalid_call", "the call has no id or no title".to_owned()));
        };
        let problem = self.calls.add(id);
        if problem.is_none() && !is_ended(update) {
            self.open.open(index, id);
        }
        problem
    }

    fn check_call_update(&mut self, update: &Value) -> Option<Problem> {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        if !self.calls.contains(id) {
            return Some(("orphan_update", format!("no earlier update begins the call {id:?}")));
        }
        if is_ended(update) {
            self.open.close(id);
        }
        let shown = update["content"].as_array().into_iter().flatten();
        let mut shown = shown.filter(|item| item["type"] == "content");
        let valid = shown.all(|item| is_content(&item["content"]));
        (!valid).then(|| ("invalid_content", "the content is not a known content block".to_owned()))
    }
}

fn is_ended(update: &Value) -> bool {
    update["status"] == "completed" || update["status"] == "failed"
}

fn is_content(content: &Value) -> bool {
    let is_text = |pointer: &str| content.pointer(pointer).is_some_and(Value::is_string);
    match content["type"].as_str() {
        Some("text") => is_text("/text"),
        Some("image" | "audio") => is_text("/mimeType") && is_text("/data"),
        Some("resource_link") => is_text("/uri") && is_text("/name"),
        Some("resource") => {
            is_text("/resource/uri") && (is_text("/resource/text") || is_text("/resource/blob"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(updates: &Value) -> Vec<(usize, &'static str)> {
        let found = violations(updates.as_array().unwrap());
        found.into_iter().map(|violation| (violation.index, violation.rule)).collect()
    }

    fn chunk(id: &str) -> Value {
        json!({
            "sessionUpdate": "user_message_chunk", "messageId": id,
            "content": {"type": "text", "text": "x"},
        })
    }

    #[test]
    fn the_chunks_of_a_message_are_neighbours() {
        assert_eq!(rules(&json!([chunk("a"), chunk("a"), chunk("b")])), []);
        let found = rules(&json!([chunk("a"), chunk("b"), chunk("a")]));
        assert_eq!(found, [(2, "repeated_message")]);
    }

    #[test]
    fn a_call_must_begin_and_end() {
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "f"});
        let end = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed",
        });
        assert_eq!(rules(&json!([call, end])), []);
        assert_eq!(rules(&json!([call])), [(0, "unanswered_call")]);
        assert_eq!(rules(&json!([end])), [(0, "orphan_update")]);
        assert_eq!(rules(&json!([call, end, call])), [(2, "duplicate_call_id")]);
        let bare = json!({"sessionUpdate": "tool_call", "toolCallId": "c"});
        assert_eq!(rules(&json!([bare])), [(0, "invalid_call")]);
    }

    #[test]
    fn shapes_are_checked() {
        assert_eq!(rules(&json!([1])), [(0, "unknown_update")]);
        let mut bad = chunk("a");
        bad["content"] = json!({"type": "image", "url": "u"});
        assert_eq!(rules(&json!([bad])), [(0, "invalid_content")]);
    }
}
