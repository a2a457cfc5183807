use std::sync::Arc;

use axum::extract::State;
use persistence::Store;

use super::EntryResponse;
use crate::api::pages::{Page, PageQuery};
use crate::extract::{Json, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{Problem, WalletProblems};

/// Lists the entries of a wallet, newest first.
#[utoipa::path(
    get, path = "/api/wallets/{app_id}/{user_id}/entries", tag = "wallets",
    operation_id = "list_wallet_entries", params(AppPath, UserPath, PageQuery<u64>),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of entries", body = Page<EntryResponse>),
        WalletProblems,
    ),
)]
pub(crate) async fn list_wallet_entries(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id }: WalletScope,
    Query(query): Query<PageQuery<u64>>,
) -> Result<Json<Page<EntryResponse>>, Problem> {
    let page = store.list_wallet_entries(&scope, &user_id, query.limit, query.cursor).await?;
    Ok(Json(Page::new(page.entries, page.next.as_ref())))
}
