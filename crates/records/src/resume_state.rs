use crate::{Artifact, ChatSession, ContextSnapshot, InputRequest, ResumePoint};

/// Everything from which a chat is resumed, except its messages, read in one snapshot of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeState {
    /// The chat session.
    pub chat: ChatSession,
    /// The context snapshot.
    pub context: ContextSnapshot,
    /// The artifact, if there is one.
    pub artifact: Option<Artifact>,
    /// The pending input requests, oldest first.
    pub pending_inputs: Vec<InputRequest>,
    /// The resume points of the last turn, ordered by sequence.
    pub resume_points: Vec<ResumePoint>,
}
