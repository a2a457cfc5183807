use super::AssistantContent;
use crate::json::JsonObject;
use crate::{FieldChange, TeamId, UserId, Visibility};

/// A change of an assistant. A field that is `None` or kept stays as it is.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "the fields are those of the content")]
pub struct AssistantChange {
    /// The owner.
    pub user_id: FieldChange<UserId>,
    pub name: Option<String>,
    pub kind: Option<String>,
    pub avatar: FieldChange<String>,
    pub description: FieldChange<String>,
    pub connector: FieldChange<String>,
    pub modes: Option<Vec<String>>,
    pub default_mode: FieldChange<String>,
    pub tags: Option<Vec<String>>,
    pub sort: Option<i32>,
    pub mentionable: Option<bool>,
    pub automated: Option<bool>,
    pub built_in: Option<bool>,
    pub visibility: Option<Visibility>,
    pub team_id: FieldChange<TeamId>,
    pub locales: Option<JsonObject>,
    pub config: Option<JsonObject>,
}

impl AssistantChange {
    /// Returns the content after the change.
    #[must_use]
    pub fn apply(self, to: AssistantContent) -> AssistantContent {
        AssistantContent {
            name: self.name.unwrap_or(to.name),
            kind: self.kind.unwrap_or(to.kind),
            avatar: self.avatar.applied_to(to.avatar),
            description: self.description.applied_to(to.description),
            connector: self.connector.applied_to(to.connector),
            modes: self.modes.unwrap_or(to.modes),
            default_mode: self.default_mode.applied_to(to.default_mode),
            tags: self.tags.unwrap_or(to.tags),
            sort: self.sort.unwrap_or(to.sort),
            mentionable: self.mentionable.unwrap_or(to.mentionable),
            automated: self.automated.unwrap_or(to.automated),
            built_in: self.built_in.unwrap_or(to.built_in),
            visibility: self.visibility.unwrap_or(to.visibility),
            team_id: self.team_id.applied_to(to.team_id),
            locales: self.locales.unwrap_or(to.locales),
            config: self.config.unwrap_or(to.config),
        }
    }
}
