use axum::extract::State;
use futures::try_join;
use operation::operation;
use persistence::{ChatCount, ChatFilter, Store};
use records::{Scope, UserId, WorkflowName};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::general_chat::{GeneralChatItem, general_workflow};
use super::session::OWN;
use crate::adapters::ForeignQuery;
use crate::api::chat_sessions::list::refused;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, Path, check_acts_for, declared};
use crate::problem::Problem;
use crate::state::AppState;

/// The general chats to list.
#[derive(Debug, IntoParams)]
pub(crate) struct ListGeneralChatsQuery {
    /// The most chats, 50 by default; taken for 1 if it is less, and for 200 if it is more.
    #[param(value_type = Option<i64>)]
    limit: usize,
}

impl FromParams for ListGeneralChatsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { limit: clamped(params, "limit", 50, 200)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Takes a number that is clamped to a range from 1.
pub(super) fn clamped(
    params: &mut Params,
    name: &str,
    default: usize,
    most: usize,
) -> Result<usize, Problem> {
    let number: Option<i64> =
        params.take_with(name, |text| text.parse::<i64>().map_err(|_| "must be an integer"))?;
    Ok(number.map_or(default, |number| usize::try_from(number).unwrap_or(1).clamp(1, most)))
}

/// The general chats of a user.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GeneralChats)]
pub(crate) struct ListGeneralChatsResponse {
    sessions: Vec<GeneralChatItem>,
    /// The number of these chats.
    count: usize,
}

/// Lists the general chats of a user, the newest first.
#[operation(answers = "The chats", problems = [FORBIDDEN_OWNER])]
pub(crate) async fn list_general_chats(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Read>,
    Path(user_id): Path<UserId>,
    ForeignQuery(query): ForeignQuery<ListGeneralChatsQuery>,
) -> Result<Json<ListGeneralChatsResponse>, Problem> {
    check_acts_for(&scope.caller, &user_id, OWN)?;
    let list = general_chats(user_id, general_workflow(&state)?);
    let chats = async {
        let page = state.store.list_chats(&scope, &list, query.limit, None).await;
        Ok(page.map_err(refused)?.chats)
    };
    let (chats, total) = try_join!(chats, count(&*state.store, &scope, &list))?;
    let sessions: Vec<_> = (0..)
        .zip(chats)
        .map(|(newer, chat)| GeneralChatItem::new(chat, total.saturating_sub(newer).max(1)))
        .collect();
    Ok(Json(ListGeneralChatsResponse { count: sessions.len(), sessions }))
}

/// Returns the list of the general chats of a user.
pub(super) fn general_chats(user_id: UserId, workflow_name: WorkflowName) -> ChatFilter {
    let (user_id, workflow_name) = (Some(user_id), Some(workflow_name));
    ChatFilter { user_id, workflow_name, ..ChatFilter::default() }
}

/// Counts the chats of a list, up to the bound of the store.
pub(super) async fn count(
    store: &dyn Store,
    scope: &Scope,
    list: &ChatFilter,
) -> Result<usize, Problem> {
    match store.count_chats(scope, list).await.map_err(refused)? {
        ChatCount::Exactly(count) | ChatCount::AtLeast(count) => Ok(count),
    }
}
