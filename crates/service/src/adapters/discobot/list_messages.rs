use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use futures::Stream;
use operation::operation;
use persistence::{MessageSource as _, StoreError};
use resume::dialect::UiMessage;
use resume::replay::ReplayScan;
use serde::Serialize;
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::message::{as_stored, content_of, under_own_id};
use crate::adapters::ForeignQuery;
use crate::adapters::list_text::ListText;
use crate::admission::Reserve;
use crate::api::streams::resume::running_answer;
use crate::config::LimitsConfig;
use crate::extract::{ChatReading, FromParams, Json, Params, declared};
use crate::history::{self, HistoryError, Source, next_page};
use crate::openapi::values;
use crate::operation::{Description, NoContent, Output, Prepared};
use crate::problem::{Problem, ProblemKind};
use crate::request_id::RequestId;
use crate::state::AppState;

/// How the messages are shown.
#[derive(Debug, IntoParams)]
pub(crate) struct ListSessionMessagesQuery {
    /// `1` or `true`: each message also has `content`, the text of its parts.
    #[param(value_type = Option<String>)]
    content: bool,
}

impl FromParams for ListSessionMessagesQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let content = params.take_with("content", |text| Ok::<_, String>(text.to_owned()))?;
        Ok(Self { content: content.is_some_and(|text| text == "1" || text == "true") })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// The messages of a session, oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SessionMessages)]
pub(crate) struct ListSessionMessagesResponse {
    /// `UIMessage`s of the AI SDK.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
}

/// The messages, or the answer that is being produced.
pub(crate) enum MessagesOrStream {}

impl Output for MessagesOrStream {
    fn describe(description: &mut Description) {
        description.answers_json::<ListSessionMessagesResponse>(StatusCode::OK);
        description.answers_content::<values::Content>(StatusCode::OK, "text/event-stream");
        description.answers(StatusCode::NO_CONTENT);
    }
}

/// Returns the messages of a session, oldest first. A session that does not exist has none.
///
/// The response is written while the messages are read, so that they may have any size.
///
/// With `Accept: text/event-stream` the response streams the answer that an agent is producing, in the protocol of the AI SDK: its
/// chunks so far, then those that follow, and `[DONE]`. It is 204 if no stream of the format `ui_message` is running.
#[operation(
    answers = "The messages, or the chunks; or, with 204, nothing is running",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn list_session_messages(
    State(state): State<AppState>,
    ChatReading { scope, chat_id, download, stream }: ChatReading,
    ForeignQuery(query): ForeignQuery<ListSessionMessagesQuery>,
    headers: HeaderMap,
    _: Reserve<9>,
    request_id: RequestId,
) -> Result<Prepared<MessagesOrStream>, Problem> {
    if accepts_events(&headers) {
        return match running_answer(&state, scope, chat_id, stream).await {
            Err(problem) if problem.kind() == ProblemKind::CHAT_NOT_FOUND => {
                Ok(Prepared::new(NoContent))
            }
            answer => answer,
        };
    }
    if state.store.get_chat(&scope, &chat_id).await?.is_none() {
        return Ok(Prepared::new(Json(ListSessionMessagesResponse { messages: Vec::new() })));
    }
    let source = Source { store: state.store, scope, chat_id };
    let chunks = chunks(source, query, state.limits.request_timeout());
    let body = history::download(chunks, download, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|accepted| accepted.contains("text/event-stream"))
}

fn chunks(
    mut source: Source,
    query: ListSessionMessagesQuery,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send {
    try_stream! {
        let mut replay = scan(&mut source, read_timeout).await?.into_replay();
        let mut text = ListText::after(br#"{"messages":["#.to_vec());
        let mut pages = source.pages();
        while !replay.is_complete() {
            let Some(page) = next_page(&mut pages, read_timeout).await? else { break };
            for message in page.messages {
                if replay.is_complete() {
                    break;
                }
                text.write(replay.push(under_own_id(message)).map(|it| query.shown(it)))?;
            }
            yield text.take();
        }
        drop(pages);
        text.write(replay.finish().messages.into_iter().map(|it| query.shown(it)))?;
        text.end("]}");
        yield text.take();
    }
}

/// Sees every message before the first one is written, if that is needed.
async fn scan(source: &mut Source, read_timeout: Duration) -> Result<ReplayScan, StoreError> {
    let mut scan = ReplayScan::new(&UiMessage, None, &as_stored());
    if scan.is_needed() {
        let mut pages = source.pages();
        while let Some(page) = next_page(&mut pages, read_timeout).await? {
            page.messages.into_iter().for_each(|message| scan.observe(message));
        }
    }
    Ok(scan)
}

impl ListSessionMessagesQuery {
    fn shown(&self, mut message: Value) -> Value {
        if self.content {
            message["content"] = content_of(&message).into();
        }
        message
    }
}
