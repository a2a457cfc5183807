use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{AssistantId, Caller, FieldChange, JsonObject, SessionChange, TeamId, Visibility};
use serde::Deserialize;
use utoipa::ToSchema;

use super::create::own;
use super::tagged;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Keyed, Query, Tagged, given};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;

/// A change of a chat session. A missing field stays as it is; null clears it, except for `visibility`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ChatSessionChange, example = json!({"title": "A todo app"}))]
pub(crate) struct UpdateChatRequest {
    /// At most 512 characters.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 512)]
    title: FieldChange<String>,
    /// All of the metadata, at most 16 KiB; null is `{}`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    metadata: FieldChange<JsonObject>,
    /// Who may find and read the chat; `team` needs a `team_id`. Every chat has one, so it is not null.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = values::Visibility)]
    visibility: FieldChange<Visibility>,
    /// A user may name only their own team.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    team_id: FieldChange<TeamId>,
    /// The assistant that the chat talks to.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    assistant_id: FieldChange<AssistantId>,
    /// The place of the chat in lists that are sorted by it; null is 0.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>)]
    sort: FieldChange<i32>,
    /// The instructions for the model, which callers put before the messages; at most 16 KiB.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 16_384)]
    system_prompt: FieldChange<String>,
}

impl Keyed for UpdateChatRequest {}

/// Changes the title, the metadata, the system prompt or the rights of a chat, whatever its status.
///
/// Idempotent: a change after which nothing differs changes nothing. Every other change increments `session_version` and
/// sends the event `chat`. With `If-Match: "<session_version>"` it is refused if another change came between.
#[operation(
    answers = "The chat session, changed",
    problems = [FORBIDDEN_OWNER, METADATA_TOO_LARGE],
)]
pub(crate) async fn update_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(()): Query<()>,
    Json(request): Json<UpdateChatRequest>,
) -> Result<Tagged<Json<ChatSessionResponse>>, Problem> {
    let change = request.on_behalf_of(&scope.caller)?;
    Ok(tagged(store.change_chat(&scope, &chat_id, change).await?))
}

impl UpdateChatRequest {
    fn on_behalf_of(self, caller: &Caller) -> Result<SessionChange, Problem> {
        if let (Caller::User { team_id, .. }, Some(given)) = (caller, self.team_id.value()) {
            own("/team_id", Some(given), team_id.as_ref())?;
        }
        if self.visibility == FieldChange::Clear {
            let detail = "must not be null: every chat has a visibility; leave it out to keep it";
            return Err(Problem::invalid_body("/visibility", detail));
        }
        let change = SessionChange {
            title: self.title,
            metadata: self.metadata.or_default(),
            visibility: self.visibility.value().copied(),
            team_id: self.team_id,
            assistant_id: self.assistant_id,
            sort: self.sort.or_default(),
            system_prompt: self.system_prompt,
            lifecycle: None,
        };
        if change == SessionChange::default() {
            return Err(Problem::invalid_body("", "must name at least one field to change"));
        }
        Ok(change)
    }
}
