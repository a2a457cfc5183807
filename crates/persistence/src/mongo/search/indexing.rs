//! Brings the index of chats up to date.

use std::collections::HashMap;
use std::ops::Range;

use bson::raw::RawArrayBuf;
use bson::{Bson, Document, RawDocumentBuf, doc, rawdoc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::options::Hint;
use records::{AppId, ChatId, Lifecycle, Message, Scope};
use tokio::time::Instant;

use super::documents::{MarkDocument, entry_statement};
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::{CHAT_SESSIONS, SEARCH_ENTRIES, SEARCH_MARKS};
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::time::Time;
use crate::mongo::documents::{LIFECYCLE, SCHEMA_VERSION, chat_head_record, head_projection};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::purges::{is_purged, records_filter};
use crate::mongo::transcript::reader::{Direction, Page, SessionView};
use crate::store::ChatHead;
use crate::{StoreError, offload};

/// How many chats are indexed at a time.
const CHATS_AT_ONCE: usize = 16;

/// The most messages that are indexed at a time, and their most bytes. The chats of one time share them.
const MESSAGES_AT_ONCE: u64 = 2_000;
const BYTES_AT_ONCE: u64 = 2 << 20;

/// The most statements of a command, and their most bytes.
const STATEMENTS: usize = 1_000;
const STATEMENT_BYTES: usize = 8 << 20;

/// The server's code for an entry that exists.
const DUPLICATE_KEY: i32 = 11_000;

/// What is read of a session to see whether its index is behind.
#[derive(Debug, serde::Deserialize)]
struct Counters {
    #[serde(rename = "_id")]
    chat_id: ChatId,
    app_id: AppId,
    last_sequence: u64,
    revision: u64,
    lifecycle: Option<i32>,
}

impl Counters {
    fn is_purged(&self) -> bool {
        self.lifecycle == Some(Lifecycle::Purged.number())
    }

    fn is_beyond(&self, mark: Option<&MarkDocument>) -> bool {
        match mark {
            None => self.last_sequence > 0,
            Some(mark) => self.last_sequence > mark.next_sequence || self.revision > mark.revision,
        }
    }
}

/// What is to be written for a chat.
struct Step {
    mark: MarkDocument,
    /// Where the mark is moved.
    next_sequence: u64,
    revision: u64,
    entries: Vec<RawDocumentBuf>,
    /// Whether everything is indexed then.
    is_last: bool,
}

impl MongoStore {
    /// Indexes chats, and returns those that need another call.
    pub(super) async fn index(&self, chat_ids: Vec<ChatId>) -> Result<Vec<ChatId>, StoreError> {
        if chat_ids.is_empty() {
            return Ok(chat_ids);
        }
        self.write(|call| async move {
            call.attempt(|_| async {
                call.require(Shape::MessageSearch).await?;
                call.index_within(&chat_ids).await
            })
            .await
        })
        .await
    }

    /// Indexes those of some chats that have a mark until they are up to date, for an erasure. A chat without a mark has no
    /// entries, or the process that is about to store them finds its mark behind.
    pub(crate) async fn index_again(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        if !self.writes(Shape::MessageSearch).await? {
            return Ok(());
        }
        let ids = self.ids_that_show(app_id, chat_id).await?;
        let mut ids: Vec<ChatId> = self.marks_of(&ids).await?.into_keys().collect();
        while !ids.is_empty() {
            ids = self.index_within(&ids).await?;
        }
        Ok(())
    }

    /// Indexes chats for a part of the time that a call has, and returns those that need another one. So a call ends well
    /// before its deadline, however much is left to index.
    async fn index_within(&self, chat_ids: &[ChatId]) -> Result<Vec<ChatId>, Failure> {
        let until = Instant::now() + self.inner.deadline / 4;
        let (mut unfinished, mut left) = (Vec::new(), chat_ids);
        let is_first = |left: &[ChatId]| left.len() == chat_ids.len();
        while !left.is_empty() && (is_first(left) || Instant::now() < until) {
            let (now, later) = left.split_at(left.len().min(CHATS_AT_ONCE));
            unfinished.extend(self.index_at_once(now).await?);
            left = later;
        }
        unfinished.extend_from_slice(left);
        Ok(unfinished)
    }

    async fn index_at_once(&self, chat_ids: &[ChatId]) -> Result<Vec<ChatId>, Failure> {
        let mut marks = self.marks_of(chat_ids).await?;
        let counters = self.counters_of(chat_ids).await?;
        for purged in counters.iter().filter(|chat| chat.is_purged()) {
            self.forget_chat(&purged.app_id, &purged.chat_id).await?;
        }
        let is_behind =
            |chat: &&Counters| !chat.is_purged() && chat.is_beyond(marks.get(&chat.chat_id));
        let behind: Vec<&Counters> = counters.iter().filter(is_behind).collect();
        // The marks are stored first, so that an erasure sees that there may be entries.
        let new = behind.iter().filter(|chat| !marks.contains_key(&chat.chat_id));
        let new: Vec<MarkDocument> = new.map(|chat| self.first_mark(chat)).collect();
        let creations = new.iter().map(MarkDocument::creation).collect::<Result<Vec<_>, _>>()?;
        self.send_statements(SEARCH_MARKS, creations).await?;
        marks.extend(new.into_iter().map(|mark| (mark.chat_id.clone(), mark)));
        let share = Share::among(behind.len());
        let steps = behind.iter().filter_map(|chat| marks.get(&chat.chat_id));
        let steps = steps.map(async |mark| {
            let step = self.step_of(mark, share).await;
            Ok::<_, Failure>(self.skip_corrupt(Sweep::SearchIndex, step)?.flatten())
        });
        let mut steps: Vec<Step> = try_join_all(steps).await?.into_iter().flatten().collect();
        let entries: Vec<_> =
            steps.iter_mut().flat_map(|it| std::mem::take(&mut it.entries)).collect();
        self.inner.metrics.search.indexed(entries.len());
        self.send_statements(SEARCH_ENTRIES, entries).await?;
        let now = Time(self.inner.clock.now());
        let moves = steps.iter().map(|it| it.mark.move_to(it.next_sequence, it.revision, now));
        self.send_statements(SEARCH_MARKS, moves.collect()).await?;
        let unfinished = steps.into_iter().filter(|step| !step.is_last);
        Ok(unfinished.map(|step| step.mark.chat_id).collect())
    }

    fn first_mark(&self, chat: &Counters) -> MarkDocument {
        MarkDocument {
            chat_id: chat.chat_id.clone(),
            app_id: chat.app_id.clone(),
            next_sequence: 0,
            revision: 0,
            indexed_at: Time(self.inner.clock.now()),
            schema_version: SCHEMA_VERSION,
        }
    }

    /// Reads what is to be indexed next of a chat; `None` if nothing is, or the chat is gone.
    ///
    /// The session is read first. What is read after it may be newer than its revision, but never older.
    async fn step_of(&self, mark: &MarkDocument, share: Share) -> Result<Option<Step>, Failure> {
        let MarkDocument { app_id, chat_id, .. } = mark;
        let mut projection = SessionView::projection();
        projection.extend(head_projection());
        projection.insert(LIFECYCLE, 1);
        let find = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
        let Some(raw) = find.projection(projection).await? else { return Ok(None) };
        if is_purged(&raw) {
            return Ok(None);
        }
        let head = chat_head_record(&raw)?;
        let session = SessionView::read(chat_id, &raw)?;
        let spans = spans_to_index(mark, &head, share);
        let mut messages = Vec::new();
        let mut next_sequence = spans.new.start;
        // An edited message is read by itself.
        for sequence in spans.edited {
            let one = sequence..sequence.saturating_add(1);
            let one = self.span(&session, app_id, one, share).await?;
            messages.extend(one);
        }
        if !spans.new.is_empty() {
            let new = self.span(&session, app_id, spans.new.clone(), share).await?;
            next_sequence = new.last().map_or(spans.new.start, |message| message.sequence + 1);
            messages.extend(new);
        }
        let is_last = next_sequence >= head.last_sequence;
        let (revision, mark) = (head.revision.max(mark.revision), mark.clone());
        let bytes =
            messages.iter().map(|it| it.body.content.as_str().map_or(1 << 10, str::len)).sum();
        let (app_id, chat_id) = (app_id.clone(), chat_id.clone());
        let entries = offload(bytes, move || {
            let entry = |message| entry_statement(&app_id, &chat_id, revision, message);
            messages.iter().map(entry).collect::<Result<Vec<_>, _>>()
        });
        let entries = entries.await?;
        Ok(Some(Step { mark, next_sequence, revision, entries, is_last }))
    }

    async fn span(
        &self,
        session: &SessionView<'_>,
        app_id: &AppId,
        span: Range<u64>,
        share: Share,
    ) -> Result<Vec<Message>, Failure> {
        let scope = Scope::service(app_id.clone()).finding_deleted();
        let (mut at, direction) = (ReadAt::Latest, Direction::OldestFirst);
        let page = Page::new(share.bytes);
        let page = self.read_span(&mut at, &scope, session, span, direction, page).await?;
        Ok(page.into_messages())
    }

    /// Removes the entries and the mark of a purged chat.
    async fn forget_chat(&self, app_id: &AppId, chat_id: &ChatId) -> Result<(), Failure> {
        self.inner.search_entries.delete_many(records_filter(app_id, chat_id)).await?;
        self.inner.search_marks.delete_one(chat_filter(app_id, chat_id)).await?;
        Ok(())
    }

    pub(super) async fn marks_of(
        &self,
        chat_ids: &[ChatId],
    ) -> Result<HashMap<ChatId, MarkDocument>, Failure> {
        let find = self.inner.search_marks.find(by_ids(chat_ids));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let marks = found.iter().map(|raw| {
            let mark: MarkDocument = read_document(SEARCH_MARKS, raw)?;
            Ok((mark.chat_id.clone(), mark))
        });
        marks.collect()
    }

    async fn counters_of(&self, chat_ids: &[ChatId]) -> Result<Vec<Counters>, Failure> {
        let fields = doc! {
            "app_id": 1, "last_sequence": 1, "revision": 1, LIFECYCLE: 1, "schema_version": 1,
        };
        let find = self.inner.chat_sessions.find(by_ids(chat_ids)).projection(fields);
        let find = find.hint(Hint::Keys(doc! { "_id": 1 }));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let counters = found
            .iter()
            .map(|raw| self.skip_corrupt(Sweep::SearchIndex, read_document(CHAT_SESSIONS, raw)));
        counters.filter_map(Result::transpose).collect()
    }

    /// Sends statements in commands of a bounded size. A statement whose document exists has nothing to do.
    async fn send_statements(
        &self,
        collection: &str,
        statements: Vec<RawDocumentBuf>,
    ) -> Result<(), Failure> {
        let mut statements = statements.into_iter().peekable();
        while statements.peek().is_some() {
            let (mut together, mut count, mut bytes) = (RawArrayBuf::new(), 0, 0);
            while let Some(next) = statements.next_if(|next| {
                let size = next.as_bytes().len();
                count == 0 || (count < STATEMENTS && bytes + size <= STATEMENT_BYTES)
            }) {
                (count, bytes) = (count + 1, bytes + next.as_bytes().len());
                together.push(next);
            }
            let command = rawdoc! {
                "update": collection,
                "updates": together,
                "ordered": false,
                "writeConcern": { "w": "majority", "j": true },
            };
            let reply = self.inner.database.run_raw_command(command).await?;
            check_reply(&reply)?;
        }
        Ok(())
    }
}

/// How much of a chat is indexed at a time, besides its edited messages.
#[derive(Debug, Clone, Copy)]
struct Share {
    messages: u64,
    bytes: u64,
}

impl Share {
    fn among(chats: usize) -> Self {
        let chats = u64::try_from(chats).unwrap_or(u64::MAX).max(1);
        Self { messages: (MESSAGES_AT_ONCE / chats).max(1), bytes: (BYTES_AT_ONCE / chats).max(1) }
    }
}

/// The messages to index next.
struct Spans {
    edited: Vec<u64>,
    new: Range<u64>,
}

/// Returns the messages to index next.
fn spans_to_index(mark: &MarkDocument, head: &ChatHead, share: Share) -> Spans {
    // After an election the head may be older for a moment.
    let is_older = head.revision < mark.revision;
    let edits = if is_older { Some(Vec::new()) } else { head.edits_since(mark.revision) };
    // After more edits than the chat remembers, every message may be another one.
    let start = if edits.is_some() { mark.next_sequence } else { 0 };
    let end = head.last_sequence.min(start.saturating_add(share.messages)).max(start);
    let edited = edits.into_iter().flatten().map(|(_, sequence)| sequence);
    Spans { edited: edited.filter(|sequence| *sequence < start).collect(), new: start..end }
}

fn by_ids(chat_ids: &[ChatId]) -> Document {
    let ids: Vec<&str> = chat_ids.iter().map(ChatId::as_str).collect();
    doc! { "_id": { "$in": ids } }
}

fn check_reply(reply: &Document) -> Result<(), Failure> {
    let errors = reply.get_array("writeErrors").map_or(&[][..], Vec::as_slice);
    let is_duplicate = |error: &&Bson| {
        error.as_document().and_then(|it| it.get_i32("code").ok()) == Some(DUPLICATE_KEY)
    };
    let failed = errors.iter().find(|error| !is_duplicate(error));
    match failed.or(reply.get("writeConcernError")) {
        Some(error) => Err(Failure::NotDurable(error.to_string().into())),
        None => Ok(()),
    }
}
