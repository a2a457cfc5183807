use bson::{DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use records::{
    ChatId, JsonObject, OpenStep, ResumePoint, Scope, StackFrame, StackId, Step, StepKind,
    StepStatus, TurnId,
};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{RESUME_POINTS, SCHEMA_VERSION, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::to_document;
use crate::rules::turn_batch::TurnMark;

/// Returns the filter for the resume points of a turn.
pub(crate) fn points_of(scope: &Scope, chat_id: &ChatId, request_id: &TurnId) -> Document {
    let mut points = points_in(scope, chat_id);
    points.insert("_id.request_id", request_id.as_str());
    points
}

/// Returns the filter for all resume points of a chat.
pub(crate) fn points_in(scope: &Scope, chat_id: &ChatId) -> Document {
    doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() }
}

/// What the resume points of a turn have in common.
pub(crate) struct TurnPoints<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) chat_id: &'a ChatId,
    pub(crate) mark: &'a TurnMark,
    /// Which turn of the chat it is.
    pub(crate) turn: u64,
    pub(crate) created_at: Time<Utc>,
}

/// Returns the document of a resume point.
///
/// Its path is cut as its open step has it. The release before this one wrote whole paths, and reads cut ones
/// as well as this one reads whole ones, so that cut ones need no newer version.
pub(crate) fn point_document(
    points: &TurnPoints<'_>,
    open: &OpenStep,
) -> Result<RawDocumentBuf, Failure> {
    let TurnPoints { scope, chat_id, mark, turn, created_at } = points;
    let OpenStep { sequence, step, stack_path } = open;
    let stack_path: Vec<_> = stack_path.iter().map(StackId::as_str).collect();
    let object = |object: &Option<JsonObject>| object.as_ref().map(to_document);
    encode(&doc! {
        "_id": {
            "chat_id": chat_id.as_str(), "request_id": mark.request_id.as_str(),
            "sequence": i64::from(*sequence),
        },
        "app_id": scope.app_id.as_str(),
        "turn": counter(*turn),
        "type": step.kind.as_str(),
        "status": step.status.as_str(),
        "assistant_id": step.assistant_id.as_deref(),
        "stack_id": step.frame.stack_id.as_str(),
        "stack_parent_id": step.frame.parent_id.as_ref().map(StackId::as_str),
        "stack_depth": i64::from(step.frame.depth),
        "stack_path": stack_path,
        "input": object(&step.input),
        "output": object(&step.output),
        "space_snapshot": to_document(&step.space_snapshot),
        "error": step.error.as_deref(),
        "metadata": to_document(&step.metadata),
        "created_at": DateTime::from_chrono(*created_at),
        "digest": super::binary(&mark.digest),
        "schema_version": SCHEMA_VERSION,
    })
}

/// Opens the document of a resume point.
pub(crate) fn open_point(raw: &RawDocumentBuf) -> Result<Fields<'_>, StoreError> {
    Fields::open(RESUME_POINTS, "(a resume point)", raw)
}

/// Reads a resume point.
pub(crate) fn point_record(raw: &RawDocumentBuf) -> Result<ResumePoint, StoreError> {
    let fields = open_point(raw)?;
    let id = fields.inside(fields.document("_id")?);
    let frame = StackFrame {
        stack_id: fields.parsed("stack_id")?,
        parent_id: fields.field("stack_parent_id")?.optional_parsed()?,
        depth: fields.field("stack_depth")?.number()?,
    };
    let step = Step {
        kind: fields.field("type")?.one_of(StepKind::ALL, |kind| kind.as_str())?,
        status: fields.field("status")?.one_of(StepStatus::ALL, |status| status.as_str())?,
        assistant_id: fields.field("assistant_id")?.optional_string()?,
        frame,
        input: fields.field("input")?.optional_object()?,
        output: fields.field("output")?.optional_object()?,
        space_snapshot: fields.object("space_snapshot")?,
        error: fields.field("error")?.optional_string()?,
        metadata: fields.object("metadata")?,
    };
    Ok(ResumePoint {
        chat_id: id.parsed("chat_id")?,
        request_id: id.parsed("request_id")?,
        turn: fields.count("turn")?,
        sequence: id.field("sequence")?.number()?,
        step,
        stack_path: fields.field("stack_path")?.optional_each_parsed()?,
        created_at: fields.time("created_at")?,
    })
}
