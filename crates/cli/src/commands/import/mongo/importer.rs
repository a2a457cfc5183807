use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use persistence::mongo::MongoStore;
use persistence::{Artifacts as _, ChatSessions as _, Contexts as _};
use records::json::Digest;
use records::{
    AppId, Artifact, ChatId, ChatSession, ChatStatus, EventId, IdSalt, NewArtifact, NewMessage,
};
use transfer::collections::{ChatState, Part, PartError};
use transfer::jsonl::read_time;

use super::super::clock::ImportClock;
use super::super::report::Report;
use super::super::sink::{Batch, Sink, Stop, settle};
use super::Arguments;

/// Imports chats one after the other, each from one or several documents.
pub(super) struct Importer<'a> {
    arguments: &'a Arguments,
    store: &'a MongoStore,
    clock: &'a ImportClock,
    report: &'a mut Report,
    sinks: BTreeMap<AppId, Sink<'a>>,
    /// The chat of the last document.
    chat: Option<OpenChat>,
}

/// A chat whose documents are being read.
struct OpenChat {
    chat_id: ChatId,
    app_id: AppId,
    generation: i64,
    /// The chat as it was before, if it existed.
    existing: Option<ChatSession>,
    id_salt: Option<IdSalt>,
    batch: Batch,
    /// The ids of its messages, with what they say.
    ids: HashMap<EventId, Digest>,
    state: Option<ChatState>,
    /// When the chat was written to last.
    active_at: Option<DateTime<Utc>>,
    stored: u64,
    /// How many messages of the import were known before the chat.
    known_before: u64,
    /// Whether the rest of the chat is not imported.
    is_given_up: bool,
}

impl OpenChat {
    /// Returns the time of the newest message that waits, as far as it is known.
    fn time_of_batch(&self) -> Option<DateTime<Utc>> {
        let stated = |message: &NewMessage| read_time(message.body.timestamp.as_deref()?);
        self.batch.messages.iter().rev().find_map(stated).or(self.active_at)
    }

    /// Returns whether the chat is not as the other system has left it.
    fn is_new(&self) -> bool {
        self.existing.is_none() || self.stored > 0
    }
}

