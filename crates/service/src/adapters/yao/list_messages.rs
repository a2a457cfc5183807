use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, Transcript};
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::assistants::{Locale, infos_of};
use super::reader::{self, Part, TypedFilter};
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// The memory for an answer and a page of the store, in MiB: four times the bytes at which they end.
pub(super) const ANSWER_MIB: usize = (8 * Transcript::PAGE_BYTES) >> 20;

/// The filters of messages.
const FILTERS: [&str; 5] = ["request_id", "role", "block_id", "thread_id", "type"];

/// The messages to return. Values that are no numbers are ignored.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct MessageParameters {
    /// Only messages of this request.
    request_id: Option<String>,
    /// Only messages of this role: `user` or `assistant`.
    role: Option<String>,
    /// Only messages of this block.
    block_id: Option<String>,
    /// Only messages of this thread.
    thread_id: Option<String>,
    /// Only messages of this type.
    #[param(rename = "type")]
    kind: Option<String>,
    /// The most messages, 1 to 1,000; 100 for any other value, and 50 with `before_id`.
    limit: Option<usize>,
    /// The oldest messages after this number of them. Without it, the newest ones.
    offset: Option<usize>,
    /// The newest messages whose `id` is smaller than this one.
    before_id: Option<u64>,
    /// The newest messages whose `sequence` is smaller than this one.
    before_sequence: Option<u64>,
    /// The language of the assistants; by default the first of `Accept-Language`.
    locale: Option<String>,
}

/// The messages of a session to return.
#[derive(Debug)]
pub(crate) struct ListSessionMessagesQuery(TypedFilter);

impl FromParams for ListSessionMessagesQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let mut fields = Vec::new();
        for field in FILTERS {
            let value = params.take_with(field, |text| Ok::<_, String>(text.trim().to_owned()))?;
            fields.extend(value.filter(|it| !it.is_empty()).map(|value| (field, value)));
        }
        let mut number = |name: &str| {
            let number =
                params.take_with(name, |text| Ok::<_, String>(text.trim().parse::<u64>().ok()));
            number.map(Option::flatten)
        };
        let offset = number("offset")?.and_then(|offset| usize::try_from(offset).ok());
        let (before_id, before_sequence) = (number("before_id")?, number("before_sequence")?);
        let limit = number("limit")?.and_then(|limit| usize::try_from(limit).ok());
        let default = if before_id.is_some() { 50 } else { 100 };
        let limit = limit.filter(|limit| (1..=1_000).contains(limit)).unwrap_or(default);
        // Ids and sequences begin with 1, those of the store with 0.
        let before = before_id.or(before_sequence).map(|before| before.saturating_sub(1));
        let part = match offset {
            Some(offset) if before.is_none() => Part::After(offset),
            _ => Part::Newest(before),
        };
        Ok(Self(TypedFilter { fields, limit, part }))
    }

    fn described() -> Vec<Parameter> {
        declared::<MessageParameters>()
    }
}

/// Messages of a session, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionMessages)]
pub(crate) struct ListSessionMessagesResponse {
    #[schema(example = "chat_123")]
    chat_id: String,
    /// Each with `message_id`, `role`, `type`, `props`, and what else it came with; `id` and `sequence` are its number.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    #[schema(example = 2)]
    count: usize,
    /// The assistants of the messages that the caller may read, by their ids: each with `assistant_id`, `name`, and what else
    /// is known. They end at 4 MiB.
    #[schema(value_type = Object)]
    assistants: BTreeMap<String, Value>,
    /// Whether there may be more messages that were asked for: the answer ends at 4 MiB, or the request examined 50,000
    /// messages. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Returns the messages of a session: the newest ones, oldest first.
#[operation(answers = "The messages")]
pub(crate) async fn list_session_messages(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(query): ForeignQuery<ListSessionMessagesQuery>,
    locale: Locale,
    _: Reserve<ANSWER_MIB>,
) -> Result<Json<ListSessionMessagesResponse>, Problem> {
    let typed = reader::read(&*store, &scope, &chat_id, &query.0).await?;
    Ok(Json(ListSessionMessagesResponse {
        chat_id: chat_id.into(),
        count: typed.messages.len(),
        assistants: infos_of(&*store, &scope, &typed.messages, &locale).await?,
        messages: typed.messages,
        truncated: typed.is_truncated,
    }))
}
