use std::collections::{BTreeSet, HashSet};

use bson::RawDocument;
use records::json::{Digest, Hasher};
use records::{ChatId, ChatSession, Lifecycle, title_key};

use super::fault::{DataFault, FaultKind};
use crate::StoreError;
use crate::mongo::collection_names::{
    CHAT_BLOBS, CHAT_SEGMENTS, CHAT_SESSIONS, CONTEXT_SNAPSHOTS, INPUT_REQUESTS, MESSAGE_VERSIONS,
    RESUME_POINTS, STREAM_GROUPS, TURNS_WITHOUT_MESSAGES,
};
use crate::mongo::collections::ACTIVE_MINUTE;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    BlobKind, Lineage, PENDING, StoredMessage, TITLE_KEY, TITLE_TRIGRAMS, Tail,
    chat_session_record, stored_trigrams,
};

/// A chat, as far as its documents were read.
#[derive(Debug)]
pub(super) struct Chat {
    session: ChatSession,
    pub(super) lineage: Lineage,
    tail: Tail,
    /// The sequence with which the next own segment has to begin.
    next: u64,
    events: HashSet<Digest>,
    /// The ids of the messages in the tail.
    tail_events: Vec<String>,
    /// The answers of people that are messages: the sequence and the id of each.
    answers: Vec<(u64, String)>,
    /// The questions that the session says are waiting, but for those that were found.
    pending: HashSet<String>,
    /// The blobs that are stored, and those that are referred to.
    blobs: HashSet<(String, String)>,
    references: Vec<(&'static str, BlobKind, String)>,
    turns_without_messages: u64,
    /// The streams that are stored, and those that have groups.
    streams: BTreeSet<String>,
    grouped_streams: BTreeSet<String>,
    pub(super) messages: u64,
    pub(super) faults: Vec<DataFault>,
}

impl Chat {
    /// Reads a session, and compares its fields with one another.
    pub(super) fn read(raw: &RawDocument) -> Result<Self, StoreError> {
        let session = chat_session_record(raw)?;
        let chat_id = session.chat_id.clone();
        let fields = Fields::open(CHAT_SESSIONS, chat_id.as_str(), raw)?;
        let lineage = Lineage::read(&chat_id, &fields)?;
        let pending = session.pending_inputs.iter().map(ToString::to_string).collect();
        let mut chat = Self {
            session,
            tail: Tail::read(&fields)?,
            next: lineage.inherited_below(),
            lineage,
            events: HashSet::new(),
            tail_events: Vec::new(),
            answers: Vec::new(),
            pending,
            blobs: HashSet::new(),
            references: Vec::new(),
            turns_without_messages: 0,
            streams: BTreeSet::new(),
            grouped_streams: BTreeSet::new(),
            messages: 0,
            faults: Vec::new(),
        };
        if !chat.is_purged() {
            chat.read_tail(&fields)?;
            chat.read_references(&fields)?;
            chat.compare_derived(&fields)?;
        }
        Ok(chat)
    }

    pub(super) fn chat_id(&self) -> &ChatId {
        &self.session.chat_id
    }

    pub(super) fn app_id(&self) -> &str {
        self.session.app_id.as_str()
    }

    /// Returns whether nothing of its text is stored, whatever its counters say.
    pub(super) fn is_purged(&self) -> bool {
        self.session.lifecycle == Lifecycle::Purged
    }

    pub(super) fn fault(&mut self, collection: &'static str, kind: FaultKind, detail: String) {
        let record = self.chat_id().to_string();
        self.faults.push(DataFault { record, collection, kind, detail });
    }

    fn read_tail(&mut self, fields: &Fields<'_>) -> Result<(), StoreError> {
        let Tail { first_sequence, last_sequence, .. } = self.tail;
        let (mut at, mut bytes) = (first_sequence, 0);
        for message in fields.documents("messages")? {
            let message = StoredMessage::read(at, &message?)?;
            bytes += message.bytes;
            self.tail_events.push(message.message.event_id.to_string());
            self.observe(CHAT_SESSIONS, &message);
            at += 1;
        }
        if at != last_sequence {
            let has = at - first_sequence;
            let detail = format!(
                "the session has {has} messages from {first_sequence} on, and counts up to {last_sequence}"
            );
            self.fault(CHAT_SESSIONS, FaultKind::Counters, detail);
        }
        if bytes != self.tail.bytes {
            let said = self.tail.bytes;
            let detail = format!("its messages have {bytes} bytes, tail_bytes says {said}");
            self.fault(CHAT_SESSIONS, FaultKind::Counters, detail);
        }
        Ok(())
    }

