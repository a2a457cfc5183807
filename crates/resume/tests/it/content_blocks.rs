//! What messages say in `content_blocks` and `tool_error`.

use resume::Options;
use resume::dialect::{self, Anthropic, Dialect as _};
use serde_json::{Value, json};

use crate::transcript::{log, violations};

#[test]
fn reasoning_and_parts_come_from_content_blocks() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let text = json!({"type": "text", "text": "Hello."});
    let image = json!({"type": "image", "source": {"type": "url", "url": "https://a.b/c.png"}});
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let blocks = json!([text, thinking, image, call]);
    let said =
        |content: Value| json!({"role": "assistant", "content": content, "content_blocks": blocks});
    let in_anthropic = |message: Value| {
        let user = json!({"role": "user", "content": "hi"});
        let rendered = Anthropic.render(log(&[user.clone(), message, user]), &Options::default());
        let repairs: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
        (rendered.messages[1]["content"].clone(), repairs)
    };
    for content in [Value::Null, json!("Hello.")] {
        let (content, repairs) = in_anthropic(said(content));
        assert_eq!(content[0], text);
        assert_eq!(content[1], thinking);
        assert!(content[2].to_string().contains("https://a.b/c.png"), "{content}");
        assert!(!repairs.contains(&"field_removed"), "{repairs:?}");
    }
    let (content, repairs) = in_anthropic(said(json!("Edited.")));
    assert_eq!(content, json!([thinking, {"type": "text", "text": "Edited."}]));
    assert_eq!(repairs, ["field_removed"]);
    let mut own = said(json!("Hello."));
    own["reasoning_content"] = json!([{"type": "redacted_thinking", "data": "x"}]);
    assert_eq!(in_anthropic(own).0[0], json!({"type": "redacted_thinking", "data": "x"}));
}

#[test]
fn odd_content_blocks_are_reported_and_render_validly() {
    for odd in [json!(1), json!("x"), json!({"type": "text"}), json!([1, null, {"type": 5}])] {
        let messages = json!([
            {"role": "user", "content": "hi", "content_blocks": odd},
            {"role": "assistant", "content": null, "content_blocks": odd, "tool_error": odd},
            {"role": "user", "content": "go on"},
        ]);
        for to in dialect::all() {
            let rendered = to.render(log(messages.as_array().unwrap()), &Options::default());
            assert_eq!(violations(to, &rendered.messages), [], "{odd} in {to:?}");
        }
    }
}

#[test]
fn a_result_with_a_tool_error_has_failed() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    for (error, has_failed) in [
        (json!(true), true),
        (json!("no such file"), true),
        (json!(false), false),
        (json!(""), false),
        (Value::Null, false),
    ] {
        let chat = [
            json!({"role": "user", "content": "hi"}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": "a", "content": "x", "tool_error": error}),
        ];
        let rendered = Anthropic.render(log(&chat), &Options::default());
        let block = &rendered.messages[2]["content"][0];
        assert_eq!(block["is_error"] == true, has_failed, "{error}: {block}");
        let repairs: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
        assert_eq!(repairs, Vec::<&str>::new(), "{error}");
    }
}
