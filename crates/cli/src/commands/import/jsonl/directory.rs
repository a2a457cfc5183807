use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use records::{ChatId, JsonObject, WorkflowName};
use transfer::jsonl::{Entry, INDEX, INDEX_BACKUP, SessionFile};

use super::super::report::Report;

/// The sessions of a directory.
#[derive(Debug)]
pub(super) struct Directory {
    /// In the order of the index, then those that it does not have.
    pub(super) sessions: Vec<Session>,
    /// The size of all files.
    pub(super) bytes: u64,
}

/// A session to import.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) chat_id: ChatId,
    /// What the index says; `None` for a session that it does not have.
    pub(super) entry: Option<Entry>,
    /// The file with the messages, if there is one.
    pub(super) file: Option<PathBuf>,
    /// The file with the runs of tools, if there is one.
    pub(super) tools: Option<PathBuf>,
}

impl Directory {
    /// Reads the index and the names of the files; reports sessions that cannot be imported.
    pub(super) fn read(
        path: &Path,
        workflow: &WorkflowName,
        report: &mut Report,
    ) -> anyhow::Result<Self> {
        let mut files = Files::of(path, report)?;
        let mut sessions = Vec::new();
        for (key, entry) in index(path, report)? {
            let place = format!("{INDEX}: session {key:?}");
            let entry = match Entry::read(&key, &entry, workflow) {
                Ok(entry) => entry,
                Err(error) => {
                    files.refused_by_index(&key, &entry);
                    report.refuse(&place, error)?;
                    continue;
                }
            };
            for note in &entry.notes {
                report.warn(&place, note)?;
            }
            let chat_id = entry.chat_id.clone();
            if sessions.iter().any(|session: &Session| session.chat_id == chat_id) {
                report.refuse(&place, "is the same session as another entry")?;
                continue;
            }
            let file = files.messages.remove(&chat_id);
            if file.is_none() && entry.message_count.unwrap_or_default() > 0 {
                report.warn(&place, "has no file: it has no messages")?;
            }
            let tools = files.tools.remove(&chat_id);
            sessions.push(Session { chat_id, entry: Some(entry), file, tools });
        }
        let bytes = files.bytes;
        sessions.extend(files.without_entry());
        Ok(Self { sessions, bytes })
    }
}

/// The files of a directory, by what they are.
#[derive(Debug, Default)]
struct Files {
    messages: BTreeMap<ChatId, PathBuf>,
    tools: BTreeMap<ChatId, PathBuf>,
    bytes: u64,
}

impl Files {
    fn of(directory: &Path, report: &mut Report) -> anyhow::Result<Self> {
        let mut files = Self::default();
        let place = || directory.display().to_string();
        let mut found: Vec<_> =
            directory.read_dir().with_context(place)?.collect::<Result<_, _>>()?;
        found.sort_by_key(fs::DirEntry::file_name);
        for file in found {
            let name = file.file_name();
            let name = name.to_string_lossy();
            match SessionFile::of(&name) {
                SessionFile::Messages(chat_id) => {
                    files.bytes += file.metadata()?.len();
                    files.messages.insert(chat_id, file.path());
                }
                SessionFile::Tools(chat_id) => {
                    files.bytes += file.metadata()?.len();
                    files.tools.insert(chat_id, file.path());
                }
                SessionFile::Refused(error) => report.refuse(&name, error)?,
                SessionFile::Other => {}
            }
        }
        Ok(files)
    }

    /// Leaves out the files of a session whose entry is refused, so that they are not imported without it.
    fn refused_by_index(&mut self, key: &str, entry: &serde_json::Value) {
        let of_key = ChatId::parse(key.strip_prefix("session_").unwrap_or(key)).ok();
        let of_file = entry.get("file").and_then(serde_json::Value::as_str);
        let of_file = of_file.and_then(|file| match SessionFile::of(file) {
            SessionFile::Messages(chat_id) => Some(chat_id),
            _ => None,
        });
        if let Some(chat_id) = of_file.or(of_key) {
            self.messages.remove(&chat_id);
            self.tools.remove(&chat_id);
        }
    }

    /// Returns the sessions of the files that are left.
    fn without_entry(mut self) -> impl Iterator<Item = Session> {
        let ids: BTreeSet<_> = self.messages.keys().chain(self.tools.keys()).cloned().collect();
        ids.into_iter().map(move |chat_id| {
            let (file, tools) = (self.messages.remove(&chat_id), self.tools.remove(&chat_id));
            Session { chat_id, entry: None, file, tools }
        })
    }
}

/// Reads the index, or its copy if it is missing or broken. Without both it is empty: then it is rebuilt from the files.
fn index(directory: &Path, report: &mut Report) -> anyhow::Result<JsonObject> {
    for (name, instead) in [
        (INDEX, "index.json.backup is read"),
        (INDEX_BACKUP, "the sessions are rebuilt from their files"),
    ] {
        match read_index(&directory.join(name)) {
            Ok(Some(index)) => return Ok(index),
            Ok(None) => report.warn(name, format!("is missing: {instead}"))?,
            Err(error) if error.is::<serde_json::Error>() => {
                report.warn(name, format!("cannot be read: {error}; {instead}"))?;
            }
            Err(error) => bail!(error.context(name)),
        }
    }
    Ok(JsonObject::new())
}

/// Reads an index; `None` if there is none.
pub(crate) fn read_index(path: &Path) -> anyhow::Result<Option<JsonObject>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
