use axum::extract::State;
use operation::operation;
use records::{FieldChange, SessionChange};
use serde::Deserialize;
use utoipa::ToSchema;

use super::session;
use super::wire::SessionResponse;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::needs::Manage;
use crate::extract::{ChatDownload, Json, Keyed};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// A change of a session: at least one field. What is missing stays.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = UpdateChatSession, example = json!({"title": "A todo app"}))]
pub(crate) struct UpdateSessionRequest {
    /// At most 512 characters, not blank.
    title: Option<String>,
    /// At most 16 KiB; an empty text removes it.
    system_prompt: Option<String>,
}

impl Keyed for UpdateSessionRequest {}

impl UpdateSessionRequest {
    fn into_change(self) -> Result<SessionChange, Problem> {
        let title = self.title.map(|title| title.trim().to_owned());
        if title.is_none() && self.system_prompt.is_none() {
            return Err(Problem::invalid_body("", "title or system_prompt is required"));
        }
        if title.as_deref() == Some("") {
            return Err(Problem::invalid_body("/title", "must not be blank"));
        }
        let prompt = self.system_prompt.map(|prompt| match prompt.as_str() {
            "" => FieldChange::Clear,
            _ => FieldChange::Set(prompt),
        });
        Ok(SessionChange {
            title: title.map_or_else(FieldChange::default, FieldChange::Set),
            system_prompt: prompt.unwrap_or_default(),
            ..SessionChange::default()
        })
    }
}

/// Changes the title or the system prompt of a session.
#[operation(answers = "The session, changed")]
pub(crate) async fn update_session(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload<Manage>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
    request_id: RequestId,
    Json(request): Json<UpdateSessionRequest>,
) -> Result<Prepared<Json<SessionResponse>>, Problem> {
    let chat = state.store.change_chat(&scope, &chat_id, request.into_change()?).await?;
    session::answer(&state, chat, scope, limits, request_id).await
}
