use serde_json::{Value, json};

use super::json_text::{serialise_content, serialise_part};
use super::media::Media;
use super::media_type::URL_TYPE;
use super::message::CanonicalMessage;
use crate::Repair;

/// A part of the content of a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ContentPart {
    Text(String),
    Media(Media),
}

impl ContentPart {
    /// Returns whether the part is a text that is empty or only white space.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(self, Self::Text(text) if text.trim().is_empty())
    }
}

impl CanonicalMessage {
    /// Takes the content and the refusal as content parts.
    ///
    /// A content that is neither text nor a list of content parts becomes its JSON text, and so does
    /// an unknown content part.
    pub(crate) fn take_parts(&mut self) -> Vec<ContentPart> {
        let mut parts = match self.content.take() {
            Value::Null => Vec::new(),
            Value::String(text) => vec![ContentPart::Text(text)],
            Value::Array(list) if !list.is_empty() && are_parts(&list) => {
                list.into_iter().map(|part| self.read_part(part)).collect()
            }
            other => {
                vec![ContentPart::Text(serialise_content(other, &mut self.repairs))]
            }
        };
        if let Some(refusal) = self.refusal.take() {
            self.repairs.push(Repair::RefusalGivenAsText);
            parts.push(ContentPart::Text(refusal));
        }
        parts
    }

    /// Converts content parts for a dialect that uses the stored part types.
    ///
    /// A file that is an image or a sound becomes an image or audio part where the dialect accepts
    /// one. A part for which `fits` is false becomes its JSON text.
    pub(crate) fn fit_parts(&mut self, parts: Vec<Value>, fits: impl Fn(&Value) -> bool) -> Value {
        let fit = |part: Value| {
            let mut part = Media::as_typed_part(&part).filter(&fits).unwrap_or(part);
            if !fits(&part) {
                let text = serialise_part(part, &mut self.repairs);
                return json!({"type": "text", "text": text});
            }
            self.remove_extra_fields(&mut part);
            part
        };
        parts.into_iter().map(fit).collect()
    }

    /// Takes the content as one text, for dialects in which it can be nothing else.
    pub(crate) fn take_text(&mut self) -> String {
        match self.content.take() {
            Value::String(text) => text,
            other => serialise_content(other, &mut self.repairs),
        }
    }

    /// Takes the content as one text in which the parts follow each other; `None` if there is none.
    pub(crate) fn take_joined_text(&mut self) -> Option<String> {
        let parts = self.take_parts();
        let texts: Vec<_> = parts.into_iter().map(|part| self.part_text(part)).collect();
        if texts.len() > 1 {
            self.repairs.push(Repair::PartsJoined);
        }
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    /// Returns a part as text, for places where media cannot be.
    pub(crate) fn part_text(&mut self, part: ContentPart) -> String {
        match part {
            ContentPart::Text(text) => text,
            ContentPart::Media(media) => serialise_part(media.into(), &mut self.repairs),
        }
    }

    /// Reads a part of a content; an unknown one becomes its JSON text.
    pub(crate) fn read_part(&mut self, mut part: Value) -> ContentPart {
        let kind = part["type"].as_str().unwrap_or_default();
        let read = match kind {
            "text" | "refusal" => {
                part[kind].as_str().map(|said| ContentPart::Text(said.to_owned()))
            }
            _ => Media::read(&part).map(ContentPart::Media),
        };
        if kind == "refusal" {
            self.repairs.push(Repair::RefusalGivenAsText);
        }
        let Some(read) = read else {
            return ContentPart::Text(serialise_part(part, &mut self.repairs));
        };
        if part.pointer("/image_url/detail").is_some_and(Value::is_string) {
            self.repairs.push(Repair::PartFieldsRemoved);
        }
        self.remove_extra_fields(&mut part);
        read
    }

    /// Removes all fields of a part but its type and its payload.
    ///
    /// The payload is in the field that has the name of the type.
    fn remove_extra_fields(&mut self, part: &mut Value) {
        let kind = part["type"].as_str().unwrap_or_default().to_owned();
        let Some(fields) = part.as_object_mut() else { return };
        // The file name needs no report: it was read already, or the dialect declares its loss.
        let may_have_name = kind == "image_url" || kind == "input_audio";
        let is_known = |field: &str| field == "type" || field == kind;
        // The marks of an uploaded file are read, too, and so is the media type of a URL, if it was not lowered.
        let is_mark = |field: &str| {
            field == URL_TYPE || kind == "file" && ["provider", "kind"].contains(&field)
        };
        let is_lost = |(field, value): (&String, &Value)| {
            let is_name = may_have_name && field == "filename";
            !(value.is_null() || is_known(field) || is_name || is_mark(field))
        };
        if fields.iter().any(is_lost) {
            self.repairs.push(Repair::PartFieldsRemoved);
        }
        fields.retain(|field, _| is_known(field));
    }
}

/// Returns whether every item of a list is a content part, of any type.
pub(crate) fn are_parts(list: &[Value]) -> bool {
    list.iter().all(|part| part.get("type").is_some_and(Value::is_string))
}
