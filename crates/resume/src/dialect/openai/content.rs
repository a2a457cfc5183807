use serde_json::Value;

use crate::canonical::Role;

/// Returns the content as the role may have it, when it is not so already.
pub(super) fn serialised(role: Role, content: &Value) -> Option<Value> {
    let fits = match content {
        Value::String(_) => true,
        Value::Null => matches!(role, Role::Assistant | Role::Function),
        Value::Array(parts) => !parts.is_empty() && parts.iter().all(|part| is_part(role, part)),
        _ => false,
    };
    (!fits).then(|| Value::from(content.to_string()))
}

/// Says whether the value is a content part that the role may have.
fn is_part(role: Role, part: &Value) -> bool {
    let Some(kind) = part.get("type").and_then(Value::as_str) else {
        return false;
    };
    // Every kind of part holds its payload in the field named like the kind.
    let payload = &part[kind];
    match (role, kind) {
        (Role::Function, _) => false,
        (_, "text") | (Role::Assistant, "refusal") => payload.is_string(),
        (Role::User, "image_url") => payload["url"].is_string(),
        (Role::User, "input_audio" | "file") => payload.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_known_parts_stay() {
        let image = json!([{"type": "image_url", "image_url": {"url": "https://example.org"}}]);
        assert_eq!(serialised(Role::User, &image), None);
        assert_eq!(serialised(Role::Tool, &json!("")), None);
        assert_eq!(
            serialised(Role::Assistant, &json!([{"type": "refusal", "refusal": "no"}])),
            None
        );
    }

    #[test]
    fn everything_else_becomes_its_json_text() {
        let cases = [
            (Role::User, json!({"b": 1, "a": [2]}), r#"{"b":1,"a":[2]}"#),
            (Role::User, json!([]), "[]"),
            (Role::System, json!([{"type": "text"}]), r#"[{"type":"text"}]"#),
            (Role::Assistant, json!(false), "false"),
            (Role::Tool, json!(null), "null"),
            (
                Role::Function,
                json!([{"type": "text", "text": ""}]),
                r#"[{"type":"text","text":""}]"#,
            ),
        ];
        for (role, content, text) in cases {
            assert_eq!(serialised(role, &content), Some(json!(text)));
        }
    }
}
