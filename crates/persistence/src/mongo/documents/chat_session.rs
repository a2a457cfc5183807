use std::borrow::Cow;
use std::collections::BTreeSet;

use bson::raw::{RawArrayBuf, RawBsonRef, cstr};
use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc, rawdoc};
use records::json::{Digest, Salt};
use records::{
    Acquisition, AppId, Artifact, AssistantId, ChatId, ChatSession, ChatStatus, ForkOrigin, Hold,
    IdSalt, InputRequestId, JsonObject, LastTurn, Lease, LeaseId, Lifecycle, Owner, TeamId, TurnId,
    TurnOutcome, UserId, Visibility, WorkflowName, title_key, title_trigrams,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::message::read_salt;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::time::Time;
use crate::mongo::documents::word::{StoredName, StoredNumber};
use crate::mongo::documents::{
    ATTRS, Attribute, Base, DeclaredKeys, SCHEMA_VERSION, StoredAttributes,
};
use crate::mongo::engine::json::Json;
use crate::rules::stored_digest::StoredDigest;
use crate::rules::turn_batch::TurnMark;
use crate::store::ChatHead;

/// The field with the lifecycle of a chat; an active chat does not have it.
pub(crate) const LIFECYCLE: &str = "lifecycle";

/// The field with the time of the last change of the lifecycle.
pub(crate) const LIFECYCLE_AT: &str = "lifecycle_at";

/// The field of a chat that the statistics count as none of a status; other chats do not have it.
pub(crate) const IS_UNCOUNTED: &str = "is_uncounted";

/// The large fields, which reads of the session itself exclude.
pub(crate) const WITHOUT_LARGE_FIELDS: [&str; 7] = [
    "messages",
    "last_artifact",
    "context_snapshot",
    "context_recent",
    "members",
    TITLE_TRIGRAMS,
    ATTRS,
];

/// The field of a session with the trigrams of its title, if it has any.
pub(crate) const TITLE_TRIGRAMS: &str = "title_trigrams";

/// The field of a session with the key of its title in lists by title.
pub(crate) const TITLE_KEY: &str = "title_key";

/// Returns the stored trigrams of a title.
pub(crate) fn stored_trigrams(title: Option<&str>) -> Option<BTreeSet<String>> {
    title.map(title_trigrams).filter(|trigrams| !trigrams.is_empty())
}

/// A stored chat session.
///
/// Writing creates all fields of a new session. Reading uses only the fields of [`ChatSession`]; other code
/// reads the other fields one by one, from projections.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChatSessionDocument<'a> {
    #[serde(rename = "_id")]
    id: ChatId,
    app_id: AppId,
    workflow_name: WorkflowName,
    user_id: Option<UserId>,
    team_id: Option<TeamId>,
    visibility: StoredName<Visibility>,
    /// Whether every user of the app finds the chat in the list of the app; only with [`Visibility::App`].
    #[serde(skip_serializing_if = "Option::is_none")]
    is_listed: Option<bool>,
    cache_seed: u32,
    status: StoredNumber<ChatStatus>,
    status_reason: Option<String>,
    title: Option<String>,
    metadata: Json<Cow<'a, JsonObject>>,
    created_at: Time,
    last_updated_at: Time,
    completed_at: Option<Time>,
    duration_sec: f64,
    last_sequence: u64,
    #[serde(skip_deserializing)]
    pub(crate) first_sequence: u64,
    #[serde(skip_deserializing)]
    revision: i64,
    #[serde(skip_deserializing)]
    recent_edits: EmptyArray,
    #[serde(skip_deserializing)]
    pub(crate) tail_bytes: u64,
    #[serde(default, deserialize_with = "skip_value")]
    last_artifact: Option<EmptyArray>,
    #[serde(skip_deserializing)]
    artifact_blob: Option<String>,
    #[serde(skip_deserializing)]
    artifact_version: u64,
    lease: Option<LeaseDocument>,
    #[serde(skip_deserializing)]
    fencing_token: u64,
    last_message_at: Option<Time>,
    /// [`ChatSession::active_minute`], by which lists are sorted: an append changes their indexes at most once a minute.
    /// Absent in chats of earlier releases until the upgrade is finished, and not current there.
    #[serde(skip_deserializing)]
    active_minute: Option<Time>,
    last_speaker: Option<String>,
    last_connector: Option<String>,
    last_mode: Option<String>,
    last_turn: Option<LastTurnDocument>,
    turns: Option<u64>,
    #[serde(skip_deserializing)]
    recent_turns: EmptyArray,
    pending_inputs: Option<Vec<InputRequestId>>,
    #[serde(skip_deserializing)]
    recent_inputs: EmptyArray,
    #[serde(skip_deserializing)]
    input_version: u64,
    /// The id of the call that creates the session, by which a retry recognises its own write.
    #[serde(skip_deserializing)]
    creation_id: String,
    #[serde(skip_deserializing)]
    pub(crate) schema_version: i64,
    /// `None` if the caller appends the messages to the encoded document.
    #[serde(default, deserialize_with = "skip_value", skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<EmptyArray>,
    #[serde(default, deserialize_with = "skip_value")]
    pub(crate) context_snapshot: Document,
    #[serde(skip_deserializing)]
    pub(crate) context_blob: Option<String>,
    #[serde(skip_deserializing)]
    pub(crate) context_sequence: u64,
    #[serde(skip_deserializing)]
    pub(crate) context_version: u64,
    #[serde(skip_deserializing)]
    pub(crate) context_written: Option<Document>,
    #[serde(default, deserialize_with = "skip_value")]
    context_recent: EmptyArray,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked_from: Option<OriginDocument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assistant_id: Option<AssistantId>,
    /// Absent in chats of earlier releases with the value 0 until the upgrade is finished.
    #[serde(default)]
    sort: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_prompt: Option<String>,
    /// Absent in chats of earlier releases until the upgrade is finished.
    #[serde(skip_deserializing)]
    title_key: String,
    /// Absent without a title, and in chats of earlier releases until the upgrade is finished.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    title_trigrams: Option<BTreeSet<String>>,
    /// Only in chats of apps that have declared keys of the metadata.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    attrs: Option<Vec<Attribute>>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    attrs_version: Option<i64>,
    /// Absent while the chat is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lifecycle: Option<StoredNumber<Lifecycle>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lifecycle_at: Option<Time>,
    #[serde(default, skip_serializing_if = "is_default")]
    is_uncounted: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    session_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_by: Option<UserId>,
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Option::is_none")]
    creation_digest: Option<Digest>,
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Option::is_none")]
    id_salt: Option<Salt>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hold: Option<HoldDocument>,
    /// Present in every fork, even if empty; absent in other sessions.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub(crate) bases: Option<Vec<Base>>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// An array that is empty in a new session.
pub(crate) type EmptyArray = [(); 0];

/// Skips a field that may be large, and returns the default value instead.
fn skip_value<'de, D: Deserializer<'de>, T: Default>(deserializer: D) -> Result<T, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| T::default())
}

