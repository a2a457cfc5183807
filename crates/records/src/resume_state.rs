use crate::{Artifact, ChatSession, ContextSnapshot, InputRequest, Message, ResumePoint};

/// All that a chat is resumed from, as it was at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeState {
    /// The chat session.
    pub chat: ChatSession,
    /// Every message, oldest first.
    pub messages: Vec<Message>,
    /// The context snapshot.
    pub context: ContextSnapshot,
    /// The artifact, if there is one.
    pub artifact: Option<Artifact>,
    /// The questions that the chat waits on, oldest first.
    pub pending_inputs: Vec<InputRequest>,
    /// The resume points of the turn that was written last, by sequence.
    pub resume_points: Vec<ResumePoint>,
}

impl ResumeState {
    /// How large the messages may be together, in bytes.
    pub const MAX_MESSAGE_BYTES: usize = 64 << 20;
}
