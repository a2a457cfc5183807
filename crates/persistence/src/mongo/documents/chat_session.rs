use bson::raw::{RawArrayBuf, RawBsonRef, cstr};
use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use records::json::Digest;
use records::{
    Artifact, ChatSession, ChatStatus, ForkOrigin, LastTurn, Lease, TurnId, TurnOutcome, Visibility,
};

use crate::StoreError;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{CHAT_SESSIONS, SCHEMA_VERSION, counter};
use crate::mongo::engine::json::to_document;
use crate::rules::turn_batch::TurnMark;
use crate::store::ChatHead;

/// The fields left out wherever only the session itself is asked for.
pub(crate) const WITHOUT_BULK: [&str; 4] =
    ["messages", "last_artifact", "context_snapshot", "context_recent"];

const VISIBILITIES: [Visibility; 3] = [Visibility::App, Visibility::Team, Visibility::Private];

/// Returns the document of a chat session that has just been created.
///
/// `creation_id` names the call that creates it, so that its retry recognises its own work.
pub(crate) fn chat_session_document(chat: &ChatSession, creation_id: &str) -> Document {
    let mut document = doc! {
        "_id": chat.chat_id.as_str(),
        "app_id": chat.app_id.as_str(),
        "workflow_name": chat.workflow_name.as_str(),
        "user_id": chat.user_id.as_ref().map(records::UserId::as_str),
        "team_id": chat.team_id.as_ref().map(records::TeamId::as_str),
        "visibility": chat.visibility.as_str(),
        "cache_seed": i64::from(chat.cache_seed),
        "status": chat.status.number(),
        "status_reason": chat.status_reason.as_deref(),
        "title": chat.title.as_deref(),
        "metadata": to_document(&chat.metadata),
        "created_at": DateTime::from_chrono(chat.created_at),
        "last_updated_at": DateTime::from_chrono(chat.last_updated_at),
        "completed_at": chat.completed_at.map(DateTime::from_chrono),
        "duration_sec": chat.duration_sec,
        "last_sequence": counter(chat.last_sequence),
        "first_sequence": counter(chat.last_sequence),
        "revision": 0_i64,
        "recent_edits": [],
        "tail_bytes": 0_i64,
        "last_artifact": Bson::Null,
        "artifact_blob": Bson::Null,
        "artifact_version": 0_i64,
        "lease": Bson::Null,
        "fencing_token": 0_i64,
        "last_message_at": Bson::Null,
        "last_connector": Bson::Null,
        "last_mode": Bson::Null,
        "last_turn": Bson::Null,
        "turns": 0_i64,
        "recent_turns": [],
        "pending_inputs": [],
        "recent_inputs": [],
        "input_version": 0_i64,
        "creation_id": creation_id,
        "schema_version": SCHEMA_VERSION,
        "messages": [],
    };
    document.extend(without_context());
    document
}

/// Returns the fields of the context snapshot of a chat that has none yet.
fn without_context() -> Document {
    doc! {
        "context_snapshot": {},
        "context_blob": Bson::Null,
        "context_sequence": 0_i64,
        "context_version": 0_i64,
        "context_written": Bson::Null,
        "context_recent": [],
    }
}

/// Opens a stored chat session.
pub(crate) fn open_chat_session(raw: &RawDocument) -> Result<Fields<'_>, StoreError> {
    let id = raw.get_str("_id").unwrap_or("(without a text id)");
    Fields::open(CHAT_SESSIONS, id, raw)
}

/// Reads a chat session.
pub(crate) fn chat_session_record(raw: &RawDocument) -> Result<ChatSession, StoreError> {
    let opened = open_chat_session(raw)?;
    let fields = opened.collect()?;
    let field = |name| fields.field(name);
    Ok(ChatSession {
        chat_id: field("_id").parsed()?,
        app_id: field("app_id").parsed()?,
        workflow_name: field("workflow_name").parsed()?,
        user_id: field("user_id").optional_parsed()?,
        team_id: field("team_id").optional_parsed()?,
        visibility: field("visibility").one_of(VISIBILITIES, |visibility| visibility.as_str())?,
        cache_seed: field("cache_seed").number()?,
        status: status_of(&field("status"))?,
        status_reason: field("status_reason").optional_string()?,
        title: field("title").optional_string()?,
        metadata: field("metadata").object()?,
        created_at: field("created_at").time()?,
        last_updated_at: field("last_updated_at").time()?,
        completed_at: field("completed_at").optional_time()?,
        duration_sec: field("duration_sec").float()?,
        last_sequence: field("last_sequence").number()?,
        pending_inputs: field("pending_inputs").optional_each_parsed()?,
        lease: lease_within(&opened, &field("lease"))?,
        last_message_at: field("last_message_at").optional_time()?,
        last_connector: field("last_connector").optional_string()?,
        last_mode: field("last_mode").optional_string()?,
        last_turn: last_turn(&opened, &field("last_turn"), &field("turns"))?,
        forked_from: origin_within(&opened, &field("forked_from"))?,
    })
}

