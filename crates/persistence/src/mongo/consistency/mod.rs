//! Verifies that everything that is stored of chats, and of the documents of apps, fits together.
//!
//! The chats are read in order, some at a time, each time from one snapshot of the database, so that services may run
//! meanwhile. The ids of all documents of a chat begin with its id, so that one range of each collection has those of
//! these chats, and also those of chats that are not there.

mod app_document;
mod chat;
mod fault;

use std::collections::HashMap;

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use mongodb::Collection;
use records::AppId;
use tokio::time::Instant;

use self::chat::Chat;
pub use self::fault::{DataFault, FaultKind};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::archive::{is_reservation, reservations_of};
use crate::mongo::collection_names::{
    CHAT_BLOBS, CHAT_SEGMENTS, CHAT_SESSIONS, CONTEXT_SNAPSHOTS, INPUT_REQUESTS, MESSAGE_VERSIONS,
    RESUME_POINTS, STATUS_CHANGES, STREAM_GROUPS, STREAMS, TURNS_WITHOUT_MESSAGES,
};
use crate::mongo::collections::{COLLECTIONS, Purge, StoredCollection};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::segments_filter;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::snapshot::{Query, Snapshot};
use crate::mongo::stats::MAX_STEP;

/// How many chats are read from one snapshot. A server keeps a snapshot for five minutes.
const CHATS: i64 = 100;

/// The progress and the findings of a check of the data.
#[derive(Debug)]
pub enum DataCheck<'a> {
    /// More chats were read.
    Read {
        /// How many.
        chats: u64,
        /// How many messages they have.
        messages: u64,
    },
    /// More documents of apps were read.
    ReadDocuments {
        /// How many.
        documents: u64,
        /// How many bytes their contents have.
        bytes: u64,
    },
    /// The messages of a chat were compared with what was signed of them.
    Verified {
        /// How many are what was signed.
        signed: u64,
        /// How many were stored or changed by a service since.
        unsigned: u64,
    },
    /// Something does not fit.
    Fault(&'a DataFault),
}

/// The chats of one snapshot, and what was found in them.
#[derive(Debug, Default)]
struct Page {
    chats: HashMap<String, Chat>,
    /// The last chat of the page; `None` for a page that reaches to the end.
    last: Option<String>,
    faults: Vec<DataFault>,
}

impl MongoStore {
    /// Returns about how many chats there are.
    pub async fn estimate_chats(&self) -> Result<u64, StoreError> {
        self.read(|| async { Ok(self.inner.chat_sessions.estimated_document_count().await?) }).await
    }

