use std::pin::pin;
use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use chrono::TimeDelta;
use futures::{Stream, TryStreamExt as _};
use operation::operation;
use persistence::{ChatFilter, Store, StoreError};
use records::{ChatSession, JsonObject, Message, Permission, Scope};
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::general_chat::{GeneralChatItem, general_workflow};
use super::list_general_chats::{clamped, count, general_chats};
use crate::adapters::ForeignQuery;
use crate::adapters::list_text::ListText;
use crate::adapters::range;
use crate::admission::Reserve;
use crate::api::chat_sessions::list::refused;
use crate::config::LimitsConfig;
use crate::extract::{ChatDownload, FromParams, Json, Params, declared};
use crate::history::{self, HistoryError, Source};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;
use crate::wire::Time;

/// The part of a transcript to return.
#[derive(Debug, IntoParams)]
pub(crate) struct TranscriptQuery {
    /// Only messages after this sequence; -1 (the default) for all.
    #[param(value_type = Option<i64>)]
    after_sequence: i64,
    /// The most messages, 500 by default; taken for 1 if it is less, and for 2,000 if it is more.
    #[param(value_type = Option<i64>)]
    limit: usize,
}

impl FromParams for TranscriptQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let after = params.take_with("after_sequence", |text| {
            text.parse::<i64>().map_err(|_| "must be an integer")
        })?;
        Ok(Self {
            after_sequence: after.unwrap_or(-1).max(-1),
            limit: clamped(params, "limit", 500, 2_000)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A general chat with the newest of its messages after a sequence, oldest first. Deleted ones are left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = GeneralTranscript)]
pub(crate) struct TranscriptResponse {
    #[serde(flatten)]
    #[schema(inline)]
    chat: GeneralChatItem,
    app_id: String,
    user_id: Option<String>,
    messages: Vec<GeneralMessage>,
}

/// A message of a general chat.
#[derive(Debug, Serialize, ToSchema)]
struct GeneralMessage {
    #[schema(example = "assistant")]
    role: String,
    /// Mostly a text.
    content: Value,
    #[schema(example = "2025-10-02T10:00:05.000Z")]
    timestamp: String,
    #[schema(example = "general_agent.message")]
    event_type: &'static str,
    #[schema(example = "evt_msg_001")]
    event_id: String,
    /// The position in the chat, from 0.
    sequence: u64,
    /// The speaker.
    #[schema(example = "user")]
    agent_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
}

impl From<Message> for GeneralMessage {
    fn from(message: Message) -> Self {
        let body = message.body;
        let stored_at = || Time::from(message.created_at).to_string();
        Self {
            content: body.content,
            timestamp: body.timestamp.unwrap_or_else(stored_at),
            event_type: "general_agent.message",
            event_id: message.event_id.into(),
            sequence: message.sequence,
            agent_name: body.name.or_else(|| Some(body.role.clone())),
            role: body.role,
            metadata: body.metadata,
        }
    }
}

/// Returns a general chat with its newest messages.
///
/// The response is written while the messages are read, so they may have any size.
#[operation(answers = "The transcript")]
pub(crate) async fn general_transcript(
    State(state): State<AppState>,
    ChatDownload { scope, chat_id, limits, .. }: ChatDownload,
    ForeignQuery(query): ForeignQuery<TranscriptQuery>,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<Json<TranscriptResponse>>, Problem> {
    let general = general_workflow(&state)?;
    let chat = state.store.get_chat(&scope, &chat_id).await?;
    let chat = chat.filter(|chat| chat.workflow_name == general);
    let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
    let sequence = number_of(&*state.store, &scope, &chat).await?;
    let (app_id, user_id) = (chat.app_id.clone().into(), chat.user_id.clone().map(Into::into));
    let end = chat.last_sequence;
    let limit = u64::try_from(query.limit).unwrap_or(u64::MAX);
    let first = u64::try_from(query.after_sequence + 1).unwrap_or_default();
    let wanted = first.max(end.saturating_sub(limit))..end;
    let head = TranscriptResponse {
        chat: GeneralChatItem::new(chat, sequence),
        app_id,
        user_id,
        messages: Vec::new(),
    };
    let source = Source { store: state.store, scope, chat_id };
    let chunks = chunks(source, head, wanted, state.limits.request_timeout());
    let body = history::download(chunks, limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

/// Returns the number of a general chat among those of its user, in the order of their list.
async fn number_of(store: &dyn Store, scope: &Scope, chat: &ChatSession) -> Result<usize, Problem> {
    let Some(user_id) = &chat.user_id else { return Ok(1) };
    // The service counts, because every reader must see the same number. A reader may lack the permission to read the other chats.
    let scope = &Scope::service(scope.app_id.clone()).needing(Permission::Read);
    let all = general_chats(user_id.clone(), chat.workflow_name.clone());
    let (at, later) = (chat.created_at, chat.created_at + TimeDelta::milliseconds(1));
    let older = ChatFilter { created_before: Some(at), ..all.clone() };
    let same = ChatFilter { created_from: Some(at), created_before: Some(later), ..all };
    let older = count(store, scope, &older).await?;
    let same = store.list_chats(scope, &same, SAME_MOMENT, None).await.map_err(refused)?;
    let before = same.chats.iter().filter(|other| other.chat_id < chat.chat_id).count();
    Ok(older + before + 1)
}

/// The most chats of a user that are created in the same millisecond and numbered apart.
const SAME_MOMENT: usize = 100;

fn chunks(
    source: Source,
    head: TranscriptResponse,
    wanted: std::ops::Range<u64>,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let mut begin = serde_json::to_vec(&head)?;
        // The list of messages is the last field.
        begin.truncate(begin.len() - "]}".len());
        let mut text = ListText::after(begin);
        if !wanted.is_empty() {
            let mut pages = pin!(range::pages(&source, wanted, read_timeout));
            while let Some(page) = pages.try_next().await? {
                let messages = page.messages.into_iter().filter(|it| it.deleted_at.is_none());
                text.write(messages.map(GeneralMessage::from))?;
                yield text.take();
            }
        }
        text.end("]}");
        yield text.take();
    }
}
