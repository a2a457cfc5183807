use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::ContextVersion;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Query};
use crate::problem::Problem;
use crate::wire::Time;

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
#[operation(answers = "A page of versions")]
pub(crate) async fn list_context_versions(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<PageQuery<u64>>,
) -> Result<Page<ContextVersionFields>, Problem> {
    let page = store.list_context_versions(&scope, &chat_id, query.limit, query.cursor).await?;
    Ok(Page::new(page.versions, page.next.as_ref()))
}
