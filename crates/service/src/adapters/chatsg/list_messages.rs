use std::pin::pin;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use futures::{Stream, TryStreamExt as _};
use operation::operation;
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::wire::MessageItem;
use crate::adapters::ForeignQuery;
use crate::adapters::list_text::ListText;
use crate::adapters::range;
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::{ChatDownload, FromParams, Json, Params, declared};
use crate::history::{self, HistoryError, Source};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// The messages to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListSessionMessagesQuery {
    /// The most messages, 1 to 1,000; 50 by default.
    #[param(value_type = Option<usize>)]
    limit: u64,
    /// The number of messages to leave out, from the oldest.
    #[param(value_type = Option<usize>)]
    offset: u64,
}

impl FromParams for ListSessionMessagesQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            limit: params.take_in("limit", 1..=1_000)?.unwrap_or(50),
            offset: params.take_in("offset", 0..=u64::from(u32::MAX))?.unwrap_or_default(),
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Messages of a session, oldest first. Deleted ones are left out; the others keep their positions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionMessages)]
pub(crate) struct ListSessionMessagesResponse {
    #[serde(rename = "sessionId")]
    #[schema(example = "session_abc123")]
    session_id: String,
    messages: Vec<MessageItem>,
    /// The number of messages that were ever stored in the session.
    #[serde(rename = "totalMessages")]
    total_messages: u64,
    /// Whether there are messages after these.
    #[serde(rename = "hasMore")]
    has_more: bool,
}

/// Returns messages of a session, from the oldest.
///
/// The response is written while the messages are read, so they may have any size.
#[operation(answers = "The messages")]
pub(crate) async fn list_session_messages(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload,
    ForeignQuery(query): ForeignQuery<ListSessionMessagesQuery>,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Json<ListSessionMessagesResponse>>, Problem> {
    let source = Source { store: state.store, scope, chat_id };
    let chunks = chunks(source, query, state.limits.request_timeout());
    let body = history::download(chunks, limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

fn chunks(
    source: Source,
    ListSessionMessagesQuery { limit, offset }: ListSessionMessagesQuery,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let session_id = Value::from(source.chat_id.as_str());
        let begin = format!(r#"{{"sessionId":{session_id},"messages":["#);
        let mut text = ListText::after(begin.into_bytes());
        let end = offset + limit;
        let mut total = 0;
        let mut pages = pin!(range::pages(&source, offset..end, read_timeout));
        while let Some(page) = pages.try_next().await? {
            let messages = page.messages.into_iter().filter(|it| it.deleted_at.is_none());
            text.write(messages.map(MessageItem::from))?;
            total = page.last_sequence;
            yield text.take();
        }
        text.end(&format!(r#"],"totalMessages":{total},"hasMore":{}}}"#, end < total));
        yield text.take();
    }
}
