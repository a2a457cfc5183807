//! JSON shapes that several endpoints, the live events and the problems share, and the types of their fields. The shapes of
//! one endpoint stand in its file.

mod app;
mod appended;
mod artifact;
mod assistant;
mod call;
mod chat_session;
mod context;
mod document;
mod erasure;
mod event;
mod input_request;
mod lease;
mod message;
mod participant;
mod payment;
mod presence;
mod proof;
mod resume_point;
mod stats;
mod stream;
mod tool_run;
mod unsettled_call;
mod usage;
pub(crate) mod values;
mod wallet;

pub(crate) use app::AppResponse;
pub(crate) use appended::{AppendedResponse, NotedResponse, Stated};
pub(crate) use artifact::{ArtifactFields, ArtifactResponse};
pub(crate) use assistant::AssistantResponse;
pub(crate) use call::CallFields;
pub(crate) use chat_session::{ChatSessionResponse, ForkOriginFields, LastTurnFields};
pub(crate) use context::ContextResponse;
pub(crate) use document::{DocumentHeadResponse, ListedDocument};
pub(crate) use erasure::ErasureResponse;
pub(crate) use event::{CaughtUpResponse, StatusResponse, VersionResponse};
pub(crate) use input_request::InputRequestResponse;
pub(crate) use lease::{HolderFields, LeaseResponse};
pub(crate) use message::MessageResponse;
pub(crate) use participant::ParticipantResponse;
pub(crate) use payment::PaymentFields;
pub(crate) use presence::PresenceResponse;
pub(crate) use proof::MessageProofResponse;
pub(crate) use resume_point::ResumePointResponse;
pub(crate) use stats::{Events, Percentiles, Summary, percentiles, percentiles_of_calls, quotient};
pub(crate) use stream::{StreamChunkResponse, StreamResponse};
pub(crate) use tool_run::{ToolRunFields, ToolStatsFields, ToolSumsFields};
pub(crate) use unsettled_call::UnsettledCallResponse;
pub(crate) use usage::UsageFields;
pub(crate) use wallet::{ChangeResponse, EntryResponse, WalletResponse};

use std::str::FromStr;
use std::time::Duration;

use axum::http::StatusCode;
use chrono::{DateTime, SecondsFormat, Utc};
use persistence::Outcome;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use utoipa::ToSchema;

/// Returns the status of a write: 201 if anything is new, 200 if everything was stored before.
pub(crate) fn write_status(outcomes: impl IntoIterator<Item = Outcome>) -> StatusCode {
    let is_new = outcomes.into_iter().any(|outcome| outcome == Outcome::Stored);
    if is_new { StatusCode::CREATED } else { StatusCode::OK }
}

/// A time in JSON: RFC 3339, in UTC with milliseconds and `Z`.
///
/// In requests any offset is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2025-10-02T10:00:00.000Z")]
pub(crate) struct Time(pub(crate) DateTime<Utc>);

impl From<DateTime<Utc>> for Time {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time)
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        DateTime::parse_from_rfc3339(text)
            .map(|time| Self(time.to_utc()))
            .map_err(|_| "must be a time like 2025-10-02T10:00:00Z (in a query, write + as %2B)")
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// How long to wait for a change: `30s` or `30`; at most a minute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wait(pub(crate) Duration);

impl FromStr for Wait {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const MAX_SECONDS: u64 = 60;
        let number = text.strip_suffix('s').unwrap_or(text);
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = number.parse().ok().filter(|seconds| is_plain && *seconds <= MAX_SECONDS);
        let wait = seconds.map(|seconds| Self(Duration::from_secs(seconds)));
        wait.ok_or("must be a number of seconds from 0s to 60s")
    }
}

/// An object without fields.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({}))]
pub(crate) struct EmptyRequest {}

/// Deserializes a null field as `Some(Null)`, so that only a missing field is `None`.
pub(crate) fn keep_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
