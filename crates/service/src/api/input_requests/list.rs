use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{InputCursor, Store};

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Query};
use crate::problem::Problem;
use crate::wire::InputRequestResponse;

/// Lists the pending and closed input requests of a chat, newest first.
#[operation(answers = "A page of input requests")]
pub(crate) async fn list_input_requests(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<PageQuery<InputCursor>>,
    _: Reserve<36>,
) -> Result<Page<InputRequestResponse>, Problem> {
    let (limit, after) = (query.limit, query.cursor.as_ref());
    let page = store.list_input_requests(&scope, &chat_id, limit, after).await?;
    Ok(Page::new(page.requests, page.next.as_ref()))
}
