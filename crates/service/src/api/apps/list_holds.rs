use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{AuditAction, ChatId, Hold};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::{Page, PageQuery};
use crate::extract::{OperatedApp, Query};
use crate::problem::Problem;
use crate::wire::{Time, values};

/// A chat under hold.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HeldChat {
    /// The chat.
    #[schema(value_type = values::ChatId)]
    chat_id: ChatId,
    /// Why, for operators.
    #[schema(example = "dispute 7")]
    reason: String,
    /// When the hold began, or when its reason was changed.
    since: Time,
}

impl From<(ChatId, Hold)> for HeldChat {
    fn from((chat_id, hold): (ChatId, Hold)) -> Self {
        Self { chat_id, reason: hold.reason, since: hold.since.into() }
    }
}

/// Lists the chats of an app that are under hold, also deleted ones, by id.
#[operation(answers = "A page of chats under hold")]
pub(crate) async fn list_holds(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(query): Query<PageQuery<ChatId>>,
) -> Result<Page<HeldChat>, Problem> {
    let page = store.list_holds(&app_id, query.limit, query.cursor.as_ref()).await?;
    store.record_registry_read(&actor, Some(&app_id), AuditAction::ListHolds).await?;
    Ok(Page::new(page.holds, page.next.as_ref()))
}