/// A lease in the document of its chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LeaseDocument {
    lease_id: LeaseId,
    owner: Owner,
    fencing_token: u64,
    acquired_at: Time,
    expires_at: Time,
}

/// The field of a session with the [`AcquisitionDocument`] of the newest lease; missing before the first one.
pub(crate) const NEWEST_LEASE: &str = "newest_lease";

/// By what a lease was acquired, in the document of its chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AcquisitionDocument {
    lease_id: LeaseId,
    owner: Owner,
}

#[derive(Debug, Serialize, Deserialize)]
struct LastTurnDocument {
    request_id: TurnId,
    outcome: StoredName<TurnOutcome>,
}

#[derive(Debug, Serialize, Deserialize)]
struct HoldDocument {
    reason: String,
    since: Time,
}

#[derive(Debug, Serialize, Deserialize)]
struct OriginDocument {
    chat_id: ChatId,
    sequence: u64,
}

/// An artifact in the document of its chat. Its payload is null if it is in a blob.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ArtifactDocument<D> {
    ui_tool_id: Option<String>,
    event_id: Option<String>,
    display: Option<String>,
    workflow_name: Option<String>,
    #[serde(default)]
    payload: D,
    updated_at: Time,
}

impl<'a> ChatSessionDocument<'a> {
    /// Creates the document of a new chat session.
    pub(crate) fn new(chat: &'a ChatSession, creation_id: &str, keys: &DeclaredKeys) -> Self {
        let origin = |origin: &ForkOrigin| {
            let ForkOrigin { chat_id, sequence } = origin.clone();
            OriginDocument { chat_id, sequence }
        };
        let StoredAttributes { attrs, attrs_version } = keys.attributes(&chat.metadata);
        Self {
            id: chat.chat_id.clone(),
            app_id: chat.app_id.clone(),
            workflow_name: chat.workflow_name.clone(),
            user_id: chat.user_id.clone(),
            team_id: chat.team_id.clone(),
            visibility: StoredName(chat.visibility),
            is_listed: (chat.visibility == Visibility::App).then_some(true),
            cache_seed: chat.cache_seed,
            status: StoredNumber(chat.status),
            status_reason: chat.status_reason.clone(),
            title: chat.title.clone(),
            metadata: Json(Cow::Borrowed(&chat.metadata)),
            created_at: Time(chat.created_at),
            last_updated_at: Time(chat.last_updated_at),
            completed_at: chat.completed_at.map(Time),
            duration_sec: chat.duration_sec,
            last_sequence: chat.last_sequence,
            first_sequence: chat.last_sequence,
            revision: 0,
            recent_edits: [],
            tail_bytes: 0,
            last_artifact: None,
            artifact_blob: None,
            artifact_version: 0,
            lease: None,
            fencing_token: 0,
            last_message_at: None,
            active_minute: Some(Time(chat.active_minute())),
            last_speaker: None,
            last_connector: None,
            last_mode: None,
            last_turn: None,
            turns: Some(0),
            recent_turns: [],
            pending_inputs: Some(Vec::new()),
            recent_inputs: [],
            input_version: 0,
            creation_id: creation_id.to_owned(),
            schema_version: SCHEMA_VERSION,
            messages: Some([]),
            context_snapshot: Document::new(),
            context_blob: None,
            context_sequence: 0,
            context_version: 0,
            context_written: None,
            context_recent: [],
            forked_from: chat.forked_from.as_ref().map(origin),
            assistant_id: chat.assistant_id.clone(),
            sort: chat.sort,
            system_prompt: chat.system_prompt.clone(),
            title_key: title_key(chat.title.as_deref()),
            title_trigrams: stored_trigrams(chat.title.as_deref()),
            attrs,
            attrs_version,
            lifecycle: Some(chat.lifecycle).filter(|it| *it != Lifecycle::Active).map(StoredNumber),
            lifecycle_at: chat.lifecycle_at.map(Time),
            is_uncounted: chat.is_uncounted,
            session_version: chat.session_version,
            updated_by: chat.updated_by.clone(),
            creation_digest: chat.creation_digest,
            id_salt: chat.id_salt.map(|IdSalt(salt)| salt),
            hold: None,
            bases: None,
        }
    }
}

