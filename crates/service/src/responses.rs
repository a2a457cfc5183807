//! Responses of the API, for commands that print the same JSON.

use persistence::{Store, StoreError, UserStats, UserStatsPage};
use records::{App, AppId, ChatId, Erasure, Hold, UserId, WorkflowName};
use serde::Serialize;

use crate::api::apps::list_holds::HeldChat;
pub use crate::api::stats::shares::hours;
use crate::api::stats::workflow::WorkflowStatsResponse;
use crate::api::stats::workflows::AppStatsResponse;
use crate::api::user_stats::get::UserStatsResponse;
use crate::api::user_stats::list::ListUserStatsResponse;
use crate::extract::WorkflowScope;
use crate::receipts::ReceiptSigner;
use crate::wire::{AppResponse, ErasureResponse};

/// Returns an app as `GET /api/apps/{app_id}` does.
pub fn app(app: App) -> impl Serialize {
    AppResponse::from(app)
}

/// Returns a chat under hold as `GET /api/apps/{app_id}/holds` does.
pub fn held_chat(chat_id: ChatId, hold: Hold) -> impl Serialize {
    HeldChat::from((chat_id, hold))
}

/// Returns an erasure as `GET /api/apps/{app_id}/erasures/{pseudonym}` does.
pub fn erasure(erasure: Erasure, signer: &ReceiptSigner) -> impl Serialize {
    ErasureResponse::new(erasure, signer)
}

/// Returns the stats of an app as `GET /api/stats/{app_id}` does.
pub async fn app_stats(store: &dyn Store, app_id: AppId) -> Result<impl Serialize, StoreError> {
    AppStatsResponse::read(store, app_id).await
}

/// Returns the stats of a workflow as `GET /api/stats/{app_id}/{workflow_name}` does.
pub async fn workflow_stats(
    store: &dyn Store,
    app_id: AppId,
    workflow_name: WorkflowName,
) -> Result<impl Serialize, StoreError> {
    WorkflowStatsResponse::read(store, WorkflowScope { app_id, workflow_name }).await
}

/// Returns users as `GET /api/user-stats/{app_id}` does.
pub fn user_stats_page(page: UserStatsPage) -> impl Serialize {
    ListUserStatsResponse::from(page)
}

/// Returns the usage of a user as `GET /api/user-stats/{app_id}/{user_id}` does.
pub fn user_stats(app_id: AppId, user_id: UserId, stats: UserStats) -> impl Serialize {
    UserStatsResponse::new(app_id, user_id, stats)
}
