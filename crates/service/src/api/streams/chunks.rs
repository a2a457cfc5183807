use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{StreamGroup, StreamId};
use serde::Serialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Path, Query, declared};
use crate::openapi::values;
use crate::problem::Problem;

/// The memory for a page, in MiB: a page of 1 MiB, or one group of as much, as text and as JSON values.
const PAGE_MIB: usize = 8;

/// Where to begin.
#[derive(Debug, IntoParams)]
pub(crate) struct ChunksQuery {
    /// The number of the last write that the caller has; none for all.
    #[param(minimum = 0, example = 3)]
    after: Option<u64>,
}

impl FromParams for ChunksQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { after: params.take_in("after", 0..=i64::MAX.unsigned_abs())? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A page of the writes of a stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamGroups)]
pub(crate) struct GroupsResponse {
    #[schema(example = "stream_0198d4b2")]
    stream_id: String,
    /// Oldest first, about 1 MiB; empty at the end.
    groups: Vec<GroupResponse>,
}

/// A write of a stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StreamGroup)]
struct GroupResponse {
    /// The number of the write, from 0.
    #[schema(example = 4)]
    group: u64,
    /// What it did: `started`, `chunks`, `continued` and `restarted` by the next holder of the lease, `cancel_requested`, or `ended`.
    #[schema(example = "chunks")]
    event: &'static str,
    /// See the stream.
    #[schema(example = 1)]
    attempt: u32,
    /// The position of its first chunk.
    #[schema(example = 12)]
    from: u64,
    #[schema(value_type = Vec<values::Content>)]
    chunks: Vec<Value>,
}

impl From<StreamGroup> for GroupResponse {
    fn from(group: StreamGroup) -> Self {
        // They were written as JSON.
        let chunks = group.chunks().iter().filter_map(|text| serde_json::from_str(text).ok());
        Self {
            group: group.mark.number,
            event: group.event.as_str(),
            attempt: group.mark.attempt,
            from: group.from(),
            chunks: chunks.collect(),
        }
    }
}

/// Lists the writes of a stream: what the next holder of the lease needs to continue it.
#[operation(answers = "A page of writes", problems = [STREAM_NOT_FOUND])]
pub(crate) async fn list_chunks(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(stream_id): Path<StreamId>,
    Query(ChunksQuery { after }): Query<ChunksQuery>,
    _memory: Reserve<PAGE_MIB>,
) -> Result<Json<GroupsResponse>, Problem> {
    let groups = store.stream_groups(&scope, &chat_id, &stream_id, after).await?;
    let groups = groups.into_iter().map(Into::into).collect();
    Ok(Json(GroupsResponse { stream_id: stream_id.into(), groups }))
}
