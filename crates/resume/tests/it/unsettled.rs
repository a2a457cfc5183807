use resume::dialect::{self, Dialect, LangChain, OpenAi, Rendered};
use resume::{Options, UnsettledPolicy};
use serde_json::json;

use crate::openai::{caller, dropped, repaired, result, said};
use crate::transcript::{log, stored_all};

fn render(unsettled: UnsettledPolicy) -> Rendered {
    let rendered = render_unchecked(unsettled);
    assert_eq!(OpenAi.validate(&rendered.messages), []);
    rendered
}

fn render_unchecked(unsettled: UnsettledPolicy) -> Rendered {
    let chat = [said(), caller("let me see", &["a", "b"]), result("b"), said()];
    OpenAi.render(log(&chat), &Options { unsettled: Some(unsettled), ..Options::default() })
}

#[test]
fn removing_keeps_the_content() {
    let rendered = render(UnsettledPolicy::Remove);
    let text = json!({"role": "assistant", "content": "let me see"});
    assert_eq!(rendered.messages, [said(), text, said()]);
    assert_eq!(repaired(&rendered), [(1, "unanswered_calls_removed")]);
    assert_eq!(dropped(&rendered), [(2, "call_removed")]);
}

#[test]
fn settling_adds_an_error_result() {
    let rendered = render(UnsettledPolicy::Settle);
    let interrupted = "The call was interrupted: there is no result.";
    let added = json!({"role": "tool", "tool_call_id": "a", "content": interrupted});
    let called = caller("let me see", &["a", "b"]);
    assert_eq!(rendered.messages, [said(), called, result("b"), added, said()]);
    assert_eq!(repaired(&rendered), [(1, "result_added")]);
    assert_eq!(rendered.dropped, []);
}

#[test]
fn trimming_drops_the_whole_message() {
    let rendered = render(UnsettledPolicy::Trim);
    assert_eq!(rendered.messages, [said(), said()]);
    assert_eq!(dropped(&rendered), [(1, "trimmed"), (2, "call_removed")]);
}

#[test]
fn rejecting_renders_nothing_and_lists_the_calls() {
    let rendered = render(UnsettledPolicy::Reject);
    let calls: Vec<_> =
        rendered.rejected.iter().map(|call| (call.sequence, &*call.call_id, &*call.name)).collect();
    assert_eq!(calls, [(1, "a", "f")]);
    let nothing = Rendered { rejected: rendered.rejected.clone(), ..Rendered::default() };
    assert_eq!(rendered, nothing);
}

#[test]
fn keeping_leaves_the_calls_open() {
    let rendered = render_unchecked(UnsettledPolicy::Keep);
    let called = caller("let me see", &["a", "b"]);
    assert_eq!(rendered.messages, [said(), called, result("b"), said()]);
    let nothing = Rendered { messages: rendered.messages.clone(), ..Rendered::default() };
    assert_eq!(rendered, nothing);
}

/// The caller puts the results behind it: a turn of the user there would come between.
#[test]
fn an_open_call_at_the_end_is_followed_by_nothing() {
    let options = Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() };
    let chat = [said(), caller("let me see", &["a"])];
    for name in ["anthropic", "bedrock-converse", "gemini", "gemini-vertex"] {
        let dialect = dialect::named(name).unwrap();
        let rendered = dialect.render(log(&chat), &options);
        let roles: Vec<_> = rendered.messages.iter().map(|it| &it["role"]).collect();
        assert_eq!(roles.len(), 2, "{name}: {:?}", rendered.messages);
        assert!(["assistant", "model"].iter().any(|role| roles[1] == role), "{name}");
        // Without the call, the model is asked to go on.
        let rendered = dialect.render(log(&chat), &Options::default());
        assert_eq!(rendered.messages.len(), 3, "{name}: {:?}", rendered.messages);
    }
}

#[test]
fn kept_messages_of_langchain_come_back_as_they_were() {
    let call = json!({"name": "f", "args": {"a": 1}, "id": "c", "type": "tool_call"});
    let human = json!({"type": "human", "data": {
        "content": "hi", "additional_kwargs": {}, "response_metadata": {},
        "type": "human", "name": null, "id": "h",
    }});
    let ai = json!({"type": "ai", "data": {
        "content": "let me see", "additional_kwargs": {}, "response_metadata": {},
        "type": "ai", "name": null, "id": "a",
        "tool_calls": [call], "invalid_tool_calls": [], "usage_metadata": null,
    }});
    let mut later = human.clone();
    later["data"]["id"] = json!("h2");
    let messages = vec![human, ai, later];
    let parsed = LangChain.parse(Vec::new(), messages.clone()).messages;
    let options = Options { unsettled: Some(UnsettledPolicy::Keep), ..Options::default() };
    let rendered = LangChain.render(stored_all(parsed), &options);
    assert_eq!(rendered.messages, messages);
}
