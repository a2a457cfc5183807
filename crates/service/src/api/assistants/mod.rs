//! The assistants of an app.

pub(crate) mod delete;
pub(crate) mod delete_several;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod put;
pub(crate) mod tags;
pub(crate) mod update;

use records::{Assistant, Caller, FieldChange, TeamId, UserId};

use crate::api::chat_sessions::create::own;
use crate::extract::{Json, Tagged};
use crate::problem::Problem;
use crate::wire::AssistantResponse;

/// Responds with an assistant.
fn tagged(assistant: Assistant) -> Tagged<Json<AssistantResponse>> {
    Tagged { tag: Some(assistant.entity_tag()), response: Json(assistant.into()) }
}

/// Refuses another owner or another team than those of a person, and makes them the owner of what they write.
pub(crate) fn owned_by(
    caller: &Caller,
    user_id: FieldChange<UserId>,
    team_id: Option<&TeamId>,
) -> Result<FieldChange<UserId>, Problem> {
    let Caller::User { user_id: person, team_id: team, .. } = caller else { return Ok(user_id) };
    own("/team_id", team_id, team.as_ref())?;
    own("/user_id", user_id.value(), Some(person))?;
    Ok(FieldChange::Set(person.clone()))
}
