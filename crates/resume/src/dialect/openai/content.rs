use serde_json::Value;

use super::Target;
use crate::canonical::{CanonicalMessage, Role, are_parts, serialise_content};

/// The parts that other providers added to the format.
pub(super) const ADDED_MEDIA: &[&str] = &["video_url", "audio_url"];

/// Converts the content of a message into one that its role may have.
pub(super) fn convert(target: Target, message: &mut CanonicalMessage) {
    let role = message.role;
    message.content = match message.content.take() {
        text @ Value::String(_) => text,
        Value::Null if matches!(role, Role::Assistant | Role::Function) => Value::Null,
        Value::Array(parts) if role != Role::Function && !parts.is_empty() && are_parts(&parts) => {
            message.fit_parts(parts, |part| is_part(target, role, part))
        }
        other => serialise_content(other, &mut message.repairs).into(),
    };
}

/// Returns whether a value is a content part that the role may have.
fn is_part(target: Target, role: Role, part: &Value) -> bool {
    let Some(kind) = part.get("type").and_then(Value::as_str) else {
        return false;
    };
    // The payload of a part is in the field that has the name of its type.
    let payload = &part[kind];
    match (role, kind) {
        (_, "text") | (Role::Assistant, "refusal") => payload.is_string(),
        (Role::User, "image_url") => payload["url"].is_string(),
        (Role::User, "input_audio") => {
            let format = payload["format"].as_str().unwrap_or_default();
            payload["data"].is_string() && ["wav", "mp3"].contains(&format)
        }
        (Role::User, kind) if ADDED_MEDIA.contains(&kind) => {
            target == Target::OtherProviders && payload["url"].is_string()
        }
        (Role::User, "file") => payload["file_data"].is_string() || payload["file_id"].is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Repair;
    use crate::rendered::Origin;

    fn converted(role: Role, content: &Value) -> (Value, Vec<&'static str>) {
        let origin = Origin { index: 0, sequence: 0 };
        let mut message = CanonicalMessage::new(origin, role, content.clone());
        convert(Target::OpenAi, &mut message);
        (message.content, message.repairs.iter().map(Repair::slug).collect())
    }

    #[test]
    fn text_and_known_parts_stay() {
        let cases = [
            (
                Role::User,
                json!([{"type": "image_url", "image_url": {"url": "https://example.org"}}]),
            ),
            (Role::Tool, json!("")),
            (Role::Assistant, json!([{"type": "refusal", "refusal": "no"}])),
            (Role::Function, json!(null)),
        ];
        for (role, content) in cases {
            assert_eq!(converted(role, &content), (content, vec![]));
        }
    }

    #[test]
    fn every_other_content_becomes_its_json_text() {
        let cases = [
            (Role::User, json!({"b": 1, "a": [2]}), r#"{"b":1,"a":[2]}"#),
            (Role::User, json!([]), "[]"),
            (Role::User, json!(["a"]), r#"["a"]"#),
            (Role::Assistant, json!(false), "false"),
            (Role::Tool, json!(null), "null"),
            (
                Role::Function,
                json!([{"type": "text", "text": ""}]),
                r#"[{"type":"text","text":""}]"#,
            ),
        ];
        for (role, content, text) in cases {
            assert_eq!(converted(role, &content), (json!(text), vec!["content_serialised"]));
        }
    }

    #[test]
    fn every_other_part_becomes_its_json_text() {
        let text = json!({"type": "text", "text": "x"});
        for (role, part) in [
            (Role::System, json!({"type": "text"})),
            (Role::Assistant, json!({"type": "image_url", "image_url": {"url": "u"}})),
        ] {
            let given = json!({"type": "text", "text": part.to_string()});
            let expected = (json!([text, given]), vec!["part_serialised"]);
            assert_eq!(converted(role, &json!([text, part])), expected);
        }
    }
}