    /// Compares all documents of the chats of one app, or of all, with one another.
    ///
    /// It takes as long as it needs while services continue, and resumes after a failure where it was.
    pub async fn check_chats(
        &self,
        app_id: Option<&AppId>,
        tell: &mut (dyn FnMut(DataCheck<'_>) + Send),
    ) -> Result<(), StoreError> {
        let mut after: Option<String> = None;
        loop {
            let page = || self.check_page(app_id, after.as_deref());
            let page = self.read_until(Instant::now() + MAX_STEP, page).await?;
            let chats = page.chats.len() as u64;
            let messages = page.chats.values().map(|chat| chat.messages).sum();
            let mut faults = page.faults;
            faults.extend(page.chats.into_values().flat_map(|chat| chat.faults));
            faults.sort_by(|a, b| (&a.record, a.kind).cmp(&(&b.record, b.kind)));
            for fault in &faults {
                tell(DataCheck::Fault(fault));
            }
            tell(DataCheck::Read { chats, messages });
            match page.last {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
    }

    async fn check_page(
        &self,
        app_id: Option<&AppId>,
        after: Option<&str>,
    ) -> Result<Page, Failure> {
        let mut snapshot = Snapshot::take(self).await?;
        let mut page = self.sessions_after(app_id, after, &mut snapshot).await?;
        let of_chats = COLLECTIONS.iter().filter(|it| it.name != CHAT_SESSIONS && is_of_chats(it));
        // An answer is compared with the message that it is.
        let (first, others): (Vec<_>, Vec<_>) = of_chats.partition(|it| it.name == INPUT_REQUESTS);
        for collection in first.into_iter().chain(others) {
            let range = range(collection, after, page.last.as_deref());
            self.check_collection(collection, range, app_id, &mut snapshot, &mut page).await?;
        }
        for chat in page.chats.values_mut() {
            self.check_bases(chat, &mut snapshot).await?;
            chat.finish();
        }
        Ok(page)
    }

    async fn sessions_after(
        &self,
        app_id: Option<&AppId>,
        after: Option<&str>,
        snapshot: &mut Snapshot,
    ) -> Result<Page, Failure> {
        let mut filter = doc! { "_id": { "$gt": after.map_or(Bson::MinKey, Bson::from) } };
        if let Some(app_id) = app_id {
            let of_app = doc! { "app_id": app_id.as_str() };
            filter.insert("$or", vec![of_app, reservations_of(app_id)]);
        }
        let query = Query {
            filter,
            sort: Some(doc! { "_id": 1 }),
            index: Some(mongodb::options::Hint::Keys(doc! { "_id": 1 })),
            limit: Some(CHATS),
            ..Query::default()
        };
        let mut page = Page::default();
        let mut found = snapshot.find(&self.inner.chat_sessions, query).await?;
        let (mut read, mut last) = (0, None);
        while let Some(raw) = snapshot.next(&mut found).await? {
            read += 1;
            let id = raw.get_str("_id").unwrap_or_default().to_owned();
            last = Some(id.clone());
            if is_reservation(&raw) {
                page.unfinished(id);
                continue;
            }
            match Chat::read(&raw) {
                Ok(chat) => _ = page.chats.insert(id, chat),
                Err(error) => page.unreadable(CHAT_SESSIONS, id, &error),
            }
        }
        page.last = last.filter(|_| read == CHATS);
        Ok(page)
    }

    async fn check_collection(
        &self,
        of: &'static StoredCollection,
        range: Document,
        app_id: Option<&AppId>,
        snapshot: &mut Snapshot,
        page: &mut Page,
    ) -> Result<(), Failure> {
        let collection: Collection<RawDocumentBuf> = self.inner.database.collection(of.name);
        let query = Query {
            filter: doc! { "_id": range },
            sort: Some(doc! { "_id": 1 }),
            ..Query::default()
        };
        let mut found = snapshot.find(&collection, query).await?;
        while let Some(raw) = snapshot.next(&mut found).await? {
            let app = raw.get_str("app_id").unwrap_or_default();
            let is_wanted = app_id.is_none_or(|wanted| wanted.as_str() == app);
            let id = chat_of(&raw).to_owned();
            let Some(chat) = page.chats.get_mut(&id) else {
                let is_known = page.faults.iter().any(|fault| fault.record == id);
                if is_wanted && !is_known {
                    page.orphan(of.name, id);
                }
                continue;
            };
            if app != chat.app_id() {
                let detail =
                    format!("the document is of the app {app:?}, its chat of {:?}", chat.app_id());
                chat.fault(of.name, FaultKind::OtherApp, detail);
            }
            if let Err(error) = (of.rewrite)(&raw)
                .map_err(StoreError::from)
                .and_then(|_| observe(chat, of.name, &raw))
            {
                page.unreadable(of.name, id, &error);
            }
        }
        Ok(())
    }

    /// Checks that the chats whose messages a fork shares have them.
    async fn check_bases(&self, chat: &mut Chat, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let app_id = AppId::parse(chat.app_id()).ok();
        let pieces: Vec<_> = chat
            .lineage
            .pieces(0..chat.lineage.inherited_below())
            .into_iter()
            .map(|(chat_id, span)| (chat_id.clone(), span))
            .collect();
        for (base, span) in pieces {
            let Some(app_id) = app_id.as_ref().filter(|_| !chat.is_purged()) else { return Ok(()) };
            // The segment with the first message may begin before it.
            let query = Query {
                filter: segments_filter(app_id, &base, 0..span.end),
                projection: Some(doc! { "count": 1, "schema_version": 1 }),
                sort: Some(doc! { "_id": 1 }),
                ..Query::default()
            };
            let mut found = snapshot.find(&self.inner.chat_segments, query).await?;
            let mut next = span.start;
            while let Some(raw) = snapshot.next(&mut found).await? {
                let fields = Fields::open(CHAT_SEGMENTS, base.as_str(), &raw)?;
                let first = fields.inside(fields.document("_id")?).count("first_sequence")?;
                if first <= next {
                    next = next.max(first + fields.count("count")?);
                }
            }
            if next < span.end {
                let detail =
                    format!("{base} does not have the message {next} that the fork shares");
                chat.fault(CHAT_SESSIONS, FaultKind::Lineage, detail);
            }
        }
        Ok(())
    }
}

impl Page {
    fn unreadable(&mut self, collection: &'static str, record: String, error: &StoreError) {
        let detail = error.to_string();
        self.faults.push(DataFault { record, collection, kind: FaultKind::Unreadable, detail });
    }

    /// Reports a chat of which an import has stored documents, and not the session.
    fn unfinished(&mut self, record: String) {
        let detail =
            "an import of the chat is under way, or was broken off: repeat it, or purge the chat";
        let (collection, kind) = (CHAT_SESSIONS, FaultKind::UnfinishedImport);
        self.faults.push(DataFault { record, collection, kind, detail: detail.to_owned() });
    }

    /// Reports the documents of a chat that is not there, once for each collection.
    fn orphan(&mut self, collection: &'static str, record: String) {
        let detail = "the chat is not stored".to_owned();
        let fault = DataFault { record, collection, kind: FaultKind::Orphan, detail };
        if self.faults.last() != Some(&fault) {
            self.faults.push(fault);
        }
    }
}

/// Returns whether the ids of a collection begin with those of chats.
fn is_of_chats(collection: &StoredCollection) -> bool {
    !matches!(collection.purge, Purge::Keeps(_) | Purge::DeletesBound)
        || collection.name == STATUS_CHANGES
}

/// Returns the range of ids that belong to the chats after one, up to another.
fn range(collection: &StoredCollection, after: Option<&str>, last: Option<&str>) -> Document {
    // Of documents with equal first fields, the one whose second field has the greater type is the greater one.
    let end_of = |chat_id: &str| match collection.purge {
        Purge::DeletesOne => Bson::from(chat_id),
        _ => doc! { "chat_id": chat_id, "": Bson::MaxKey }.into(),
    };
    let mut range = doc! { "$gt": after.map_or(Bson::MinKey, end_of) };
    range.extend(last.map(|last| ("$lte".to_owned(), end_of(last))));
    range
}

/// Returns the chat that a document belongs to.
fn chat_of(raw: &RawDocument) -> &str {
    let id = raw.get_document("_id").ok().and_then(|id| id.get_str("chat_id").ok());
    id.or_else(|| raw.get_str("_id").ok()).unwrap_or_default()
}

/// Adds to a chat what one of its documents says.
fn observe(chat: &mut Chat, collection: &'static str, raw: &RawDocument) -> Result<(), StoreError> {
    let chat_id = chat.chat_id().clone();
    let fields = Fields::open(collection, chat_id.as_str(), raw)?;
    let id = || fields.document("_id").map(|id| fields.inside(id));
    match collection {
        CHAT_SEGMENTS => chat.read_segment(&fields, id()?.count("first_sequence")?)?,
        MESSAGE_VERSIONS => chat.read_version(id()?.count("sequence")?, id()?.integer("revision")?),
        CHAT_BLOBS => chat.read_blob(id()?.field("kind")?.text()?, id()?.field("blob")?.text()?),
        CONTEXT_SNAPSHOTS => chat.read_context(fields.field("blob")?.optional_string()?),
        INPUT_REQUESTS => chat.read_question(id()?.field("request_id")?.text()?, &fields)?,
        RESUME_POINTS => chat.read_resume_point(fields.count("turn")?),
        TURNS_WITHOUT_MESSAGES => chat.read_turn_without_messages(),
        STREAMS => chat.read_stream(id()?.field("stream_id")?.text()?),
        STREAM_GROUPS => chat.read_stream_group(id()?.field("stream_id")?.text()?),
        _ => {}
    }
    Ok(())
}
