use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_stream::{stream, try_stream};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::Event as SseEvent;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use operation::operation;
use persistence::{Store, StoreError};
use records::{
    ChatId, Scope, StreamEvent, StreamFormat, StreamGroup, StreamId, StreamMark, StreamState,
};
use serde_json::{Value, json};
use tokio::time::interval;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::groups::groups_after;
use crate::config::LimitsConfig;
use crate::extract::{ChatStream, FromParams, Params, Query, TICKET_PARAM, declared};
use crate::live::{Event, Position, StreamLimits, Subscription, event_response};
use crate::metrics::{SubscriberMetrics, Transport};
use crate::openapi::values;
use crate::operation::{Description, NoContent, Output, Prepared};
use crate::problem::Problem;
use crate::state::AppState;

/// The header by which the AI SDK knows the protocol.
const PROTOCOL: (HeaderName, &str) =
    (HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1");

/// How long a stream may take to begin until it is looked up again.
const BEGINS_WITHIN: Duration = Duration::from_secs(2);

/// How the caller is identified.
#[derive(Debug, IntoParams)]
pub(crate) struct ResumeQuery {
    /// A ticket, instead of a token, for clients that cannot set headers.
    #[param(value_type = Option<String>)]
    #[expect(dead_code, reason = "is read where the caller is identified")]
    ticket: Option<String>,
}

impl FromParams for ResumeQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { ticket: params.take(TICKET_PARAM)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// A UI message stream of the AI SDK, or nothing.
pub(crate) enum UiMessageStream {}

impl Output for UiMessageStream {
    fn describe(description: &mut Description) {
        description.answers_content::<values::Content>(StatusCode::OK, "text/event-stream");
        description.answers(StatusCode::NO_CONTENT);
    }
}

/// Streams the answer that is being produced, in the protocol of the AI SDK: its chunks so far, with the deltas of one text joined,
/// and then those that follow. The response is empty, with 204, if no stream of the format `ui_message` is running.
///
/// Each chunk is the `data` of an event, and the last event is `[DONE]`. The response of a stream that fails has a chunk `error`
/// before it, and that of a cancelled one a chunk `abort`. The response ends without `[DONE]` if another agent begins the answer
/// again: the client then requests it once more.
#[operation(
    answers = "The chunks; or, with 204, nothing is running",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn resume_ui_stream(
    State(state): State<AppState>,
    Query(_): Query<ResumeQuery>,
    // Last, because it may redeem a ticket.
    ChatStream { scope, chat_id, limits }: ChatStream,
) -> Result<Prepared<UiMessageStream>, Problem> {
    running_answer(&state, scope, chat_id, limits).await
}

/// Streams the answer that is being produced; the response is empty, with 204, if there is none.
pub(crate) async fn running_answer<T>(
    state: &AppState,
    scope: Scope,
    chat_id: ChatId,
    limits: StreamLimits,
) -> Result<Prepared<T>, Problem> {
    let store = Arc::clone(&state.store);
    let streams = store.list_streams(&scope, &chat_id).await?;
    let running = streams.into_iter().find(|stream| {
        stream.mark.state == StreamState::Running && stream.header.format == StreamFormat::UiMessage
    });
    let Some(running) = running else { return Ok(Prepared::new(NoContent)) };
    let subscription = state.hub.subscribe(&scope, &chat_id, Position::END).await?;
    let metrics = state.metrics.live.subscriber(Transport::Sse);
    let answer = Answer { store, scope, chat_id, stream_id: running.stream_id };
    let chunks = chunks(subscription, answer, limits, metrics);
    Ok(Prepared::new(([PROTOCOL], event_response(chunks, state.limits.keep_alive()))))
}

/// The answer that is being produced.
struct Answer {
    store: Arc<dyn Store>,
    scope: Scope,
    chat_id: ChatId,
    stream_id: StreamId,
}

impl Answer {
    /// Returns how it stands.
    async fn mark(&self) -> Result<StreamMark, StoreError> {
        let stream = self.store.get_stream(&self.scope, &self.chat_id, &self.stream_id).await;
        Ok(stream?.mark)
    }

    /// Returns what was written after a number.
    fn groups(&self, after: Option<u64>) -> impl Stream<Item = Result<StreamGroup, StoreError>> {
        groups_after(&*self.store, &self.scope, &self.chat_id, &self.stream_id, after)
    }

    /// Returns the chunks of an answer that has ended, from where it was begun the last time.
    fn ended(&self) -> impl Stream<Item = Result<String, StoreError>> {
        try_stream! {
            let mut restart = None;
            let mut groups = pin!(self.groups(None));
            while let Some(group) = groups.try_next().await? {
                if group.event == StreamEvent::Restarted {
                    restart = Some(group.mark.number);
                }
            }
            let mut groups = pin!(self.groups(restart));
            while let Some(group) = groups.try_next().await? {
                for chunk in group.chunks() {
                    yield chunk.clone();
                }
            }
        }
    }
}

fn chunks(
    mut subscription: Subscription,
    answer: Answer,
    limits: StreamLimits,
    metrics: SubscriberMetrics,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    stream! {
        let Answer { stream_id, .. } = &answer;
        let limit_reached = limits.reached();
        tokio::pin!(limit_reached);
        let mut begins_within = interval(BEGINS_WITHIN);
        begins_within.reset();
        let mut has_begun = false;
        loop {
            let delivery = tokio::select! {
                biased;
                _ = &mut limit_reached => break,
                // It may have ended before it was subscribed to: nothing is told of it then.
                _ = begins_within.tick(), if !has_begun => {
                    let mark = match answer.mark().await {
                        Ok(mark) if mark.state != StreamState::Running => mark,
                        Err(StoreError::StreamNotFound(_)) => break,
                        _ => continue,
                    };
                    let mut ended = pin!(answer.ended());
                    let is_whole = loop {
                        match ended.next().await {
                            Some(Ok(chunk)) => {
                                metrics.event_sent();
                                yield Ok(SseEvent::default().data(chunk));
                            }
                            Some(Err(_)) => break false,
                            None => break true,
                        }
                    };
                    // Without its end, the client knows that something is missing.
                    for last in ending(&mark).filter(|_| is_whole) {
                        yield Ok(SseEvent::default().data(last));
                    }
                    break;
                }
                next = subscription.next() => match next {
                    Some(delivery) => delivery,
                    None => break,
                },
            };
            match &delivery.event {
                Event::StreamChunk(chunk) if chunk.stream_id == *stream_id => {
                    // They were written as JSON.
                    let chunks: Vec<Value> = serde_json::from_str(chunk.chunks()).unwrap_or_default();
                    for chunk in chunks {
                        metrics.event_sent();
                        yield Ok(SseEvent::default().data(chunk.to_string()));
                    }
                }
                Event::StreamStarted(state) if state.stream.stream_id == *stream_id => {
                    if has_begun && state.stream.mark.next == 0 {
                        break;
                    }
                    has_begun = true;
                }
                Event::StreamFinished(state) if state.stream.stream_id == *stream_id => {
                    for last in ending(&state.stream.mark) {
                        yield Ok(SseEvent::default().data(last));
                    }
                    break;
                }
                _ => {}
            }
        }
    }
}

/// Returns what follows the chunks of a stream that has ended.
fn ending(mark: &StreamMark) -> impl Iterator<Item = String> {
    let last = last_chunk(mark).map(|chunk| chunk.to_string());
    last.into_iter().chain(["[DONE]".to_owned()])
}

/// Returns the chunk that says how a stream ended, unless it has finished.
fn last_chunk(mark: &StreamMark) -> Option<Value> {
    match mark.state {
        StreamState::Failed => {
            let error = mark.error.as_deref().unwrap_or("the agent failed");
            Some(json!({ "type": "error", "errorText": error }))
        }
        StreamState::Cancelled | StreamState::Superseded => Some(json!({ "type": "abort" })),
        StreamState::Running | StreamState::Finished => None,
    }
}
