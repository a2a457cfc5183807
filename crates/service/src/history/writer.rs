use std::mem;

use axum::body::Bytes;
use records::ChatId;
use resume::dialect::Rendered;
use serde::Serialize;
use serde_json::{Value, json};

use super::response::{DroppedResponse, RepairedResponse};
use super::{Format, json_text};

/// The size of a chunk of the response, approximately; a chunk with a large message is larger.
const CHUNK_BYTES: usize = 64 << 10;

/// The next chunk gets room for as many bytes as the last one had, but at most for this many.
const MAX_NEXT_BYTES: usize = 1 << 20;

/// What surrounds the messages of a transcript.
pub(crate) struct Layout {
    format: Format,
    /// The text before the messages of a JSON object, and before the report of JSON lines.
    head: Vec<u8>,
    /// What follows the transcript in a larger object.
    after: Option<After>,
}

/// The fields after a transcript.
struct After {
    /// The text of an object with the fields that do not depend on the transcript.
    fields: Vec<u8>,
    termination: Termination,
}

/// Returns the field `termination`, which depends on what was dropped.
type Termination = Box<dyn FnOnce(&Rendered) -> serde_json::Result<Value> + Send>;

/// Writes a transcript, message by message.
pub(crate) struct Writer {
    layout: Layout,
    buffer: Vec<u8>,
    message_count: u64,
}

impl Layout {
    /// A history on its own.
    pub(super) fn history(format: Format, chat_id: &ChatId, dialect: &str) -> Self {
        let (chat_id, dialect) = (json!(chat_id.as_str()), json!(dialect));
        let complete = if format == Format::Ndjson { r#""complete":true,"# } else { "" };
        let head = format!(r#"{{{complete}"chat_id":{chat_id},"dialect":{dialect}"#);
        Self { format, head: head.into(), after: None }
    }

    /// A transcript in a larger JSON object, between other fields. `after` is the text of an object.
    pub(crate) fn within(
        before: &impl Serialize,
        dialect: &str,
        after: Vec<u8>,
        termination: impl FnOnce(&Rendered) -> serde_json::Result<Value> + Send + 'static,
    ) -> serde_json::Result<Self> {
        let mut head = serde_json::to_vec(before)?;
        head.pop();
        let dialect = json!(dialect);
        head.extend_from_slice(format!(r#","transcript":{{"dialect":{dialect}"#).as_bytes());
        let after = After { fields: after, termination: Box::new(termination) };
        Ok(Self { format: Format::Json, head, after: Some(after) })
    }

    /// Returns the size of the text around the transcript.
    pub(crate) fn bytes(&self) -> usize {
        self.head.len() + self.after.as_ref().map_or(0, |after| after.fields.len())
    }
}

impl Writer {
    pub(crate) fn new(layout: Layout) -> Self {
        let mut writer = Self { layout, buffer: Vec::new(), message_count: 0 };
        if writer.layout.format == Format::Json {
            writer.buffer = mem::take(&mut writer.layout.head);
            writer.text(r#","messages":["#);
        }
        writer
    }

    /// Writes the next message.
    pub(super) fn message(&mut self, message: &Value) -> serde_json::Result<()> {
        if self.layout.format == Format::Json && self.message_count > 0 {
            self.text(",");
        }
        self.message_count += 1;
        json_text::write(&mut self.buffer, message)?;
        if self.layout.format == Format::Ndjson {
            self.text("\n");
        }
        Ok(())
    }

    /// Returns whether there is enough text for a chunk.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= CHUNK_BYTES
    }

    /// Returns the text so far, if there is enough for a chunk.
    pub(super) fn take_full(&mut self) -> Option<Bytes> {
        if !self.is_full() {
            return None;
        }
        let next = Vec::with_capacity(self.buffer.len().min(MAX_NEXT_BYTES));
        Some(mem::replace(&mut self.buffer, next).into())
    }

    /// Writes the last messages and the report, and returns the rest of the text.
    pub(super) fn finish(
        mut self,
        mut rendered: Rendered,
        last_sequence: u64,
    ) -> serde_json::Result<Bytes> {
        for message in mem::take(&mut rendered.messages) {
            self.message(&message)?;
        }
        match self.layout.format {
            Format::Json => self.text("]"),
            Format::Ndjson => {
                let head = mem::take(&mut self.layout.head);
                self.buffer.extend(head);
                let count = self.message_count;
                self.text(&format!(r#","message_count":{count}"#));
            }
        }
        let Rendered { dropped, repaired, names, ids, system, .. } = &rendered;
        self.list("dropped", dropped.iter().cloned().map(DroppedResponse::from))?;
        let after = self.layout.after.take();
        // A history leaves out what is empty.
        let is_written = |is_empty: bool| after.is_some() || !is_empty;
        if is_written(repaired.is_empty()) {
            self.list("repaired", repaired.iter().cloned().map(RepairedResponse::from))?;
        }
        if after.is_none() {
            self.field("last_sequence", &last_sequence)?;
        }
        if is_written(names.is_empty()) {
            self.field("names", names)?;
        }
        if is_written(ids.is_empty()) {
            self.field("ids", ids)?;
        }
        if is_written(system.is_empty()) {
            self.field("system", system)?;
        }
        self.text("}");
        if let Some(After { fields, termination }) = after {
            self.field("termination", &termination(&rendered)?)?;
            self.text(",");
            self.buffer.extend_from_slice(&fields[1..]);
        }
        if self.layout.format == Format::Ndjson {
            self.text("\n");
        }
        Ok(self.buffer.into())
    }

    /// Writes a list, item by item.
    fn list(
        &mut self,
        name: &str,
        items: impl Iterator<Item: Serialize>,
    ) -> serde_json::Result<()> {
        self.text(&format!(r#","{name}":["#));
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.text(",");
            }
            serde_json::to_writer(&mut self.buffer, &item)?;
        }
        self.text("]");
        Ok(())
    }

    /// Writes a field after another one.
    fn field(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        self.text(&format!(r#","{name}":"#));
        serde_json::to_writer(&mut self.buffer, value)
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }
}
