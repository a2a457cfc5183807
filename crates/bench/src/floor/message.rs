use bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::messages::Message;

/// A message as a document of its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MessageDocument {
    chat_id: String,
    event_id: String,
    pub(crate) sequence: i64,
    role: String,
    name: String,
    content: String,
    timestamp: String,
    created_at: DateTime,
}

impl MessageDocument {
    pub(crate) fn new(chat_id: &str, sequence: i64, message: &Message) -> Self {
        Self {
            chat_id: chat_id.to_owned(),
            event_id: message.event_id.clone(),
            sequence,
            role: message.role.to_owned(),
            name: message.name.to_owned(),
            content: message.content.clone(),
            timestamp: message.timestamp.clone(),
            created_at: DateTime::now(),
        }
    }
}
