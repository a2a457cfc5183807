use axum::body::HttpBody as _;
use axum::extract::{FromRequest as _, Request};
use persistence::{MessageRange, StoreError, offload};
use records::json::{Digest, ListLimit};
use records::{
    ChatId, EventId, IdSpace, Item, JsonObject, Location, Message, Scope, Segment, TurnMessage,
};
use resume::dialect::{self, Dialect, Parsed, Resent, TranscriptPosition, Violation};
use resume::ingest::{self, Check, Checked};
use resume::{Dropped, item_digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::MESSAGES;
use crate::admission::RequestMemory;
use crate::extract::{IdempotencyKey, Keyed, LimitedLists, ListJson};
use crate::openapi::values;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A transcript in a dialect, to append atomically.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewTranscript, example = json!({
    "messages": [{"role": "user", "content": "Which features should it include?"}]
}))]
pub(crate) struct TranscriptRequest {
    /// The messages in the dialect: at most 1,000, of at most 4 MiB each, together at most 8 MiB. `acp` and
    /// `ag2-v1` may have 50,000 items, because several of them make one message; the limit of 1,000 then holds
    /// for the messages stored.
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    /// The system instructions, for dialects that keep them apart from the messages.
    #[serde(default)]
    system: Option<Instructions>,
    /// Makes an append safe to repeat. A synchronisation is, and the id distinguishes transcripts that begin alike.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<EventId>,
}

/// System instructions in any form that a provider takes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "a text, a block, or a list of them")]
enum Instructions {
    /// Texts and blocks.
    Blocks(Vec<Value>),
    Text(String),
    /// A block; one with `parts` stands for these.
    #[schema(value_type = Object)]
    Block(JsonObject),
}

impl Instructions {
    fn into_blocks(self) -> Vec<Value> {
        match self {
            Self::Blocks(blocks) => blocks,
            Self::Text(text) => vec![text.into()],
            Self::Block(mut block) => match block.shift_remove("parts") {
                Some(Value::Array(parts)) => parts,
                _ => vec![block.into()],
            },
        }
    }
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

/// How a transcript is checked.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes what `read_check` reads")]
pub(crate) enum CheckWord {
    Lenient,
    Strict,
}

pub(super) fn read_check(word: &str) -> Result<Check, &'static str> {
    match word {
        "lenient" => Ok(Check::Lenient),
        "strict" => Ok(Check::Strict),
        _ => Err("must be lenient or strict"),
    }
}

pub(super) fn read_dialect(name: &str) -> Result<&'static dyn Dialect, String> {
    let names = || dialect::names().collect::<Vec<_>>().join(", ");
    dialect::named(name).ok_or_else(|| format!("must be one of {}", names()))
}

/// Reads the dialect of messages to store.
pub(super) fn read_stored_dialect(name: &str) -> Result<&'static dyn Dialect, String> {
    let names = || dialect::parsed().map(Dialect::name).collect::<Vec<_>>().join(", ");
    match dialect::named(name) {
        Some(dialect) if dialect.is_export_only() => {
            Err(format!("{name} is for export only; must be one of {}", names()))
        }
        Some(dialect) => Ok(dialect),
        None => Err(format!("must be one of {}", names())),
    }
}

/// A transcript that was read, and the rules that it breaks.
#[derive(Debug)]
pub(super) struct ReadTranscript {
    pub(super) parsed: Parsed,
    /// Whether the transcript has messages. A piece may repeat what is stored, and nothing else.
    pub(super) has_messages: bool,
    pub(super) noted: Vec<Violation>,
    /// The dialect, and how its ids are given: what happens to a message that is stored with another body.
    pub(super) dialect: &'static dyn Dialect,
    pub(super) ids: Ids,
    /// The id of the request.
    pub(super) request_id: Option<EventId>,
    /// The id of the message with which the chat ends and that has more in it now.
    pub(super) grown: Option<EventId>,
    /// The digests of its items, if some have ids of their own.
    pub(super) items: Vec<Digest>,
    pub(super) memory: RequestMemory,
}

/// How messages of a transcript without an id get one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ids {
    /// Derived from the transcript: the same one again has the same ids.
    Derived,
    /// Derived if the request has an id; otherwise each request appends messages of its own.
    OfRequest,
}

/// How many of the newest messages of a chat are searched for what a transcript goes on with, and the memory to read them.
pub(crate) const CONTEXT: usize = 100;
const CONTEXT_BYTES: usize = 12 << 20;

