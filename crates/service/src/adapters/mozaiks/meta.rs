use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Artifact, ChatSession, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path};
use crate::problem::Problem;
use crate::wire::ArtifactFields;

/// What a client needs to restore a chat, if it exists.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowChatMeta)]
pub(crate) struct WorkflowChatMetaResponse {
    exists: bool,
    /// The fields of a chat that exists.
    #[serde(flatten)]
    #[schema(inline)]
    chat: Option<MetaFields>,
}

/// The chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowChatMetaFields)]
struct MetaFields {
    #[schema(example = "chat_abc123")]
    chat_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    app_id: String,
    /// Always false: workflows are run elsewhere.
    has_children: bool,
    #[schema(example = 2_847_561_923_u32)]
    cache_seed: u32,
    /// 1 running, 2 paused, 3 completed, 4 failed.
    status: i32,
    /// The number of messages that were ever stored.
    last_sequence: u64,
    last_artifact: Option<ArtifactFields>,
    /// Always null: there is one artifact, the last.
    artifact_instance_id: Option<String>,
    /// Always null.
    artifact_state: Option<String>,
}

impl MetaFields {
    fn new(chat: ChatSession, artifact: Option<Artifact>) -> Self {
        Self {
            chat_id: chat.chat_id.into(),
            workflow_name: chat.workflow_name.into(),
            app_id: chat.app_id.into(),
            has_children: false,
            cache_seed: chat.cache_seed,
            status: chat.status.number(),
            last_sequence: chat.last_sequence,
            last_artifact: artifact.map(Into::into),
            artifact_instance_id: None,
            artifact_state: None,
        }
    }
}

/// Returns what a client needs to restore a chat: its seed, status and last artifact. A chat that does not exist is no error.
#[operation(answers = "The chat, if it exists")]
pub(crate) async fn workflow_chat_meta(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(workflow_name): Path<WorkflowName>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<12>,
) -> Result<Json<WorkflowChatMetaResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id).await?;
    let chat = match chat.filter(|chat| chat.workflow_name == workflow_name) {
        Some(chat) => {
            let artifact = store.get_last_artifact(&scope, &chat_id).await?;
            Some(MetaFields::new(chat, artifact))
        }
        None => None,
    };
    Ok(Json(WorkflowChatMetaResponse { exists: chat.is_some(), chat }))
}
