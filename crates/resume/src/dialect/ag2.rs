use records::Message;
use serde_json::{Map, Value};

use super::contract::{Dialect, Renderer, Scan};
use super::loss::Loss;
use super::parsed::{self, Parsed};
use super::violation::{Problem, Violation};
use super::violation_list::ViolationList;
use crate::rendered::{Origin, Rendered};
use crate::window::Window;
use crate::{Options, Repair, calls, normalize};

/// The strict messages from which AG2 resumes a group chat: see [`normalize`](crate::normalize()).
///
/// The dialect has no tool calls. A message with calls keeps its content and loses its calls, which is
/// reported as a repair. A message with tool results is dropped, because the dialect has no role `tool`.
#[derive(Debug, Clone, Copy)]
pub struct Ag2;

impl Dialect for Ag2 {
    fn name(&self) -> &'static str {
        "ag2"
    }

    fn render(&self, messages: Vec<Message>, options: &Options) -> Rendered {
        let mut rendered = Rendered::default();
        rendered.messages.reserve(messages.len());
        let mut strict = StrictRenderer { options: options.clone() };
        for (index, message) in messages.into_iter().enumerate() {
            strict.push(index, message, &mut rendered);
        }
        rendered
    }

    fn needs_scan(&self) -> bool {
        false
    }

    fn begin_scan(&self, options: &Options) -> Box<dyn Scan> {
        Box::new(StrictRenderer { options: options.clone() })
    }

    fn validate(&self, messages: &[Value]) -> Vec<Violation> {
        let numbered = messages.iter().enumerate();
        let violations = numbered.flat_map(|(index, message)| violations(index, message));
        violations.take(ViolationList::MAX).collect()
    }

    fn parse(&self, _system: Vec<Value>, messages: Vec<Value>) -> Parsed {
        Parsed::from_transcript(Vec::new(), messages, |message| {
            parsed::read_stored_fields("ag2", message).map(Some)
        })
    }

    fn losses(&self) -> &'static [Loss] {
        &[Loss::Calls, Loss::Instructions, Loss::Reasoning, Loss::Refusals, Loss::Errors]
    }
}

/// Renders each message by itself, so that its scan records nothing.
#[derive(Debug)]
struct StrictRenderer {
    options: Options,
}

impl Scan for StrictRenderer {
    fn observe(&mut self, _position: usize, _message: Message) {}

    fn into_renderer(self: Box<Self>, _window: &Window) -> Box<dyn Renderer> {
        self
    }
}

impl Renderer for StrictRenderer {
    fn push(&mut self, index: usize, message: Message, rendered: &mut Rendered) {
        let origin = Origin { index, sequence: message.sequence };
        let makes_calls = calls::calls_made(&message.body).next().is_some();
        match normalize::to_strict(message.into(), &self.options) {
            Ok(strict) => {
                rendered.messages.push(strict.into());
                if makes_calls {
                    rendered.repair(origin, Repair::UnsupportedCallsRemoved);
                }
            }
            Err(reason) => rendered.drop(origin, reason),
        }
    }

    fn finish(self: Box<Self>, _rendered: &mut Rendered) {}
}

fn violations(index: usize, message: &Value) -> Vec<Violation> {
    let Some(object) = message.as_object() else {
        return vec![Violation::new(index, "not_an_object", "the message is not a JSON object")];
    };
    let problems = [
        role_problem(object),
        name_problem(object),
        content_problem(object),
        field_problem(object),
    ];
    Violation::from_problems(index, problems.into_iter().flatten()).collect()
}

fn role_problem(object: &Map<String, Value>) -> Option<Problem> {
    let role = object.get("role").unwrap_or(&Value::Null);
    let known = role == "user" || role == "assistant";
    (!known).then(|| ("invalid_role", format!("the role is {role}, not \"user\" or \"assistant\"")))
}

fn name_problem(object: &Map<String, Value>) -> Option<Problem> {
    let name = object.get("name").and_then(Value::as_str).unwrap_or_default();
    let detail = || "the name is not a text with at least one character".to_owned();
    name.is_empty().then(|| ("invalid_name", detail()))
}

fn content_problem(object: &Map<String, Value>) -> Option<Problem> {
    let is_null = object.get("content").is_none_or(Value::is_null);
    is_null.then(|| ("null_content", "the content is missing or null".to_owned()))
}

fn field_problem(object: &Map<String, Value>) -> Option<Problem> {
    let mut keys = object.keys();
    let other = keys.find(|key| !["role", "name", "content"].contains(&key.as_str()))?;
    Some(("unknown_field", format!("the dialect has no field {other:?}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(message: Value) -> Vec<&'static str> {
        Ag2.validate(&[message]).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_strict_message_has_no_violation() {
        for content in [json!(""), json!({"a": 1}), json!([1]), json!(0)] {
            assert!(rules(json!({"role": "user", "name": "a", "content": content})).is_empty());
        }
    }

    #[test]
    fn each_rule_is_checked() {
        assert_eq!(rules(json!("hello")), ["not_an_object"]);
        assert_eq!(rules(json!({})), ["invalid_role", "invalid_name", "null_content"]);
        let message = json!({"role": "tool", "name": "a", "content": 1});
        assert_eq!(rules(message), ["invalid_role"]);
        let message = json!({"role": "user", "name": "", "content": null, "sequence": 0});
        assert_eq!(rules(message), ["invalid_name", "null_content", "unknown_field"]);
    }
}
