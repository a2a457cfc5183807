//! Messages that are sent again with more in them, by clients that give them no ids.

use records::MessageBody;
use serde_json::{Value, json};

use crate::canonical::is_empty_value;
use crate::dialect::Dialect;

/// Returns whether a sent message is the stored one with something added to it.
///
/// If the stored message came in another format, it may have parts that the sent one cannot have.
pub(crate) fn continues(dialect: &dyn Dialect, stored: &MessageBody, sent: &MessageBody) -> bool {
    let formats = stored.extra.get(MessageBody::PROVIDER).and_then(Value::as_object);
    let is_own =
        formats.is_none_or(|formats| formats.keys().all(|format| format == dialect.name()));
    let is_said = |(field, _): &(&String, &Value)| {
        let field = field.as_str();
        field != MessageBody::PROVIDER
            && !MessageBody::ID_FIELDS.contains(&field)
            && !MessageBody::NATIVE.contains(&field)
    };
    let mut others = stored.extra.iter().filter(is_said).peekable();
    let (begun, whole) = (parts(&stored.content), parts(&sent.content));
    is_own
        && ["user", "assistant"].contains(&stored.role.as_str())
        && (&stored.role, &stored.name, &stored.metadata)
            == (&sent.role, &sent.name, &sent.metadata)
        && (!begun.is_empty() || others.peek().is_some())
        && whole.starts_with(&begun)
        && others.all(|(field, value)| match (value, sent.extra.get(field)) {
            (Value::Array(begun), Some(Value::Array(whole))) => whole.starts_with(begun),
            (value, whole) => whole == Some(value),
        })
}

/// Returns the parts of a content; a text is one part.
fn parts(content: &Value) -> Vec<Value> {
    match content {
        Value::Array(parts) => parts.clone(),
        content if is_empty_value(content) => Vec::new(),
        content => vec![json!({"type": "text", "text": content})],
    }
}
