//! Transcripts that the target libraries wrote themselves, by `tests/replay/typed.py`.

use records::{MessageBody, MessageEdit};
use resume::dialect;
use serde_json::Value;

use crate::transcript::{below_workspace, json_lines, rendered_in};

#[test]
fn what_a_library_wrote_comes_back() {
    let mut found = 0;
    for dialect in dialect::ALL {
        let path = below_workspace("fixtures/written").join(dialect.name()).with_extension("jsonl");
        for transcript in json_lines(&path).into_iter().flatten() {
            let written = transcript["messages"].as_array().cloned().unwrap_or_default();
            assert_eq!(dialect::validate(dialect, &written), Ok(()));
            let parsed = dialect.parse(Vec::new(), written.clone());
            assert_eq!(parsed.dropped, []);
            let rendered = rendered_in(dialect, parsed.messages);
            assert_eq!(rendered.dropped, []);
            assert_eq!(rendered.repaired, []);
            assert_eq!(rendered.messages.len(), written.len());
            for (rendered, written) in rendered.messages.into_iter().zip(written) {
                assert_eq!(without_empty(rendered), without_empty(written));
            }
            found += 1;
        }
    }
    assert!(found > 0);
}

/// What a message came with describes what it said before the edit, such as the parts that its texts were.
#[test]
fn an_edit_is_applied_to_what_a_library_wrote() {
    let mut found = 0;
    for dialect in dialect::ALL {
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
