use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use records::{ChatId, JsonObject, WorkflowName};
use transfer::jsonl::{self, INDEX, INDEX_BACKUP, SessionFile};
use transfer::lines::without_mark;

use super::super::report::Report;
use super::super::source::Source;
use super::session::Session;

/// The sessions of a directory.
#[derive(Debug)]
pub(super) struct Directory {
    /// In the order of the index, then those that it does not have.
    pub(super) sessions: Vec<Session>,
    /// The size of all files.
    pub(super) bytes: u64,
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
            let entry = match jsonl::Entry::read(&key, &entry, workflow) {
                Ok(entry) => entry,
                Err(error) => {
                    files.refused_by_index(&key, &entry);
                    let whole = "the session is imported once its entry is mended, or removed";
                    report.refuse(&place, format!("{error}; {whole}"))?;
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
            let messages = files.messages.remove(&chat_id).map(Source::File);
            if messages.is_none() && entry.message_count.unwrap_or_default() > 0 {
                report.warn(&place, "has no file: it has no messages")?;
            }
            let tools = files.tools.remove(&chat_id).map(Source::File);
            sessions.push(Session { chat_id, entry: Some(entry), messages, tools });
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
            let (of_kind, chat_id) = match SessionFile::of(&name) {
                SessionFile::Messages(chat_id) => (&mut files.messages, chat_id),
                SessionFile::Tools(chat_id) => (&mut files.tools, chat_id),
                SessionFile::Refused(error) => {
                    report.refuse(&name, error)?;
                    continue;
                }
                SessionFile::Other => continue,
            };
            // What the name links to.
            let bytes = match fs::metadata(file.path()) {
                Ok(metadata) if metadata.is_file() => metadata.len(),
                Ok(_) => {
                    report.refuse(&name, "is no file")?;
                    continue;
                }
                Err(error) => {
                    report.refuse(&name, format!("cannot be read: {error}"))?;
                    continue;
                }
            };
            match of_kind.entry(chat_id) {
                Entry::Vacant(vacant) => drop(vacant.insert(file.path())),
                // The compressed one comes after the other in the order of names.
                Entry::Occupied(_) => {
                    report.refuse(&name, "is there without compression, too: that one is read")?;
                    continue;
                }
            }
            files.bytes += bytes;
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
            let messages = self.messages.remove(&chat_id).map(Source::File);
            let tools = self.tools.remove(&chat_id).map(Source::File);
            Session { chat_id, entry: None, messages, tools }
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
        Ok(text) => Ok(Some(serde_json::from_slice(without_mark(&text))?)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
