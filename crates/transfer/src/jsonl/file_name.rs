use records::{ChatId, IdError};

/// The name of the index.
pub const INDEX: &str = "index.json";

/// The name of the copy that is made of the index before it is replaced.
pub const INDEX_BACKUP: &str = "index.json.backup";

/// What the name of a compressed file ends with.
pub const COMPRESSED: &str = ".gz";

pub(super) const PREFIX: &str = "session_";
pub(super) const EXTENSION: &str = ".jsonl";
const TOOLS: &str = "_tools";

/// What a file is, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionFile {
    /// The messages of a session.
    Messages(ChatId),
    /// The runs of tools of a session.
    Tools(ChatId),
    /// A file of a session whose id is not the id of a chat.
    Refused(IdError),
    /// Not a file of the layout.
    Other,
}

impl SessionFile {
    /// Recognises a file by its name, also a compressed one.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let name = name.strip_suffix(COMPRESSED).unwrap_or(name);
        let id = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(EXTENSION));
        let Some(id) = id else { return Self::Other };
        let (id, file): (_, fn(ChatId) -> Self) = match id.strip_suffix(TOOLS) {
            Some(id) => (id, Self::Tools),
            None => (id, Self::Messages),
        };
        ChatId::parse(id).map_or_else(Self::Refused, file)
    }
}

/// Returns the name of the file with the messages of a chat.
#[must_use]
pub fn file_of(chat_id: &ChatId) -> String {
    format!("{PREFIX}{chat_id}{EXTENSION}")
}

/// Returns the name of the file with the runs of tools of a chat.
#[must_use]
pub fn tools_file_of(chat_id: &ChatId) -> String {
    format!("{PREFIX}{chat_id}{TOOLS}{EXTENSION}")
}

/// Returns whether the file of a chat would have the name of a file with runs of tools.
#[must_use]
pub fn is_file_of_tools(chat_id: &ChatId) -> bool {
    chat_id.as_str().ends_with(TOOLS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_recognised_by_its_name() {
        let chat_id = ChatId::parse("abc123").unwrap();
        let messages = SessionFile::Messages(chat_id.clone());
        assert_eq!(SessionFile::of("session_abc123.jsonl"), messages);
        assert_eq!(SessionFile::of(&file_of(&chat_id)), messages);
        assert_eq!(SessionFile::of("session_abc123.jsonl.gz"), messages);
        let tools = SessionFile::Tools(chat_id.clone());
        assert_eq!(SessionFile::of("session_abc123_tools.jsonl.gz"), tools);
        assert_eq!(SessionFile::of(&tools_file_of(&chat_id)), tools);
        for other in ["index.json", "session_a.json", "session_a.jsonl.bak", "a.jsonl", ".gz", ""] {
            assert_eq!(SessionFile::of(other), SessionFile::Other, "{other}");
        }
    }

    #[test]
    fn an_id_that_leads_out_of_the_directory_is_refused() {
        for id in ["../x", "a/b", "..", ".", "", "a\\b", "a b", "ü"] {
            for file in [format!("session_{id}.jsonl"), format!("session_{id}_tools.jsonl")] {
                let file = SessionFile::of(&file);
                assert!(matches!(file, SessionFile::Refused(_)), "{id}: {file:?}");
            }
        }
    }
}