impl<'a> Importer<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        store: &'a MongoStore,
        clock: &'a ImportClock,
        report: &'a mut Report,
    ) -> Self {
        Self { arguments, store, clock, report, sinks: BTreeMap::new(), chat: None }
    }

    /// Imports what a document says; `place` names the document.
    pub(super) async fn add(
        &mut self,
        read: Result<Part, PartError>,
        place: &str,
    ) -> anyhow::Result<()> {
        self.report.bar.inc(1);
        match read {
            Ok(part) => self.add_part(part, place).await,
            Err(error) => Ok(self.report.refuse(place, error)?),
        }
    }

    async fn add_part(&mut self, part: Part, place: &str) -> anyhow::Result<()> {
        if self.chat.as_ref().is_none_or(|chat| chat.chat_id != part.chat_id) {
            self.end_chat().await?;
            self.report.counts.chats += 1;
            match self.begin_chat(&part).await {
                Ok(chat) => self.chat = Some(chat),
                Err(stop) => return settle(Err(stop), place, self.report),
            }
            if let Some(note) = &part.id_note {
                self.report.warn(place, note)?;
            }
        }
        let Some(mut chat) = self.chat.take() else { return Ok(()) };
        let added = self.add_to(&mut chat, part, place).await;
        chat.is_given_up |= added.is_err();
        self.chat = Some(chat);
        self.tell_stop(added, place)
    }

    /// Reports why the rest of a chat is not imported.
    fn tell_stop(&mut self, done: Result<(), Stop>, place: &str) -> anyhow::Result<()> {
        let done = done.map_err(|stop| match stop {
            Stop::Chat(fault) => {
                Stop::Chat(format!("{fault}; the rest of the chat is not imported"))
            }
            stop @ Stop::Import(_) => stop,
        });
        settle(done, place, self.report)
    }

    async fn begin_chat(&mut self, part: &Part) -> Result<OpenChat, Stop> {
        let named = self.arguments.app.as_ref().or(part.app_id.as_ref());
        let app_id = named.ok_or_else(|| Stop::Chat("names no app: use --app".to_owned()))?;
        if !self.sinks.contains_key(app_id) {
            let is_dry_run = self.arguments.dry_run;
            let sink = Sink::begin(self.store, self.clock, app_id, is_dry_run).await?;
            self.sinks.insert(app_id.clone(), sink);
        }
        let sink = &self.sinks[app_id];
        let existing = sink.get(&part.chat_id).await?;
        let (new, at) = (part.new.clone(), part.created_at);
        let id_salt = sink.ensure(existing.as_ref(), new, at, self.report).await?;
        Ok(OpenChat {
            chat_id: part.chat_id.clone(),
            app_id: app_id.clone(),
            generation: part.generation,
            existing,
            id_salt,
            batch: Batch::default(),
            ids: HashMap::new(),
            state: None,
            active_at: None,
            stored: 0,
            known_before: self.report.counts.known,
            is_given_up: false,
        })
    }

    async fn add_to(&mut self, chat: &mut OpenChat, part: Part, place: &str) -> Result<(), Stop> {
        if chat.is_given_up {
            return Ok(());
        }
        if part.generation < chat.generation {
            let what = "belongs to what the session was before it was cleared: it is left out";
            return Ok(self.report.warn(place, what)?);
        }
        for note in &part.notes {
            self.report.warn(place, note)?;
        }
        for fault in &part.faults {
            self.report.refuse(place, fault)?;
        }
        if part.active_at.is_some() {
            chat.active_at = part.active_at;
        }
        for message in part.messages {
            let (bytes, message) = (message.bytes(), message.into_message(chat.id_salt));
            if chat.batch.is_full(bytes) {
                self.flush(chat).await?;
            }
            self.add_message(chat, message, bytes, place)?;
        }
        chat.state = part.state;
        Ok(())
    }

    fn add_message(
        &mut self,
        chat: &mut OpenChat,
        message: NewMessage,
        bytes: usize,
        place: &str,
    ) -> Result<(), Stop> {
        let Some(event_id) = message.event_id.clone() else { return Ok(()) };
        let digest = message.body.digest();
        match chat.ids.insert(event_id, digest) {
            None => {
                chat.batch.add(message, bytes);
            }
            Some(before) if before == digest => {
                self.report.warn(place, "has a message twice, with one id: it is stored once")?;
            }
            Some(_) => self
                .report
                .refuse(place, "has two messages with one id: the first one is stored")?,
        }
        Ok(())
    }

    /// Appends the messages that wait. Those that the chat has are not stored again.
    async fn flush(&mut self, chat: &mut OpenChat) -> Result<(), Stop> {
        let at = chat.time_of_batch();
        let batch = std::mem::take(&mut chat.batch);
        let sink = &self.sinks[&chat.app_id];
        let OpenChat { chat_id, stored, .. } = chat;
        sink.append_batch(chat_id, batch, at, chat.existing.is_none(), stored, self.report).await
    }

    /// Stores what is left of the chat, and what it is to be like after its messages.
    pub(super) async fn end_chat(&mut self) -> anyhow::Result<()> {
        let Some(mut chat) = self.chat.take() else { return Ok(()) };
        let place = chat.chat_id.to_string();
        if chat.is_given_up {
            return Ok(());
        }
        let ended = self.end(&mut chat).await;
        self.tell_stop(ended, &place)?;
        if chat.stored > 0
            && let Some(fault) = self.sinks[&chat.app_id].index(&chat.chat_id).await
        {
            self.report.warn(&place, fault)?;
        }
        Ok(())
    }

    async fn end(&mut self, chat: &mut OpenChat) -> Result<(), Stop> {
        self.flush(chat).await?;
        self.tell_others(chat)?;
        let Some(state) = chat.state.take() else { return Ok(()) };
        if self.arguments.dry_run {
            return Ok(());
        }
        let at = state.since.or(chat.active_at);
        self.clock.put_to(at);
        let applied = self.apply(chat, state).await;
        self.clock.put_to(None);
        applied
    }

    /// Reports what the chat has and the other system does not: it has deleted that since, or the chat has gone on here.
    fn tell_others(&mut self, chat: &OpenChat) -> Result<(), Stop> {
        let before = chat.existing.as_ref().map_or(0, |existing| existing.last_sequence);
        let others = before.saturating_sub(self.report.counts.known - chat.known_before);
        if others > 0 && chat.stored > 0 {
            let what = format!(
                "has messages that the collection does not have ({others}): the new ones stand behind them"
            );
            self.report.warn(chat.chat_id.as_str(), what)?;
        }
        Ok(())
    }

    /// Gives a chat its snapshot, its artifact and its status. What has gone on here stays as it is.
    async fn apply(&self, chat: &OpenChat, state: ChatState) -> Result<(), Stop> {
        let Sink { store, scope, .. } = &self.sinks[&chat.app_id];
        let chat_id = &chat.chat_id;
        if let Some(context) = state.context {
            let before = store.load_context_snapshot(scope, chat_id).await?.data;
            if before.is_empty() || (chat.is_new() && before != context) {
                store.update_context_snapshot(scope, chat_id, context).await?;
            }
        }
        if let Some(artifact) = state.artifact {
            let before = store.get_last_artifact(scope, chat_id).await?;
            if before.is_none_or(|before| chat.is_new() && !is_same(&before, &artifact)) {
                store.update_last_artifact(scope, chat_id, artifact).await?;
            }
        }
        let before = store.get_chat(scope, chat_id).await?.map(|chat| chat.status);
        if before == Some(ChatStatus::Running) && state.status != ChatStatus::Running {
            store.set_status(scope, chat_id, state.status, None).await?;
        }
        Ok(())
    }
}

fn is_same(stored: &Artifact, artifact: &NewArtifact) -> bool {
    let NewArtifact { ui_tool_id, event_id, display, workflow_name, payload, updated_at: _ } =
        artifact;
    (&stored.ui_tool_id, &stored.event_id, &stored.display, &stored.workflow_name, &stored.payload)
        == (ui_tool_id, event_id, display, workflow_name, payload)
}
