use serde_json::Value;

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
            Value::Array(list) if !list.is_empty() && list.iter().all(has_type) => {
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
        let said = match kind {
            "text" | "refusal" => part[kind].as_str().map(str::to_owned),
            _ => return Media::read(&part).map_or_else(|| self.serialise_part(&part), Part::Media),
        };
        if kind == "refusal" {
            self.repairs.push(Repair::RefusalGivenAsText);
        }
        said.map_or_else(|| self.serialise_part(&part.take()), Part::Text)
    }

    /// Gives a part as its JSON text, because the form has nothing else for it.
    pub(crate) fn serialise_part(&mut self, part: &Value) -> Part {
        self.repairs.push(Repair::PartSerialised);
        Part::Text(part.to_string())
    }
}

fn has_type(part: &Value) -> bool {
    part.get("type").is_some_and(Value::is_string)
}
