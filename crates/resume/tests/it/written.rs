//! Transcripts that the target libraries wrote themselves, by `tests/replay/typed.py`.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use records::{MessageBody, MessageEdit};
use resume::dialect::{self, Dialect};
use resume::ingest::{self, Check};
use resume::{Dropped, Options, window};
use serde_json::{Value, json};

use crate::replay::{replay, scanned};
use crate::transcript::{
    below_workspace, in_pieces, json_lines, rendered_in, stored_all, violations,
};

#[test]
fn what_a_library_wrote_comes_back() {
    let mut found = 0;
    for dialect in dialect::all() {
        let path = below_workspace("fixtures/written").join(dialect.name()).with_extension("jsonl");
        for transcript in json_lines(&path).into_iter().flatten() {
            let mut written = transcript["messages"].as_array().cloned().unwrap_or_default();
            dialect.prepare(&mut written);
            assert_eq!(dialect::validate(dialect, &written), Ok(()));
            let parsed = dialect.parse(Vec::new(), written.clone());
            remove_transient(&mut written, &parsed.dropped);
            let rendered = rendered_in(dialect, parsed.messages);
            assert_eq!(rendered.dropped, []);
            assert_eq!(rendered.repaired, []);
            assert_eq!(rendered.messages.len(), written.len());
            for (rendered, written) in rendered.messages.into_iter().zip(written) {
                assert_eq!(in_one_form(rendered), in_one_form(written));
            }
            found += 1;
        }
    }
    assert!(found > 0);
}

/// Removes updates that are not stored, and checks that no other message is dropped.
fn remove_transient(messages: &mut Vec<Value>, dropped: &[Dropped]) {
    for dropped in dropped.iter().rev() {
        let update = messages.remove(dropped.index);
        let is_mode = update["sessionUpdate"] == "current_mode_update";
        let is_state = dropped.reason.slug() == "intermediate_state";
        assert!(is_mode || is_state, "{update} is dropped: {}", dropped.reason);
    }
}

/// What a message came with describes what it said before the edit, such as the parts that its texts were.
#[test]
fn an_edit_is_applied_to_what_a_library_wrote() {
    let mut found = 0;
    for dialect in dialect::all() {
        let path = below_workspace("fixtures/written").join(dialect.name()).with_extension("jsonl");
        for transcript in json_lines(&path).into_iter().flatten() {
            let written = transcript["messages"].as_array().cloned().unwrap_or_default();
            let mut parsed = dialect.parse(Vec::new(), written).messages;
            let is_own = |body: &MessageBody| body.extra.contains_key(MessageBody::PROVIDER);
            let edited = parsed.iter_mut().find(|it| it.body.role == "user" && is_own(&it.body));
            let Some(edited) = edited else { continue };
            let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
            edited.body = edit.apply(&edited.body);
            let rendered = rendered_in(dialect, parsed);
            assert_eq!(rendered.repaired[0].repair.slug(), "provider_fields_removed");
            assert!(Value::from(rendered.messages).to_string().contains(r#""edited""#));
            found += 1;
        }
    }
    assert!(found > 0);
}

/// A result that failed, and each of AG2, is stored beside the content of its message.
#[test]
fn an_edit_of_a_result_is_rendered_in_every_format() {
    let call = json!({"type": "tool_use", "id": "t1", "name": "f", "input": {}});
    let result =
        json!({"type": "tool_result", "tool_use_id": "t1", "content": "SECRET", "is_error": true});
    let written = vec![
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "user", "content": [result]}),
    ];
    let mut parsed = dialect::named("anthropic").unwrap().parse(Vec::new(), written).messages;
    let edit = MessageEdit { content: Some("EDITED".into()), ..MessageEdit::default() };
    parsed[2].body = edit.apply(&parsed[2].body);
    for dialect in dialect::all().filter(|dialect| dialect.name() != "ag2") {
        let rendered = Value::from(rendered_in(dialect, parsed.clone()).messages).to_string();
        assert!(rendered.contains("EDITED"), "{}: {rendered}", dialect.name());
        assert!(!rendered.contains("SECRET"), "{}: {rendered}", dialect.name());
    }
}

