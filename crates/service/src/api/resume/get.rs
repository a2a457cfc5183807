use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use operation::operation;
use persistence::{ResumeSnapshot, Store, offload};
use records::{Message, ResumeState};
use resume::plan::{self, Plan, PlanScan, TerminationCheck};
use resume::replay::{FirstPass, Form, Rendering};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::response::{self, ResumeResponse, TerminationResponse};
use crate::admission::RequestMemory;
use crate::api::messages::history::HistoryQuery;
use crate::config::LimitsConfig;
use crate::extract::{ChatDownload, FromParams, Json, Params, Query, declared};
use crate::history::{self, HistoryError, Layout, Observer, Reading, Writer, in_time, next_page};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::request_id::RequestId;

/// The default text that ends a conversation.
const DEFAULT_TERMINATION: &str = "TERMINATE";

/// A chat of at most this size is read once, held in memory and rendered. A larger one is read twice.
const MAX_HELD_BYTES: usize = 4 << 20;

/// The memory for a chat that is held, as a multiple of the size of its messages.
const TIMES_HELD: usize = 4;

/// The memory for a chat that is read twice: pages, and messages that wait for the late result of a call.
const STREAM_BYTES: usize = 9 << 20;

/// The memory for calls without results is reserved in steps of at least this size.
const CALL_STEP_BYTES: usize = 1 << 20;

/// How to render the chat.
#[derive(Debug, IntoParams)]
pub(crate) struct ResumeQuery {
    #[param(ignore)]
    history: HistoryQuery,
    /// A message that ends with this text ends the conversation; `TERMINATE` by default.
    #[param(example = "TERMINATE")]
    termination: Option<String>,
}

impl FromParams for ResumeQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let termination = params.take_with("termination", |text| match text.len() {
            1..=256 => Ok(text.to_owned()),
            _ => Err("must be 1 to 256 bytes"),
        })?;
        Ok(Self { history: HistoryQuery::from_params(params, limits)?, termination })
    }

    fn described() -> Vec<Parameter> {
        [HistoryQuery::described(), declared::<Self>()].concat()
    }
}

/// Returns everything that an orchestrator needs to resume a chat, from one consistent snapshot: the
/// transcript in a dialect, what was dropped or repaired in it, the state of the chat, and the next action.
///
/// The stored messages do not change. The response is streamed while the chat is read, like a history, so it may have
/// any length. If reading fails half-way, the connection is closed, and so it is within `limits.recheck_ms` after the
/// token was revoked, or after the caller has lost the right to read the chat.
#[operation(answers = "The state to resume from", problems = [UNSETTLED_TOOL_CALLS])]
pub(crate) async fn get_resume(
    State(store): State<Arc<dyn Store>>,
    State(limits): State<Arc<LimitsConfig>>,
    ChatDownload { scope, chat_id, limits: download_limits, .. }: ChatDownload,
    Query(query): Query<ResumeQuery>,
    memory: RequestMemory,
    request_id: RequestId,
) -> Result<Prepared<Json<ResumeResponse>>, Problem> {
    let read_timeout = limits.request_timeout();
    let mut memory = PlanMemory::reserve(memory).await?;
    let ResumeSnapshot { state, mut messages } =
        in_time(store.resume_state(&scope, &chat_id), read_timeout).await?;

    let form = Form::from(query.history);
    let (dialect, user) = (form.dialect.name(), form.options.default_user_name.clone());
    let text = query.termination.as_deref().unwrap_or(DEFAULT_TERMINATION);
    let observer =
        PlanObserver { plan: PlanScan::new(&state.chat), termination: TerminationCheck::new(text) };
    let mut reading = Reading { pass: FirstPass::new(form, MAX_HELD_BYTES), observer };
    let mut pages = messages.pages();
    while let Some(page) = next_page(&mut pages, read_timeout).await? {
        reading = reading.observe(page).await;
        memory.adjust(reading.pass.is_held(), reading.observer.plan.kept_bytes()).await?;
    }
    drop(pages);
    let (rendering, PlanObserver { plan, termination }) = reading.finish().await?;

    // The snapshot and the artifact may be large, and how large they are is known only when they are written.
    let layout = offload(usize::MAX, move || {
        let plan = plan::plan(&state, plan, &user);
        layout(state, plan, termination, dialect)
    });
    let layout = layout.await.map_err(HistoryError::from)?;
    let held_bytes = match rendering {
        Rendering::Whole { bytes, .. } => Some(bytes),
        Rendering::Replayed(_) => None,
    };
    memory.settle(held_bytes, layout.bytes()).await?;
    let chunks = history::write(messages, rendering, Writer::new(layout), read_timeout);
    let body = history::download(chunks, download_limits, request_id).await?;
    Ok(Prepared::new(([(CONTENT_TYPE, "application/json")], body)))
}

/// What a plan must know about the messages before it is written.
struct PlanObserver {
    plan: PlanScan,
    termination: TerminationCheck,
}

impl Observer for PlanObserver {
    fn observe(&mut self, message: &Message) {
        self.plan.observe(message);
        self.termination.observe(message);
    }
}

/// Writes what surrounds the transcript of a plan.
fn layout(
    state: ResumeState,
    plan: Plan,
    termination: TerminationCheck,
    dialect: &str,
) -> serde_json::Result<Layout> {
    let (before, after) = response::fields(state, plan);
    let after = serde_json::to_vec(&after)?;
    Layout::within(&before, dialect, after, move |rendered| {
        let termination = termination.last_rendered(&rendered.dropped);
        serde_json::to_value(termination.map(TerminationResponse::from))
    })
}

/// The memory of a request for a plan.
struct PlanMemory {
    memory: RequestMemory,
    is_for_held: bool,
    /// What is reserved for calls without results.
    call_bytes: usize,
}

impl PlanMemory {
    /// Reserves what a chat needs whose messages are held.
    async fn reserve(memory: RequestMemory) -> Result<Self, Problem> {
        memory.reserve(TIMES_HELD * MAX_HELD_BYTES).await?;
        Ok(Self { memory, is_for_held: true, call_bytes: 0 })
    }

    /// Gives back what is not needed for a chat that is read again, and reserves memory for the calls without results.
    async fn adjust(&mut self, is_held: bool, call_bytes: usize) -> Result<(), Problem> {
        if self.is_for_held && !is_held {
            self.is_for_held = false;
            self.memory.shrink_to(STREAM_BYTES + self.call_bytes);
        }
        if !is_held && call_bytes > self.call_bytes {
            let further = (call_bytes - self.call_bytes).max(CALL_STEP_BYTES);
            self.memory.reserve(further).await?;
            self.call_bytes += further;
        }
        Ok(())
    }

    /// Keeps what the rest of the response needs: for the messages that are held, if they are, and for the text around
    /// the transcript.
    async fn settle(&self, held_bytes: Option<usize>, bytes_around: usize) -> Result<(), Problem> {
        let (reserved, transcript) = match held_bytes {
            Some(bytes) => (TIMES_HELD * MAX_HELD_BYTES, TIMES_HELD * bytes),
            None => (STREAM_BYTES + self.call_bytes, STREAM_BYTES),
        };
        let needed = transcript.saturating_add(bytes_around);
        if needed <= reserved {
            self.memory.shrink_to(needed);
            return Ok(());
        }
        self.memory.reserve(needed - reserved).await
    }
}
