use persistence::{ChatHead, Outcome};
use records::{Artifact, ChatId, ChatSession, Clock as _, SystemClock, UserId};
use serde::Serialize;

use super::error::FrameError;
use super::resume::Resume;
use crate::api::user_input::Submitted;
use crate::live::Position;
use crate::wire::{ArtifactFields, Time};

/// What the service says besides what happens in the chat.
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
    pub(super) fn text(&self) -> String {
        // Plain structs and JSON cannot fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The first frame: which chat it is, and where it stands.
#[derive(Debug, Serialize)]
pub(super) struct Meta {
    chat_id: String,
    workflow_name: String,
    app_id: String,
    /// Who has joined.
    user_id: String,
    cache_seed: u32,
    /// Always: a chat that is not there has no frames.
    chat_exists: bool,
    last_artifact: Option<ArtifactFields>,
    /// 1 running, 2 paused, 3 completed, 4 failed.
    status: i32,
    /// The same as a word.
    status_name: &'static str,
    last_sequence: u64,
    created_at: Time,
}

impl Meta {
    pub(super) fn of(chat: &ChatSession, artifact: Option<Artifact>, user_id: &UserId) -> Self {
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

/// The client has everything there is for now.
#[derive(Debug, Serialize)]
pub(super) struct Boundary {
    chat_id: String,
    /// What to come back with.
    id: String,
    message_count: u64,
    /// `running`, `paused`, `completed` or `failed`.
    chat_status: &'static str,
    status_reason: Option<String>,
    replayed_messages: u64,
    /// -1 where there is none.
    last_message_index: i64,
    /// `auto`, or `client` where the client has said what it holds.
    resume_mode: &'static str,
    timestamp: Time,
    /// How often the context snapshot was written, and the last artifact replaced or removed.
    context_version: u64,
    artifact_version: u64,
    /// The questions that wait for an answer; each comes as a frame right after.
    pending_inputs: Vec<String>,
    resume_context: ResumeContext,
    ag2_resume: Ag2Resume,
}

#[derive(Debug, Serialize)]
struct ResumeContext {
    /// `on_connect` or `client_resume`.
    reason: &'static str,
    /// What the client held, -1 for nothing.
    last_client_index: i64,
}

/// What was replayed; the messages themselves have just been sent.
#[derive(Debug, Serialize)]
struct Ag2Resume {
    mode: &'static str,
    start_index: u64,
    last_index: i64,
    last_speaker_name: Option<String>,
}

impl Boundary {
    pub(super) fn of(resume: &Resume, at: Position, head: &ChatHead) -> Self {
        let mode = resume.cause.mode();
        Self {
            chat_id: head.chat_id.to_string(),
            id: at.to_string(),
            message_count: at.next,
            chat_status: head.status.as_str(),
            status_reason: head.status_reason.clone(),
            replayed_messages: resume.replayed,
            last_message_index: at.last(),
            resume_mode: mode,
            timestamp: SystemClock.now().into(),
            context_version: head.context_version,
            artifact_version: head.artifact_version,
            pending_inputs: head.pending_inputs.iter().map(ToString::to_string).collect(),
            resume_context: ResumeContext {
                reason: resume.cause.reason(),
                last_client_index: resume.last_client_index,
            },
            ag2_resume: Ag2Resume {
                mode,
                start_index: resume.start_index,
                last_index: at.last(),
                last_speaker_name: resume.last_speaker(),
            },
        }
    }
}

/// An input is stored.
#[derive(Debug, Serialize)]
pub(super) struct InputAck {
    chat_id: String,
    status: &'static str,
    /// The question that it has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    event_id: String,
    sequence: u64,
    duplicate: bool,
}

impl InputAck {
    pub(super) fn of(chat_id: &ChatId, submitted: Submitted) -> Self {
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
