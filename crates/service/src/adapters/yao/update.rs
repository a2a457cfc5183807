use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{FieldChange, JsonObject, Permission, SessionChange};
use serde::Deserialize;
use utoipa::ToSchema;

use super::wire::{ChangedResponse, SHARE, lifecycle_of};
use crate::adapters::ForeignQuery;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Keyed, given};
use crate::problem::Problem;

/// A change of a session: at least one field. What is missing stays; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = UpdateChatSession, example = json!({"title": "The weather", "status": "archived"}))]
pub(crate) struct UpdateSessionRequest {
    /// At most 512 characters; null removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    title: FieldChange<String>,
    /// `active` or `archived`.
    status: Option<String>,
    /// Replaces all of the old; null removes it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    metadata: FieldChange<JsonObject>,
}

impl Keyed for UpdateSessionRequest {}

impl UpdateSessionRequest {
    fn into_change(self) -> Result<SessionChange, Problem> {
        let lifecycle = lifecycle_of(self.status.as_deref())?;
        let change = SessionChange {
            title: self.title,
            metadata: self.metadata.or_default(),
            lifecycle,
            ..SessionChange::default()
        };
        if change == SessionChange::default() {
            return Err(Problem::invalid_body("", "title, status or metadata is required"));
        }
        Ok(change)
    }
}

/// Changes the title, the status or the metadata of a session.
#[operation(answers = "The session is changed", problems = [UPGRADE_PENDING])]
pub(crate) async fn update_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<UpdateSessionRequest>,
) -> Result<Json<ChangedResponse>, Problem> {
    let mut change = request.into_change()?;
    if let Some(metadata) = &mut change.metadata {
        let chat = store.get_chat(&scope.needing(Permission::Read), &chat_id).await?;
        metadata.shift_remove(SHARE);
        let share = chat.and_then(|chat| chat.metadata.get(SHARE).cloned());
        metadata.extend(share.map(|share| (SHARE.to_owned(), share)));
    }
    store.change_chat(&scope, &chat_id, change).await?;
    Ok(Json(ChangedResponse::updated(chat_id.into())))
}
