use serde_json::{Value, json};

use super::media::Media;
use super::message::Canonical;
use crate::Repair;

/// A part of what a message says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Media(Media),
}

impl Canonical {
    /// Takes the content and the refusal apart.
    ///
    /// What is neither text nor a list of content parts becomes its JSON text, as does a part that
    /// is not understood.
    pub(crate) fn take_parts(&mut self) -> Vec<Part> {
        let mut parts = match self.content.take() {
            Value::Null => Vec::new(),
            Value::String(text) => vec![Part::Text(text)],
            Value::Array(list) if !list.is_empty() && are_parts(&list) => {
                list.into_iter().map(|part| self.read_part(part)).collect()
            }
            other => {
                self.repairs.push(Repair::ContentSerialised);
                vec![Part::Text(other.to_string())]
            }
        };
        if let Some(refusal) = self.refusal.take() {
            self.repairs.push(Repair::RefusalGivenAsText);
            parts.push(Part::Text(refusal));
        }
        parts
    }

    /// Returns content parts for a form that has those of the log: a file that is a picture or a
    /// sound becomes one, and what does not fit becomes its JSON text.
    pub(crate) fn fit_parts(&mut self, parts: Vec<Value>, fits: impl Fn(&Value) -> bool) -> Value {
        let fit = |part: Value| {
            let mut part = Media::bare(&part).filter(&fits).unwrap_or(part);
            if !fits(&part) {
                self.repairs.push(Repair::PartSerialised);
                return json!({"type": "text", "text": part.to_string()});
            }
            self.remove_beside(&mut part);
            part
        };
        parts.into_iter().map(fit).collect()
    }

    /// Takes the content as one text: for forms where it cannot be anything else.
    pub(crate) fn take_text(&mut self) -> String {
        match self.content.take() {
            Value::String(text) => text,
            other => {
                self.repairs.push(Repair::ContentSerialised);
                other.to_string()
            }
        }
    }

    /// Leaves out text of nothing but white space.
    pub(crate) fn remove_blank(&mut self, parts: &mut Vec<Part>) {
        let count = parts.len();
        parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        if parts.len() < count {
            self.repairs.push(Repair::BlankTextRemoved);
        }
    }

    fn read_part(&mut self, mut part: Value) -> Part {
        let kind = part["type"].as_str().unwrap_or_default();
        let read = match kind {
            "text" | "refusal" => part[kind].as_str().map(|said| Part::Text(said.to_owned())),
            _ => Media::read(&part).map(Part::Media),
        };
        if kind == "refusal" {
            self.repairs.push(Repair::RefusalGivenAsText);
        }
        let Some(read) = read else {
            return self.serialise_part(&part);
        };
        self.remove_beside(&mut part);
        read
    }

    /// Leaves of a part its type and its payload, which is in the field named like the type.
    fn remove_beside(&mut self, part: &mut Value) {
        let kind = part["type"].as_str().unwrap_or_default().to_owned();
        let Some(fields) = part.as_object_mut() else { return };
        // The name of a picture is not missed: it has been read, or the form declares its loss.
        let is_named = kind == "image_url" || kind == "input_audio";
        let is_known = |field: &str| field == "type" || field == kind;
        let is_missed = |(field, value): (&String, &Value)| {
            !(value.is_null() || is_known(field) || is_named && field == "filename")
        };
        if fields.iter().any(is_missed) {
            self.repairs.push(Repair::PartFieldsRemoved);
        }
        fields.retain(|field, _| is_known(field));
    }

    /// Gives a part as its JSON text, because the form has nothing else for it.
    pub(crate) fn serialise_part(&mut self, part: &Value) -> Part {
        self.repairs.push(Repair::PartSerialised);
        Part::Text(part.to_string())
    }
}

/// Says whether the values of a list are content parts, of whatever type.
pub(crate) fn are_parts(list: &[Value]) -> bool {
    list.iter().all(|part| part.get("type").is_some_and(Value::is_string))
}
