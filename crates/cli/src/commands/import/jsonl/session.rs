use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use persistence::{MessageRange, Messages as _};
use records::{ChatId, ChatSession, Lifecycle, Message, NewMessage, SessionChange, WorkflowName};
use transfer::jsonl::{Entry, INDEX, LineError, ReadLine, origin_of, read_line, read_time};
use transfer::lines::{Line, Lines};

use super::super::report::Report;
use super::super::sink::{Batch, Sink, Stop, settle};
use super::directory::Session;

/// How many of the newest messages of a chat are searched for the last one that was imported.
const NEWEST: MessageRange = MessageRange::Newest { before: None, limit: 1_000 };

/// Imports sessions one after the other.
pub(super) struct Importer<'a> {
    pub(super) sink: &'a Sink<'a>,
    pub(super) report: &'a mut Report,
    pub(super) workflow: &'a WorkflowName,
}

/// A session that is being imported.
struct Target {
    chat_id: ChatId,
    /// The chat, if it existed before.
    existing: Option<ChatSession>,
    /// The last line that was imported before.
    imported_to: u64,
    entry: Option<Entry>,
    is_created: bool,
    stored: u64,
}

impl Importer<'_> {
    /// Imports a session: its new messages, its status, and its new runs of tools.
    pub(super) async fn import(&mut self, session: Session) -> anyhow::Result<()> {
        self.report.counts.chats += 1;
        let Session { chat_id, entry, file, tools } = session;
        let place = file.as_deref().map_or_else(|| INDEX.to_owned(), name_of);
        let imported = self.import_into(chat_id.clone(), entry, file.as_deref(), &place).await;
        settle(imported, &place, self.report)?;
        let Some(tools) = tools else { return Ok(()) };
        let place = name_of(&tools);
        let imported = self.import_tools(&chat_id, &tools, &place).await;
        settle(imported, &place, self.report)
    }

    async fn import_into(
        &mut self,
        chat_id: ChatId,
        entry: Option<Entry>,
        file: Option<&Path>,
        place: &str,
    ) -> Result<(), Stop> {
        let existing = self.sink.get(&chat_id).await?;
        let imported_to = match &existing {
            Some(_) => self.imported_to(&chat_id).await?,
            None => 0,
        };
        let mut target =
            Target { chat_id, existing, imported_to, entry, is_created: false, stored: 0 };
        if let Some(path) = file {
            self.import_file(&mut target, path, place).await?;
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

    async fn import_file(
        &mut self,
        target: &mut Target,
        path: &Path,
        place: &str,
    ) -> Result<(), Stop> {
        let file = File::open(path).context("cannot be opened")?;
        let mut lines = Lines::new(BufReader::with_capacity(1 << 18, file));
        let (mut batch, mut at, mut last, mut bytes) = (Batch::default(), None, None, 0);
        while let Some(line) = lines.next_line().context("cannot be read")? {
            let number = line.number;
            let read = self.read(&line, place, |text| {
                let read = read_line(text, number, &target.chat_id)?;
                Ok((read.notes.iter().map(ToString::to_string).collect(), read))
            })?;
            self.report.bar.inc(lines.bytes() - bytes);
            bytes = lines.bytes();
            let Some(read) = read else { continue };
            if target.existing.is_none() && !target.is_created {
                self.create(target, Some(&read)).await?;
            }
            if batch.is_full(read.bytes) {
                self.append(target, std::mem::take(&mut batch), at).await?;
            }
            let ReadLine { message, bytes, .. } = read;
            let origin = message.event_id.as_ref().and_then(origin_of);
            let digest = origin.map(|(_, digest)| digest.to_owned());
            if digest.is_some() && digest == last {
                let repeated = "says the same as the line before it: both are kept";
                self.report.warn(&format!("{place}:{number}"), repeated)?;
            }
            last = digest;
            at = message.body.timestamp.as_deref().and_then(read_time).or(at);
            if !batch.add(message, bytes) {
                let twice = "has the id of another line";
                self.report.refuse(&format!("{place}:{number}"), twice)?;
            }
        }
        let last_at = target.entry.as_ref().and_then(|entry| entry.last_activity_at);
        self.append(target, batch, last_at.or(at)).await
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
        let place = format!("{place}:{}", line.number);
        let Some(text) = line.text else {
            self.report.refuse(&place, "is too large")?;
            return Ok(None);
        };
        match read(text) {
            Ok((notes, read)) => {
                for note in notes {
                    self.report.warn(&place, note)?;
                }
                Ok(Some(read))
            }
            Err(_) if !line.is_ended => {
                let cut = "is cut off: it is imported once the file has all of it";
                self.report.warn(&place, cut)?;
                Ok(None)
            }
            Err(error) => {
                self.report.refuse(&place, error)?;
                Ok(None)
            }
        }
    }

    /// Creates the chat of a session; `first` is its first message.
    async fn create(&mut self, target: &mut Target, first: Option<&ReadLine>) -> Result<(), Stop> {
        let rebuilt = || Entry::rebuilt(target.chat_id.clone(), first, self.workflow);
        let entry = target.entry.clone().unwrap_or_else(rebuilt);
        let at = entry.created_at.or(entry.last_activity_at);
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
                return Err(Stop::Chat(format!(
                    "line {line} is not the one that was imported before: the file was rewritten, and is imported no further"
                )));
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

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
