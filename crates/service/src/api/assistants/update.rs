use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{AssistantChange, Caller, FieldChange, JsonObject, TeamId, UserId, Visibility};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{owned_by, tagged};
use crate::extract::conditions::Seen;
use crate::extract::needs::Manage;
use crate::extract::{AssistantScope, Json, Keyed, Query, Tagged, given};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::AssistantResponse;

/// A change of an assistant. A missing field stays as it is. Null clears a field that may be missing, and means the same as
/// missing for the others.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AssistantChange, example = json!({"description": "Rain or shine"}))]
pub(crate) struct UpdateAssistantRequest {
    /// The owner; null makes it the app's. A user may name only themselves.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    user_id: FieldChange<UserId>,
    /// 1 to 512 characters.
    #[schema(min_length = 1, max_length = 512)]
    name: Option<String>,
    #[serde(rename = "type")]
    #[schema(value_type = Option<values::Name>)]
    kind: Option<String>,
    /// At most 64 KiB.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    avatar: FieldChange<String>,
    /// At most 64 KiB.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    connector: FieldChange<String>,
    /// All of the modes, at most 64.
    #[schema(value_type = Option<Vec<values::Name>>, max_items = 64)]
    modes: Option<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    default_mode: FieldChange<String>,
    /// All of the tags, at most 64.
    #[schema(value_type = Option<Vec<values::Name>>, max_items = 64)]
    tags: Option<Vec<String>>,
    sort: Option<i32>,
    mentionable: Option<bool>,
    automated: Option<bool>,
    built_in: Option<bool>,
    /// Who may find and read the assistant; `team` needs a `team_id`.
    #[schema(value_type = Option<values::Visibility>)]
    visibility: Option<Visibility>,
    /// A user may name only their own team.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    team_id: FieldChange<TeamId>,
    /// All of the texts, at most 64 KiB.
    #[schema(value_type = Option<Object>)]
    locales: Option<JsonObject>,
    /// All of the settings, at most 256 KiB.
    #[schema(value_type = Option<Object>)]
    config: Option<JsonObject>,
}

impl Keyed for UpdateAssistantRequest {}

impl UpdateAssistantRequest {
    fn on_behalf_of(self, caller: &Caller) -> Result<AssistantChange, Problem> {
        owned_by(caller, self.user_id.clone(), self.team_id.value())?;
        if matches!(caller, Caller::User { .. }) && self.user_id == FieldChange::Clear {
            return Err(Problem::invalid_body("/user_id", "must not be null for a user"));
        }
        let change = AssistantChange {
            user_id: self.user_id,
            name: self.name,
            kind: self.kind,
            avatar: self.avatar,
            description: self.description,
            connector: self.connector,
            modes: self.modes,
            default_mode: self.default_mode,
            tags: self.tags,
            sort: self.sort,
            mentionable: self.mentionable,
            automated: self.automated,
            built_in: self.built_in,
            visibility: self.visibility,
            team_id: self.team_id,
            locales: self.locales,
            config: self.config,
        };
        if change == AssistantChange::default() {
            return Err(Problem::invalid_body("", "must name at least one field to change"));
        }
        Ok(change)
    }
}

/// Changes what is given of an assistant.
///
/// Idempotent: a change after which nothing differs changes nothing. With `If-Match` it is refused if another change came
/// between.
#[operation(
    answers = "The assistant, changed",
    problems = [FORBIDDEN_OWNER, ASSISTANT_TOO_LARGE, UPGRADE_PENDING],
)]
pub(crate) async fn update_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Manage, Seen>,
    Query(()): Query<()>,
    Json(request): Json<UpdateAssistantRequest>,
) -> Result<Tagged<Json<AssistantResponse>>, Problem> {
    let change = request.on_behalf_of(&scope.caller)?;
    Ok(tagged(store.change_assistant(&scope, &assistant_id, change).await?))
}