/// Reads a transcript. A large one is checked and parsed away from the threads that serve requests.
pub(super) async fn read(
    dialect: &'static dyn Dialect,
    check: Check,
    ids: Ids,
    request: Request,
    state: &AppState,
    (scope, chat_id): (&Scope, &ChatId),
) -> Result<ReadTranscript, Problem> {
    let memory = RequestMemory::of(request.extensions())?;
    let bytes = request.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok());
    let body = if dialect.splits_messages() {
        let ListJson(SplitTranscript(body)) = ListJson::from_request(request, state).await?;
        body
    } else {
        let ListJson(body) = ListJson::from_request(request, state).await?;
        body
    };
    let needs_context = ids == Ids::OfRequest && dialect.needs_context(&body.messages);
    if needs_context || dialect.resent() != Resent::Refused {
        // For the context, or for the message that another body replaces.
        memory.reserve(CONTEXT_BYTES).await?;
    }
    let newest = if needs_context { newest(state, scope, chat_id).await? } else { Vec::new() };
    let space = if ids == Ids::Derived || body.request_id.is_some() {
        id_space(state, scope, chat_id).await?
    } else {
        IdSpace::default()
    };
    let parse = move || parse(dialect, check, ids, body, &newest, &space);
    let Read { parsed, has_messages, noted, request_id, items } =
        offload(bytes.unwrap_or(usize::MAX), parse).await?;
    let grown = None;
    Ok(ReadTranscript {
        parsed,
        has_messages,
        noted,
        dialect,
        ids,
        request_id,
        grown,
        items,
        memory,
    })
}

/// What was read of the body of a request.
struct Read {
    parsed: Parsed,
    has_messages: bool,
    noted: Vec<Violation>,
    request_id: Option<EventId>,
    items: Vec<Digest>,
}

/// Reads the newest messages of a chat, among which a transcript may have its beginning.
pub(super) async fn newest(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<Vec<Message>, StoreError> {
    let range = MessageRange::Newest { before: None, limit: CONTEXT };
    Ok(state.store.messages(scope, chat_id, range).await?.messages)
}

/// Returns for whom the ids of messages without one are derived: for the caller, in a chat.
async fn id_space(
    state: &AppState,
    scope: &Scope,
    chat_id: &ChatId,
) -> Result<IdSpace, StoreError> {
    // The ids do not depend on what the caller may do: this request may make a member of one who may only read.
    let inside = Scope::service(scope.app_id.clone()).finding_deleted();
    let chat = state.store.get_chat(&inside, chat_id).await?;
    // Of a chat that is created meanwhile the salt is not known.
    let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
    Ok(IdSpace { salt: chat.id_salt, person: scope.caller.person().cloned() })
}

/// Reads messages of an adapter, which must break no rule of their dialect.
pub(crate) async fn read_valid(
    dialect: &'static dyn Dialect,
    messages: Vec<Value>,
) -> Result<Parsed, Problem> {
    read_checked(dialect, Check::Strict, messages).await
}

/// Reads messages of an adapter, and checks them.
pub(crate) async fn read_checked(
    dialect: &'static dyn Dialect,
    check: Check,
    messages: Vec<Value>,
) -> Result<Parsed, Problem> {
    let body = TranscriptRequest { messages, system: None, request_id: None };
    let read = move || parse(dialect, check, Ids::OfRequest, body, &[], &IdSpace::default());
    offload(usize::MAX, read).await.map(|read| read.parsed)
}

fn parse(
    dialect: &'static dyn Dialect,
    check: Check,
    ids: Ids,
    body: TranscriptRequest,
    newest: &[Message],
    space: &IdSpace,
) -> Result<Read, Problem> {
    let TranscriptRequest { mut messages, system, request_id } = body;
    let system = system.map(Instructions::into_blocks).unwrap_or_default();
    dialect.prepare(&mut messages);
    let Checked { refused: found, noted } = ingest::check(dialect, &messages, check);
    if !found.is_empty() {
        return Err(refused(dialect.name(), &found));
    }
    let (is_instructed, has_messages) = (!system.is_empty(), !messages.is_empty());
    let mut items: Vec<_> = messages.iter().map(item_digest).collect();
    let mut parsed = ingest::parse_piece(dialect, system, messages, newest);
    if parsed.messages.iter().all(|message| message.event_id.is_none()) {
        items.clear();
    }
    if is_instructed
        && !parsed.positions.iter().any(|it| matches!(it, TranscriptPosition::System(_)))
    {
        return Err(Problem::invalid_body(
            "/system",
            "must be omitted: this dialect has its instructions in the messages",
        ));
    }
    if dialect.resent() == Resent::Replaces {
        ingest::assign_step_ids(&mut parsed);
    }
    if ids == Ids::Derived || request_id.is_some() {
        let seed = request_id.as_ref().map_or("", EventId::as_str);
        ingest::assign_event_ids(seed, space, &mut parsed.messages);
    }
    Ok(Read { parsed, has_messages, noted, request_id, items })
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

/// The field of a stored message with the id that its client gave it, if the store gave it another one.
pub(crate) const OWN_ID: &str = "message_id";

/// Returns the messages of a transcript as those of a turn, from which their ids are derived. They keep their own beside them.
pub(crate) fn turn_messages(parsed: Parsed) -> (Vec<TurnMessage>, Vec<TranscriptPosition>) {
    let Parsed { messages, positions, .. } = parsed;
    let mut last = None;
    let of_turn = messages.into_iter().zip(&positions).map(|(mut message, position)| {
        // A message may have become several. The first one has its id.
        let is_first = last.replace(*position) != Some(*position);
        if let Some(id) = message.event_id.filter(|_| is_first) {
            message.body.extra.insert(OWN_ID.to_owned(), id.as_str().into());
        }
        TurnMessage { body: message.body, author: None }
    });
    (of_turn.collect(), positions)
}
