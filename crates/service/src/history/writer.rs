use std::mem;

use async_stream::try_stream;
use axum::body::Bytes;
use futures::stream::{Stream, TryStreamExt as _};
use records::ChatId;
use serde::Serialize;
use serde_json::{Value, json};

use super::response::{DroppedResponse, RepairedResponse};
use super::{Format, HistoryError, HistoryExtras, HistoryItem, HistoryItems};

/// The size of a chunk of the response, approximately; a chunk with a large message is larger.
const CHUNK_BYTES: usize = 64 << 10;

/// Writes a history in a format.
///
/// If the stream ends without an error, the document is complete. After an error it is not.
pub fn write(
    format: Format,
    chat_id: ChatId,
    dialect: &'static str,
    mut items: HistoryItems,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let mut writer = Writer::new(format, chat_id, dialect);
        writer.begin();
        while let Some(item) = items.try_next().await? {
            writer.add(item)?;
            if writer.buffer.len() >= CHUNK_BYTES {
                yield Bytes::from(mem::take(&mut writer.buffer));
            }
        }
        writer.end()?;
        yield Bytes::from(writer.buffer);
    }
}

struct Writer {
    format: Format,
    chat_id: ChatId,
    dialect: &'static str,
    buffer: Vec<u8>,
    section: Section,
    message_count: u64,
    extras: HistoryExtras,
    /// The text between the last item of the current list and the next one.
    separator: &'static str,
}

/// The lists of a history, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Section {
    Messages,
    Dropped,
    Repaired,
}

impl Writer {
    fn new(format: Format, chat_id: ChatId, dialect: &'static str) -> Self {
        Self {
            format,
            chat_id,
            dialect,
            buffer: Vec::new(),
            section: Section::Messages,
            message_count: 0,
            extras: HistoryExtras::default(),
            separator: "",
        }
    }

    fn begin(&mut self) {
        if self.format == Format::Json {
            let head = self.head();
            self.text(&format!(r#"{{{head},"messages":["#));
        }
    }

    fn add(&mut self, item: HistoryItem) -> serde_json::Result<()> {
        match item {
            HistoryItem::Message(message) => self.message(&message),
            HistoryItem::Dropped(dropped) => {
                self.start_section(Section::Dropped);
                self.item(&DroppedResponse::from(dropped))
            }
            HistoryItem::Repaired(repaired) => {
                self.start_section(Section::Repaired);
                self.item(&RepairedResponse::from(repaired))
            }
            HistoryItem::Extras(extras) => {
                self.extras = extras;
                Ok(())
            }
        }
    }

    fn message(&mut self, message: &Value) -> serde_json::Result<()> {
        self.message_count += 1;
        match self.format {
            Format::Json => self.item(message),
            Format::Ndjson => {
                serde_json::to_writer(&mut self.buffer, message)?;
                self.text("\n");
                Ok(())
            }
        }
    }

    /// Ends the lists before a section and starts it, unless it has started.
    fn start_section(&mut self, section: Section) {
        while self.section < section {
            self.section = match self.section {
                Section::Messages => {
                    self.end_messages();
                    Section::Dropped
                }
                Section::Dropped | Section::Repaired => {
                    self.text(r#"],"repaired":["#);
                    Section::Repaired
                }
            };
            self.separator = "";
        }
    }

    fn end_messages(&mut self) {
        if self.format == Format::Ndjson {
            let (head, count) = (self.head(), self.message_count);
            self.text(&format!(r#"{{"complete":true,{head},"message_count":{count},"dropped":["#));
        } else {
            self.text(r#"],"dropped":["#);
        }
    }

    /// Returns the fields that name the chat and the dialect.
    fn head(&self) -> String {
        let (chat_id, dialect) = (json!(self.chat_id.as_str()), json!(self.dialect));
        format!(r#""chat_id":{chat_id},"dialect":{dialect}"#)
    }

    fn end(&mut self) -> serde_json::Result<()> {
        self.start_section(Section::Dropped);
        self.text("]");
        let HistoryExtras { last_sequence, names, ids, system } = mem::take(&mut self.extras);
        self.field("last_sequence", &last_sequence)?;
        if !names.is_empty() {
            self.field("names", &names)?;
        }
        if !ids.is_empty() {
            self.field("ids", &ids)?;
        }
        if !system.is_empty() {
            self.field("system", &system)?;
        }
        self.text(match self.format {
            Format::Json => "}",
            Format::Ndjson => "}\n",
        });
        Ok(())
    }

    /// Writes a field after the lists.
    fn field(&mut self, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
        self.text(&format!(r#","{name}":"#));
        serde_json::to_writer(&mut self.buffer, value)
    }

    fn item(&mut self, item: &impl Serialize) -> serde_json::Result<()> {
        self.text(self.separator);
        self.separator = ",";
        serde_json::to_writer(&mut self.buffer, item)
    }

    fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }
}
