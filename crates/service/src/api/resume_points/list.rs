use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ResumePointCursor, ResumePointFilter, Store};
use records::{StackId, TurnId};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Params, Query, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ResumePointResponse;

/// The filter and the page of resume points to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListResumePointsQuery {
    /// Only resume points of this turn.
    #[param(value_type = Option<values::Name>)]
    request_id: Option<TurnId>,
    /// Only resume points of this call in a call stack.
    #[param(value_type = Option<values::Name>)]
    stack_id: Option<StackId>,
    #[param(ignore)]
    page: PageQuery<ResumePointCursor>,
}

impl FromParams for ListResumePointsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            request_id: params.take("request_id")?,
            stack_id: params.take("stack_id")?,
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<ResumePointCursor>::described()].concat()
    }
}

/// Lists the resume points of a chat, the latest first.
#[operation(answers = "A page of resume points")]
pub(crate) async fn list_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListResumePointsQuery>,
    _: Reserve<16>,
) -> Result<Page<ResumePointResponse>, Problem> {
    let ListResumePointsQuery { request_id, stack_id, page } = query;
    let filter = ResumePointFilter { request_id, stack_id };
    let found =
        store.list_resume_points(&scope, &chat_id, &filter, page.limit, page.cursor).await?;
    Ok(Page::new(found.points, found.next.as_ref()))
}
