use std::collections::HashSet;

use chrono::{DateTime, Utc};
use persistence::{MessageRange, Messages as _};
use records::{ChatId, ChatSession, Lifecycle, Message, NewMessage, SessionChange, WorkflowName};
use transfer::jsonl::{Entry, INDEX, LineError, ReadLine, origin_of, read_line, read_time};
use transfer::lines::Line;

use super::super::report::Report;
use super::super::sink::{Batch, Sink, Stop, settle};
use super::super::source::{CUT_OFF, Source, next_line};

/// How many of the newest messages of a chat are searched for the last one that was imported.
const NEWEST: MessageRange = MessageRange::Newest { before: None, limit: 1_000 };

/// A session to import.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) chat_id: ChatId,
    /// What the index says; `None` for a session that it does not have.
    pub(crate) entry: Option<Entry>,
    /// The messages, if there are any.
    pub(crate) messages: Option<Source>,
    /// The runs of tools, if there are any.
    pub(crate) tools: Option<Source>,
}

/// Imports sessions one after the other.
pub(crate) struct Importer<'a> {
    pub(crate) sink: &'a Sink<'a>,
    pub(crate) report: &'a mut Report,
    pub(crate) workflow: &'a WorkflowName,
}

/// A session that is being imported.
struct Target {
    chat_id: ChatId,
    /// The chat, if it existed before.
    existing: Option<ChatSession>,
    /// The last line that was imported before.
    imported_to: u64,
    /// Every line that was imported before; read when it is needed.
    imported: Option<HashSet<u64>>,
    entry: Option<Entry>,
    is_created: bool,
    stored: u64,
}

/// Refuses a session whose id is that of a chat of another person.
fn check_owner(chat: &ChatSession, entry: &Entry) -> Result<(), Stop> {
    match (&chat.user_id, &entry.new.user_id) {
        (Some(owner), Some(named)) if owner != named => Err(Stop::Chat(format!(
            "the chat {} belongs to another user than the index says: it is left as it is",
            chat.chat_id
        ))),
        _ => Ok(()),
    }
}

