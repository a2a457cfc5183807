use persistence::{ChatHead, Outcome};
use records::{Artifact, ChatId, ChatSession, Clock as _, SystemClock, UserId};
use serde::Serialize;

use super::catch_up::CatchUp;
use super::error::FrameError;
use crate::live::Position;
use crate::submission::Submitted;
use crate::wire::{ArtifactFields, Time};

/// A frame that the service sends besides the events of the chat.
#[derive(Debug, Serialize)]
#[serde(tag = "type")]
pub(super) enum Frame {
    #[serde(rename = "chat_meta")]
    Meta(Box<Meta>),
    #[serde(rename = "chat.resume_boundary")]
    Boundary(Boundary),
    #[serde(rename = "chat.input_ack")]
    InputAck(InputAck),
    #[serde(rename = "chat.error")]
    Error(Box<FrameError>),
}

impl Frame {
    pub(super) fn to_json(&self) -> String {
        // Plain structs and JSON values always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The first frame: the chat and its current state.
#[derive(Debug, Serialize)]
pub(super) struct Meta {
    chat_id: String,
    workflow_name: String,
    app_id: String,
    /// The user who has joined.
    user_id: String,
    cache_seed: u32,
    /// Always true: a missing chat is refused before any frame.
    chat_exists: bool,
    last_artifact: Option<ArtifactFields>,
    /// 1 running, 2 paused, 3 completed, 4 failed.
    status: i32,
    /// The same status as a word.
    status_name: &'static str,
    last_sequence: u64,
    created_at: Time,
}

impl Meta {
    pub(super) fn new(chat: &ChatSession, artifact: Option<Artifact>, user_id: &UserId) -> Self {
        Self {
            chat_id: chat.chat_id.to_string(),
            workflow_name: chat.workflow_name.to_string(),
            app_id: chat.app_id.to_string(),
            user_id: user_id.to_string(),
            cache_seed: chat.cache_seed,
            chat_exists: true,
            last_artifact: artifact.map(Into::into),
            status: chat.status.number(),
            status_name: chat.status.as_str(),
            last_sequence: chat.last_sequence,
            created_at: chat.created_at.into(),
        }
    }
}

/// The client has caught up: it has everything there is at the moment.
#[derive(Debug, Serialize)]
pub(super) struct Boundary {
    chat_id: String,
    /// The position for `after`, to reconnect with.
    id: String,
    message_count: u64,
    /// `running`, `paused`, `completed` or `failed`.
    chat_status: &'static str,
    status_reason: Option<String>,
    replayed_messages: u64,
    /// -1 for an empty chat.
    last_message_index: i64,
    /// `client` if the client has named its position, otherwise `auto`.
    resume_mode: &'static str,
    timestamp: Time,
    /// The number of times the context snapshot has been written.
    context_version: u64,
    /// The number of times the last artifact has been replaced or removed.
    artifact_version: u64,
    /// The ids of the pending input requests; a frame for each follows.
    pending_inputs: Vec<String>,
    resume_context: ResumeContext,
    ag2_resume: Ag2Resume,
}

#[derive(Debug, Serialize)]
struct ResumeContext {
    /// `on_connect` or `client_resume`.
    reason: &'static str,
    /// The index of the last message that the client had, -1 for none.
    last_client_index: i64,
}

/// Which messages were replayed; the messages themselves have just been sent.
#[derive(Debug, Serialize)]
struct Ag2Resume {
    mode: &'static str,
    start_index: u64,
    last_index: i64,
    last_speaker_name: Option<String>,
}

impl Boundary {
    pub(super) fn new(catch_up: &CatchUp, at: Position, head: &ChatHead) -> Self {
        let mode = catch_up.cause.mode();
        Self {
            chat_id: head.chat_id.to_string(),
            id: at.to_string(),
            message_count: at.next,
            chat_status: head.status.as_str(),
            status_reason: head.status_reason.clone(),
            replayed_messages: catch_up.replayed,
            last_message_index: at.last_sequence(),
            resume_mode: mode,
            timestamp: SystemClock.now().into(),
            context_version: head.context_version,
            artifact_version: head.artifact_version,
            pending_inputs: head.pending_inputs.iter().map(ToString::to_string).collect(),
            resume_context: ResumeContext {
                reason: catch_up.cause.reason(),
                last_client_index: catch_up.last_client_index,
            },
            ag2_resume: Ag2Resume {
                mode,
                start_index: catch_up.start_index,
                last_index: at.last_sequence(),
                last_speaker_name: catch_up.last_speaker.as_deref().map(str::to_owned),
            },
        }
    }
}

/// The reply to an input that was stored.
#[derive(Debug, Serialize)]
pub(super) struct InputAck {
    chat_id: String,
    status: &'static str,
    /// The input request that it has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    event_id: String,
    sequence: u64,
    duplicate: bool,
}

impl InputAck {
    pub(super) fn new(chat_id: &ChatId, submitted: Submitted) -> Self {
        let Submitted { message, request_id } = submitted;
        Self {
            chat_id: chat_id.to_string(),
            status: "accepted",
            request_id: request_id.map(Into::into),
            event_id: message.event_id.into(),
            sequence: message.sequence,
            duplicate: message.outcome == Outcome::Duplicate,
        }
    }
}