impl TryFrom<ChatSessionDocument<'_>> for ChatSession {
    type Error = FieldError;

    fn try_from(document: ChatSessionDocument<'_>) -> Result<Self, FieldError> {
        let last_turn = document.last_turn.map(|last| {
            let LastTurnDocument { request_id, outcome } = last;
            let turn = document.turns.ok_or_else(|| FieldError::new("turns"))?;
            Ok::<_, FieldError>(LastTurn { request_id, outcome: outcome.0, turn })
        });
        let forked_from = document.forked_from.map(|origin| {
            let OriginDocument { chat_id, sequence } = origin;
            ForkOrigin { chat_id, sequence }
        });
        Ok(Self {
            chat_id: document.id,
            app_id: document.app_id,
            workflow_name: document.workflow_name,
            user_id: document.user_id,
            team_id: document.team_id,
            visibility: match document.visibility.0 {
                Visibility::Link if document.is_listed == Some(true) => Visibility::App,
                stored => stored,
            },
            cache_seed: document.cache_seed,
            status: document.status.0,
            status_reason: document.status_reason,
            title: document.title,
            metadata: document.metadata.0.into_owned(),
            created_at: document.created_at.0,
            last_updated_at: document.last_updated_at.0,
            completed_at: document.completed_at.map(|time| time.0),
            duration_sec: document.duration_sec,
            last_sequence: document.last_sequence,
            pending_inputs: document.pending_inputs.unwrap_or_default(),
            lease: document.lease.map(Lease::from),
            last_message_at: document.last_message_at.map(|time| time.0),
            last_speaker: document.last_speaker,
            last_connector: document.last_connector,
            last_mode: document.last_mode,
            last_turn: last_turn.transpose()?,
            forked_from,
            assistant_id: document.assistant_id,
            sort: document.sort,
            system_prompt: document.system_prompt,
            lifecycle: document.lifecycle.map(|it| it.0).unwrap_or_default(),
            lifecycle_at: document.lifecycle_at.map(|time| time.0),
            is_uncounted: document.is_uncounted,
            session_version: document.session_version,
            updated_by: document.updated_by,
            creation_digest: document.creation_digest,
            id_salt: document.id_salt.map(IdSalt),
            hold: document
                .hold
                .map(|HoldDocument { reason, since }| Hold { reason, since: since.0 }),
        })
    }
}

