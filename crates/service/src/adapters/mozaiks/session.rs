use persistence::{ChatFilter, ListCursor, Store};
use records::{Artifact, ChatSession, ChatStatus, Permission, Scope, UserId, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use super::general_chat::general_workflow;
use crate::api::chat_sessions::list::refused;
use crate::extract::check_acts_for;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::{ArtifactFields, Time};

/// The statuses of a run that has not ended.
pub(super) const IN_PROGRESS: [ChatStatus; 2] = [ChatStatus::Running, ChatStatus::Paused];

/// How many chats are read at a time.
const READ_AT_ONCE: usize = 100;

/// A run of a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowSession)]
pub(super) struct SessionItem {
    #[schema(example = "chat_abc123")]
    chat_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    created_at: Time,
    last_updated_at: Time,
}

impl From<ChatSession> for SessionItem {
    fn from(chat: ChatSession) -> Self {
        Self {
            chat_id: chat.chat_id.into(),
            workflow_name: chat.workflow_name.into(),
            created_at: chat.created_at.into(),
            last_updated_at: chat.last_updated_at.into(),
        }
    }
}

/// The run that was asked for, if there is one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FoundSession)]
pub(crate) struct FoundSessionResponse {
    found: bool,
    #[schema(example = "chat_abc123")]
    chat_id: Option<String>,
    #[schema(example = "Generator")]
    workflow_name: Option<String>,
    created_at: Option<Time>,
    last_updated_at: Option<Time>,
    last_artifact: Option<ArtifactFields>,
}

impl FoundSessionResponse {
    /// Finds the first run of a user in the order of a list, with its artifact.
    pub(super) async fn first(
        state: &AppState,
        scope: &Scope,
        user_id: UserId,
        list: ChatFilter,
    ) -> Result<Self, Problem> {
        let store = &*state.store;
        let sessions = Sessions { user_id, general: general_workflow(state)? };
        let chat = sessions.list(store, scope, list, 1).await?.pop();
        let artifact = match &chat {
            Some(chat) => {
                let scope = scope.needing(Permission::Read);
                store.get_last_artifact(&scope, &chat.chat_id).await?
            }
            None => None,
        };
        Ok(Self::new(chat, artifact))
    }

    fn new(chat: Option<ChatSession>, artifact: Option<Artifact>) -> Self {
        let item = chat.map(SessionItem::from);
        let times = item.as_ref().map(|item| (item.created_at, item.last_updated_at));
        let (chat_id, workflow_name) = item.map(|item| (item.chat_id, item.workflow_name)).unzip();
        Self {
            found: chat_id.is_some(),
            chat_id,
            workflow_name,
            created_at: times.map(|times| times.0),
            last_updated_at: times.map(|times| times.1),
            last_artifact: artifact.map(Into::into),
        }
    }
}

/// The runs of a user that have not ended.
pub(super) struct Sessions {
    /// The user, whose own runs these are.
    pub(super) user_id: UserId,
    /// The workflow of general chats, which are no runs.
    pub(super) general: WorkflowName,
}

impl Sessions {
    /// Lists the runs in the order of a list, at most so many.
    pub(super) async fn list(
        &self,
        store: &dyn Store,
        scope: &Scope,
        list: ChatFilter,
        most: usize,
    ) -> Result<Vec<ChatSession>, Problem> {
        check_acts_for(&scope.caller, &self.user_id, OWN)?;
        let list = ChatFilter {
            user_id: Some(self.user_id.clone()),
            statuses: IN_PROGRESS.to_vec(),
            ..list
        };
        let (mut found, mut after): (Vec<_>, Option<ListCursor>) = (Vec::new(), None);
        loop {
            let page = store.list_chats(scope, &list, READ_AT_ONCE, after.as_ref()).await;
            let page = page.map_err(refused)?;
            found.extend(page.chats.into_iter().filter(|it| it.workflow_name != self.general));
            after = page.next;
            if found.len() >= most || after.is_none() {
                found.truncate(most);
                return Ok(found);
            }
        }
    }
}

/// What is said to a person who names another one.
pub(super) const OWN: &str = "the user_id in the path must be the user of the token";
