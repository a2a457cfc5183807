use std::convert::Infallible;
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_stream::{stream, try_stream};
use axum::extract::State;
use axum::http::{HeaderName, StatusCode};
use axum::response::sse::Event as SseEvent;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{Stream as Chunks, StreamExt as _, TryStreamExt as _};
use operation::operation;
use persistence::{Store, StoreError};
use records::{
    ChatId, Clock as _, Scope, Stream, StreamEvent, StreamFormat, StreamGroup, StreamMark,
    StreamState, SystemClock,
};
use resume::assembly;
use serde_json::{Value, json};
use tokio::time::{Instant, interval, sleep_until};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::assembled::continued;
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

/// After how long a silence the agent of an answer counts as gone for good: the next holder of its lease had the time to go on.
const ABANDONED_AFTER: TimeDelta = TimeDelta::minutes(5);

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
/// Each chunk is the `data` of an event, and the last event is `[DONE]`. An answer that goes on with an earlier one, because a person
/// has approved a call of it for example, begins with chunks that make the earlier one. The response of a stream that fails has a chunk `error`
/// before it, and that of a cancelled one a chunk `abort`. The response ends without `[DONE]` if another agent begins the answer
/// again, or the service stops: the client then requests it once more. An answer whose agent is silent for 5 minutes, or for 30
/// seconds while a later answer was begun, counts as not running; a response that is open then ends with a chunk `error`.
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
    let Some(running) = shown(streams) else { return Ok(Prepared::new(NoContent)) };
    let subscription = state.hub.subscribe(&scope, &chat_id, Position::END).await?;
    let metrics = state.metrics.live.subscriber(Transport::Sse);
    let answer = Answer { store, scope, stream: running };
    let chunks = chunks(subscription, answer, limits, metrics);
    Ok(Prepared::new(([PROTOCOL], event_response(chunks, state.limits.keep_alive()))))
}

/// Returns the answer that a person waits for. That of an agent that is silent is the latest one.
fn shown(streams: Vec<Stream>) -> Option<Stream> {
    let now = SystemClock.now();
    let answers = streams.into_iter().filter(|it| it.header.format == StreamFormat::UiMessage);
    let mut running = answers.enumerate().filter(|(_, it)| it.mark.state == StreamState::Running);
    let shown = running.find(|(at, stream)| {
        !stream.is_stalled(now) || *at == 0 && remaining(&stream.mark, now) > Duration::ZERO
    });
    shown.map(|(_, stream)| stream)
}

/// Returns how long the agent may still be silent.
fn remaining(mark: &StreamMark, now: DateTime<Utc>) -> Duration {
    (ABANDONED_AFTER - (now - mark.written_at)).to_std().unwrap_or_default()
}

/// The answer that is being produced.
struct Answer {
    store: Arc<dyn Store>,
    scope: Scope,
    /// As it stood when it was asked for.
    stream: Stream,
}

impl Answer {
    /// Returns how it stands.
    async fn mark(&self) -> Result<StreamMark, StoreError> {
        let Stream { chat_id, stream_id, .. } = &self.stream;
        Ok(self.store.get_stream(&self.scope, chat_id, stream_id).await?.mark)
    }

    /// Returns what was written after a number.
    fn groups(&self, after: Option<u64>) -> impl Chunks<Item = Result<StreamGroup, StoreError>> {
        let Stream { chat_id, stream_id, .. } = &self.stream;
        groups_after(&*self.store, &self.scope, chat_id, stream_id, after)
    }

    /// Returns what a page is told of a chunk. An answer that goes on with an earlier one begins with what that has.
    async fn told(&self, mut chunk: Value) -> Result<Vec<Value>, StoreError> {
        let Some(id) = assembly::message_id([&chunk]) else { return Ok(vec![chunk]) };
        let Some(message) = continued(&*self.store, &self.scope, &self.stream, id).await? else {
            return Ok(vec![chunk]);
        };
        let mut chunks = assembly::chunks_of(message);
        if let Some(metadata) = chunk.get_mut("messageMetadata").map(Value::take) {
            chunks.push(json!({ "type": "message-metadata", "messageMetadata": metadata }));
        }
        Ok(chunks)
    }

    /// Returns the chunks of an answer that has ended, from where it was begun the last time.
    fn ended(&self) -> impl Chunks<Item = Result<Value, StoreError>> {
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
                // They were written as JSON.
                for chunk in group.chunks().iter().filter_map(|text| serde_json::from_str(text).ok()) {
                    for told in self.told(chunk).await? {
                        yield told;
                    }
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
) -> impl Chunks<Item = Result<SseEvent, Infallible>> {
    stream! {
        let Stream { stream_id, mark: StreamMark { attempt, .. }, .. } = &answer.stream;
        let limit_reached = limits.reached();
        tokio::pin!(limit_reached);
        let mut begins_within = interval(BEGINS_WITHIN);
        begins_within.reset();
        let mut has_begun = false;
        let mut abandoned_at = None;
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
                                yield Ok(SseEvent::default().data(chunk.to_string()));
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
                () = until(abandoned_at) => {
                    let Ok(mark) = answer.mark().await else { break };
                    let remaining = remaining(&mark, SystemClock.now());
                    if remaining == Duration::ZERO {
                        for last in ended_with(Some(failure("the agent is silent"))) {
                            yield Ok(SseEvent::default().data(last));
                        }
                        break;
                    }
                    abandoned_at = Some(Instant::now() + remaining);
                    continue;
                }
                next = subscription.next() => match next {
                    Some(delivery) => delivery,
                    None => break,
                },
            };
            match &delivery.event {
                Event::StreamChunk(chunk) if chunk.stream_id == *stream_id => {
                    abandoned_at = None;
                    if chunk.attempt != *attempt {
                        continue;
                    }
                    // They were written as JSON.
                    let chunks: Vec<Value> = serde_json::from_str(chunk.chunks()).unwrap_or_default();
                    for chunk in chunks {
                        // Without its beginning, the client asks again.
                        let Ok(told) = answer.told(chunk).await else { return };
                        for chunk in told {
                            metrics.event_sent();
                            yield Ok(SseEvent::default().data(chunk.to_string()));
                        }
                    }
                }
                Event::StreamStarted(state) if state.stream.stream_id == *stream_id => {
                    if state.stream.mark.attempt > *attempt {
                        break;
                    }
                    has_begun = true;
                }
                Event::StreamStalled(state) if state.stream.stream_id == *stream_id => {
                    let remaining = remaining(&state.stream.mark, SystemClock.now());
                    abandoned_at = Some(Instant::now() + remaining);
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
    ended_with(last_chunk(mark))
}

fn ended_with(last: Option<Value>) -> impl Iterator<Item = String> {
    let last = last.map(|chunk| chunk.to_string());
    last.into_iter().chain(["[DONE]".to_owned()])
}

fn failure(error: &str) -> Value {
    json!({ "type": "error", "errorText": error })
}

/// Waits until a time, if there is one.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => pending().await,
    }
}

/// Returns the chunk that says how a stream ended, unless it has finished.
fn last_chunk(mark: &StreamMark) -> Option<Value> {
    match mark.state {
        StreamState::Failed => Some(failure(mark.error.as_deref().unwrap_or("the agent failed"))),
        StreamState::Cancelled | StreamState::Superseded => Some(json!({ "type": "abort" })),
        StreamState::Running | StreamState::Finished => None,
    }
}
