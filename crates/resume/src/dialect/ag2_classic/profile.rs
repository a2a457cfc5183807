use crate::canonical::ResultName;

/// The AG2 interfaces that resume a group chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// `initiate_group_chat` with a pattern: the results of several calls are one message of
    /// `_Group_Tool_Executor`, and the first message must have the name of an agent, or none.
    Pattern,
    /// `GroupChatManager.resume`: each result is a separate message.
    Manager,
}

impl Profile {
    /// Returns whether AG2 accepts a speaker with this name.
    pub(super) fn accepts(self, name: &str, is_first: bool) -> bool {
        const RESERVED: [&str; 4] = ["user", "Admin", "chat_manager", ResultName::OF_PATTERN];
        match self {
            _ if name == "_User" => false,
            Self::Pattern => !(is_first && RESERVED.contains(&name)),
            Self::Manager => name != ResultName::OF_PATTERN,
        }
    }
}
