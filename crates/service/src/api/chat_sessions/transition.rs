use std::sync::Arc;

use persistence::Store;
use records::{ChatStatus, JsonObject, Permission};
use serde::{Deserialize, Deserializer, de};
use utoipa::ToSchema;

use crate::admission::RequestMemory;
use crate::extract::{ChatScope, Json, Keyed};
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// The memory for the largest snapshot, in bytes.
const SNAPSHOT_MEMORY: usize = 12 << 20;

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

/// A status to give to a chat, and what is stored with it.
pub(super) struct Transition {
    pub(super) next: ChatStatus,
    pub(super) reason: Option<String>,
    pub(super) snapshot: Option<JsonObject>,
}

/// Changes the status of a chat, and returns the chat session.
///
/// A snapshot is stored before, unless the chat cannot take the status, or has both already because the request is a
/// repeat.
pub(super) async fn transition<P, C>(
    store: Arc<dyn Store>,
    memory: RequestMemory,
    ChatScope { scope, chat_id, .. }: ChatScope<P, C>,
    Transition { next, reason, snapshot }: Transition,
) -> Result<Json<ChatSessionResponse>, Problem> {
    if let Some(data) = snapshot {
        let scope = scope.needing(Permission::Run);
        let status = store.get_chat(&scope, &chat_id).await?.map(|chat| chat.status);
        let is_repeat = status == Some(next) && {
            memory.reserve(SNAPSHOT_MEMORY).await?;
            store.load_context_snapshot(&scope, &chat_id).await?.data == data
        };
        let may_become = status.is_none_or(|status| status == next || status.may_become(next));
        if may_become && !is_repeat {
            let stored = store.update_context_snapshot(&scope, &chat_id, data).await;
            stored.map_err(|error| Problem::located(error, |at| at.below("/context_snapshot")))?;
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
