use std::sync::Arc;

use persistence::Store;
use records::ChatStatus;
use serde::{Deserialize, Deserializer, de};
use utoipa::ToSchema;

use super::ChatSessionResponse;
use crate::extract::{ChatScope, Json};
use crate::problem::Problem;

/// The reason for a change of status.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "waits for the user"}))]
pub(crate) struct ReasonRequest {
    /// At most 1,000 characters.
    #[serde(default, deserialize_with = "bounded")]
    pub(crate) reason: Option<String>,
}

/// Changes the status of a chat, and returns the chat session.
pub(super) async fn transition<P>(
    store: Arc<dyn Store>,
    ChatScope { scope, chat_id, .. }: ChatScope<P>,
    next: ChatStatus,
    reason: Option<String>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    let chat = store.set_status(&scope, &chat_id, next, reason.as_deref()).await?;
    Ok(Json(chat.into()))
}

fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    const MAX_CHARS: usize = 1_000;
    let reason = Option::<String>::deserialize(deserializer)?;
    let is_too_long = |text: &String| text.chars().count() > MAX_CHARS;
    if reason.as_ref().is_some_and(is_too_long) {
        let limit = format!("must be at most {MAX_CHARS} characters");
        return Err(de::Error::custom(limit));
    }
    Ok(reason)
}
