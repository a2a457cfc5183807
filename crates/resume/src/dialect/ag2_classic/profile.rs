/// The ways in which AG2 resumes a group chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// `initiate_group_chat` with a pattern: the results of several calls are one message of
    /// `_Group_Tool_Executor`, and the first message has no name that no agent of a pattern has.
    Pattern,
    /// `GroupChatManager.resume`: each result is a message of its own.
    Manager,
}

/// Who speaks for the tools of a pattern.
pub(super) const EXECUTOR: &str = "_Group_Tool_Executor";

impl Profile {
    /// Says whether AG2 takes a speaker by this name.
    pub(super) fn admits(self, name: &str, is_first: bool) -> bool {
        const NO_AGENTS: [&str; 4] = ["user", "Admin", "chat_manager", EXECUTOR];
        match self {
            _ if name == "_User" => false,
            Self::Pattern => !(is_first && NO_AGENTS.contains(&name)),
            Self::Manager => name != EXECUTOR,
        }
    }
}
