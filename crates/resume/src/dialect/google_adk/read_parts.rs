use serde_json::{Map, Value, json};

use super::own::{LeftPart, PartKind};
use super::{fields, media};
use crate::canonical::{Reasoning, THOUGHT};
use crate::dialect::gemini::SIGNATURE;
use crate::dialect::gemini::call_ids::CallIdResolver;
use crate::dialect::parsed::{self, MessageBuilder, text_part};

/// Reads the parts of an event but for results.
#[derive(Default)]
pub(super) struct PartReader {
    pub(super) builder: MessageBuilder,
    left: Vec<LeftPart>,
}

impl PartReader {
    pub(super) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Adds a part; one that no other format has stays as it is.
    pub(super) fn read(&mut self, part: Value, resolver: &mut CallIdResolver) {
        let mut fields = match part {
            Value::Object(fields) => fields,
            Value::String(text) => json_object("text", text),
            other => json_object("text", other.to_string()),
        };
        let (kind, payload) = self.read_payload(&mut fields, resolver);
        self.left.push(LeftPart { kind, part: fields, payload });
    }

    fn read_payload(
        &mut self,
        fields: &mut Map<String, Value>,
        resolver: &mut CallIdResolver,
    ) -> (PartKind, Map<String, Value>) {
        if let Some(call) = fields.remove("functionCall") {
            return self.read_call(call, fields, resolver);
        }
        if let Some((mut part, payload)) = media::take(fields) {
            if fields.get(THOUGHT) == Some(&Value::Bool(true)) {
                part[THOUGHT] = true.into();
            }
            self.builder.parts.push(part);
            return (PartKind::Content, payload);
        }
        if let Some(part) = take_kept(fields) {
            self.builder.parts.push(part);
            return (PartKind::Content, Map::new());
        }
        let Some(Value::String(text)) = fields.remove("text") else {
            return (PartKind::Own, Map::new());
        };
        if fields.get("thought") != Some(&Value::Bool(true)) {
            self.builder.parts.push(text_part(text));
            return (PartKind::Content, Map::new());
        }
        if text.is_empty() {
            // Reasoning without a text is stored as none.
            fields.insert("text".to_owned(), text.into());
            return (PartKind::Own, Map::new());
        }
        fields.remove("thought");
        self.builder.push_reasoning(Reasoning::Text { text, signature: None });
        (PartKind::Thought, Map::new())
    }

    fn read_call(
        &mut self,
        mut call: Value,
        fields: &mut Map<String, Value>,
        resolver: &mut CallIdResolver,
    ) -> (PartKind, Map<String, Value>) {
        let id = resolver.id_of_call(&call);
        let name = call["name"].as_str().unwrap_or_default();
        let arguments = call.get("args");
        let kind = if arguments.is_some() { PartKind::Call } else { PartKind::BareCall };
        let mut stored = parsed::stored_call(&id, name, arguments.unwrap_or(&json!({})));
        if let Some(Value::String(signature)) = fields.get(SIGNATURE) {
            stored["extra_content"] = json!({"google": {"thought_signature": signature}});
            fields.remove(SIGNATURE);
        }
        self.builder.calls.push(stored);
        let mut payload = call.as_object_mut().map(std::mem::take).unwrap_or_default();
        payload.retain(|field, _| field == "willContinue");
        (kind, payload)
    }

    /// Returns what is left of the parts, unless it is clear without.
    pub(super) fn take_left(&mut self) -> Option<Vec<LeftPart>> {
        let left = std::mem::take(&mut self.left);
        let is_clear = |part: &LeftPart| {
            part.is_empty() && !matches!(part.kind, PartKind::Own | PartKind::BareCall)
        };
        let is_blank = |part: &Value| part["text"].as_str().is_some_and(|it| it.trim().is_empty());
        let says_something = !self.builder.parts.is_empty() || !self.builder.calls.is_empty();
        let is_clear = says_something
            && left.iter().all(is_clear)
            && left.is_sorted_by_key(|part| part.kind.queue())
            && !self.builder.parts.iter().any(is_blank);
        (!is_clear).then_some(left)
    }
}

fn json_object(field: &str, value: String) -> Map<String, Value> {
    Map::from_iter([(field.to_owned(), value.into())])
}

/// Takes a payload that stays as it is, as a content part.
fn take_kept(fields: &mut Map<String, Value>) -> Option<Value> {
    let known = |field: &&str| fields.get(*field).is_some_and(Value::is_object);
    let field = fields::KEPT.into_iter().map(|(field, _)| field).find(known)?;
    let payload = fields.remove(field)?;
    Some(Value::from_iter([("type", field.into()), (field, payload)]))
}
