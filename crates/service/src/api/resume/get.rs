use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::ResumeState;
use resume::plan::{self, TerminationCheck};
use resume::window;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::response::ResumeResponse;
use crate::admission::RequestMemory;
use crate::api::messages::history::HistoryQuery;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::history::{HistoryError, HistoryForm};
use crate::offload::offload;
use crate::operation::Prepared;
use crate::problem::Problem;

/// The default text that ends a conversation.
const DEFAULT_TERMINATION: &str = "TERMINATE";

/// Messages of up to this size together are read with little memory reserved, in bytes.
const SMALL_BYTES: usize = 4 << 20;

/// The memory for a resume, as a multiple of the size of its messages.
const TIMES_MESSAGES: usize = 4;

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
/// The stored messages do not change.
#[operation(
    answers = "The state to resume from",
    problems = [UNSETTLED_TOOL_CALLS, BATCH_TOO_LARGE],
)]
pub(crate) async fn get_resume(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ResumeQuery>,
    memory: RequestMemory,
) -> Result<Prepared<Json<ResumeResponse>>, Problem> {
    let (mut bytes, max) = (SMALL_BYTES, ResumeState::MAX_MESSAGE_BYTES);
    memory.reserve(TIMES_MESSAGES * bytes).await?;
    let mut state = store.resume_state(&scope, &chat_id, bytes).await;
    if matches!(&state, Err(StoreError::Invalid(invalid)) if invalid.location == "/messages".into())
    {
        // The chat is large, which is known only now: it is read again, with the memory for that.
        memory.shrink_to(0);
        memory.reserve(TIMES_MESSAGES * max).await?;
        (state, bytes) = (store.resume_state(&scope, &chat_id, max).await, max);
    }
    let state = state?;
    let is_small = bytes == SMALL_BYTES;
    offload(if is_small { 0 } else { bytes }, || respond(state, query)).await
}

/// Renders a chat, and writes the response.
fn respond(
    mut state: ResumeState,
    query: ResumeQuery,
) -> Result<Prepared<Json<ResumeResponse>>, Problem> {
    let form = HistoryForm::from(query.history);
    let plan = plan::plan(&state, &form.options.default_user_name);
    let text = query.termination.as_deref().unwrap_or(DEFAULT_TERMINATION);
    let termination_check = TerminationCheck::new(&state.messages, text);
    let messages = std::mem::take(&mut state.messages);
    let messages = match form.newest {
        Some(size) => window::newest(messages, size),
        None => messages,
    };
    let rendered = form.dialect.render(messages, &form.options);
    if !rendered.rejected.is_empty() {
        return Err(HistoryError::Unsettled(rendered.rejected).into());
    }
    let termination = termination_check.last_rendered(&rendered.dropped);
    let response = ResumeResponse::new(state, plan, termination, form.dialect.name(), rendered);
    Ok(Prepared::new(Json(response)))
}