proptest! {
    /// In pieces and all at once, what a library wrote is the same log.
    #[test]
    fn what_a_library_wrote_in_pieces_is_the_same_log(
        (dialect, mut messages) in select(written()),
        cuts in prop::collection::vec(any::<Index>(), 0..8),
    ) {
        let mut messages: Vec<_> = messages.as_array_mut().map(std::mem::take).unwrap_or_default();
        dialect.prepare(&mut messages);
        let at_once = dialect.parse(Vec::new(), messages.clone()).messages;
        prop_assert_eq!(in_pieces(dialect, &messages, &cuts), at_once, "{:?}", dialect);
    }

    /// A window does not cut an answer that a library wrote as several messages.
    #[test]
    fn a_replay_of_what_a_library_wrote_is_the_rendering_of_the_window(
        (dialect, mut messages) in select(written()),
        newest in prop::option::of(0_usize..12),
        to in select(dialect::all().collect::<Vec<_>>()),
    ) {
        let messages = messages.as_array_mut().map(std::mem::take).unwrap_or_default();
        let messages = stored_all(dialect.parse(Vec::new(), messages).messages);
        let in_window = match newest {
            Some(size) => window::newest(messages.clone(), size),
            None => messages.clone(),
        };
        let whole = to.render(in_window, &Options::default());
        prop_assert_eq!(replay(scanned(to, newest, &messages), &messages), whole);
    }

    /// Own fields come from callers, who may send anything in them.
    #[test]
    fn what_a_library_wrote_renders_validly_with_any_value_replaced(
        (dialect, mut messages) in select(written()),
        places in prop::collection::vec((any::<[Index; 8]>(), select(wrong_values())), 1..3),
    ) {
        for (place, value) in places {
            replace(&mut messages, &place, value);
        }
        let Value::Array(mut messages) = messages else { return Ok(()) };
        dialect.prepare(&mut messages);
        if ingest::check(dialect, &messages, Check::Lenient).refused.is_empty() {
            let parsed = dialect.parse(Vec::new(), messages.clone());
            for to in dialect::all() {
                let rendered = rendered_in(to, parsed.messages.clone());
                prop_assert_eq!(violations(to, &rendered.messages), [], "{:?}\n{}", to, Value::from(messages));
            }
        }
    }
}

/// Returns what libraries wrote, by dialect.
fn written() -> Vec<(&'static dyn Dialect, Value)> {
    let mut written = Vec::new();
    for dialect in dialect::all() {
        let path = below_workspace("fixtures/written").join(dialect.name()).with_extension("jsonl");
        let transcripts = json_lines(&path).into_iter().flatten();
        written.extend(transcripts.map(|mut transcript| (dialect, transcript["messages"].take())));
    }
    written
}

/// Returns a value of each kind; `None` removes the old one.
fn wrong_values() -> Vec<Option<Value>> {
    let values = [json!(null), json!(""), json!("x"), json!(0), json!(true), json!([]), json!({})];
    let nested = [json!([{}]), json!({"a": {"a": 1}}), json!([{"type": "text", "text": "x"}])];
    values.into_iter().chain(nested).map(Some).chain([None]).collect()
}

/// Replaces a value at a random place, at most as deep as there are indices.
fn replace(value: &mut Value, place: &[Index], new: Option<Value>) {
    let [first, rest @ ..] = place else {
        *value = new.unwrap_or_default();
        return;
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            let at = first.index(items.len());
            if items[at].is_array() || items[at].is_object() {
                replace(&mut items[at], rest, new);
            } else {
                items[at] = new.unwrap_or_default();
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            let Some(field) = fields.keys().nth(first.index(fields.len())).cloned() else { return };
            let is_inner = fields[&field].is_array() || fields[&field].is_object();
            match new {
                new if is_inner && !rest.is_empty() => replace(&mut fields[&field], rest, new),
                Some(new) => fields[&field] = new,
                None => _ = fields.remove(&field),
            }
        }
        other => *other = new.unwrap_or_default(),
    }
}

/// Returns what a message says, in one of the forms that say the same.
///
/// The content of `anthropic` is a text, or a list with that text. The response of a function of `gemini` is an object, or has
/// it in the field `output`.
fn in_one_form(message: Value) -> Value {
    let mut message = without_empty(message);
    if let Some(parts) = message.get_mut("parts").and_then(Value::as_array_mut) {
        for response in
            parts.iter_mut().filter_map(|part| part.pointer_mut("/functionResponse/response"))
        {
            if response["output"].is_object() {
                *response = response["output"].take();
            }
        }
    }
    if let [block] = message["content"].as_array().map_or(&[][..], Vec::as_slice)
        && block["type"] == "text"
        && block.as_object().is_some_and(|block| block.len() == 2)
    {
        message["content"] = block["text"].clone();
    }
    message
}

/// Removes fields that are null or an empty list: they say the same as missing ones.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let says = |value: &Value| {
                !value.is_null() && value.as_array().is_none_or(|it| !it.is_empty())
            };
            let fields = fields.into_iter().filter(|(_, value)| says(value));
            fields.map(|(field, value)| (field, without_empty(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}
