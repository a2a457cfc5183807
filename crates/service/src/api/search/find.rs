use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Hit, HitPage, HitPosition, MessageSearch};
use records::{ChatId, SearchQuery, UserId, WorkflowName};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::admission::Reserve;
use crate::api::chat_sessions::list::refused;
use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, Query, declared, record_support_in};
use crate::problem::{Problem, ProblemKind};
use crate::search_index::SearchIndex;
use crate::state::AppState;
use crate::wire::{Time, values};

/// What to search for, where, and the page of hits to return.
#[derive(Debug, IntoParams)]
pub(crate) struct SearchParams {
    /// The words that a message must have, in any case, at most eight. With `*` at the end, the last one is the beginning of
    /// a word.
    #[param(value_type = String, max_length = 256, example = "invoice jun*")]
    q: SearchQuery,
    /// Only messages of this chat, in which the caller must be able to read.
    #[param(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// Only chats of this workflow.
    #[param(value_type = Option<values::Name>)]
    workflow_name: Option<WorkflowName>,
    /// Only chats of this user.
    #[param(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// `mine` (default): the chats of the caller's list. `app`: the chats that every user of the app finds.
    #[param(inline, value_type = Option<SearchScope>)]
    scope: SearchScope,
    #[param(ignore)]
    page: PageQuery<HitPosition>,
}

/// Which chats are searched.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
enum SearchScope {
    Mine,
    App,
}

impl FromParams for SearchParams {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let parse = |text: &str| SearchQuery::parse(text).map_err(|invalid| invalid.detail);
        let missing = || Problem::invalid_parameter("q", "is missing: the words to search for");
        let scope = params.take_with("scope", |word| match word {
            "mine" => Ok(SearchScope::Mine),
            "app" => Ok(SearchScope::App),
            _ => Err("must be mine or app"),
        })?;
        Ok(Self {
            q: params.take_with("q", parse)?.ok_or_else(missing)?,
            chat_id: params.take("chat_id")?,
            workflow_name: params.take("workflow_name")?,
            user_id: params.take("user_id")?,
            scope: scope.unwrap_or(SearchScope::Mine),
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<HitPosition>::described()].concat()
    }
}

/// A page of messages that were found, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SearchResponse {
    #[serde(flatten)]
    page: Page<HitResponse>,
    /// Whether there may be messages that were not looked at. With a `next_cursor`, the next page goes on there.
    partial: bool,
    /// How far the index is behind the messages, in milliseconds, at most; null if it was never complete.
    behind_ms: Option<u64>,
}

/// A message that was found.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HitResponse {
    /// The chat of the message.
    #[schema(value_type = values::ChatId)]
    chat_id: ChatId,
    /// The title of the chat.
    title: Option<String>,
    /// The position of the message in the chat.
    sequence: u64,
    /// The role of the message.
    role: String,
    /// The name of the speaker.
    name: Option<String>,
    /// When the message was stored.
    created_at: Time,
    /// The part of the message that has the words, in one line. `…` stands for what is left out.
    snippet: String,
    /// Where the snippet has the words: pairs of the first character and the one after the last, counted from 0.
    #[schema(value_type = Vec<Vec<usize>>)]
    positions: Vec<[usize; 2]>,
}

impl From<Hit> for HitResponse {
    fn from(hit: Hit) -> Self {
        let Hit { chat_id, title, sequence, role, name, created_at, snippet } = hit;
        Self {
            chat_id,
            title,
            sequence,
            role,
            name,
            created_at: Time(created_at),
            snippet: snippet.text,
            positions: snippet.positions.iter().map(|it| [it.start, it.end]).collect(),
        }
    }
}

/// Searches the messages of all chats that the caller lists, or of one chat.
#[operation(answers = "A page of messages", problems = [NO_SEARCH, CHAT_NOT_FOUND])]
pub(crate) async fn search_messages(
    State(state): State<AppState>,
    State(index): State<Arc<SearchIndex>>,
    AppScope(scope, _): AppScope<Read>,
    Query(params): Query<SearchParams>,
    _: Reserve<36>,
) -> Result<Json<SearchResponse>, Problem> {
    if !index.is_enabled {
        let detail = "this service keeps no search index; its setting search.enabled is false";
        return Err(Problem::new(ProblemKind::NO_SEARCH, detail));
    }
    let SearchParams { q, chat_id, workflow_name, user_id, scope: chats, page } = params;
    let of_app = chats == SearchScope::App;
    let search = MessageSearch { query: q, chat_id, workflow_name, user_id, of_app };
    let found =
        state.store.search_messages(&scope, &search, page.limit, page.cursor.as_ref()).await;
    let HitPage { hits, next, is_partial, indexed_to } = found.map_err(refused)?;
    record_support_in(&state, &scope, hits.iter().map(|hit| &hit.chat_id)).await?;
    let behind_ms = index.behind(indexed_to).and_then(|it| u64::try_from(it.as_millis()).ok());
    let page = Page::new(hits, next.as_ref());
    Ok(Json(SearchResponse { page, partial: is_partial, behind_ms }))
}