fn origin_within(
    fields: &Fields<'_>,
    origin: &Field<'_>,
) -> Result<Option<ForkOrigin>, StoreError> {
    let Some(origin) = origin.optional_document()? else { return Ok(None) };
    let origin = fields.inside(origin);
    Ok(Some(ForkOrigin { chat_id: origin.parsed("chat_id")?, sequence: origin.count("sequence")? }))
}

pub(crate) fn status_of(field: &Field<'_>) -> Result<ChatStatus, StoreError> {
    field.required(field.number().ok().and_then(ChatStatus::from_number))
}

fn last_turn(
    fields: &Fields<'_>,
    last: &Field<'_>,
    turns: &Field<'_>,
) -> Result<Option<LastTurn>, StoreError> {
    let Some(last) = last.optional_document()? else { return Ok(None) };
    let last = fields.inside(last);
    Ok(Some(LastTurn {
        request_id: last.parsed("request_id")?,
        outcome: last.field("outcome")?.one_of(TurnOutcome::ALL, |outcome| outcome.as_str())?,
        turn: turns.number()?,
    }))
}

/// How many of the turns written last a chat names with their digests, so that a repeat is told even where
/// no message of it tells.
const RECENT_TURNS: i64 = -16;

/// Returns what a turn pushes to the document of its chat.
pub(crate) fn recent_turn(turn: &TurnMark) -> RawDocumentBuf {
    let mut each = RawArrayBuf::new();
    let digest = super::binary(&turn.digest);
    each.push(rawdoc! { "request_id": turn.request_id.as_str(), "digest": digest });
    rawdoc! { "$each": each, "$slice": RECENT_TURNS }
}

/// Returns the digest of a turn, if it is among those written last.
pub(crate) fn recent_digest(
    fields: &Fields<'_>,
    request_id: &TurnId,
) -> Result<Option<Digest>, StoreError> {
    if fields.field("recent_turns")?.raw() == RawBsonRef::Null {
        return Ok(None);
    }
    for recent in fields.documents("recent_turns")? {
        let recent = recent?;
        if recent.field("request_id")?.text()? == request_id.as_str() {
            return recent.bytes("digest").map(Some);
        }
    }
    Ok(None)
}

/// Adds what a turn sets of the document of its chat.
pub(crate) fn append_turn_mark(set: &mut RawDocumentBuf, turn: &TurnMark) {
    let TurnMark { request_id, outcome, connector, mode, .. } = turn;
    let last = rawdoc! { "request_id": request_id.as_str(), "outcome": outcome.as_str() };
    set.append(cstr!("last_turn"), last);
    if let Some(connector) = connector {
        set.append(cstr!("last_connector"), connector.as_str());
    }
    if let Some(mode) = mode {
        set.append(cstr!("last_mode"), mode.as_str());
    }
}

fn lease_within(fields: &Fields<'_>, lease: &Field<'_>) -> Result<Option<Lease>, StoreError> {
    let lease = lease.optional_document()?;
    lease.map(|lease| lease_record(&fields.inside(lease))).transpose()
}

/// Returns the document of a lease, as it lies in that of its chat.
pub(crate) fn lease_document(lease: &Lease) -> Document {
    doc! {
        "lease_id": lease.lease_id.as_str(),
        "owner": lease.owner.as_str(),
        "fencing_token": counter(lease.fencing_token),
        "acquired_at": DateTime::from_chrono(lease.acquired_at),
        "expires_at": DateTime::from_chrono(lease.expires_at),
    }
}

/// Reads a lease.
pub(crate) fn lease_record(fields: &Fields<'_>) -> Result<Lease, StoreError> {
    Ok(Lease {
        lease_id: fields.parsed("lease_id")?,
        owner: fields.parsed("owner")?,
        fencing_token: fields.count("fencing_token")?,
        acquired_at: fields.time("acquired_at")?,
        expires_at: fields.time("expires_at")?,
    })
}

