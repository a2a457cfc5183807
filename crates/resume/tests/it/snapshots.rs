use resume::{Options, dialect, normalize};
use serde_json::{Value, json};

use crate::fixtures::fixture;
use crate::transcript::log;

/// The example in the documentation of strict messages.
fn documented_example() -> [Value; 3] {
    [
        json!({"role": "user", "content": "Hello"}),
        json!({"role": "assistant", "name": "planner", "content": "Hi there"}),
        json!({"role": "system", "content": "System msg"}),
    ]
}

#[test]
fn the_documented_example_in_the_strict_form() {
    let outcome = normalize(documented_example(), &Options::default());
    insta::assert_json_snapshot!(outcome);
}

#[test]
fn the_documented_example_and_every_part_in_every_dialect() {
    let (example, every_part) = (log(&documented_example()), log(&fixture("every-part.jsonl")));
    for dialect in dialect::all() {
        let rendered = [&example, &every_part].map(|messages| {
            let rendered = dialect.render(messages.clone(), &Options::default());
            assert_eq!(dialect::validate(dialect, &rendered.messages), Ok(()));
            rendered
        });
        insta::assert_json_snapshot!(format!("in_{}", dialect.name()), rendered);
    }
}

#[test]
fn the_reasons_to_drop_from_the_strict_form() {
    let messages = [
        json!(["not", "an", "object"]),
        json!({"sequence": 1, "role": "user", "name": "user", "deleted_at": "2025-08-15T00:00:00Z"}),
        json!({"sequence": 2, "role": "Orchestrator (thought)", "content": "hm"}),
        json!({"sequence": 3, "name": "planner", "content": "Hi"}),
        json!({"sequence": 4, "role": "assistant", "content": "Hi"}),
        json!({"sequence": 5, "role": "assistant", "name": "planner", "content": null}),
    ];
    let (_, dropped) = normalize(messages, &Options::default());
    insta::assert_json_snapshot!(dropped);
}

#[test]
fn the_reasons_to_drop_and_repair_in_the_openai_form() {
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "look up", "arguments": {}}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": null});
    let messages = [
        json!({"role": "Orchestrator (thought)", "content": "hm"}),
        json!({"role": "user", "content": "x", "deleted_at": "2025-08-15T00:00:00Z"}),
        json!({"role": "user", "content": null}),
        json!({"role": "function", "content": "x"}),
        json!({"role": "tool", "content": "x"}),
        result("call_0"),
        json!({"role": "assistant", "content": "", "tool_calls": [call("call_1")]}),
        result("call_1"),
        result("call_1"),
        json!({"role": "assistant", "content": null, "tool_calls": [call("call_2"), call("call_3")]}),
        result("call_3"),
        json!({"role": "assistant", "content": null, "tool_calls": {"id": "call_4"}}),
        result("call_2"),
        json!({"role": "assistant", "content": "wait", "tool_calls": [call("call_5")]}),
        json!({"role": "user", "name": "Zoë W.", "content": {"answer": 42}}),
        json!({"role": "assistant", "content": null, "tool_calls": [call("call_1")]}),
        result("call_1"),
    ];
    let openai = dialect::named("openai").unwrap();
    let rendered = openai.render(log(&messages), &Options::default());
    assert_eq!(openai.validate(&rendered.messages), []);
    insta::assert_json_snapshot!(rendered);
}
