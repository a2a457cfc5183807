use std::collections::HashSet;

use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use persistence::mongo::MongoStore;
use persistence::{
    AuditLog as _, Billing, Calls as _, ChatSessions as _, Messages as _, Outcome, Search as _,
    Store as _, StoreError, ToolRunFilter, ToolRuns as _,
};
use records::{
    Actor, AppId, AuditAction, CallId, ChatId, ChatSession, EventId, IdSalt, Limits,
    NewChatSession, NewMessage, NewProviderCall, NewToolRun, Scope, SessionChange, ToolRunId,
};

use transfer::jsonl::origin_of;

use super::clock::ImportClock;
use super::report::Report;

/// The most bytes of messages, and of runs of tools, that are stored at once.
pub(crate) const BATCH_BYTES: usize = 4 << 20;

/// Where an import stores chats and messages. A dry run stores nothing.
pub(crate) struct Sink<'a> {
    pub(crate) store: &'a MongoStore,
    pub(crate) clock: &'a ImportClock,
    pub(crate) scope: Scope,
    pub(crate) is_dry_run: bool,
}

/// Why the rest of a chat is not imported.
pub(crate) enum Stop {
    /// The chat has a fault; the next one is imported.
    Chat(String),
    /// The import cannot go on.
    Import(anyhow::Error),
}

/// Reports why a chat is not imported; `place` names where it comes from.
pub(crate) fn settle(
    done: Result<(), Stop>,
    place: &str,
    report: &mut Report,
) -> anyhow::Result<()> {
    match done {
        Ok(()) => Ok(()),
        Err(Stop::Chat(fault)) => Ok(report.refuse(place, fault)?),
        Err(Stop::Import(error)) => Err(error.context(place.to_owned())),
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Self::Import(error)
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::Import(error.into())
    }
}

/// Tells the faults of a chat from those of the store.
impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error {
            // The import has looked for the chat, so it is none that the app still has.
            StoreError::ChatExists(chat_id) => Self::Chat(format!(
                "the id {chat_id} is taken, by a chat of another app, by one that was purged, whose id stays taken, or by one of \
                 which an import has not stored all"
            )),
            StoreError::ChatNotFound(_)
            | StoreError::ChatEnded { .. }
            | StoreError::EventConflict { .. }
            | StoreError::ToolRunConflict { .. }
            | StoreError::CallConflict { .. }
            | StoreError::Invalid(_) => Self::Chat(error.to_string()),
            other => Self::Import(other.into()),
        }
    }
}

/// Messages that are appended together.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<NewMessage>,
    ids: HashSet<EventId>,
    bytes: usize,
}

impl Batch {
    /// Returns whether a message of this size must wait for the next batch.
    pub(crate) fn is_full(&self, bytes: usize) -> bool {
        let is_large = self.bytes + bytes > BATCH_BYTES;
        self.messages.len() == Limits::BATCH_MESSAGES || (is_large && !self.messages.is_empty())
    }

    /// Adds a message. Returns whether its id is new; a message with the id of another one is left out.
    pub(crate) fn add(&mut self, message: NewMessage, bytes: usize) -> bool {
        let is_new = message.event_id.clone().is_none_or(|event_id| self.ids.insert(event_id));
        if is_new {
            self.bytes += bytes;
            self.messages.push(message);
        }
        is_new
    }

    fn ids(&self) -> Vec<EventId> {
        self.messages.iter().filter_map(|message| message.event_id.clone()).collect()
    }
}

impl<'a> Sink<'a> {
    /// Begins an import into an app: the audit log says so, unless nothing is stored.
    pub(crate) async fn begin(
        store: &'a MongoStore,
        clock: &'a ImportClock,
        app_id: &AppId,
        is_dry_run: bool,
    ) -> Result<Self, StoreError> {
        if !is_dry_run {
            // As a service that starts does: an empty database gets its indexes and the newest format.
            store.ping().await?;
            let (actor, action) = (Actor::command_line(), AuditAction::ImportChats);
            store.record_action(&actor, Some(app_id), None, action).await?;
        }
        let scope = Scope::service(app_id.clone()).finding_deleted();
        Ok(Self { store, clock, scope, is_dry_run })
    }
}