/// The part of a session document that says where its messages lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// The counter: the sequence of the next message.
    pub(crate) last_sequence: u64,
    /// The sequence of the first message that is not sealed.
    pub(crate) first_sequence: u64,
    /// Grows with every change to a message that is stored already.
    pub(crate) revision: i64,
    /// The size of the messages that are not sealed.
    pub(crate) bytes: u64,
    /// Where the chat stands.
    pub(crate) status: ChatStatus,
    /// That of the lease under which the chat is carried on, if it is under one.
    pub(crate) fencing_token: Option<u64>,
    /// How many turns were written.
    pub(crate) turns: u64,
    /// How many of them have no messages.
    pub(crate) turns_without_messages: u64,
}

impl Tail {
    /// The fields it is read from.
    pub(crate) fn projection() -> Document {
        doc! {
            "last_sequence": 1, "first_sequence": 1, "revision": 1, "tail_bytes": 1, "status": 1,
            "lease.fencing_token": 1, "turns": 1, "turns_without_messages": 1,
            "schema_version": 1,
        }
    }

    /// The same with the messages of the tail.
    pub(crate) fn with_messages() -> Document {
        let mut projection = Self::projection();
        projection.insert("messages", 1);
        projection
    }

    /// Reads it from a session document.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            last_sequence: fields.count("last_sequence")?,
            first_sequence: fields.count("first_sequence")?,
            revision: fields.integer("revision")?,
            bytes: fields.count("tail_bytes")?,
            status: status_of(&fields.field("status")?)?,
            fencing_token: match fields.optional_document("lease")? {
                Some(lease) => Some(fields.inside(lease).count("fencing_token")?),
                None => None,
            },
            turns: fields.field("turns")?.optional_number()?.unwrap_or_default(),
            turns_without_messages: fields
                .field("turns_without_messages")?
                .optional_number()?
                .unwrap_or_default(),
        })
    }

    /// Returns how many messages are not sealed.
    pub(crate) fn len(&self) -> u64 {
        self.last_sequence - self.first_sequence
    }
}

/// The fields a head is read from.
pub(crate) fn head_projection() -> Document {
    doc! {
        "last_sequence": 1, "revision": 1, "recent_edits": 1, "status": 1, "status_reason": 1,
        "context_version": 1, "artifact_version": 1, "input_version": 1, "recent_inputs": 1,
        "pending_inputs": 1, "schema_version": 1,
    }
}

/// Reads the head of a chat.
pub(crate) fn chat_head_record(raw: &RawDocument) -> Result<ChatHead, StoreError> {
    let fields = open_chat_session(raw)?.collect()?;
    let field = |name| fields.field(name);
    let edits = field("recent_edits");
    Ok(ChatHead {
        chat_id: field("_id").parsed()?,
        last_sequence: field("last_sequence").number()?,
        revision: field("revision").number()?,
        recent_edits: edits.optional_numbers()?,
        status: status_of(&field("status"))?,
        status_reason: field("status_reason").optional_string()?,
        context_version: field("context_version").number()?,
        artifact_version: field("artifact_version").optional_number()?.unwrap_or_default(),
        input_version: field("input_version").optional_number()?.unwrap_or_default(),
        recent_inputs: field("recent_inputs").optional_each_parsed()?,
        pending_inputs: field("pending_inputs").optional_each_parsed()?,
    })
}

/// Returns the document of an artifact; `payload` is null where it lies in a blob.
pub(crate) fn artifact_document(artifact: &Artifact, payload: Bson) -> Document {
    doc! {
        "ui_tool_id": artifact.ui_tool_id.as_deref(),
        "event_id": artifact.event_id.as_deref(),
        "display": artifact.display.as_deref(),
        "workflow_name": artifact.workflow_name.as_deref(),
        "payload": payload,
        "updated_at": DateTime::from_chrono(artifact.updated_at),
    }
}

/// Reads an artifact, payload as it lies in the session document.
pub(crate) fn artifact_record(fields: &Fields<'_>) -> Result<Artifact, StoreError> {
    let text = |field| fields.field(field)?.optional_string();
    Ok(Artifact {
        ui_tool_id: text("ui_tool_id")?,
        event_id: text("event_id")?,
        display: text("display")?,
        workflow_name: text("workflow_name")?,
        payload: fields.value("payload")?,
        updated_at: fields.time("updated_at")?,
    })
}
