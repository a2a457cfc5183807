use axum::extract::{FromRequest as _, Request};
use records::{EventId, Limits};
use resume::dialect::{Dialect, Parsed, TranscriptPosition, Violation};
use resume::{Dropped, ingest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::Json;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A transcript in a dialect, to be appended, all of it or nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Transcript)]
pub(crate) struct TranscriptRequest {
    /// The messages in the form of the dialect; at most 1,000 are stored of them, of at most 4 MiB
    /// each, together at most 8 MiB. Only `acp` and `ag2-v1` may have more, of which several are one.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// The instructions, where the form wants them apart, as a history gives them.
    #[serde(default)]
    #[schema(required = false)]
    system: Vec<Value>,
    /// Tells transcripts apart that begin alike.
    #[schema(value_type = Option<String>)]
    request_id: Option<EventId>,
}

/// A part of a transcript that is not stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Unread)]
pub(crate) struct UnreadResponse {
    /// Its position in `messages`.
    index: usize,
    /// Why, as a stable word.
    #[schema(example = "unsupported_role")]
    reason: &'static str,
    /// Why, in a sentence.
    detail: String,
}

impl From<Dropped> for UnreadResponse {
    fn from(dropped: Dropped) -> Self {
        let (index, reason) = (dropped.index, dropped.reason);
        Self { index, reason: reason.slug(), detail: reason.to_string() }
    }
}

/// Reads a transcript that keeps to the rules of its form; every message has an id then.
pub(super) async fn read(
    dialect: &dyn Dialect,
    request: Request,
    state: &AppState,
) -> Result<Parsed, Problem> {
    let Json(body) = Json::<TranscriptRequest>::from_request(request, state).await?;
    let TranscriptRequest { messages, system, request_id } = body;
    if !dialect.splits_messages() && messages.len() > Limits::BATCH_MESSAGES {
        let most = format!("must hold at most {} messages", Limits::BATCH_MESSAGES);
        let problem = Problem::new(ProblemKind::BATCH_TOO_LARGE, "a size limit is exceeded");
        return Err(problem.at_pointer("/messages", most));
    }
    let found = ingest::violations(dialect, &messages);
    if !found.is_empty() {
        return Err(refused(dialect.name(), &found));
    }
    let is_instructed = !system.is_empty();
    let mut parsed = dialect.parse(system, messages);
    if is_instructed
        && !parsed.positions.iter().any(|it| matches!(it, TranscriptPosition::System(_)))
    {
        return Err(Problem::invalid_body("/system", "the form has instructions in its messages"));
    }
    let seed = request_id.as_ref().map_or("", EventId::as_str);
    ingest::assign_event_ids(seed, &mut parsed.messages);
    Ok(parsed)
}

/// Returns where in the body a message stands.
pub(super) fn pointer_to(position: TranscriptPosition) -> String {
    match position {
        TranscriptPosition::System(index) => format!("/system/{index}"),
        TranscriptPosition::Message(index) => format!("/messages/{index}"),
    }
}

/// Says which rules are broken, and where.
fn refused(dialect: &str, found: &[Violation]) -> Problem {
    const LISTED: usize = 100;
    let more = if found.len() > LISTED { "; more are not listed" } else { "" };
    let detail = format!("the messages break rules of the form {dialect}{more}");
    let problem = Problem::new(ProblemKind::INVALID_REQUEST, detail);
    found.iter().take(LISTED).fold(problem, |problem, Violation { index, rule, detail }| {
        problem.at_pointer(format!("/messages/{index}"), format!("{rule}: {detail}"))
    })
}
