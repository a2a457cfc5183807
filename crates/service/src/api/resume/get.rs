use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use resume::plan::{self, TerminationCheck};
use resume::window;
use utoipa::IntoParams;

use super::response::ResumeResponse;
use crate::api::messages::history::HistoryQuery;
use crate::config::LimitsConfig;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::history::{Form, HistoryError};
use crate::openapi::ChatPath;
use crate::problem::{Problem, ResumeProblems};

/// What a message says to end a conversation, unless said.
const TERMINATION: &str = "TERMINATE";

/// How to bring a chat back, besides the form of its history.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "describes what `ResumeQuery` reads beside the history's")]
pub(crate) struct TerminationQuery {
    /// What a message says at its end to end the conversation; `TERMINATE` unless said.
    #[param(example = "TERMINATE")]
    termination: Option<String>,
}

/// How to bring a chat back.
#[derive(Debug)]
pub(crate) struct ResumeQuery {
    history: HistoryQuery,
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
}

/// Returns everything that an orchestrator needs to go on, as it was at one moment: the transcript in a form
/// and what of it was left out or changed, the state beside it, and what is to be done.
///
/// The stored messages stay as they are, whatever becomes of them in the form.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/resume", tag = "turns",
    operation_id = "get_resume", params(ChatPath, HistoryQuery, TerminationQuery),
    responses((status = 200, description = "What is needed", body = ResumeResponse), ResumeProblems),
)]
pub(crate) async fn get_resume(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(query): Query<ResumeQuery>,
) -> Result<Json<ResumeResponse>, Problem> {
    let mut state = store.resume_state(&scope, &chat_id).await?;
    let form = Form::from(query.history);
    let plan = plan::plan(&state, &form.options.default_user_name);
    let text = query.termination.as_deref().unwrap_or(TERMINATION);
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
    Ok(Json(ResumeResponse::new(state, plan, termination, form.dialect.name(), rendered)))
}