impl From<&Lease> for LeaseDocument {
    fn from(lease: &Lease) -> Self {
        Self {
            lease_id: lease.lease_id.clone(),
            owner: lease.owner.clone(),
            fencing_token: lease.fencing_token,
            acquired_at: Time(lease.acquired_at),
            expires_at: Time(lease.expires_at),
        }
    }
}

impl From<LeaseDocument> for Lease {
    fn from(document: LeaseDocument) -> Self {
        let LeaseDocument { lease_id, owner, fencing_token, acquired_at, expires_at } = document;
        let (acquired_at, expires_at) = (acquired_at.0, expires_at.0);
        Self { lease_id, owner, fencing_token, acquired_at, expires_at }
    }
}

impl ArtifactDocument<Bson> {
    /// Creates the document of an artifact.
    pub(crate) fn new(artifact: &Artifact, payload: Bson) -> Self {
        Self {
            ui_tool_id: artifact.ui_tool_id.clone(),
            event_id: artifact.event_id.clone(),
            display: artifact.display.clone(),
            workflow_name: artifact.workflow_name.clone(),
            payload,
            updated_at: Time(artifact.updated_at),
        }
    }
}

impl From<ArtifactDocument<Json<Value>>> for Artifact {
    fn from(document: ArtifactDocument<Json<Value>>) -> Self {
        Self {
            ui_tool_id: document.ui_tool_id,
            event_id: document.event_id,
            display: document.display,
            workflow_name: document.workflow_name,
            payload: document.payload.0,
            updated_at: document.updated_at.0,
        }
    }
}

/// Opens a stored chat session to read its fields.
pub(crate) fn open_chat_session(raw: &RawDocument) -> Result<Fields<'_>, StoreError> {
    let id = raw.get_str("_id").unwrap_or("(without a text id)");
    Fields::open(CHAT_SESSIONS, id, raw)
}

/// Reads a chat session.
pub(crate) fn chat_session_record(raw: &RawDocument) -> Result<ChatSession, StoreError> {
    read_record::<ChatSessionDocument<'_>, _>(CHAT_SESSIONS, raw)
}

/// Reads the status of a chat, which is stored as a number.
pub(crate) fn read_status(field: &Field<'_>) -> Result<ChatStatus, StoreError> {
    field.required(field.number().ok().and_then(ChatStatus::from_number))
}

/// Reads the lifecycle of a chat, which is stored as a number; an active chat has none.
fn read_lifecycle(field: &Field<'_>) -> Result<Lifecycle, StoreError> {
    let Some(number) = field.optional_number()? else { return Ok(Lifecycle::default()) };
    field.required(Lifecycle::from_number(number))
}

/// The `$slice` that keeps the ids and digests of the 16 newest turns of a chat. They identify a retry of a
/// turn that has no messages.
const RECENT_TURNS: i64 = -16;

/// Returns the `$push` of `recent_turns` that adds a turn.
pub(crate) fn recent_turns_push(turn: &TurnMark, digest: &StoredDigest) -> RawDocumentBuf {
    let mut each = RawArrayBuf::new();
    let mut recent = rawdoc! { "request_id": turn.request_id.as_str() };
    if let Some(salt) = &digest.salt {
        recent.append(cstr!("salt"), super::binary(salt));
    }
    recent.append(cstr!("digest"), super::binary(&digest.digest));
    each.push(recent);
    rawdoc! { "$each": each, "$slice": RECENT_TURNS }
}

/// Returns the digest of a turn, if it is in `recent_turns`.
pub(crate) fn recent_digest(
    fields: &Fields<'_>,
    request_id: &TurnId,
) -> Result<Option<StoredDigest>, StoreError> {
    if fields.field("recent_turns")?.raw() == RawBsonRef::Null {
        return Ok(None);
    }
    for recent in fields.documents("recent_turns")? {
        let recent = recent?;
        if recent.field("request_id")?.text()? == request_id.as_str() {
            let (digest, salt) = (recent.bytes("digest")?, read_salt(&recent)?);
            return Ok(Some(StoredDigest { digest, salt }));
        }
    }
    Ok(None)
}

