use records::{ChatId, EventId, InputRequestId};
use serde::Deserialize;
use serde_json::Value;

use super::envelope::Envelope;
use super::error::{ErrorCode, FrameError};
use crate::extract::{parse, typed};
use crate::problem::Problem;

/// A frame that a client sends.
#[derive(Debug)]
pub(super) enum Request {
    /// `client.resume`
    Resume(ResumeRequest),
    /// `user.input.submit`
    Submit(SubmitRequest),
    /// A type that `MozaiksAI` ignores.
    Ignored,
}

/// A request to be sent everything after a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeRequest {
    chat_id: Option<String>,
    /// The index of the last message that the client has; a negative index means none.
    #[serde(rename = "lastClientIndex")]
    pub(super) last_client_index: i64,
}

/// An input of the user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitRequest {
    chat_id: Option<String>,
    #[serde(alias = "value")]
    pub(super) text: String,
    /// Makes a retry safe; minted if missing.
    pub(super) event_id: Option<EventId>,
    /// The input request that it answers.
    pub(super) request_id: Option<InputRequestId>,
}

/// The first frame of a client that has sent no token with the upgrade.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorizeRequest {
    pub(super) token: String,
}

impl Request {
    /// Reads a frame that was received on the socket of a chat.
    ///
    /// Of a client of `MozaiksAI`, which has nested frames, fields and types that the original ignores are ignored.
    pub(super) fn read(
        text: &str,
        chat_id: &ChatId,
        envelope: Envelope,
    ) -> Result<Self, Box<FrameError>> {
        let refuse = |problem: Problem| {
            FrameError::from_problem(chat_id, ErrorCode::SchemaValidationFailed, &problem)
        };
        let (kind, mut fields) = tagged(text).map_err(refuse)?;
        if envelope == Envelope::Nested {
            keep_known(&mut fields);
        }
        let (request, of) = match kind.as_str() {
            "client.resume" => {
                let request: ResumeRequest = typed(fields).map_err(refuse)?;
                let of = request.chat_id.clone();
                (Self::Resume(request), of)
            }
            "user.input.submit" | "user.input.response" => {
                let request: SubmitRequest = typed(fields).map_err(refuse)?;
                let of = request.chat_id.clone();
                (Self::Submit(request), of)
            }
            // An answer must not be lost without a word.
            "ui_tool_response" | "ui.tool.response" if envelope == Envelope::Nested => {
                let message = "answer the question with POST /api/ui-tool/submit";
                return Err(FrameError::new(chat_id, ErrorCode::UnknownType, message));
            }
            _ if envelope == Envelope::Nested => return Ok(Self::Ignored),
            _ => {
                let message = "unknown type; supported: client.resume, user.input.submit";
                return Err(FrameError::new(chat_id, ErrorCode::UnknownType, message));
            }
        };
        if of.is_some_and(|of| of != chat_id.as_str()) {
            return Err(refuse(Problem::invalid_body(
                "/chat_id",
                "must be the chat of this socket",
            )));
        }
        Ok(request)
    }
}

impl AuthorizeRequest {
    /// Reads the first frame; `None` if it does not authorize.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (kind, fields) = tagged(text).ok()?;
        if kind == "authorize" { typed(fields).ok() } else { None }
    }
}

/// The fields of frames, by their names in `MozaiksAI` and here.
const FIELDS: [(&str, &str); 7] = [
    ("chat_id", "chat_id"),
    ("lastClientIndex", "lastClientIndex"),
    ("text", "text"),
    ("value", "text"),
    ("event_id", "event_id"),
    ("request_id", "request_id"),
    ("input_request_id", "request_id"),
];

/// Removes the fields that the original ignores.
fn keep_known(frame: &mut Value) {
    let Some(fields) = frame.as_object_mut() else { return };
    let known = FIELDS.into_iter().filter_map(|(theirs, ours)| {
        let value = fields.remove(theirs).filter(|value| !value.is_null())?;
        Some((ours.to_owned(), value))
    });
    let known: serde_json::Map<_, _> = known.collect();
    *fields = known;
}

/// Reads a JSON object, and takes its `type` out.
fn tagged(text: &str) -> Result<(String, Value), Problem> {
    let mut frame = parse(text.as_bytes())?;
    let fields = frame.as_object_mut();
    let fields = fields.ok_or_else(|| Problem::invalid_body("", "must be an object"))?;
    match fields.shift_remove("type") {
        Some(Value::String(kind)) => Ok((kind, frame)),
        Some(_) => Err(Problem::invalid_body("/type", "must be a string")),
        None => Err(Problem::invalid_body("/type", "is missing")),
    }
}
