use std::sync::Arc;

use axum::extract::State;
use futures::future::try_join_all;
use futures::try_join;
use operation::operation;
use persistence::{Store, StoreError};
use records::{Artifact, ChatSession, InputRequest, JsonObject};
use serde::Serialize;
use utoipa::ToSchema;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{ArtifactFields, HolderFields, InputRequestResponse, Time};
use crate::wire::{ForkOriginFields, LastTurnFields};

/// Everything that a client needs to join a running chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatMeta)]
pub(crate) struct MetaResponse {
    #[schema(example = "chat_abc123")]
    chat_id: String,
    app_id: String,
    #[schema(example = "Generator")]
    workflow_name: String,
    user_id: Option<String>,
    team_id: Option<String>,
    /// `app`, `team` or `private`.
    #[schema(value_type = values::Visibility)]
    visibility: &'static str,
    #[schema(value_type = u64, maximum = 4_294_967_295_u32, example = 2_847_561_923_u32)]
    cache_seed: u32,
    /// 1 running, 2 paused, 3 completed, 4 failed.
    #[schema(minimum = 1, maximum = 4, example = 1)]
    status: i32,
    /// The same status as a word.
    #[schema(value_type = values::ChatStatus)]
    status_name: &'static str,
    status_reason: Option<String>,
    title: Option<String>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
    last_updated_at: Time,
    completed_at: Option<Time>,
    duration_sec: f64,
    /// The sequence of the next message.
    last_sequence: u64,
    /// The pending input requests, oldest first.
    pending_inputs: Vec<InputRequestResponse>,
    /// The holder of the lease; null if no worker holds it.
    lease: Option<HolderFields>,
    /// When the last message was appended.
    last_message_at: Option<Time>,
    /// The model connector of the last turn or message that names one.
    last_connector: Option<String>,
    /// The mode of the last turn or message that names one.
    last_mode: Option<String>,
    /// The last turn.
    last_turn: Option<LastTurnFields>,
    last_artifact: Option<ArtifactFields>,
    /// The source of a fork; null for other chats.
    forked_from: Option<ForkOriginFields>,
    /// The assistant that the chat talks to.
    assistant_id: Option<String>,
    /// The place of the chat in lists that are sorted by it.
    #[schema(example = 0)]
    sort: i32,
    /// The instructions for the model, which callers put before the messages.
    system_prompt: Option<String>,
    /// `active`, `archived` or `deleted`.
    #[schema(value_type = values::Lifecycle)]
    lifecycle: &'static str,
    /// When the chat was archived or deleted; null if it is active.
    lifecycle_at: Option<Time>,
    /// Grows with every change of the chat session itself, such as of its title; the value for `If-Match`.
    #[schema(example = 0)]
    session_version: u64,
    /// The user who made the last such change; null if a service did.
    updated_by: Option<String>,
}

impl MetaResponse {
    fn new(chat: ChatSession, artifact: Option<Artifact>, pending: Vec<InputRequest>) -> Self {
        Self {
            chat_id: chat.chat_id.into(),
            app_id: chat.app_id.into(),
            workflow_name: chat.workflow_name.into(),
            user_id: chat.user_id.map(Into::into),
            team_id: chat.team_id.map(Into::into),
            visibility: chat.visibility.as_str(),
            cache_seed: chat.cache_seed,
            status: chat.status.number(),
            status_name: chat.status.as_str(),
            status_reason: chat.status_reason,
            title: chat.title,
            metadata: chat.metadata,
            created_at: chat.created_at.into(),
            last_updated_at: chat.last_updated_at.into(),
            completed_at: chat.completed_at.map(Into::into),
            duration_sec: chat.duration_sec,
            last_sequence: chat.last_sequence,
            pending_inputs: pending.into_iter().map(Into::into).collect(),
            lease: chat.lease.map(Into::into),
            last_message_at: chat.last_message_at.map(Into::into),
            last_connector: chat.last_connector,
            last_mode: chat.last_mode,
            last_turn: chat.last_turn.map(Into::into),
            last_artifact: artifact.map(Into::into),
            forked_from: chat.forked_from.map(Into::into),
            assistant_id: chat.assistant_id.map(Into::into),
            sort: chat.sort,
            system_prompt: chat.system_prompt,
            lifecycle: chat.lifecycle.as_str(),
            lifecycle_at: chat.lifecycle_at.map(Into::into),
            session_version: chat.session_version,
            updated_by: chat.updated_by.map(Into::into),
        }
    }
}

/// Returns what a client needs to join a chat: its seed, status, pending input requests and last artifact.
#[operation(answers = "The metadata of the chat")]
pub(crate) async fn get_chat_meta(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Json<MetaResponse>, Problem> {
    let chat = store.get_chat(&scope, &chat_id);
    let artifact = store.get_last_artifact(&scope, &chat_id);
    let (chat, artifact) = try_join!(chat, artifact)?;
    let chat = chat.ok_or(StoreError::ChatNotFound(chat_id))?;
    let pending = chat.pending_inputs.iter();
    let pending =
        pending.map(|request_id| store.get_input_request(&scope, &chat.chat_id, request_id));
    let pending = try_join_all(pending).await?;
    Ok(Json(MetaResponse::new(chat, artifact, pending)))
}
