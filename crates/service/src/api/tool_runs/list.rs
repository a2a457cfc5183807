use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Began, Direction, Store, StoreError, ToolRunCursor, ToolRunFilter, ToolRunPage};
use records::{ChatId, Scope};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::stats::BeganQuery;
use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::ToolRunFields;

/// The runs to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListToolRunsQuery {
    /// Only runs of this tool.
    tool: Option<String>,
    /// Only runs that succeeded, or only those that failed.
    success: Option<bool>,
    #[param(ignore)]
    began: Began,
    #[param(ignore)]
    page: PageQuery<ToolRunCursor>,
}

impl FromParams for ListToolRunsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            tool: params.take("tool")?,
            success: params.take("success")?,
            began: BeganQuery::from_params(params, limits)?.into(),
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = declared::<Self>();
        parameters.extend(BeganQuery::described());
        parameters.extend(declared::<PageQuery<ToolRunCursor>>());
        parameters
    }
}

impl ListToolRunsQuery {
    /// Reads the page.
    pub(crate) async fn read(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ToolRunPage, StoreError> {
        let Self { tool, success, began, page } = self;
        let direction = Direction::Descending;
        let filter = ToolRunFilter { tool_name: tool, is_success: success, began, direction };
        store.list_tool_runs(scope, chat_id, &filter, page.limit, page.cursor.as_ref()).await
    }
}

/// The memory for a page, in MiB: one reply of the database, and four times the bytes at which a page ends.
pub(crate) const PAGE_MIB: usize = 16 + ((4 * ToolRunPage::BYTES) >> 20);

/// Lists the runs of the tools of a chat, newest first.
///
/// A page of large runs ends early, with a `next_cursor`.
#[operation(answers = "A page of runs of tools")]
pub(crate) async fn list_tool_runs(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListToolRunsQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Page<ToolRunFields>, Problem> {
    let page = query.read(&*store, &scope, &chat_id).await?;
    Ok(Page::new(page.runs, page.next.as_ref()))
}
