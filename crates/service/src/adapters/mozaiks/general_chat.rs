use records::{ChatSession, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::workflow_name::workflow_name;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::Time;

/// A conversation without a workflow.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GeneralChat)]
pub(super) struct GeneralChatItem {
    #[schema(example = "chat_abc123")]
    chat_id: String,
    /// The title; `General Chat #n` if the chat has none.
    #[schema(example = "General Chat #1")]
    label: String,
    /// The number of the chat among those of the user, from 1.
    #[schema(example = 1)]
    sequence: usize,
    /// 1 running, 2 paused, 3 completed, 4 failed.
    #[schema(example = 1)]
    status: i32,
    created_at: Time,
    last_updated_at: Time,
    /// The number of messages that were ever stored.
    last_sequence: u64,
}

impl GeneralChatItem {
    pub(super) fn new(chat: ChatSession, sequence: usize) -> Self {
        Self {
            chat_id: chat.chat_id.into(),
            label: chat.title.unwrap_or_else(|| format!("General Chat #{sequence}")),
            sequence,
            status: chat.status.number(),
            created_at: chat.created_at.into(),
            last_updated_at: chat.last_updated_at.into(),
            last_sequence: chat.last_sequence,
        }
    }
}

/// Returns the workflow of the chats that are general chats.
pub(super) fn general_workflow(state: &AppState) -> Result<WorkflowName, Problem> {
    workflow_name(state.adapters.mozaiks.general_workflow_name.as_ref(), "general")
}
