use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, Written};
use records::{
    AssistantContent, Caller, FieldChange, JsonObject, NewAssistant, TeamId, UserId, Visibility,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::owned_by;
use crate::api::created::Created;
use crate::extract::conditions::Seen;
use crate::extract::needs::Manage;
use crate::extract::{AssistantScope, Json, Keyed, Query, Tagged, given};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::AssistantResponse;

/// An assistant to store. What is missing gets its default, except for the owner.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAssistant, example = json!({
    "name": "Weather Assistant",
    "description": "Get weather information for any location",
    "tags": ["weather"],
    "connector": "deepseek.v3",
    "visibility": "app",
    "locales": {"de": {"name": "Wetter"}},
    "config": {"temperature": 0.5}
}))]
pub(crate) struct PutAssistantRequest {
    /// The owner: a user may name only themselves, and is the owner of what they put. Of a service's assistant the owner stays
    /// if it is missing; null makes it the app's.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Name>)]
    user_id: FieldChange<UserId>,
    /// 1 to 512 characters.
    #[schema(min_length = 1, max_length = 512)]
    name: String,
    /// `assistant` by default.
    #[serde(rename = "type")]
    #[schema(value_type = Option<values::Name>)]
    kind: Option<String>,
    /// The address or the data of a picture, at most 64 KiB.
    avatar: Option<String>,
    /// At most 64 KiB.
    description: Option<String>,
    #[schema(value_type = Option<values::Name>)]
    connector: Option<String>,
    /// At most 64; none means every mode.
    #[serde(default)]
    #[schema(value_type = Vec<values::Name>, max_items = 64, required = false)]
    modes: Vec<String>,
    #[schema(value_type = Option<values::Name>)]
    default_mode: Option<String>,
    /// At most 64.
    #[serde(default)]
    #[schema(value_type = Vec<values::Name>, max_items = 64, required = false)]
    tags: Vec<String>,
    #[serde(default)]
    sort: i32,
    #[serde(default)]
    mentionable: bool,
    #[serde(default)]
    automated: bool,
    #[serde(default)]
    built_in: bool,
    /// Who may find and read the assistant, besides its owner; `private` by default. `team` needs a `team_id`.
    #[serde(default)]
    #[schema(value_type = values::Visibility, required = false)]
    visibility: Visibility,
    /// A user may name only their own team.
    #[schema(value_type = Option<values::Name>)]
    team_id: Option<TeamId>,
    /// An object of texts for each language tag, at most 64 KiB.
    #[serde(default)]
    #[schema(value_type = Object, required = false)]
    locales: JsonObject,
    /// Any settings, at most 256 KiB.
    #[serde(default)]
    #[schema(value_type = Object, required = false)]
    config: JsonObject,
}

impl Keyed for PutAssistantRequest {}

impl PutAssistantRequest {
    fn on_behalf_of(self, caller: &Caller) -> Result<NewAssistant, Problem> {
        let user_id = owned_by(caller, self.user_id, self.team_id.as_ref())?;
        let kind = self.kind.unwrap_or_else(|| AssistantContent::DEFAULT_KIND.to_owned());
        let content = AssistantContent {
            name: self.name,
            kind,
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
        Ok(NewAssistant { user_id, content })
    }
}

/// Stores an assistant in place of the one that has the id, if there is one.
///
/// Idempotent: an assistant that is like this already stays as it is. With `If-Match` it is refused if another change came
/// between, or if there is no such assistant.
#[operation(
    answers = "The new assistant",
    repeated = "The assistant that existed, as it is now",
    problems = [FORBIDDEN_OWNER, ASSISTANT_TAKEN, ASSISTANT_TOO_LARGE, UPGRADE_PENDING],
)]
pub(crate) async fn put_assistant(
    State(store): State<Arc<dyn Store>>,
    AssistantScope { scope, id: assistant_id, .. }: AssistantScope<Manage, Seen>,
    Query(()): Query<()>,
    Json(request): Json<PutAssistantRequest>,
) -> Result<Tagged<Created<AssistantResponse>>, Problem> {
    let new = request.on_behalf_of(&scope.caller)?;
    let Written { record, outcome } = store.put_assistant(&scope, &assistant_id, new).await?;
    let tag = Some(record.entity_tag());
    Ok(Tagged { tag, response: Created::new(record, outcome) })
}
