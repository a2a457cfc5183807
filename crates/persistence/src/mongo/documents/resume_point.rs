use std::borrow::Cow;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use records::json::{Digest, Salt};
use records::{
    AppId, ChatId, JsonObject, OpenStep, ResumePoint, Scope, StackFrame, StackId, Step, StepKind,
    StepStatus, TurnId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::RESUME_POINTS;
use crate::mongo::documents::stored::{read_document, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{SALTED_VERSION, SCHEMA_VERSION};
use crate::mongo::engine::json::Json;
use crate::rules::stored_digest::StoredDigest;
use crate::rules::turn_batch::TurnMark;

/// A stored resume point: a step from which a turn can be resumed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ResumePointDocument<'a> {
    #[serde(rename = "_id")]
    id: ResumePointKey,
    app_id: AppId,
    turn: u64,
    #[serde(rename = "type")]
    kind: StoredName<StepKind>,
    status: StoredName<StepStatus>,
    assistant_id: Option<String>,
    stack_id: StackId,
    stack_parent_id: Option<StackId>,
    stack_depth: u32,
    /// The end of the path of calls, cut as in [`OpenStep`] (decision 0025). Older releases wrote whole
    /// paths. They read cut paths correctly, so cut paths need no newer `schema_version`.
    stack_path: Option<Vec<StackId>>,
    input: Option<Json<Cow<'a, JsonObject>>>,
    output: Option<Json<Cow<'a, JsonObject>>>,
    space_snapshot: Json<Cow<'a, JsonObject>>,
    error: Option<String>,
    metadata: Json<Cow<'a, JsonObject>>,
    created_at: DateTime,
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Option::is_none")]
    salt: Option<Salt>,
    #[serde(with = "serde_bytes")]
    digest: Digest,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct ResumePointKey {
    chat_id: ChatId,
    request_id: TurnId,
    sequence: u32,
}

/// Returns the filter for the resume points of a turn.
pub(crate) fn turn_points_filter(scope: &Scope, chat_id: &ChatId, request_id: &TurnId) -> Document {
    let mut points = chat_points_filter(scope, chat_id);
    points.insert("_id.request_id", request_id.as_str());
    points
}

/// Returns the filter for all resume points of a chat.
pub(crate) fn chat_points_filter(scope: &Scope, chat_id: &ChatId) -> Document {
    doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() }
}

/// The values that all resume points of a turn share.
pub(crate) struct TurnPoints<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) chat_id: &'a ChatId,
    pub(crate) mark: &'a TurnMark,
    pub(crate) digest: StoredDigest,
    /// The number of the turn in its chat.
    pub(crate) turn: u64,
    pub(crate) created_at: Time<Utc>,
}

impl<'a> ResumePointDocument<'a> {
    /// Creates the document of a resume point.
    pub(crate) fn new(points: &TurnPoints<'_>, open: &'a OpenStep) -> Self {
        let TurnPoints { scope, chat_id, mark, digest, turn, created_at } = points;
        let OpenStep { sequence, step, stack_path } = open;
        let json = |object: &'a JsonObject| Json(Cow::Borrowed(object));
        Self {
            id: ResumePointKey {
                chat_id: (*chat_id).clone(),
                request_id: mark.request_id.clone(),
                sequence: *sequence,
            },
            app_id: scope.app_id.clone(),
            turn: *turn,
            kind: StoredName(step.kind),
            status: StoredName(step.status),
            assistant_id: step.assistant_id.clone(),
            stack_id: step.frame.stack_id.clone(),
            stack_parent_id: step.frame.parent_id.clone(),
            stack_depth: step.frame.depth,
            stack_path: Some(stack_path.clone()),
            input: step.input.as_ref().map(json),
            output: step.output.as_ref().map(json),
            space_snapshot: json(&step.space_snapshot),
            error: step.error.clone(),
            metadata: json(&step.metadata),
            created_at: DateTime::from_chrono(*created_at),
            salt: digest.salt,
            digest: digest.digest,
            schema_version: digest.version(SALTED_VERSION, SCHEMA_VERSION),
        }
    }
}

impl From<ResumePointDocument<'_>> for ResumePoint {
    fn from(document: ResumePointDocument<'_>) -> Self {
        let object = |json: Json<Cow<'_, JsonObject>>| json.0.into_owned();
        let frame = StackFrame {
            stack_id: document.stack_id,
            parent_id: document.stack_parent_id,
            depth: document.stack_depth,
        };
        let step = Step {
            kind: document.kind.0,
            status: document.status.0,
            assistant_id: document.assistant_id,
            frame,
            input: document.input.map(object),
            output: document.output.map(object),
            space_snapshot: object(document.space_snapshot),
            error: document.error,
            metadata: object(document.metadata),
        };
        Self {
            chat_id: document.id.chat_id,
            request_id: document.id.request_id,
            turn: document.turn,
            sequence: document.id.sequence,
            step,
            stack_path: document.stack_path.unwrap_or_default(),
            created_at: document.created_at.to_chrono(),
        }
    }
}

/// Reads a resume point.
pub(crate) fn point_record(raw: &RawDocumentBuf) -> Result<ResumePoint, StoreError> {
    read_record::<ResumePointDocument<'_>, _>(RESUME_POINTS, raw)
}

/// Reads the digest of a resume point's turn. The projection may exclude all other fields.
pub(crate) fn point_digest(raw: &RawDocumentBuf) -> Result<StoredDigest, StoreError> {
    #[derive(Deserialize)]
    struct Digested {
        #[serde(default, with = "serde_bytes")]
        salt: Option<Salt>,
        #[serde(with = "serde_bytes")]
        digest: Digest,
    }

    let Digested { salt, digest } = read_document(RESUME_POINTS, raw)?;
    Ok(StoredDigest { digest, salt })
}
