use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{FilteredPage, MessageFilter, MessageRange, Store, Transcript};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::admission::Reserve;
use crate::api::pages::{Page, take_cursor};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::MessageResponse;

/// The memory for a page, in MiB: four times the bytes at which it ends.
const PAGE_MIB: usize = (4 * Transcript::PAGE_BYTES) >> 20;

/// The range of messages to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListMessagesQuery {
    /// Only messages after this sequence; -1 for all.
    #[param(value_type = Option<i64>, minimum = -1)]
    after: Option<u64>,
    /// Only messages before this sequence.
    #[param(value_type = Option<i64>, minimum = 0)]
    before: Option<u64>,
    /// The most messages, the oldest of the range; 100 by default, at most 1,000.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// Return this many of the newest messages instead; not with `after` or `limit`.
    #[param(value_type = Option<usize>, minimum = 1)]
    newest: Option<usize>,
    /// The `next_cursor` of the previous page, asked for with the same range and the same filters.
    #[param(value_type = Option<String>)]
    cursor: Option<u64>,
    /// Only messages of this role.
    #[param(min_length = 1, max_length = 128)]
    role: Option<String>,
    /// Only messages of this turn.
    #[param(min_length = 1, max_length = 128)]
    request_id: Option<String>,
    /// Only messages of this block.
    #[param(min_length = 1, max_length = 128)]
    block_id: Option<String>,
    /// Only messages of this thread.
    #[param(min_length = 1, max_length = 128)]
    thread_id: Option<String>,
    /// Only messages of this type.
    #[param(rename = "type", min_length = 1, max_length = 128)]
    kind: Option<String>,
}

/// Reads the value of a filter. Any name that a release has stored is accepted.
fn read_name(text: &str) -> Result<String, &'static str> {
    let is_name = (1..=128).contains(&text.chars().count());
    if is_name { Ok(text.to_owned()) } else { Err("must be 1 to 128 characters") }
}

impl FromParams for ListMessagesQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let after = params.take_in("after", -1..=i64::MAX)?;
        let before = params.take_in("before", 0..=i64::MAX)?;
        let limit = params.take_in("limit", 1..=limits.messages_max)?;
        let newest = params.take_in("newest", 1..=limits.messages_max)?;
        if newest.is_some() && (after.is_some() || limit.is_some()) {
            let detail = "must not be combined with after or limit";
            return Err(Problem::invalid_parameter("newest", detail));
        }
        Ok(Self {
            after: after.and_then(|after| after.try_into().ok()),
            before: before.and_then(|before| before.try_into().ok()),
            limit: limit.unwrap_or(limits.messages_default),
            newest,
            cursor: take_cursor(params)?,
            role: params.take_with("role", read_name)?,
            request_id: params.take_with("request_id", read_name)?,
            block_id: params.take_with("block_id", read_name)?,
            thread_id: params.take_with("thread_id", read_name)?,
            kind: params.take_with("type", read_name)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl ListMessagesQuery {
    fn range(&self) -> MessageRange {
        let Self { after, before, limit, newest, cursor, .. } = *self;
        match newest {
            Some(limit) => {
                MessageRange::Newest { before: before.into_iter().chain(cursor).min(), limit }
            }
            None => MessageRange::Oldest { after: after.max(cursor), before, limit },
        }
    }

    fn into_filter(self) -> MessageFilter {
        let Self { role, request_id, block_id, thread_id, kind, .. } = self;
        MessageFilter { role, request_id, block_id, thread_id, kind }
    }
}

/// Consecutive messages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListMessagesResponse {
    /// The messages of the page, oldest first.
    #[serde(flatten)]
    page: Page<MessageResponse>,
    /// The chat's counter: the sequence of the next message.
    #[schema(example = 15)]
    last_sequence: u64,
}

impl ListMessagesResponse {
    /// The range continues after the newest message of the page; with `newest`, before the oldest one.
    fn new(transcript: Transcript, is_newest: bool) -> Self {
        let Transcript { messages, last_sequence, has_more, .. } = transcript;
        let last = if is_newest { messages.first() } else { messages.last() };
        let next = last.map(|message| message.sequence).filter(|_| has_more);
        Self { page: Page::new(messages, next.as_ref()), last_sequence }
    }
}

impl From<FilteredPage> for ListMessagesResponse {
    fn from(page: FilteredPage) -> Self {
        let FilteredPage { last_sequence, messages, next } = page;
        Self { page: Page::new(messages, next.as_ref()), last_sequence }
    }
}

/// Returns messages, oldest first.
///
/// A very large page ends early, with a `next_cursor`. With `newest`, the next page has earlier messages.
///
/// With a filter, a page examines at most 5,000 messages, or 16 MiB of them. It may have fewer messages than `limit`, or
/// none, and still a `next_cursor`: the list ends where that is null. A tombstone has its role only.
#[operation(answers = "The messages")]
pub(crate) async fn list_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListMessagesQuery>,
    _: Reserve<PAGE_MIB>,
) -> Result<Json<ListMessagesResponse>, Problem> {
    let (range, is_newest) = (query.range(), query.newest.is_some());
    let filter = query.into_filter();
    if filter == MessageFilter::default() {
        let transcript = store.messages(&scope, &chat_id, range).await?;
        return Ok(Json(ListMessagesResponse::new(transcript, is_newest)));
    }
    let page = store.filtered_messages(&scope, &chat_id, range, &filter).await?;
    Ok(Json(page.into()))
}
