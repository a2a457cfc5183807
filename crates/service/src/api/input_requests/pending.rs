use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{PendingCursor, PendingOrder, Store};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::InputRequestResponse;

/// The order and the page of pending input requests.
#[derive(Debug, IntoParams)]
pub(crate) struct PendingQuery {
    /// `newest` (default) or `oldest` first, by creation.
    #[param(inline, value_type = Option<RequestOrder>)]
    order: PendingOrder,
    #[param(ignore)]
    page: PageQuery<PendingCursor>,
}

/// Which request comes first.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the parameter")]
enum RequestOrder {
    Newest,
    Oldest,
}

impl FromParams for PendingQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let order = params.take_with("order", |word| match word {
            "newest" => Ok(PendingOrder::Newest),
            "oldest" => Ok(PendingOrder::Oldest),
            _ => Err("must be newest or oldest"),
        })?;
        let page = PageQuery::from_params(params, limits)?;
        Ok(Self { order: order.unwrap_or_default(), page })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<PendingCursor>::described()].concat()
    }
}

/// Lists the pending input requests of all chats in the caller's list.
#[operation(answers = "A page of pending input requests")]
pub(crate) async fn list_pending_inputs(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Query(PendingQuery { order, page }): Query<PendingQuery>,
    _: Reserve<36>,
) -> Result<Page<InputRequestResponse>, Problem> {
    let (limit, after) = (page.limit, page.cursor.as_ref());
    let page = store.list_pending_inputs(&scope, order, limit, after).await?;
    Ok(Page::new(page.requests, page.next.as_ref()))
}
