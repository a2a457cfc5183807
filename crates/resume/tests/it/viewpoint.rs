use resume::Options;
use resume::dialect::{Anthropic, Dialect, OpenAi, Rendered};
use resume::replay::ReplayScan;
use serde_json::{Value, json};

use crate::transcript::{log, violations};

/// Two agents and a person; each agent calls a tool and thinks.
fn chat() -> Vec<Value> {
    let call = |id: &str| json!([{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let messages = json!([
        {"role": "user", "name": "Zoe", "content": "Where?"},
        {"role": "assistant", "name": "planner", "content": "I look.", "tool_calls": call("a"),
         "reasoning_content": [{"type": "thinking", "thinking": "Oslo?", "signature": "c2ln"}]},
        {"role": "tool", "tool_call_id": "a", "content": "sunny"},
        {"role": "assistant", "name": "critic", "content": "I check.", "tool_calls": call("b"),
         "reasoning_content": [{"type": "thinking", "thinking": "Really?", "signature": "b3Ro"}]},
        {"role": "tool", "tool_call_id": "b", "content": "rain"},
        {"role": "assistant", "name": "critic", "content": null, "tool_calls": call("c")},
        {"role": "tool", "tool_call_id": "c", "content": "snow"},
        {"role": "user", "name": "planner", "content": "Bergen, then."},
    ]);
    messages.as_array().cloned().unwrap_or_default()
}

fn seen_by(agent: &str, dialect: &dyn Dialect) -> Rendered {
    let options = Options { viewpoint: Some(agent.to_owned()), ..Options::default() };
    let rendered = dialect.render(log(&chat()), &options);
    assert_eq!(violations(dialect, &rendered.messages), []);
    rendered
}

#[test]
fn an_agent_sees_its_own_turns_as_those_of_the_assistant() {
    let rendered = seen_by("planner", &OpenAi);
    let roles: Vec<_> = rendered.messages.iter().map(|it| it["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user", "assistant"]);
    assert_eq!(rendered.messages[3]["name"], "critic");
    assert_eq!(rendered.messages[4], json!({"role": "assistant", "content": "Bergen, then."}));
    let dropped: Vec<_> = rendered.dropped.iter().map(|it| (it.index, it.reason.slug())).collect();
    assert_eq!(dropped, [(4, "other_agent"), (5, "other_agent"), (6, "other_agent")]);
}

#[test]
fn only_the_thinking_of_the_agent_itself_is_kept() {
    let rendered = seen_by("critic", &Anthropic);
    let text = Value::from(rendered.messages).to_string();
    assert!(
        text.contains("b3Ro") && !text.contains("c2ln") && !text.contains("critic: "),
        "{text}"
    );
    assert!(
        rendered
            .repaired
            .iter()
            .any(|it| (it.index, it.repair.slug()) == (1, "other_calls_removed"))
    );
}

/// One of the results is dropped when it is read, and the other one when it is matched.
#[test]
fn a_replay_reports_results_of_one_message_in_the_same_order() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let response = |id: &str| json!({"tool_call_id": id, "role": "tool", "content": "x"});
    let messages = log(&[
        json!({"role": "assistant", "content": "I call.", "tool_calls": [call("b")]}),
        json!({"role": "tool", "tool_responses": [response("a"), response("b")]}),
    ]);
    let options = Options { viewpoint: Some("planner".to_owned()), ..Options::default() };
    let mut scan = ReplayScan::new(&OpenAi, None, &options);
    messages.iter().cloned().for_each(|message| scan.observe(message));
    let mut replay = scan.into_replay();
    let mut replayed = Vec::new();
    for message in messages.clone() {
        replayed.extend(replay.push(message));
    }
    let mut ended = replay.finish();
    replayed.append(&mut ended.messages);
    assert_eq!(Rendered { messages: replayed, ..ended }, OpenAi.render(messages, &options));
}
