use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use records::DocumentHead;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::Time;
use super::values;
use crate::extract::{is_json, parse};

/// What is known of a document besides its content.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Document)]
pub(crate) struct DocumentHeadResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "notes/plan.md")]
    path: String,
    /// The chat of the document; null if it is of none.
    chat_id: Option<String>,
    /// The user to whom the document belongs; null if it belongs to the app.
    user_id: Option<String>,
    /// Who may read a document of no chat, besides its owner.
    #[schema(value_type = values::Visibility)]
    visibility: &'static str,
    /// The team that the document is shared with.
    team_id: Option<String>,
    #[schema(example = "text/markdown")]
    content_type: String,
    /// The size of the content, in bytes.
    #[schema(example = 2048)]
    size: u64,
    /// Grows with every write, from 1.
    #[schema(example = 1)]
    version: u64,
    /// The `ETag`, without quotation marks. What stands before its last `-` stays the same as long as the content only grows.
    #[schema(example = "content_0198d4b27c1e7a3b9f552f6c1d0e8a41-1")]
    entity_tag: String,
    created_at: Time,
    last_updated_at: Time,
    /// When the document ceases to exist; null if it does not.
    expires_at: Option<Time>,
}

impl From<DocumentHead> for DocumentHeadResponse {
    fn from(head: DocumentHead) -> Self {
        let entity_tag = head.entity_tag();
        let binding = head.binding;
        Self {
            app_id: head.app_id.into(),
            path: head.path.into(),
            chat_id: binding.chat_id.map(String::from),
            user_id: binding.user_id.map(String::from),
            visibility: binding.visibility.as_str(),
            team_id: binding.team_id.map(String::from),
            content_type: head.content_type,
            size: head.size,
            version: head.version,
            entity_tag,
            created_at: head.created_at.into(),
            last_updated_at: head.last_updated_at.into(),
            expires_at: head.expires_at.map(Time::from),
        }
    }
}

/// A document of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListedDocument {
    #[serde(flatten)]
    head: DocumentHeadResponse,
    /// The content, if it is JSON that is the same as values, was asked for and has at most 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<values::Content>)]
    content: Option<Value>,
    /// The content in base64, if it is not such JSON, was asked for and has at most 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_base64: Option<String>,
}

impl From<(DocumentHead, Option<Vec<u8>>)> for ListedDocument {
    fn from((head, content): (DocumentHead, Option<Vec<u8>>)) -> Self {
        let (mut json, mut base64) = (None, None);
        if let Some(content) = content {
            // What was appended to JSON may not be JSON, and some numbers would be others as values.
            match is_json(&head.content_type).then(|| parse(&content)) {
                Some(Ok(value)) => json = Some(value),
                _ => base64 = Some(STANDARD.encode(content)),
            }
        }
        Self { head: head.into(), content: json, content_base64: base64 }
    }
}