/// Adds the fields of the last turn to the `$set` of a chat's update.
pub(crate) fn append_last_turn(set: &mut RawDocumentBuf, turn: &TurnMark) {
    let TurnMark { request_id, outcome, .. } = turn;
    let last = rawdoc! { "request_id": request_id.as_str(), "outcome": outcome.as_str() };
    set.append(cstr!("last_turn"), last);
}

impl From<Acquisition> for AcquisitionDocument {
    fn from(Acquisition { lease_id, owner }: Acquisition) -> Self {
        Self { lease_id, owner }
    }
}

/// Reads by what a lease was acquired.
pub(crate) fn acquisition_record(fields: &Fields<'_>) -> Result<Acquisition, StoreError> {
    let AcquisitionDocument { lease_id, owner } = fields.read()?;
    Ok(Acquisition { lease_id, owner })
}

/// Reads a lease.
pub(crate) fn lease_record(fields: &Fields<'_>) -> Result<Lease, StoreError> {
    fields.read::<LeaseDocument>().map(Lease::from)
}

/// The fields of a session document that locate its messages and decide about appends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tail {
    /// The counter: the sequence that the next message gets.
    pub(crate) last_sequence: u64,
    /// The sequence of the first message that is not sealed.
    pub(crate) first_sequence: u64,
    /// Grows with every edit of a stored message.
    pub(crate) revision: i64,
    /// The size of the messages in the tail, in bytes.
    pub(crate) bytes: u64,
    /// The status of the chat.
    pub(crate) status: ChatStatus,
    /// The fencing token of the current lease, if there is one.
    pub(crate) fencing_token: Option<u64>,
    /// The number of turns.
    pub(crate) turns: u64,
    /// The number of turns that have a document in `turns_without_messages`.
    pub(crate) turns_without_messages: u64,
}

impl Tail {
    /// Returns the projection that [`read`](Self::read) needs.
    pub(crate) fn projection() -> Document {
        doc! {
            "last_sequence": 1, "first_sequence": 1, "revision": 1, "tail_bytes": 1, "status": 1,
            "lease.fencing_token": 1, "turns": 1, "turns_without_messages": 1,
            "schema_version": 1,
        }
    }

    /// Returns the same projection with the messages of the tail.
    pub(crate) fn with_messages() -> Document {
        let mut projection = Self::projection();
        projection.insert("messages", 1);
        projection
    }

    /// Reads the tail from a session document.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            last_sequence: fields.count("last_sequence")?,
            first_sequence: fields.count("first_sequence")?,
            revision: fields.integer("revision")?,
            bytes: fields.count("tail_bytes")?,
            status: read_status(&fields.field("status")?)?,
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

    /// Returns the number of messages in the tail.
    pub(crate) fn len(&self) -> u64 {
        self.last_sequence - self.first_sequence
    }
}

/// Returns the projection that [`chat_head_record`] needs.
pub(crate) fn head_projection() -> Document {
    doc! {
        "last_sequence": 1, "revision": 1, "recent_edits": 1, "status": 1, "status_reason": 1,
        "context_version": 1, "artifact_version": 1, "input_version": 1, "recent_inputs": 1,
        "pending_inputs": 1, "session_version": 1, LIFECYCLE: 1, "schema_version": 1,
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
        status: read_status(&field("status"))?,
        status_reason: field("status_reason").optional_string()?,
        context_version: field("context_version").number()?,
        artifact_version: field("artifact_version").optional_number()?.unwrap_or_default(),
        input_version: field("input_version").optional_number()?.unwrap_or_default(),
        recent_inputs: field("recent_inputs").optional_each_parsed()?,
        pending_inputs: field("pending_inputs").optional_each_parsed()?,
        session_version: field("session_version").optional_number()?.unwrap_or_default(),
        lifecycle: read_lifecycle(&field(LIFECYCLE))?,
    })
}

/// Reads an artifact with the payload in the session document, which is null if it is in a blob.
pub(crate) fn artifact_record(fields: &Fields<'_>) -> Result<Artifact, StoreError> {
    fields.read::<ArtifactDocument<Json<Value>>>().map(Artifact::from)
}
