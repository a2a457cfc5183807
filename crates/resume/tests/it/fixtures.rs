use resume::dialect;
use resume::{Options, normalize};
use serde_json::Value;

use crate::transcript::{below_workspace, json_lines, log};

/// Reads a transcript from the fixtures of the project.
pub(crate) fn fixture(name: &str) -> Vec<Value> {
    let path = below_workspace("fixtures/transcripts").join(name);
    json_lines(&path).unwrap_or_default()
}

#[test]
fn the_group_chat_is_valid_ag2() {
    let chat = fixture("group-chat.jsonl");
    assert_eq!(chat.len(), 24);
    let (strict, dropped) = normalize(&chat, &Options::default());
    assert_eq!(dropped, []);
    assert_eq!(strict.into_iter().map(Value::from).collect::<Vec<_>>(), chat);
    assert_eq!(dialect::Dialect::validate(&dialect::Ag2, &chat), []);
}

#[test]
fn the_tool_calls_are_valid_openai() {
    let chat = fixture("tool-calls.jsonl");
    assert_eq!(chat.len(), 12);
    let openai = dialect::named("openai").unwrap();
    assert_eq!(openai.validate(&chat), []);
    let rendered = openai.render(log(&chat), &Options::default());
    assert_eq!(rendered.messages, chat);
    assert_eq!(rendered.repaired, []);
}
