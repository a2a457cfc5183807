use records::{ChatId, EventId, InputRequestId};
use serde::Deserialize;
use serde_json::Value;

use super::error::{ErrorCode, FrameError};
use crate::extract::{parse, typed};
use crate::problem::Problem;

/// What a client asks for.
#[derive(Debug)]
pub(super) enum Request {
    /// `client.resume`
    Resume(ResumeRequest),
    /// `user.input.submit`
    Submit(SubmitRequest),
}

/// To be told everything after what it holds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeRequest {
    chat_id: Option<String>,
    /// The index of the last message it holds; what is below 0 stands for none.
    #[serde(rename = "lastClientIndex")]
    pub(super) last_client_index: i64,
}

/// To say something in the chat.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitRequest {
    chat_id: Option<String>,
    #[serde(alias = "value")]
    pub(super) text: String,
    /// Makes it safe to send again; minted when it is missing.
    pub(super) event_id: Option<EventId>,
    /// The question that it answers.
    pub(super) request_id: Option<InputRequestId>,
}

/// The first frame of a client that could not say before who it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorizeRequest {
    pub(super) token: String,
}

impl Request {
    /// Reads a frame on a socket to a chat.
    pub(super) fn read(text: &str, chat_id: &ChatId) -> Result<Self, Box<FrameError>> {
        let refuse =
            |problem: Problem| FrameError::of(chat_id, ErrorCode::SchemaValidationFailed, &problem);
        let (kind, fields) = tagged(text).map_err(refuse)?;
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
            _ => {
                let message = "there is no such type: client.resume, user.input.submit";
                return Err(FrameError::new(chat_id, ErrorCode::UnknownType, message));
            }
        };
        if of.is_some_and(|of| of != chat_id.as_str()) {
            return Err(refuse(Problem::invalid_body(
                "/chat_id",
                "is not the chat of this socket",
            )));
        }
        Ok(request)
    }
}

impl AuthorizeRequest {
    /// Reads a first frame; `None` where it is another.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (kind, fields) = tagged(text).ok()?;
        if kind == "authorize" { typed(fields).ok() } else { None }
    }
}

/// Reads an object with a type, which is taken out.
fn tagged(text: &str) -> Result<(String, Value), Problem> {
    let mut frame = parse(text.as_bytes())?;
    let fields = frame.as_object_mut();
    let fields = fields.ok_or_else(|| Problem::invalid_body("", "is not an object"))?;
    match fields.shift_remove("type") {
        Some(Value::String(kind)) => Ok((kind, frame)),
        Some(_) => Err(Problem::invalid_body("/type", "is not a text")),
        None => Err(Problem::invalid_body("/type", "is missing")),
    }
}