    /// Remembers the id of a message.
    fn observe(&mut self, collection: &'static str, message: &StoredMessage) {
        self.messages += 1;
        let event_id = &message.message.event_id;
        let mut hasher = Hasher::default();
        hasher.field("event_id", &event_id.as_str().into());
        if !self.events.insert(hasher.finish()) {
            let sequence = message.message.sequence;
            let detail = format!("message {sequence} has the id {event_id} of an earlier one");
            self.fault(collection, FaultKind::DoubleEventId, detail);
        }
    }

    fn read_references(&mut self, fields: &Fields<'_>) -> Result<(), StoreError> {
        let blobs = [("artifact_blob", BlobKind::Artifact), ("context_blob", BlobKind::Context)];
        for (field, kind) in blobs {
            let blob = fields.field(field)?.optional_string()?;
            self.references.extend(blob.map(|blob| (CHAT_SESSIONS, kind, blob)));
        }
        if !fields.field("context_recent")?.is_null() {
            for context in fields.documents("context_recent")? {
                let blob = context?.field("blob")?.optional_string()?;
                self.references.extend(blob.map(|blob| (CHAT_SESSIONS, BlobKind::Context, blob)));
            }
        }
        Ok(())
    }

    /// Compares the fields by which lists find the chat with those that they are made of.
    ///
    /// Sessions of earlier releases lack them until their upgrade is finished.
    fn compare_derived(&mut self, fields: &Fields<'_>) -> Result<(), StoreError> {
        let title = self.session.title.clone();
        let mut wrong = Vec::new();
        if let Some(key) = fields.optional_text(TITLE_KEY)? {
            if key != title_key(title.as_deref()) {
                wrong.push(TITLE_KEY);
            }
            let stored = fields.field(TITLE_TRIGRAMS)?.optional_each_parsed::<String>()?;
            let made = stored_trigrams(title.as_deref()).unwrap_or_default();
            if !stored.iter().eq(&made) {
                wrong.push(TITLE_TRIGRAMS);
            }
            let minute = fields.field(ACTIVE_MINUTE)?.optional_time()?;
            if minute.is_some_and(|minute| minute != self.session.active_minute()) {
                wrong.push(ACTIVE_MINUTE);
            }
        }
        for field in wrong {
            let detail = format!("{field} is not what it is made of");
            self.fault(CHAT_SESSIONS, FaultKind::Derived, detail);
        }
        Ok(())
    }

    /// Reads one of its segments; they come in order.
    pub(super) fn read_segment(
        &mut self,
        fields: &Fields<'_>,
        first: u64,
    ) -> Result<(), StoreError> {
        let below = self.tail.first_sequence;
        if self.is_purged() || first >= below {
            // A purged chat keeps what forks show, and a segment above is not in use yet.
            return Ok(());
        }
        if first != self.next {
            let detail =
                format!("a segment begins at {first}, but {} is the next message", self.next);
            self.fault(CHAT_SEGMENTS, FaultKind::Segments, detail);
        }
        let mut at = first;
        for message in fields.documents("messages")? {
            let message = StoredMessage::read(at, &message?)?;
            if at < below {
                self.observe(CHAT_SEGMENTS, &message);
                let answered = (at, message.message.event_id.to_string());
                self.answers.retain(|answer| *answer != answered);
            }
            at += 1;
        }
        let count = fields.count("count")?;
        if count != at - first {
            let detail =
                format!("the segment at {first} has {} messages, and counts {count}", at - first);
            self.fault(CHAT_SEGMENTS, FaultKind::Segments, detail);
        }
        self.next = self.next.max(at);
        Ok(())
    }

