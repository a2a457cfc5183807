use axum::extract::{FromRequest as _, State};
use axum::http::StatusCode;
use operation::operation;
use persistence::Append;
use records::{ChatId, Item, Location, Scope};
use resume::dialect::{Dialect, Parsed, Resent, TranscriptPosition, Violation};
use resume::ingest::{Check, speaker_from_role};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::recognised::{SentItems, adopt_stored_ids, known_note, leave_out_parts};
use super::request::AppendRequest;
use super::resent::{Resend, Sent, append_nothing, append_resent, append_within};
use super::transcript::{self, CheckWord, Ids, ReadTranscript, location_of};
use super::{AppendResponse, MessagesBody};
use crate::config::LimitsConfig;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, UnreadJson, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// How the messages are read.
#[derive(Debug, IntoParams)]
pub(crate) struct AppendQuery {
    /// The field that names the speaker: `name` (default), or `role` for transcripts that use it for that,
    /// such as those of Magentic-One.
    #[param(inline, value_type = Option<Speaker>)]
    speaker: Speaker,
    /// The dialect of the messages, if they are a transcript of another system.
    #[param(value_type = Option<values::StoredDialect>)]
    dialect: Option<&'static dyn Dialect>,
    /// How a transcript is checked: `lenient` (default) stores what can be read, and notes the rules of the dialect that it
    /// breaks; `strict` refuses it.
    #[param(inline, value_type = Option<CheckWord>)]
    check: Check,
    /// Append only if the chat has this `last_sequence`: the messages that the caller has seen, and no more.
    #[param(value_type = Option<u64>)]
    expected_last_sequence: Option<u64>,
}

/// The field of a message that names its speaker.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
enum Speaker {
    Name,
    Role,
}

impl FromParams for AppendQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let speaker = params.take_with("speaker", |word| match word {
            "name" => Ok(Speaker::Name),
            "role" => Ok(Speaker::Role),
            _ => Err("must be name or role"),
        })?;
        let dialect = params.take_with("dialect", transcript::read_stored_dialect)?;
        if dialect.is_some() && speaker.is_some() {
            return Err(Problem::invalid_parameter("speaker", "must not be combined with dialect"));
        }
        let check = params.take_with("check", transcript::read_check)?;
        if dialect.is_none() && check.is_some() {
            return Err(Problem::invalid_parameter("check", "must be combined with dialect"));
        }
        Ok(Self {
            speaker: speaker.unwrap_or(Speaker::Name),
            dialect,
            check: check.unwrap_or_default(),
            expected_last_sequence: params.take_in("expected_last_sequence", 0..=u64::MAX)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Appends messages in order, all of them or none.
///
/// Each message gets the next sequence of the chat. `event_id` is an idempotency key: a repeated message
/// keeps its first sequence, and is returned with `"duplicate": true`.
///
/// With `dialect` the body is a piece of a transcript of another system: one message or more, in the order in which they
/// happened. A call may be stored before its result. The rules of the dialect that the piece breaks are listed in `noted`,
/// and what cannot be stored in `dropped`. A message keeps the id that it has in the dialect. With a `request_id` the
/// request is safe to repeat; without one each request appends messages of its own. To send a whole transcript again
/// and again, put it to `/transcript`.
#[operation(
    answers = "At least one message is new",
    repeated = "All messages were stored before",
    problems = [SEQUENCE_CONFLICT, CHAT_ENDED, EVENT_CONFLICT, MESSAGE_TOO_LARGE, BATCH_TOO_LARGE],
)]
pub(crate) async fn append_messages(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Query(query): Query<AppendQuery>,
    UnreadJson(request, _): UnreadJson<AppendRequest>,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let mut scope = Scope { expected_last_sequence: query.expected_last_sequence, ..scope };
    if let Some(dialect) = query.dialect {
        let read = transcript::read(
            dialect,
            query.check,
            Ids::OfRequest,
            request,
            &state,
            (&scope, &chat_id),
        )
        .await?;
        let read = if dialect.resent() == Resent::Replaces {
            let read = adopt_stored_ids(&state, &scope, &chat_id, read).await?;
            leave_out_parts(&state, &scope, &chat_id, read).await?
        } else {
            read
        };
        return append_transcript(&state, &scope, chat_id, read).await;
    }
    let mut body = MessagesBody::from_request(request, &state).await?;
    let shape = body.shape();
    scope.expected_last_sequence = body.expected_last_sequence(scope.expected_last_sequence)?;
    let stated = body.stated();
    let mut messages = body.into_messages(None)?;
    if query.speaker == Speaker::Role {
        for message in &mut messages {
            speaker_from_role(&mut message.body);
        }
    }
    let append = append_within(&state, &scope, &chat_id, messages).await;
    let append = append.map_err(|error| shape.problem(error))?;
    Ok(AppendResponse::from_append(chat_id, append, &stated))
}

/// Appends the messages of a transcript.
pub(super) async fn append_transcript(
    state: &AppState,
    scope: &Scope,
    chat_id: ChatId,
    read: ReadTranscript,
) -> Result<(StatusCode, Json<AppendResponse>), Problem> {
    let ReadTranscript {
        parsed,
        has_messages,
        mut noted,
        dialect,
        ids,
        request_id,
        grown,
        items,
        memory,
    } = read;
    let Parsed { messages, positions, dropped } = parsed;
    let resent = match (dialect.resent(), ids) {
        // A whole transcript holds each message whole.
        (Resent::Continues, Ids::Derived) => Resent::Replaces,
        (resent, _) => resent,
    };
    if messages.is_empty() && has_messages {
        // What was dropped is told, and what only repeats calls or results is no fault of the request.
        let append = append_nothing(state, scope, &chat_id).await?;
        return Ok(AppendResponse::from_transcript(chat_id, append, dropped, noted));
    }
    let sent = SentItems { dialect, items: &items, positions: &positions, memory: &memory };
    let how = Resend { resent, request_id, grown, is_whole: ids == Ids::Derived, sent };
    let Sent { append, replaced, known } =
        append_resent(state, scope, &chat_id, messages, &how).await?;
    noted.extend(replaced.into_iter().filter_map(|at| replaced_note(positions[at])));
    noted.extend(known.into_iter().filter_map(known_note));
    Ok(AppendResponse::from_transcript(chat_id, append, dropped, noted))
}

/// Appends the messages that an adapter has read, all of them or none. `place` says where the request has what is refused.
pub(crate) async fn append_all(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
    parsed: Parsed,
    place: impl Fn(Location, &[TranscriptPosition]) -> Location,
) -> Result<Append, Problem> {
    let Parsed { messages, positions, .. } = parsed;
    if messages.is_empty() {
        return Ok(append_nothing(state, scope, chat_id).await?);
    }
    let append = append_within(state, scope, chat_id, messages).await;
    append.map_err(|error| Problem::located(error, |at| place(at, &positions)))
}

/// Returns where in a request the message is that an error names by its place among those that were read.
pub(crate) fn placed(at: Location, positions: &[TranscriptPosition]) -> Location {
    match at.item {
        Some(Item::Message(index)) => location_of(positions[index]),
        _ => at,
    }
}

/// Notes that a message was stored before with another body.
fn replaced_note(position: TranscriptPosition) -> Option<Violation> {
    let TranscriptPosition::Message(index) = position else { return None };
    let detail = "the message was stored with another body, which this one has replaced".to_owned();
    Some(Violation { index, rule: "replaced", detail })
}
