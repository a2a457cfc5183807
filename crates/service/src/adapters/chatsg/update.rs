use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{FieldChange, Lifecycle, SessionChange};
use serde::Deserialize;
use utoipa::ToSchema;

use super::status::Activity;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::config::AdaptersConfig;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Keyed};
use crate::problem::Problem;

/// A change of a session: at least one field. What is missing stays; other fields are ignored.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = UpdateSession, example = json!({"title": "Chat about AI", "status": "archived"}))]
pub(crate) struct UpdateSessionRequest {
    /// At most 512 characters, not blank.
    title: Option<String>,
    /// `active`, `archived` or `deleted`. A session is `inactive` by itself when nothing was said for a while.
    status: Option<String>,
}

impl Keyed for UpdateSessionRequest {}

impl UpdateSessionRequest {
    fn into_change(self) -> Result<SessionChange, Problem> {
        let title = self.title.map(|title| title.trim().to_owned());
        if title.as_deref() == Some("") {
            return Err(Problem::invalid_body("/title", "must not be blank"));
        }
        let lifecycle = match self.status.as_deref() {
            None => None,
            Some("active") => Some(Lifecycle::Active),
            Some("archived") => Some(Lifecycle::Archived),
            Some("deleted") => Some(Lifecycle::Deleted),
            Some(_) => {
                let rule = "must be active, archived or deleted; a session is inactive by itself";
                return Err(Problem::invalid_body("/status", rule));
            }
        };
        if title.is_none() && lifecycle.is_none() {
            return Err(Problem::invalid_body("", "title or status is required"));
        }
        let title = title.map_or_else(FieldChange::default, FieldChange::Set);
        Ok(SessionChange { title, lifecycle, ..SessionChange::default() })
    }
}

/// Changes the title or the status of a session.
#[operation(answers = "The session, changed", problems = [UPGRADE_PENDING])]
pub(crate) async fn update_session(
    State(store): State<Arc<dyn Store>>,
    State(adapters): State<Arc<AdaptersConfig>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    Json(request): Json<UpdateSessionRequest>,
) -> Result<Json<SessionResponse>, Problem> {
    let chat = store.change_chat(&scope, &chat_id, request.into_change()?).await?;
    Ok(Json(SessionResponse::of(chat, Activity::now(&adapters.chatsg))))
}
