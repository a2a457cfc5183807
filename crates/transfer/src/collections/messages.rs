use chrono::{DateTime, Utc};
use records::{JsonObject, NewChatSession, WorkflowName};
use resume::dialect::Dialect;
use serde_json::Value;

use super::{Part, PartError, chat_of_session};
use crate::in_dialect::{self, InDialect};

/// A document with some messages of a session, in a dialect.
pub(super) struct SessionMessages<'a> {
    /// The name of the layout.
    pub(super) layout: &'static str,
    pub(super) dialect: &'static dyn Dialect,
    /// The id of the document. The ids of messages that have none follow from it.
    pub(super) document_id: &'a str,
    pub(super) session_id: &'a str,
    pub(super) generation: i64,
    pub(super) messages: Vec<Value>,
}

/// The rules about messages that are in other documents of a session: the result of a call is often in the next one.
const OF_OTHERS: [&str; 2] = ["orphan_result", "unanswered_call"];

impl SessionMessages<'_> {
    pub(super) fn read(self, workflow_name: &WorkflowName) -> Result<Part, PartError> {
        let (chat_id, note) = chat_of_session(self.layout, self.session_id)?;
        let mut metadata = JsonObject::new();
        if note.is_some() {
            metadata.insert("session_id".to_owned(), self.session_id.into());
        }
        let written_at = time_of(self.document_id);
        let read = in_dialect::read(self.dialect, Vec::new(), self.messages, self.document_id)?;
        let InDialect { messages, noted, dropped } = read;
        let noted = noted.into_iter().filter(|it| !OF_OTHERS.contains(&it.rule));
        let noted = noted.map(|it| format!("{}: {}", it.rule, it.detail));
        let dropped = dropped.into_iter().map(|it| format!("a message is left out: {}", it.reason));
        let new = NewChatSession {
            chat_id: Some(chat_id.clone()),
            metadata,
            ..NewChatSession::of(workflow_name.clone())
        };
        new.check()?;
        Ok(Part {
            app_id: None,
            new,
            chat_id,
            created_at: written_at,
            active_at: written_at,
            generation: self.generation,
            messages,
            id_note: note,
            notes: noted.collect(),
            faults: dropped.collect(),
            state: None,
        })
    }
}

/// Returns the time in an `ObjectId`, which is when its document was written.
fn time_of(document_id: &str) -> Option<DateTime<Utc>> {
    let seconds = document_id.get(..8).filter(|_| document_id.len() == 24)?;
    DateTime::from_timestamp(i64::from_str_radix(seconds, 16).ok()?, 0)
}

/// Returns a text of a document.
pub(super) fn text<'a>(
    document: &'a JsonObject,
    field: &'static str,
) -> Result<&'a str, PartError> {
    document.get(field).and_then(Value::as_str).ok_or(PartError::Field(field, "a text"))
}

/// Reads the JSON that a text of a document holds.
pub(super) fn parse(field: &'static str, text: &str) -> Result<Value, PartError> {
    records::json::parse(text.as_bytes()).map_err(|error| PartError::Json(field, error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{LANGCHAIN, Layout, OPENAI_AGENTS};
    use super::*;

    fn read(layout: &Layout, document: Value) -> Result<Part, PartError> {
        let Value::Object(document) = document else { panic!("no object") };
        layout.read(document, &WorkflowName::parse("Chat").unwrap())
    }

    #[test]
    fn a_message_of_langchain_is_read() {
        let history = json!({ "type": "human", "data": { "content": "Hello", "id": null } });
        let document = json!({
            "_id": "68de4f20e4b0c8a9d2f3e4a5", "SessionId": "bob@example.org/1", "History": history.to_string(),
        });
        let part = read(&LANGCHAIN, document).unwrap();
        assert_eq!(part.messages[0].message.body.content, "Hello");
        assert!(part.chat_id.as_str().starts_with("langchain_"));
        assert_eq!(part.new.metadata["session_id"], "bob@example.org/1");
        assert!(part.id_note.unwrap().contains("is no id of a chat"));
        assert_eq!(part.created_at.unwrap().to_rfc3339(), "2025-10-02T10:08:32+00:00");
    }

    #[test]
    fn items_of_the_agents_sdk_are_read_whether_one_or_several() {
        let item = json!({ "role": "user", "content": "Hello" }).to_string();
        let call =
            json!({ "type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}" });
        let id = "68de4f20e4b0c8a9d2f3e4a5";
        let one = json!({ "_id": id, "session_id": "s1", "seq": 0, "message_data": item });
        assert_eq!(read(&OPENAI_AGENTS, one).unwrap().messages.len(), 1);
        let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "42" });
        for half in [&call, &output] {
            let half = json!({ "_id": id, "session_id": "s1", "seq": 0, "message_data": half.to_string() });
            assert_eq!(read(&OPENAI_AGENTS, half).unwrap().notes, [""; 0]);
        }
        let both = [item, call.to_string()];
        let both = json!({ "_id": id, "session_id": "s1", "generation": 2, "message_data": both });
        let part = read(&OPENAI_AGENTS, both).unwrap();
        assert_eq!((part.chat_id.as_str(), part.generation, part.messages.len()), ("s1", 2, 2));
    }

    #[test]
    fn a_document_of_another_form_is_an_error_that_names_the_field() {
        let error = |layout, document| read(layout, document).unwrap_err().to_string();
        let document = json!({ "_id": "1", "SessionId": 5, "History": "{}" });
        assert_eq!(error(&LANGCHAIN, document), "`SessionId` must be a text");
        let document = json!({ "_id": "1", "SessionId": "s", "History": "{" });
        assert!(error(&LANGCHAIN, document).starts_with("`History` cannot be read: "));
        let document = json!({ "_id": "1", "session_id": "s", "message_data": [5] });
        assert!(error(&OPENAI_AGENTS, document).starts_with("`message_data` must be "));
    }
}
