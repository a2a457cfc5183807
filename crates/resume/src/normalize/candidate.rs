use std::borrow::Cow;

use records::Message;
use serde_json::Value;

/// A message before it is normalised.
///
/// JSON values and stored messages, owned or borrowed, all convert into this type, so that the same
/// rules apply to them.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    /// `None` if the message is not an object.
    pub(super) fields: Option<Fields<'a>>,
}

/// The fields that the rules use; `None` for a field that is missing or ignored.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Fields<'a> {
    pub(super) sequence: Option<u64>,
    pub(super) deleted: bool,
    pub(super) role: Option<Cow<'a, str>>,
    pub(super) name: Option<Cow<'a, str>>,
    pub(super) agent_name: Option<Cow<'a, str>>,
    pub(super) content: Option<Cow<'a, Value>>,
}

impl Candidate<'_> {
    pub(super) fn sequence(&self) -> Option<u64> {
        self.fields.as_ref().and_then(|fields| fields.sequence)
    }
}

impl From<Value> for Candidate<'_> {
    fn from(message: Value) -> Self {
        let Value::Object(object) = message else {
            return Self { fields: None };
        };
        let mut fields = Fields::default();
        for (key, value) in object {
            fields.set(&key, Cow::Owned(value));
        }
        Self { fields: Some(fields) }
    }
}

impl<'a> From<&'a Value> for Candidate<'a> {
    fn from(message: &'a Value) -> Self {
        let Value::Object(object) = message else {
            return Self { fields: None };
        };
        let mut fields = Fields::default();
        for (key, value) in object {
            fields.set(key, Cow::Borrowed(value));
        }
        Self { fields: Some(fields) }
    }
}

impl From<Message> for Candidate<'_> {
    fn from(message: Message) -> Self {
        let body = message.body;
        Self {
            fields: Some(Fields {
                sequence: Some(message.sequence),
                deleted: message.deleted_at.is_some(),
                role: not_empty(Cow::Owned(body.role)),
                name: body.name.map(Cow::Owned).and_then(not_empty),
                agent_name: None,
                content: not_null(Cow::Owned(body.content)),
            }),
        }
    }
}

impl<'a> From<&'a Message> for Candidate<'a> {
    fn from(message: &'a Message) -> Self {
        let body = &message.body;
        Self {
            fields: Some(Fields {
                sequence: Some(message.sequence),
                deleted: message.deleted_at.is_some(),
                role: not_empty(Cow::Borrowed(&body.role)),
                name: body.name.as_deref().map(Cow::Borrowed).and_then(not_empty),
                agent_name: None,
                content: not_null(Cow::Borrowed(&body.content)),
            }),
        }
    }
}

impl<'a> Fields<'a> {
    fn set(&mut self, key: &str, value: Cow<'a, Value>) {
        match key {
            "sequence" => self.sequence = value.as_u64(),
            "deleted_at" => self.deleted = !value.is_null(),
            "role" => self.role = role(value),
            "name" => self.name = text(value),
            "agent_name" => self.agent_name = text(value),
            "content" => self.content = not_null(value),
            _ => {}
        }
    }
}

/// Returns the role; a value that is neither a text nor null becomes its JSON text, for the report.
fn role(value: Cow<'_, Value>) -> Option<Cow<'_, str>> {
    match value.as_ref() {
        Value::Null => None,
        Value::String(_) => text(value),
        other => Some(Cow::Owned(other.to_string())),
    }
}

/// Returns the text of a string, unless it is empty.
fn text(value: Cow<'_, Value>) -> Option<Cow<'_, str>> {
    match value {
        Cow::Owned(Value::String(text)) => not_empty(Cow::Owned(text)),
        Cow::Borrowed(Value::String(text)) => not_empty(Cow::Borrowed(text)),
        _ => None,
    }
}

fn not_empty(text: Cow<'_, str>) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(text)
}

fn not_null(value: Cow<'_, Value>) -> Option<Cow<'_, Value>> {
    (!value.is_null()).then_some(value)
}
