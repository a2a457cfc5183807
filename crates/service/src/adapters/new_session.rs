use persistence::StoreError;
use records::{
    Caller, ChatId, ChatSession, JsonObject, Lifecycle, NewChatSession, Permission, Scope, UserId,
    WorkflowName,
};

use super::workflow_name::workflow_name;
use crate::api::chat_sessions::create::own;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A session of another system to create unless it exists.
#[derive(Debug, Default)]
pub(super) struct NewSession {
    pub(super) chat_id: Option<ChatId>,
    pub(super) user_id: Option<UserId>,
    pub(super) title: Option<String>,
    pub(super) metadata: JsonObject,
    /// The workflow of the settings of the adapter, if they name one.
    pub(super) workflow_name: Option<WorkflowName>,
}

impl NewSession {
    /// Creates the session, or returns the one that has its id.
    pub(super) async fn ensure(
        self,
        state: &AppState,
        scope: &Scope,
    ) -> Result<ChatSession, Problem> {
        let scope = scope.needing(Permission::Create);
        let reading = scope.needing(Permission::Read);
        // A session that exists counts for no quota.
        if let Some(chat_id) = &self.chat_id
            && let Some(chat) = state.store.get_chat(&reading, chat_id).await?
        {
            return Ok(chat);
        }
        let new = self.into_new(state, &scope).await?;
        state.check_new_chat(&scope, new.chat_id.as_ref())?;
        match state.store.create_chat(&scope, new).await {
            Err(StoreError::ChatExists(chat_id)) => {
                match state.store.get_chat(&reading, &chat_id).await? {
                    Some(found) => Ok(found),
                    None => Err(taken(state, &scope, chat_id).await?),
                }
            }
            created => Ok(created?),
        }
    }

    async fn into_new(self, state: &AppState, scope: &Scope) -> Result<NewChatSession, Problem> {
        let settings = state.registry.check(&scope.app_id).await?;
        let (user_id, team_id) = match &scope.caller {
            Caller::Service | Caller::Support { .. } => (self.user_id, None),
            Caller::User { user_id, team_id, .. } => {
                (own("/userId", self.user_id.as_ref(), Some(user_id))?, team_id.clone())
            }
        };
        Ok(NewChatSession {
            chat_id: self.chat_id,
            user_id,
            team_id,
            visibility: settings.default_visibility,
            title: self.title,
            metadata: self.metadata,
            ..NewChatSession::of(workflow_name(self.workflow_name.as_ref(), "chat")?)
        })
    }
}

/// Creates the problem for an id that is taken, of a session that the caller does not find.
///
/// A caller that may restore the session is told that it is deleted. Every other caller is told only that it exists.
async fn taken(state: &AppState, scope: &Scope, chat_id: ChatId) -> Result<Problem, StoreError> {
    let managing = scope.needing(Permission::Manage).finding_deleted();
    let found = state.store.get_chat(&managing, &chat_id).await?;
    if found.is_none_or(|chat| chat.lifecycle != Lifecycle::Deleted) {
        return Ok(StoreError::ChatExists(chat_id).into());
    }
    let detail = format!(
        "session {chat_id} is deleted; restore it with a POST to {chat_id}/undelete, or use another id"
    );
    Ok(Problem::new(ProblemKind::CHAT_EXISTS, detail))
}

/// Returns the title of a session that begins with a message: its first 50 characters.
pub(super) fn title_of(message: &str) -> String {
    const CHARS: usize = 50;
    let message = message.trim();
    match message.char_indices().nth(CHARS) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_at_most_fifty_characters_of_the_message() {
        assert_eq!(title_of(" Hello "), "Hello");
        assert_eq!(title_of(&"ü".repeat(50)), "ü".repeat(50));
        assert_eq!(title_of(&"ü".repeat(51)), format!("{}…", "ü".repeat(50)));
    }
}