impl Sink<'_> {
    /// Returns a chat, also a deleted one.
    pub(crate) async fn get(&self, chat_id: &ChatId) -> Result<Option<ChatSession>, Stop> {
        Ok(self.store.get_chat(&self.scope, chat_id).await?)
    }

    /// Returns the lines of its file from which the messages of a chat were imported.
    pub(crate) async fn lines_of(&self, chat_id: &ChatId) -> Result<HashSet<u64>, Stop> {
        let mut lines = HashSet::new();
        let mut messages = self.store.history(&self.scope, chat_id);
        while let Some(message) = messages.try_next().await? {
            lines.extend(origin_of(&message.event_id).map(|(line, _)| line));
        }
        Ok(lines)
    }

    /// Creates a chat as it was at a time; a dry run creates none.
    pub(crate) async fn create(
        &self,
        new: NewChatSession,
        at: Option<DateTime<Utc>>,
    ) -> Result<Option<ChatSession>, Stop> {
        if self.is_dry_run {
            return Ok(None);
        }
        self.clock.put_to(at);
        let created = self.store.create_chat(&self.scope, new).await;
        self.clock.put_to(None);
        Ok(Some(created?))
    }

    /// Returns the salt of the ids of a chat, which is created and counted if it does not exist.
    pub(crate) async fn ensure(
        &self,
        existing: Option<&ChatSession>,
        new: NewChatSession,
        at: Option<DateTime<Utc>>,
        report: &mut Report,
    ) -> Result<Option<IdSalt>, Stop> {
        if let Some(existing) = existing {
            return Ok(existing.id_salt);
        }
        let created = self.create(new, at).await?;
        report.counts.created += 1;
        Ok(created.and_then(|chat| chat.id_salt))
    }

    /// Appends a batch as it was at a time, and counts it. What the chat has is not stored again. `stored` counts the messages of
    /// this import that are new: all of them in a dry run that would have created the chat.
    pub(crate) async fn append_batch(
        &self,
        chat_id: &ChatId,
        batch: Batch,
        at: Option<DateTime<Utc>>,
        is_created: bool,
        stored: &mut u64,
        report: &mut Report,
    ) -> Result<(), Stop> {
        let known = if is_created && self.is_dry_run {
            vec![false; batch.messages.len()]
        } else {
            self.known(chat_id, &batch).await?
        };
        self.append(chat_id, batch.messages, at).await?;
        let mut is_late = false;
        for is_known in known {
            if is_known {
                report.counts.known += 1;
                is_late |= *stored > 0;
            } else {
                report.counts.stored += 1;
                *stored += 1;
            }
        }
        if is_late {
            let what =
                "has messages that were not imported before: they stand behind those that were";
            report.warn(chat_id.as_str(), what)?;
        }
        Ok(())
    }

    /// Returns which messages of a batch the chat has.
    pub(crate) async fn known(&self, chat_id: &ChatId, batch: &Batch) -> Result<Vec<bool>, Stop> {
        let found = self.store.find_messages(&self.scope, chat_id, &batch.ids()).await?;
        Ok(found.into_iter().map(|sequence| sequence.is_some()).collect())
    }

    /// Appends messages as they were at a time.
    pub(crate) async fn append(
        &self,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        at: Option<DateTime<Utc>>,
    ) -> Result<(), Stop> {
        if !self.is_dry_run && !messages.is_empty() {
            self.clock.put_to(at);
            let appended = self.store.append(&self.scope, chat_id, messages).await;
            self.clock.put_to(None);
            appended?;
        }
        Ok(())
    }

    /// Records runs of tools, now: their retention begins with the import. Returns how many were recorded before.
    ///
    /// A dry run looks for them among `known`, the ids that the chat has.
    pub(crate) async fn record_tool_runs(
        &self,
        chat_id: &ChatId,
        runs: Vec<NewToolRun>,
        known: &HashSet<ToolRunId>,
    ) -> Result<usize, Stop> {
        if self.is_dry_run {
            let ids = runs.iter().filter_map(|run| run.run_id.as_ref());
            return Ok(ids.filter(|run_id| known.contains(run_id)).count());
        }
        if runs.is_empty() {
            return Ok(0);
        }
        let recorded = self.store.record_tool_runs(&self.scope, chat_id, runs).await?;
        Ok(recorded.iter().filter(|recorded| recorded.outcome == Outcome::Duplicate).count())
    }

    /// Records calls of models, for which no wallet pays, and counts them.
    pub(crate) async fn record_calls(
        &self,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
        report: &mut Report,
    ) -> Result<(), Stop> {
        if self.is_dry_run {
            let known = self.known_calls(chat_id).await?;
            for call in &calls {
                let is_known = call.call_id.as_ref().is_some_and(|id| known.contains(id));
                report.counts.calls_known += u64::from(is_known);
                report.counts.calls_stored += u64::from(!is_known);
            }
            return Ok(());
        }
        for batch in calls.chunks(Limits::BATCH_CALLS) {
            let batch = batch.to_vec();
            let recording = self.store.record_calls(&self.scope, chat_id, batch, Billing::Free);
            for call in recording.await?.calls {
                let is_known = call.outcome == Outcome::Duplicate;
                report.counts.calls_known += u64::from(is_known);
                report.counts.calls_stored += u64::from(!is_known);
            }
        }
        Ok(())
    }

    /// Returns the ids of the calls of a chat.
    async fn known_calls(&self, chat_id: &ChatId) -> Result<HashSet<CallId>, Stop> {
        let mut known = HashSet::new();
        if self.get(chat_id).await?.is_none() {
            return Ok(known);
        }
        let mut after = None;
        loop {
            let page =
                self.store.list_calls(&self.scope, chat_id, Limits::BATCH_CALLS, after.as_ref());
            let page = page.await?;
            known.extend(page.calls.into_iter().map(|call| call.call_id));
            after = page.next;
            if after.is_none() {
                return Ok(known);
            }
        }
    }

    /// Returns the ids of the runs of tools that a dry run must know; otherwise none.
    pub(crate) async fn known_tool_runs(
        &self,
        chat_id: &ChatId,
    ) -> Result<HashSet<ToolRunId>, Stop> {
        let mut known = HashSet::new();
        if !self.is_dry_run || self.get(chat_id).await?.is_none() {
            return Ok(known);
        }
        let (all, mut after) = (ToolRunFilter::default(), None);
        loop {
            let page = self.store.list_tool_runs(
                &self.scope,
                chat_id,
                &all,
                Limits::BATCH_TOOL_RUNS,
                after.as_ref(),
            );
            let page = page.await?;
            known.extend(page.runs.into_iter().map(|run| run.run_id));
            after = page.next;
            if after.is_none() {
                return Ok(known);
            }
        }
    }

    /// Changes a chat, now.
    pub(crate) async fn change(&self, chat_id: &ChatId, change: SessionChange) -> Result<(), Stop> {
        if !self.is_dry_run {
            self.store.change_chat(&self.scope, chat_id, change).await?;
        }
        Ok(())
    }

    /// Brings the search index up to date: a service looks only for chats that were active lately. Returns what is wrong if
    /// it cannot.
    pub(crate) async fn index(&self, chat_id: &ChatId) -> Option<String> {
        let mut left = vec![chat_id.clone()];
        while !left.is_empty() && !self.is_dry_run {
            left = match self.store.index_chats(&left).await {
                Ok(left) => left,
                Err(error) => {
                    return Some(format!(
                        "is not in the search index ({error}): run `reprise search rebuild`"
                    ));
                }
            };
        }
        None
    }
}
