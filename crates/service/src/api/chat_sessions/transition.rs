use std::sync::Arc;

use persistence::Store;
use records::{ChatStatus, JsonObject, Permission};
use serde::{Deserialize, Deserializer, de};
use utoipa::ToSchema;

use super::ChatSessionResponse;
use crate::extract::{ChatScope, Json, Keyed};
use crate::problem::Problem;

/// Why a chat is paused or fails, and what it resumes from.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Interruption, example = json!({"reason": "waits for the user"}))]
pub(crate) struct InterruptionRequest {
    /// At most 1,000 characters.
    #[serde(default, deserialize_with = "bounded")]
    pub(super) reason: Option<String>,
    /// The context snapshot to store first, which needs the permission `run`; at most 8 MiB.
    #[schema(value_type = Option<Object>)]
    pub(super) context_snapshot: Option<JsonObject>,
}

/// The state in which a chat is completed.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Completion, example = json!({"context_snapshot": {"interview_complete": true}}))]
pub(crate) struct CompletionRequest {
    /// The context snapshot to store first, which needs the permission `run`; at most 8 MiB.
    #[schema(value_type = Option<Object>)]
    pub(super) context_snapshot: Option<JsonObject>,
}

/// The reason for which a question is cancelled.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "no longer needed"}))]
pub(crate) struct ReasonRequest {
    /// At most 1,000 characters.
    #[serde(default, deserialize_with = "bounded")]
    #[schema(max_length = 1000)]
    pub(crate) reason: Option<String>,
}

impl Keyed for InterruptionRequest {}
impl Keyed for CompletionRequest {}
impl Keyed for ReasonRequest {}

/// Changes the status of a chat, and returns the chat session.
///
/// A snapshot is stored before, unless the chat cannot take the status. A repeat stores it again, as `PUT` does.
pub(super) async fn transition<P>(
    store: Arc<dyn Store>,
    ChatScope { scope, chat_id, .. }: ChatScope<P>,
    next: ChatStatus,
    reason: Option<String>,
    snapshot: Option<JsonObject>,
) -> Result<Json<ChatSessionResponse>, Problem> {
    if let Some(data) = snapshot {
        let scope = scope.needing(Permission::Run);
        let chat = store.get_chat(&scope, &chat_id).await?;
        if chat.is_none_or(|chat| chat.status == next || chat.status.may_become(next)) {
            let stored = store.update_context_snapshot(&scope, &chat_id, data).await;
            stored.map_err(|error| Problem::from(error).prefix_pointers("/context_snapshot"))?;
        }
    }
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
