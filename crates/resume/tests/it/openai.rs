use resume::Options;
use resume::dialect::{Dialect, OpenAi, Rendered};
use serde_json::{Value, json};

use crate::transcript::log;

mod fields;
mod pairs;

pub(crate) fn render(messages: &[Value]) -> Rendered {
    let rendered = OpenAi.render(log(messages), &Options::default());
    assert_eq!(OpenAi.validate(&rendered.messages), []);
    rendered
}

pub(crate) fn dropped(rendered: &Rendered) -> Vec<(usize, &'static str)> {
    let dropped = rendered.dropped.iter();
    dropped.map(|drop| (drop.index, drop.reason.slug())).collect()
}

pub(crate) fn repaired(rendered: &Rendered) -> Vec<(usize, &'static str)> {
    let repaired = rendered.repaired.iter();
    repaired.map(|it| (it.index, it.repair.slug())).collect()
}

pub(crate) fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

pub(crate) fn caller(content: impl Into<Value>, ids: &[&str]) -> Value {
    let calls: Vec<_> = ids.iter().map(|id| call(id)).collect();
    json!({"role": "assistant", "content": content.into(), "tool_calls": calls})
}

pub(crate) fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

pub(crate) fn said() -> Value {
    json!({"role": "user", "content": "hi"})
}
