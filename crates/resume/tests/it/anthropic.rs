use resume::Options;
use resume::dialect::{Anthropic, Dialect, Rendered};
use serde_json::{Value, json};

use crate::openai::{caller, dropped, repaired, result, said};
use crate::transcript::log;

fn render(messages: &[Value]) -> Rendered {
    let rendered = Anthropic.render(log(messages), &Options::default());
    assert_eq!(Anthropic.validate(&rendered.messages), []);
    rendered
}

#[test]
fn a_message_with_only_reasoning_is_dropped() {
    let thinking = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let message = json!({"role": "assistant", "content": " ", "reasoning_content": thinking});
    let rendered = render(&[said(), message]);
    assert_eq!(rendered.messages.len(), 1);
    assert_eq!(dropped(&rendered), [(1, "blank_content")]);
}

#[test]
fn results_and_the_next_user_message_become_one_message() {
    let rendered = render(&[said(), caller("x", &["a", "b"]), result("b"), result("a"), said()]);
    assert_eq!(rendered.messages.len(), 3);
    let kinds = rendered.messages[2]["content"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|block| &block["type"]).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"]);
    assert_eq!(rendered.repaired, []);
}

#[test]
fn encrypted_reasoning_without_data_is_skipped() {
    let empty = json!({"type": "redacted_thinking", "data": ""});
    let signed = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    for (blocks, count) in [(json!([empty]), 1), (json!([signed, empty]), 2)] {
        let message = json!({"role": "assistant", "content": "x", "reasoning_content": blocks});
        let rendered = render(&[said(), message, said()]);
        assert_eq!(rendered.messages[1]["content"].as_array().map(Vec::len), Some(count));
        assert_eq!(rendered.repaired, []);
    }
}

#[test]
fn unsigned_reasoning_is_removed() {
    let message = json!({"role": "assistant", "content": "x", "reasoning_content": "hm"});
    let rendered = render(&[said(), message, said()]);
    let text = json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]});
    assert_eq!(rendered.messages[1], text);
    assert_eq!(repaired(&rendered), [(1, "reasoning_removed")]);
}
