//! The typed messages of Yao's chat storage.

use proptest::prelude::*;
use proptest::sample::select;
use records::{MessageBody, MessageEdit};
use resume::dialect::{self, Dialect, OpenAi, Rendered, Yao};
use resume::{DropReason, Options};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};
use crate::transcript::{log, rendered_in};

fn yao() -> &'static dyn Dialect {
    dialect::named("yao").unwrap_or_else(|| panic!("there is no dialect yao"))
}

fn typed(kind: &str, props: &Value) -> Value {
    let role = if kind == "user_input" { "user" } else { "assistant" };
    json!({"message_id": "M1", "role": role, "type": kind, "props": props})
}

/// The types of the document that are stored, and one of a caller.
const TYPES: [&str; 12] = [
    "user_input",
    "text",
    "thinking",
    "loading",
    "tool_call",
    "retrieval",
    "error",
    "image",
    "audio",
    "video",
    "action",
    "chart",
];

/// Properties of any kind, some with names that a type uses.
fn properties() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(2, 8, 3, |inner| {
        let fields = prop::collection::vec(("[a-z$.]{1,3}", inner.clone()), 0..3);
        prop_oneof![
            prop::collection::vec(inner, 0..3).prop_map(Value::from),
            fields.prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    let names = ["content", "url", "id", "name", "arguments", "role", "message", "data", "alt"];
    let name = prop_oneof![select(names.to_vec()).prop_map(str::to_owned), "[a-z]{1,4}"];
    let fields = prop::collection::vec((name, value), 0..6);
    fields.prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Adds what a message of the type must have, at any place among its properties.
fn completed(kind: &str, props: Value, text: &str) -> Value {
    let required: &[&str] = match kind {
        "text" | "thinking" | "user_input" => &["content"],
        "tool_call" => &["arguments", "id", "name"],
        "image" | "audio" | "video" => &["url"],
        _ => &[],
    };
    let Value::Object(mut props) = props else { return props };
    for field in required {
        props.insert((*field).to_owned(), format!("{field}{text}").into());
    }
    if kind == "user_input" && props.get("name").is_some_and(Value::is_null) {
        props.shift_remove("name");
    }
    props.into()
}

proptest! {
    #[test]
    fn the_props_of_every_type_come_back_byte_by_byte(
        kind in prop_oneof![
            4 => select(TYPES.to_vec()).prop_map(str::to_owned),
            1 => "[a-z_]{1,12}".prop_filter("is stored", |kind| kind != "event"),
        ],
        props in properties(),
        text in "\\PC{0,6}",
    ) {
        let message = typed(&kind, &completed(&kind, props, &text));
        prop_assert_eq!(dialect::validate(yao(), std::slice::from_ref(&message)), Ok(()));
        let rendered = stored_in(yao(), yao(), std::slice::from_ref(&message));
        prop_assert_eq!(rendered.messages.len(), 1);
        prop_assert_eq!(rendered.messages[0]["props"].to_string(), message["props"].to_string());
        prop_assert_eq!(rendered, Rendered { messages: vec![message], ..Rendered::default() });
    }

    #[test]
    fn props_of_any_form_are_stored_and_render_validly(
        kind in select(TYPES.to_vec()),
        props in properties(),
    ) {
        let parsed = yao().parse(Vec::new(), vec![typed(kind, &props)]);
        prop_assert_eq!(parsed.dropped, []);
        check_faulty(yao(), &parsed.messages)?;
    }
}

#[test]
fn props_keep_the_order_of_their_fields() {
    let props = json!({"zeta": 1, "content": "hi", "alpha": {"b": 1, "a": 2}});
    assert_eq!(props.to_string(), r#"{"zeta":1,"content":"hi","alpha":{"b":1,"a":2}}"#);
    let rendered = stored_in(yao(), yao(), &[typed("text", &props)]);
    assert_eq!(rendered.messages[0]["props"].to_string(), props.to_string());
}

#[test]
fn events_are_reported_and_not_stored() {
    let parsed = yao().parse(Vec::new(), vec![typed("event", &json!({"event": "stream_start"}))]);
    assert_eq!(parsed.messages, []);
    assert_eq!(parsed.dropped[0].reason, DropReason::Transient);
    let native =
        json!({"role": "assistant", "content": {"event": "x"}, "type": "event", "props": {}});
    let rendered = yao().render(log(&[native]), &Options::default());
    assert_eq!((rendered.messages.len(), rendered.dropped[0].reason.slug()), (0, "transient"));
}

#[test]
fn messages_without_a_type_or_props_are_reported() {
    for broken in [
        json!({"role": "user", "props": {}}),
        json!({"role": "user", "type": "text"}),
        json!({"role": "user", "type": "text", "props": "x"}),
    ] {
        let parsed = yao().parse(Vec::new(), vec![broken]);
        assert_eq!(parsed.dropped[0].reason, DropReason::MissingProps);
    }
}

#[test]
fn a_call_and_its_result_are_known_in_every_format() {
    let call = json!({"id": "call_1", "name": "look_up", "arguments": "{\"a\": 1}"});
    let mut result = typed("text", &json!({"content": "18°C"}));
    result["metadata"] =
        json!({"tool_call_id": "call_1", "tool_name": "look_up", "is_tool_result": true});
    let chat = [typed("user_input", &json!({"content": "hi"})), typed("tool_call", &call), result];
    let rendered = stored_in(&OpenAi, yao(), &chat);
    assert_eq!(rendered.dropped, []);
    assert_eq!(rendered.messages[1]["tool_calls"][0]["function"]["arguments"], "{\"a\": 1}");
    assert_eq!(
        rendered.messages[2],
        json!({"role": "tool", "tool_call_id": "call_1", "content": "18°C"})
    );
    let mut unique = chat;
    for (number, message) in unique.iter_mut().enumerate() {
        message["message_id"] = json!(format!("M{number}"));
    }
    assert_kept(yao(), &unique);
}

#[test]
fn a_loading_message_is_shown_in_no_other_format() {
    let rendered = stored_in(&OpenAi, yao(), &[typed("loading", &json!({"message": "wait"}))]);
    assert_eq!((rendered.messages.len(), rendered.dropped[0].reason.slug()), (0, "null_content"));
}

#[test]
fn an_answer_becomes_one_message_for_each_part() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let image = json!({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}});
    let answer = json!({
        "role": "assistant", "name": "planner", "reasoning_content": "hm",
        "content": [{"type": "text", "text": "look"}, image], "tool_calls": [call],
    });
    let result = json!({"role": "tool", "tool_call_id": "c", "content": "done"});
    let rendered = yao().render(log(&[answer, result]), &Options::default());
    let shown = rendered.messages.iter();
    let shown: Vec<_> =
        shown.map(|it| (&it["message_id"], &it["type"], &it["assistant_id"])).collect();
    let planner = json!("planner");
    let expected = [
        (json!("evt_0"), json!("thinking"), &planner),
        (json!("evt_0_1"), json!("text"), &planner),
        (json!("evt_0_2"), json!("image"), &planner),
        (json!("evt_0_3"), json!("tool_call"), &planner),
        (json!("evt_1"), json!("text"), &Value::Null),
    ];
    assert_eq!(shown, expected.iter().map(|(id, kind, by)| (id, kind, *by)).collect::<Vec<_>>());
}

#[test]
fn an_edit_of_the_content_changes_the_props() {
    let props = json!({"content": "hi", "role": "user", "name": "Ada"});
    let mut parsed = yao().parse(Vec::new(), vec![typed("user_input", &props)]).messages;
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    parsed[0].body = edit.apply(&parsed[0].body);
    let rendered = rendered_in(yao(), parsed);
    assert_eq!(
        rendered.messages[0]["props"],
        json!({"content": "edited", "role": "user", "name": "Ada"})
    );
}

#[test]
fn an_id_is_unique_in_its_request() {
    let mut messages = Vec::new();
    for request in ["r1", "r2"] {
        let mut message = typed("text", &json!({"content": request}));
        message["request_id"] = json!(request);
        messages.push(message);
    }
    let parsed = yao().parse(Vec::new(), messages.clone()).messages;
    let ids = parsed.iter().map(|it| it.event_id.clone());
    let expected = ["r1", "r2"].map(|request| Yao::stored_ids(request, "M1")[0].clone());
    assert!(ids.eq(expected), "{parsed:?}");
    assert_kept(yao(), &messages);
}

#[test]
fn fields_that_no_other_format_has_come_back() {
    let mut message = typed("text", &json!({"content": "hi"}));
    message["plugin"] = json!({"id": 7});
    message["created_at"] = json!("2024-01-15T10:00:05Z");
    let parsed = yao().parse(Vec::new(), vec![message.clone()]).messages;
    let kept = &parsed[0].body.extra[MessageBody::PROVIDER];
    assert_eq!(kept, &json!({"yao": {"plugin": {"id": 7}}}));
    assert_kept(yao(), &[message]);
}

#[test]
fn each_rule_is_checked() {
    let without = |field: &str| {
        let mut message = typed("text", &json!({"content": "x"}));
        message.as_object_mut().unwrap().remove(field);
        message
    };
    let cases = [
        (json!(1), "not_an_object"),
        (without("role"), "unknown_role"),
        (without("type"), "missing_type"),
        (json!({"role": "user", "type": "text", "props": {}, "message_id": 1}), "invalid_id"),
        (without("props"), "missing_props"),
        (typed("text", &json!(["x"])), "missing_props"),
    ];
    for (message, rule) in cases {
        let found = yao().validate(std::slice::from_ref(&message));
        assert_eq!(found.iter().map(|it| it.rule).collect::<Vec<_>>(), [rule], "{message}");
    }
}

#[test]
fn the_props_of_a_type_may_lack_what_the_document_shows() {
    for (kind, props) in [
        ("text", json!({})),
        ("text", json!({"content": null, "bold": true})),
        ("text", json!({"content": 1})),
        ("thinking", json!({})),
        ("user_input", json!({"role": "user"})),
        ("user_input", json!({"content": {}, "name": " Ada "})),
        ("tool_call", json!({"id": "a", "name": "f"})),
        ("tool_call", json!({"id": "a", "name": "f", "arguments": {"x": 1}})),
        ("image", json!({"alt": "x"})),
    ] {
        let message = typed(kind, &props);
        assert_eq!(dialect::validate(yao(), std::slice::from_ref(&message)), Ok(()), "{message}");
        let rendered = stored_in(yao(), yao(), std::slice::from_ref(&message));
        let shown = &rendered.messages[0]["props"];
        assert_eq!(shown.to_string(), props.to_string(), "{kind}");
    }
}