impl Importer<'_> {
    /// Imports a session: its new messages, its status, and its new runs of tools.
    pub(crate) async fn import(&mut self, session: Session) -> anyhow::Result<()> {
        self.report.counts.chats += 1;
        let Session { chat_id, entry, messages, tools } = session;
        let place = messages.as_ref().map_or_else(|| INDEX.to_owned(), Source::name);
        let imported = self.import_into(chat_id.clone(), entry, messages.as_ref(), &place).await;
        settle(imported, &place, self.report)?;
        let Some(tools) = tools else { return Ok(()) };
        let imported = self.import_tools(&chat_id, &tools).await;
        settle(imported, &tools.name(), self.report)
    }

    async fn import_into(
        &mut self,
        chat_id: ChatId,
        entry: Option<Entry>,
        messages: Option<&Source>,
        place: &str,
    ) -> Result<(), Stop> {
        let existing = self.sink.get(&chat_id).await?;
        if let (Some(chat), Some(entry)) = (&existing, &entry) {
            check_owner(chat, entry)?;
        }
        let imported_to = match &existing {
            Some(_) => self.imported_to(&chat_id).await?,
            None => 0,
        };
        let mut target = Target {
            chat_id,
            existing,
            imported_to,
            imported: None,
            entry,
            is_created: false,
            stored: 0,
        };
        if let Some(messages) = messages {
            self.import_messages(&mut target, messages).await?;
        }
        if target.existing.is_none() && !target.is_created {
            self.create(&mut target, None).await?;
        }
        self.apply_status(&target, place).await?;
        if target.stored > 0
            && let Some(fault) = self.sink.index(&target.chat_id).await
        {
            self.report.warn(place, fault)?;
        }
        Ok(())
    }

    /// Returns the last line of the file of a chat that was imported before.
    async fn imported_to(&self, chat_id: &ChatId) -> Result<u64, Stop> {
        let Sink { store, scope, .. } = self.sink;
        let newest = store.messages(scope, chat_id, NEWEST).await?.messages;
        let line = |message: &Message| Some(origin_of(&message.event_id)?.0);
        Ok(newest.iter().filter_map(line).max().unwrap_or_default())
    }

    async fn import_messages(&mut self, target: &mut Target, source: &Source) -> Result<(), Stop> {
        let (mut lines, file) = (source.open(&self.report.bar)?, source.name());
        let (mut batch, mut at, mut last) = (Batch::default(), None, None);
        while let Some(line) = next_line(&mut lines, &file, self.report)? {
            let place = source.at(line.number);
            let read = self.read(&line, &place, |text| {
                let read = read_line(text, line.number, &target.chat_id)?;
                Ok((read.notes.iter().map(ToString::to_string).collect(), read))
            })?;
            let Some(read) = read else { continue };
            if target.existing.is_none() && !target.is_created {
                self.create(target, Some(&read)).await?;
            }
            if batch.is_full(read.bytes) {
                self.append(target, std::mem::take(&mut batch), at, source).await?;
            }
            let ReadLine { message, bytes, .. } = read;
            let origin = message.event_id.as_ref().and_then(origin_of);
            let digest = origin.map(|(_, digest)| digest.to_owned());
            if digest.is_some() && digest == last {
                let repeated = "says the same as the one before it: both are kept";
                self.report.warn(&place, repeated)?;
            }
            last = digest;
            at = message.body.timestamp.as_deref().and_then(read_time).or(at);
            if !batch.add(message, bytes) {
                self.report.refuse(&place, "has the id of another one")?;
            }
        }
        let last_at = target.entry.as_ref().and_then(|entry| entry.last_activity_at);
        self.append(target, batch, last_at.or(at), source).await
    }

    /// Reads a line, with its notes; `None` if there is nothing in it that can be imported.
    pub(super) fn read<R>(
        &mut self,
        line: &Line<'_>,
        place: &str,
        read: impl FnOnce(&[u8]) -> Result<(Vec<String>, R), LineError>,
    ) -> Result<Option<R>, Stop> {
        if line.is_blank() {
            return Ok(None);
        }
        let Some(text) = line.text else {
            self.report.refuse(place, "is too large")?;
            return Ok(None);
        };
        match read(text) {
            Ok((notes, read)) => {
                for note in notes {
                    self.report.warn(place, note)?;
                }
                Ok(Some(read))
            }
            Err(_) if !line.is_ended => {
                self.report.warn(place, CUT_OFF)?;
                Ok(None)
            }
            Err(error) => {
                self.report.refuse(place, error)?;
                Ok(None)
            }
        }
    }

    /// Creates the chat of a session; `first` is its first message.
    async fn create(&mut self, target: &mut Target, first: Option<&ReadLine>) -> Result<(), Stop> {
        let rebuilt = || Entry::rebuilt(target.chat_id.clone(), first, self.workflow);
        let entry = target.entry.clone().unwrap_or_else(rebuilt);
        let said_at = first.and_then(|read| read.message.body.timestamp.as_deref());
        let at = entry.created_at.or(said_at.and_then(read_time)).or(entry.last_activity_at);
        self.sink.create(entry.new, at).await?;
        target.is_created = true;
        self.report.counts.created += 1;
        Ok(())
    }

    /// Appends the messages of a batch that are new.
    async fn append(
        &mut self,
        target: &mut Target,
        batch: Batch,
        at: Option<DateTime<Utc>>,
        source: &Source,
    ) -> Result<(), Stop> {
        let is_derived =
            |message: &NewMessage| message.event_id.as_ref().and_then(origin_of).is_some();
        let is_new = target.existing.is_none()
            && (self.sink.is_dry_run || batch.messages.iter().all(is_derived));
        let known = if is_new {
            vec![false; batch.messages.len()]
        } else {
            self.sink.known(&target.chat_id, &batch).await?
        };
        let mut fresh = Vec::new();
        for (message, known) in batch.messages.into_iter().zip(known) {
            if known {
                self.report.counts.known += 1;
                continue;
            }
            let line = message.event_id.as_ref().and_then(origin_of).map(|(line, _)| line);
            if let Some(line) = line
                && line <= target.imported_to
            {
                let imported = match &mut target.imported {
                    Some(imported) => imported,
                    none => none.insert(self.sink.lines_of(&target.chat_id).await?),
                };
                if imported.contains(&line) {
                    let item = source.item(line);
                    return Err(Stop::Chat(format!(
                        "{item} is not the one that was imported before: the file was rewritten, and is imported no further"
                    )));
                }
                let late = "was not imported before: it stands behind those that were";
                self.report.warn(&source.at(line), late)?;
            }
            fresh.push(message);
        }
        let count = u64::try_from(fresh.len()).unwrap_or_default();
        self.sink.append(&target.chat_id, fresh, at).await?;
        target.stored += count;
        self.report.counts.stored += count;
        Ok(())
    }

    /// Archives or deletes the chat, if the index says so. A chat that is deleted stays so.
    async fn apply_status(&mut self, target: &Target, place: &str) -> Result<(), Stop> {
        let Some(entry) = &target.entry else { return Ok(()) };
        let chat = self.sink.get(&target.chat_id).await?;
        let Some(chat) = chat else { return Ok(()) };
        let wanted = entry.status.lifecycle();
        if chat.lifecycle < wanted {
            let change = SessionChange::to_lifecycle(wanted);
            self.sink.change(&target.chat_id, change).await?;
        } else if chat.lifecycle == Lifecycle::Deleted && wanted != Lifecycle::Deleted {
            self.report.warn(place, "its chat is deleted, and stays so")?;
        }
        Ok(())
    }
}
