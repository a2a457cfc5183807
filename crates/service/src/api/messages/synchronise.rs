use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use records::Scope;
use resume::dialect::Dialect;
use resume::ingest::Check;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use super::AppendResponse;
use super::append::append_transcript;
use super::recognised::{adopt_stored_ids, leave_out_known, leave_out_parts};
use super::transcript::{self, CheckWord, Ids, TranscriptRequest};
use crate::admission::RequestMemory;
use crate::config::LimitsConfig;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, UnreadJson, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// How the transcript is read.
#[derive(Debug, IntoParams)]
pub(crate) struct TranscriptQuery {
    /// The dialect of the transcript.
    #[param(value_type = values::StoredDialect)]
    dialect: &'static dyn Dialect,
    /// How it is checked: `lenient` (default) stores what can be read, and notes the rules of the dialect that it breaks;
    /// `strict` refuses it.
    #[param(inline, value_type = Option<CheckWord>)]
    check: Check,
    /// Append only if the chat has this `last_sequence`: the messages that the caller has seen, and no more.
    #[param(value_type = Option<u64>)]
    expected_last_sequence: Option<u64>,
}

impl FromParams for TranscriptQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let dialect = params.take_with("dialect", transcript::read_stored_dialect)?;
        Ok(Self {
            dialect: dialect.ok_or_else(|| Problem::invalid_parameter("dialect", "is missing"))?,
            check: params.take_with("check", transcript::read_check)?.unwrap_or_default(),
            expected_last_sequence: params.take_in("expected_last_sequence", 0..=u64::MAX)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Synchronises a chat with a whole transcript of another system: appends what the chat does not have yet.
///
/// A message keeps the id that it has in the dialect, or gets one that is derived from it and from all messages before it.
/// So a transcript that is sent again, or again with more messages at its end, stores only the new ones. What the chat shows already
/// in the dialect is not stored again either: a history may be read, continued and put back. `request_id` distinguishes
/// transcripts that begin alike.
#[operation(
    answers = "At least one message is new",
    repeated = "All messages were stored before",
    problems = [SEQUENCE_CONFLICT, CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn put_transcript(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Query(query): Query<TranscriptQuery>,
    UnreadJson(request, _): UnreadJson<TranscriptRequest>,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let scope = Scope { expected_last_sequence: query.expected_last_sequence, ..scope };
    let memory = RequestMemory::of(request.extensions())?;
    let read = transcript::read(
        query.dialect,
        query.check,
        Ids::Derived,
        request,
        &state,
        (&scope, &chat_id),
    )
    .await?;
    let read = leave_out_known(&state, &scope, &chat_id, &memory, read).await?;
    let read = adopt_stored_ids(&state, &scope, &chat_id, read).await?;
    let read = leave_out_parts(&state, &scope, &chat_id, read).await?;
    append_transcript(&state, &scope, chat_id, read).await
}
