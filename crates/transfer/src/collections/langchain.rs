use records::{JsonObject, WorkflowName};
use resume::dialect::LangChain;

use super::messages::{SessionMessages, parse, text};
use super::{Layout, Part, PartError};

/// `MongoDBChatMessageHistory` of `LangChain`: a document for each message, which is JSON in a text.
pub const LANGCHAIN: Layout = Layout {
    name: "langchain",
    place: ("chat_history", "message_store"),
    order: &[(SESSION_ID, 1), ("_id", 1)],
    read,
};

const SESSION_ID: &str = "SessionId";
const HISTORY: &str = "History";

#[expect(clippy::needless_pass_by_value, reason = "the form of a layout")]
fn read(document: JsonObject, workflow_name: &WorkflowName) -> Result<Part, PartError> {
    let message = parse(HISTORY, text(&document, HISTORY)?)?;
    let part = SessionMessages {
        layout: LANGCHAIN.name,
        dialect: &LangChain,
        document_id: text(&document, "_id")?,
        session_id: text(&document, SESSION_ID)?,
        generation: 0,
        messages: vec![message],
    };
    part.read(workflow_name)
}
