use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{CallSummary, ChatFilter, ChatOrder, ListCursor, Store};
use records::{ChatSession, Lifecycle, Scope};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::adapters::ForeignQuery;
use crate::api::chat_sessions::list::call_summaries;
use crate::config::{AdaptersConfig, HecateConfig, LimitsConfig};
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, declared};
use crate::problem::Problem;
use crate::wire::Time;

/// How many chats are read at a time.
const READ_AT_ONCE: usize = 200;

/// The part of the list of sessions to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListSessionsQuery {
    /// The most sessions, 50 by default; more than 200 are taken for 200.
    #[param(value_type = Option<usize>)]
    limit: Option<usize>,
    /// The number of sessions to leave out, at most 10,000.
    #[param(value_type = Option<usize>, maximum = 10_000)]
    offset: usize,
}

impl ListSessionsQuery {
    const MAX_OFFSET: usize = 10_000;
}

impl FromParams for ListSessionsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let number = |text: &str| text.parse().map_err(|_| "must be a non-negative integer");
        let offset = |text: &str| match number(text) {
            Ok(offset) if offset > Self::MAX_OFFSET => Err("must be at most 10000"),
            offset => offset,
        };
        Ok(Self {
            limit: params.take_with("limit", number)?,
            offset: params.take_with("offset", offset)?.unwrap_or_default(),
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A part of the list of sessions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessions)]
pub(crate) struct ListSessionsResponse {
    #[schema(example = "chat_sessions")]
    object: &'static str,
    data: Vec<SessionSummary>,
    /// Whether there are more sessions after these.
    has_more: bool,
}

/// A session without its streams. What is known of its newest call is empty if it has none.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionSummary)]
pub(crate) struct SessionSummary {
    id: String,
    title: String,
    /// The number of messages that were ever appended.
    message_count: u64,
    provider_call_count: u64,
    last_model: String,
    last_provider: String,
    /// In US dollars, with six decimals.
    #[schema(example = "0.001234")]
    last_cost_usd: String,
    last_request_id: String,
    created_at: Time,
    updated_at: Time,
}

impl SessionSummary {
    fn new(chat: ChatSession, calls: Option<CallSummary>) -> Self {
        let provider_call_count = calls.as_ref().map_or(0, |calls| calls.usage.calls);
        let newest = calls.and_then(|calls| calls.newest);
        let cost = newest.as_ref().map(|call| call.cost.to_string());
        let (model, request_id) =
            newest.map(|call| (call.used, call.request_id)).unwrap_or_default();
        Self {
            id: chat.chat_id.into(),
            title: chat.title.unwrap_or_default(),
            message_count: chat.last_sequence,
            provider_call_count,
            last_model: model.model.unwrap_or_default(),
            last_provider: model.provider.unwrap_or_default(),
            last_cost_usd: cost.unwrap_or_default(),
            last_request_id: request_id.unwrap_or_default(),
            created_at: chat.created_at.into(),
            updated_at: chat.last_updated_at.into(),
        }
    }
}

/// Lists sessions, the one in which something was said last first.
#[operation(answers = "The sessions")]
pub(crate) async fn list_sessions(
    State(store): State<Arc<dyn Store>>,
    State(adapters): State<Arc<AdaptersConfig>>,
    AppScope(scope, _): AppScope<Read>,
    ForeignQuery(query): ForeignQuery<ListSessionsQuery>,
) -> Result<Json<ListSessionsResponse>, Problem> {
    let limit = query.limit.unwrap_or(adapters.hecate.list_default).min(HecateConfig::LIST_MAX);
    let mut chats = newest(&*store, &scope, query.offset, limit + 1).await?;
    let has_more = chats.len() > limit;
    chats.truncate(limit);
    let mut calls = call_summaries(&*store, &scope, &chats).await?;
    let summary = |chat: ChatSession| {
        let calls = calls.remove(&chat.chat_id);
        SessionSummary::new(chat, calls)
    };
    let data = chats.into_iter().map(summary).collect();
    Ok(Json(ListSessionsResponse { object: "chat_sessions", data, has_more }))
}

/// Returns so many chats, after those that are left out.
async fn newest(
    store: &dyn Store,
    scope: &Scope,
    mut left_out: usize,
    wanted: usize,
) -> Result<Vec<ChatSession>, Problem> {
    let lifecycles = vec![Lifecycle::Active, Lifecycle::Archived];
    let filter = ChatFilter { order: ChatOrder::Active, lifecycles, ..ChatFilter::default() };
    let mut chats = Vec::new();
    let mut after: Option<ListCursor> = None;
    loop {
        let page = store.list_chats(scope, &filter, READ_AT_ONCE, after.as_ref()).await?;
        let skipped = left_out.min(page.chats.len());
        left_out -= skipped;
        let missing = wanted - chats.len();
        chats.extend(page.chats.into_iter().skip(skipped).take(missing));
        after = page.next;
        if chats.len() == wanted || after.is_none() {
            return Ok(chats);
        }
    }
}
