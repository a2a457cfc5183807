use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{Query, WalletScope};
use crate::problem::Problem;
use crate::wire::EntryResponse;

/// Lists the entries of a wallet, newest first.
#[operation(answers = "A page of entries", problems = [WALLET_NOT_FOUND])]
pub(crate) async fn list_wallet_entries(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id, .. }: WalletScope<Read>,
    Query(query): Query<PageQuery<u64>>,
) -> Result<Page<EntryResponse>, Problem> {
    let page = store.list_wallet_entries(&scope, &user_id, query.limit, query.cursor).await?;
    Ok(Page::new(page.entries, page.next.as_ref()))
}
