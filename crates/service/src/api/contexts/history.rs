use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::{ChatId, ContextVersion};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::Time;

/// The page of versions to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContextHistoryQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<u64>,
}

impl FromParams for ContextHistoryQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        Ok(Self { limit, cursor: params.take_in("cursor", 0..=i64::MAX.unsigned_abs())? })
    }
}

/// A page of the versions of the context snapshot, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ContextHistoryResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    versions: Vec<ContextVersionFields>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// A version of the context snapshot, without its variables.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ContextVersion)]
pub(crate) struct ContextVersionFields {
    /// The number of the version, from 1.
    #[schema(example = 3)]
    version: u64,
    /// The chat's counter when the snapshot was written: it reflects the messages below this sequence.
    #[schema(example = 15)]
    sequence: u64,
    created_at: Time,
    /// The size of the variables, in bytes.
    #[schema(example = 64)]
    bytes: u64,
}

impl From<ContextVersion> for ContextVersionFields {
    fn from(version: ContextVersion) -> Self {
        let ContextVersion { version, sequence, created_at, bytes } = version;
        Self { version, sequence, created_at: created_at.into(), bytes }
    }
}

/// Lists the retained versions of the context snapshot, newest first, the current one included.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/context/history", tag = "context snapshot",
    operation_id = "list_context_versions", params(ChatPath, ContextHistoryQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of versions", body = ContextHistoryResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_context_versions(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ContextHistoryQuery>,
) -> Result<Json<ContextHistoryResponse>, Problem> {
    let page = store.list_context_versions(&scope, &chat_id, query.limit, query.cursor).await?;
    Ok(Json(response(chat_id, page.versions, page.next)))
}

fn response(
    chat_id: ChatId,
    versions: Vec<ContextVersion>,
    next: Option<u64>,
) -> ContextHistoryResponse {
    ContextHistoryResponse {
        chat_id: chat_id.into(),
        versions: versions.into_iter().map(Into::into).collect(),
        next_cursor: next.map(|version| version.to_string()),
    }
}
