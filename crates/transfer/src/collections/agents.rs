use records::{JsonObject, WorkflowName};
use resume::dialect::OpenAiResponses;
use serde_json::Value;

use super::messages::{SessionMessages, parse, text};
use super::{Layout, Part, PartError};

/// `MongoDBSession` of the `OpenAI` Agents SDK: a document for each write, whose items are JSON in texts.
///
/// Earlier releases wrote a document for each item. A session that is cleared gets a new generation; documents of the old ones may be left.
pub const OPENAI_AGENTS: Layout = Layout {
    name: "openai-agents",
    place: ("agents", "agent_messages"),
    order: &[(SESSION_ID, 1), ("generation", -1), ("seq", 1), ("_id", 1)],
    read,
};

const SESSION_ID: &str = "session_id";
const ITEMS: &str = "message_data";

#[expect(clippy::needless_pass_by_value, reason = "the form of a layout")]
fn read(document: JsonObject, workflow_name: &WorkflowName) -> Result<Part, PartError> {
    let wrong = || PartError::Field(ITEMS, "a text, or a list of texts");
    let items = match document.get(ITEMS) {
        Some(Value::String(item)) => vec![parse(ITEMS, item)?],
        Some(Value::Array(items)) => {
            let item = |item: &Value| parse(ITEMS, item.as_str().ok_or_else(wrong)?);
            items.iter().map(item).collect::<Result<_, _>>()?
        }
        _ => return Err(wrong()),
    };
    let part = SessionMessages {
        layout: OPENAI_AGENTS.name,
        dialect: &OpenAiResponses,
        document_id: text(&document, "_id")?,
        session_id: text(&document, SESSION_ID)?,
        generation: document.get("generation").and_then(Value::as_i64).unwrap_or_default(),
        messages: items,
    };
    part.read(workflow_name)
}
