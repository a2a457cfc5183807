use std::collections::{BTreeSet, HashMap};

use axum::extract::State;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use operation::operation;
use persistence::{PendingCursor, PendingOrder, Store, StoreError};
use records::{ChatId, InputRequest, Permission, Scope};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Params, Query, declared, record_support_in};
use crate::joining;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::{InputRequestResponse, values};

/// How many chats of a page are read at once.
const READ_AT_ONCE: usize = 8;

/// The order and the page of pending input requests.
#[derive(Debug, IntoParams)]
pub(crate) struct PendingQuery {
    /// `newest` (default) or `oldest` first, by creation.
    #[param(inline, value_type = Option<RequestOrder>)]
    order: PendingOrder,
    /// Whether each request has the `permissions` of the caller in its chat.
    #[param(value_type = Option<bool>)]
    permissions: bool,
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
        let permissions = params.take("permissions")?.unwrap_or_default();
        Ok(Self { order: order.unwrap_or_default(), permissions, page })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<PendingCursor>::described()].concat()
    }
}

/// A pending input request, and what the caller may do with its chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PendingInputRequest)]
pub(crate) struct PendingResponse {
    #[serde(flatten)]
    request: InputRequestResponse,
    /// What the caller may do with the chat, as far as its status allows it; only with `permissions=true`.
    #[schema(value_type = Option<Vec<values::ChatPermission>>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Vec<&'static str>>,
}

/// Lists the pending input requests of all chats in the caller's list.
#[operation(answers = "A page of pending input requests")]
pub(crate) async fn list_pending_inputs(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Read>,
    Query(PendingQuery { order, permissions, page }): Query<PendingQuery>,
    _: Reserve<36>,
) -> Result<Page<PendingResponse>, Problem> {
    let (limit, after) = (page.limit, page.cursor.as_ref());
    let store = &*state.store;
    let page = store.list_pending_inputs(&scope, order, limit, after).await?;
    let permitted =
        if permissions { Some(permitted(store, &scope, &page.requests).await?) } else { None };
    let chats = page.requests.iter().map(|request| &request.chat_id);
    record_support_in(&state, &scope, chats).await?;
    let response = |request: InputRequest| {
        let permissions = match &permitted {
            None => None,
            // A chat that the caller may no longer read has no question for them.
            Some(chats) => {
                Some(chats.get(&request.chat_id)?.iter().map(|it| it.as_str()).collect())
            }
        };
        Some(PendingResponse { request: request.into(), permissions })
    };
    Ok(Page::new(page.requests.into_iter().filter_map(response), page.next.as_ref()))
}

/// Returns what the caller may do in the chats of requests. A chat that the caller may no longer read is missing.
async fn permitted(
    store: &dyn Store,
    scope: &Scope,
    requests: &[InputRequest],
) -> Result<HashMap<ChatId, Vec<Permission>>, StoreError> {
    let chats: BTreeSet<_> = requests.iter().map(|request| request.chat_id.clone()).collect();
    let read = chats.into_iter().map(|chat_id| async move {
        let Some(chat) = store.get_chat(scope, &chat_id).await? else { return Ok(None) };
        match joining::permissions(store, scope, &chat).await {
            Ok(permitted) if permitted.contains(&Permission::Read) => {
                Ok(Some((chat_id, permitted)))
            }
            // The caller's rights or the chat have changed since.
            Ok(_) | Err(StoreError::ChatNotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    });
    let read = stream::iter(read).buffer_unordered(READ_AT_ONCE);
    read.try_filter_map(|it| async { Ok(it) }).try_collect().await
}
