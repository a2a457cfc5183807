use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ParticipantCursor, Store};

use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Query};
use crate::problem::Problem;
use crate::wire::ParticipantResponse;

/// Lists the participants of a chat, oldest first.
#[operation(answers = "A page of participants")]
pub(crate) async fn list_participants(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<PageQuery<ParticipantCursor>>,
) -> Result<Page<ParticipantResponse>, Problem> {
    let after = query.cursor.as_ref();
    let page = store.list_participants(&scope, &chat_id, query.limit, after).await?;
    Ok(Page::new(page.participants, page.next.as_ref()))
}
