use std::convert::Infallible;
use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use records::{
    AppId, AssistantId, CallId, ChatId, DocumentPath, EventId, InputRequestId, Pseudonym, StackId,
    StreamId, TurnId, UserId, WorkflowName,
};
use utoipa::openapi::path::ParameterIn;

use crate::openapi::values;
use crate::operation::{Description, Input, parameter};
use crate::problem::Problem;

/// A parameter of the path.
#[derive(Debug)]
pub(crate) struct Path<T>(pub(crate) T);

/// A type that is read from the path.
pub(crate) trait PathParam: FromStr<Err: Display> {
    const NAME: &'static str;

    /// Adds the parameter to a description.
    fn describe(description: &mut Description);
}

/// Declares the parameters that paths have: their types, names, examples, schemas and texts.
macro_rules! path_params {
    ($($type:ty: $name:literal, $example:literal, $schema:expr, $text:expr;)+) => {$(
        impl PathParam for $type {
            const NAME: &'static str = $name;

            fn describe(description: &mut Description) {
                let schema = $schema(description);
                description.parameter(parameter(ParameterIn::Path, $name, $text, schema, Some($example.into())));
            }
        }
    )+};
}

path_params! {
    AppId: "app_id", "acme_corp", Description::reference::<values::AppId>,
        "The app: 1 to 64 of `A-Z a-z 0-9 _ -`.";
    ChatId: "chat_id", "chat_abc123def456", Description::reference::<values::ChatId>,
        "The chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`.";
    UserId: "user_id", "user_alice_456", Description::reference::<values::Name>,
        "The user: 1 to 128 visible characters, without blanks at its ends.";
    AssistantId: "assistant_id", "weather_assistant", Description::reference::<values::Name>,
        "The assistant: 1 to 128 visible characters, without blanks at its ends.";
    DocumentPath: "path", "notes/plan.md", Description::reference::<values::DocumentPath>,
        "The path of the document: names of 1 to 256 bytes, separated by `/`.";
    WorkflowName: "workflow_name", "Generator", Description::reference::<values::Name>,
        "The workflow: 1 to 128 visible characters, without blanks at its ends.";
    EventId: "event_id", "evt_msg_001", Description::reference::<values::Name>,
        "The message: 1 to 128 visible characters, without blanks at its ends.";
    CallId: "call_id", "call_0198d4b2", Description::reference::<values::Name>,
        "The call: 1 to 128 visible characters, without blanks at its ends.";
    InputRequestId: "request_id", "input_0198d4b2", Description::reference::<values::Name>,
        "The request: 1 to 128 visible characters, without blanks at its ends.";
    Pseudonym: "pseudonym", "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9", Description::reference::<values::Pseudonym>,
        "The pseudonym: 64 hexadecimal digits.";
    StackId: "stack_id", "stk_002", Description::reference::<values::Name>,
        "The call: 1 to 128 visible characters, without blanks at its ends.";
    StreamId: "stream_id", "stream_0198d4b2", Description::reference::<values::ChatId>,
        "The stream: 1 to 128 of `A-Z a-z 0-9 _ - . :`.";
    Sequence: "sequence", 1, |_: &mut _| values::number_from(0), "The sequence of the message.";
    ContextVersion: "version", 1, |_: &mut _| values::number_from(0), "The version of the snapshot.";
    MessageId: "message_id", "msg_001", Description::reference::<values::Name>,
        "The id that the message has in its request.";
    TurnId: "request_id", "req_abc", Description::reference::<values::Name>,
        "The request: 1 to 128 visible characters, without blanks at its ends.";
    FencingToken: "fencing_token", 3, |_: &mut _| values::number_from(1), "The fencing token of the lease.";
}

impl<T: PathParam, S: Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts).await.map(Self)
    }
}

impl<T: PathParam> Input for Path<T> {
    fn describe(description: &mut Description) {
        T::describe(description);
    }
}

/// Returns the text of a parameter of the path, percent-decoded once.
pub(super) async fn path_param<T: PathParam>(parts: &mut Parts) -> Result<String, Problem> {
    let params = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| Problem::invalid_parameter("path", "is not valid UTF-8"))?;
    let value = params.iter().find(|(key, _)| *key == T::NAME);
    Ok(value.map(|(_, value)| value.to_owned()).unwrap_or_default())
}

/// Parses a parameter of the path.
pub(super) async fn parse_path_param<T: PathParam>(parts: &mut Parts) -> Result<T, Problem> {
    let text = path_param::<T>(parts).await?;
    text.parse().map_err(|error: T::Err| Problem::invalid_parameter(T::NAME, error.to_string()))
}

/// The id that another system gave a message.
#[derive(Debug, Clone)]
pub(crate) struct MessageId(pub(crate) String);

impl FromStr for MessageId {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

/// Declares numbers that the path may have.
macro_rules! path_numbers {
    ($($(#[$about:meta])+ $name:ident from $min:literal;)+) => {$(
        $(#[$about])+
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $name(pub(crate) u64);

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                parse_number(text, $min).map(Self)
            }
        }
    )+};
}

path_numbers! {
    /// The sequence of a message.
    Sequence from 0;
    /// The version of a context snapshot.
    ContextVersion from 0;
    /// The fencing token of a lease.
    FencingToken from 1;
}

/// Parses a number that the store can hold: it counts with signed 64-bit integers.
fn parse_number(text: &str, min: u64) -> Result<u64, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|n| is_plain && *n >= min);
    let number = number.filter(|n| i64::try_from(*n).is_ok());
    number.ok_or_else(|| format!("must be an integer from {min} to {}", i64::MAX))
}