    pub(super) fn read_version(&mut self, sequence: u64, revision: i64) {
        if self.is_purged() {
            return;
        }
        if sequence >= self.lineage.shared_below() || revision > self.tail.revision {
            let detail =
                format!("the version {revision} of message {sequence} is of no shared message");
            self.fault(MESSAGE_VERSIONS, FaultKind::Overlay, detail);
        }
    }

    pub(super) fn read_blob(&mut self, kind: &str, blob: &str) {
        self.blobs.insert((kind.to_owned(), blob.to_owned()));
    }

    pub(super) fn read_context(&mut self, blob: Option<String>) {
        self.references.extend(blob.map(|blob| (CONTEXT_SNAPSHOTS, BlobKind::Context, blob)));
    }

    /// Reads a question.
    pub(super) fn read_question(
        &mut self,
        id: &str,
        fields: &Fields<'_>,
    ) -> Result<(), StoreError> {
        let is_pending = fields.field("state")?.text()? == PENDING;
        if is_pending && !self.pending.remove(id) {
            let detail = format!("{id} is waiting, and the session does not say so");
            self.fault(INPUT_REQUESTS, FaultKind::InputRequest, detail);
        }
        if let Some(answer) = fields.optional_document("answer")? {
            let answer = fields.inside(answer);
            let event_id = answer.field("event_id")?.optional_string()?;
            let sequence = answer.field("sequence")?.optional_number()?;
            self.answers.extend(sequence.zip(event_id));
        }
        Ok(())
    }

    pub(super) fn read_resume_point(&mut self, turn: u64) {
        if turn > self.tail.turns {
            let turns = self.tail.turns;
            let detail = format!("a step belongs to turn {turn}, and the chat has {turns}");
            self.fault(RESUME_POINTS, FaultKind::Turns, detail);
        }
    }

    pub(super) fn read_turn_without_messages(&mut self) {
        self.turns_without_messages += 1;
    }

    pub(super) fn read_stream(&mut self, stream_id: &str) {
        self.streams.insert(stream_id.to_owned());
    }

    pub(super) fn read_stream_group(&mut self, stream_id: &str) {
        self.grouped_streams.insert(stream_id.to_owned());
    }

    /// Compares what was read of all collections.
    pub(super) fn finish(&mut self) {
        if self.is_purged() {
            return;
        }
        let (next, first) = (self.next, self.tail.first_sequence);
        if next < first {
            let detail = format!("the messages from {next} to {} are missing", first - 1);
            self.fault(CHAT_SEGMENTS, FaultKind::Segments, detail);
        }
        for (collection, kind, blob) in std::mem::take(&mut self.references) {
            if !self.blobs.contains(&(kind.as_str().to_owned(), blob.clone())) {
                let detail = format!("the {} blob {blob} is not in {CHAT_BLOBS}", kind.as_str());
                self.fault(collection, FaultKind::Blob, detail);
            }
        }
        for id in std::mem::take(&mut self.pending) {
            let detail = format!("the session says that {id} is waiting, and it is not");
            self.fault(CHAT_SESSIONS, FaultKind::InputRequest, detail);
        }
        let said = self.tail.turns_without_messages;
        if said != self.turns_without_messages {
            let found = self.turns_without_messages;
            let detail =
                format!("{found} turns without messages are stored, and the session counts {said}");
            self.fault(TURNS_WITHOUT_MESSAGES, FaultKind::Turns, detail);
        }
        let streams = std::mem::take(&mut self.streams);
        for id in std::mem::take(&mut self.grouped_streams).difference(&streams) {
            self.fault(STREAM_GROUPS, FaultKind::Orphan, format!("the stream {id} is not stored"));
        }
        self.compare_answers();
    }

    /// Reports answers that are not the messages that they say. Those that are in segments were left out before.
    fn compare_answers(&mut self) {
        let (first, inherited) = (self.tail.first_sequence, self.lineage.inherited_below());
        for (sequence, event_id) in std::mem::take(&mut self.answers) {
            let in_tail = sequence.checked_sub(first).and_then(|at| usize::try_from(at).ok());
            let found = in_tail.and_then(|at| self.tail_events.get(at));
            if sequence >= inherited && found != Some(&event_id) {
                let detail = format!("the answer {event_id} is not message {sequence}");
                self.fault(INPUT_REQUESTS, FaultKind::InputRequest, detail);
            }
        }
    }
}
