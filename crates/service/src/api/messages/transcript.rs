use axum::extract::{FromRequest as _, Request};
use records::json::ListLimit;
use records::{EventId, Item, Location, Segment};
use resume::dialect::{Dialect, Parsed, TranscriptPosition, Violation};
use resume::{Dropped, ingest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::MESSAGES;
use crate::extract::{IdempotencyKey, Keyed, LimitedLists, ListJson};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A transcript in a dialect, to append atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTranscript)]
pub(crate) struct TranscriptRequest {
    /// The messages in the dialect: at most 1,000, of at most 4 MiB each, together at most 8 MiB. `acp` and
    /// `ag2-v1` may have 50,000 items, because several of them make one message; the limit of 1,000 then holds
    /// for the messages stored.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// The system instructions, for dialects that keep them apart from the messages.
    #[serde(default)]
    #[schema(required = false)]
    system: Vec<Value>,
    /// Distinguishes transcripts that begin alike.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<EventId>,
}

impl Keyed for TranscriptRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("request_id", &mut self.request_id)
    }
}

impl LimitedLists for TranscriptRequest {
    const LISTS: &'static [ListLimit] = &[MESSAGES];
}

/// A transcript in a dialect of which several items may make one message.
#[derive(Debug, Deserialize)]
struct SplitTranscript(TranscriptRequest);

impl Keyed for SplitTranscript {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        self.0.set_key(key)
    }
}

impl LimitedLists for SplitTranscript {
    const LISTS: &'static [ListLimit] = &[ListLimit { field: "messages", items: 50_000 }];
}

/// A part of a transcript that is not stored.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Unread)]
pub(crate) struct UnreadResponse {
    /// The index in `messages`.
    index: usize,
    /// The reason, as a stable word.
    #[schema(example = "unsupported_role")]
    reason: &'static str,
    /// The reason, as a sentence.
    detail: String,
}

impl From<Dropped> for UnreadResponse {
    fn from(dropped: Dropped) -> Self {
        let (index, reason) = (dropped.index, dropped.reason);
        Self { index, reason: reason.slug(), detail: reason.to_string() }
    }
}

/// Reads a transcript that follows the rules of its dialect, and gives every message an id.
pub(super) async fn read(
    dialect: &dyn Dialect,
    request: Request,
    state: &AppState,
) -> Result<Parsed, Problem> {
    let TranscriptRequest { messages, system, request_id } = if dialect.splits_messages() {
        let ListJson(SplitTranscript(body)) = ListJson::from_request(request, state).await?;
        body
    } else {
        let ListJson(body) = ListJson::from_request(request, state).await?;
        body
    };
    let found = ingest::violations(dialect, &messages);
    if !found.is_empty() {
        return Err(refused(dialect.name(), &found));
    }
    let is_instructed = !system.is_empty();
    let mut parsed = dialect.parse(system, messages);
    if is_instructed
        && !parsed.positions.iter().any(|it| matches!(it, TranscriptPosition::System(_)))
    {
        return Err(Problem::invalid_body(
            "/system",
            "must be omitted: this dialect has its instructions in the messages",
        ));
    }
    let seed = request_id.as_ref().map_or("", EventId::as_str);
    ingest::assign_event_ids(seed, &mut parsed.messages);
    Ok(parsed)
}

/// Returns the location of a message in the body.
pub(super) fn location_of(position: TranscriptPosition) -> Location {
    match position {
        TranscriptPosition::System(index) => Location::from(Segment::Index(index)).below("/system"),
        TranscriptPosition::Message(index) => Item::Message(index).into(),
    }
}

/// Creates the problem that lists the broken rules with pointers.
fn refused(dialect: &str, found: &[Violation]) -> Problem {
    const LISTED: usize = 100;
    let more = if found.len() > LISTED { "; only the first 100 are listed" } else { "" };
    let detail = format!("the messages break rules of the dialect {dialect}; see errors{more}");
    let problem = Problem::new(ProblemKind::INVALID_REQUEST, detail);
    found.iter().take(LISTED).fold(problem, |problem, Violation { index, rule, detail }| {
        problem.at(Item::Message(*index), format!("{rule}: {detail}"))
    })
}
