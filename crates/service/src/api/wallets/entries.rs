use std::sync::Arc;

use axum::extract::State;
use persistence::{EntryPage, Store};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::EntryResponse;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Params, Query, WalletScope};
use crate::openapi::{AppPath, UserPath};
use crate::problem::{Problem, WalletProblems};

/// The page of entries to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListEntriesQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<u64>,
}

impl FromParams for ListEntriesQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        Ok(Self { limit, cursor: params.take_in("cursor", 0..=i64::MAX.unsigned_abs())? })
    }
}

/// A page of entries, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListEntriesResponse {
    entries: Vec<EntryResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl From<EntryPage> for ListEntriesResponse {
    fn from(page: EntryPage) -> Self {
        Self {
            entries: page.entries.into_iter().map(Into::into).collect(),
            next_cursor: page.next.map(|sequence| sequence.to_string()),
        }
    }
}

/// Lists the entries of a wallet, newest first.
#[utoipa::path(
    get, path = "/api/wallets/{app_id}/{user_id}/entries", tag = "wallets",
    operation_id = "list_wallet_entries", params(AppPath, UserPath, ListEntriesQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of entries", body = ListEntriesResponse),
        WalletProblems,
    ),
)]
pub(crate) async fn list_wallet_entries(
    State(store): State<Arc<dyn Store>>,
    WalletScope { scope, user_id }: WalletScope,
    Query(query): Query<ListEntriesQuery>,
) -> Result<Json<ListEntriesResponse>, Problem> {
    let page = store.list_wallet_entries(&scope, &user_id, query.limit, query.cursor).await?;
    Ok(Json(page.into()))
}
