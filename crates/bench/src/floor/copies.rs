use anyhow::{Context as _, Result};
use bson::raw::RawDocumentBuf;
use bson::{Bson, DateTime, Document, doc};
use futures::TryStreamExt as _;
use mongodb::Collection;
use mongodb::options::{Acknowledgment, CollectionOptions, InsertManyOptions, WriteConcern};

use super::Floor;

/// What a copy of a session has instead of the original's. Times are milliseconds of the epoch.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionRow {
    pub(crate) chat_id: String,
    pub(crate) workflow_name: String,
    pub(crate) user_id: Option<String>,
    pub(crate) team_id: Option<String>,
    pub(crate) visibility: &'static str,
    pub(crate) is_listed: bool,
    pub(crate) assistant_id: Option<String>,
    pub(crate) status: i32,
    pub(crate) lifecycle: Option<i32>,
    pub(crate) title: Option<String>,
    pub(crate) title_trigrams: Vec<String>,
    pub(crate) title_key: String,
    /// The value of the metadata under [`CUSTOMER`].
    pub(crate) customer: Option<String>,
    pub(crate) sort: i32,
    pub(crate) created_at: i64,
    pub(crate) active_at: i64,
    pub(crate) members: Vec<String>,
    pub(crate) pending_inputs: Vec<String>,
    pub(crate) last_turn: Option<&'static str>,
}

/// Fills a database of the store with copies of a chat that the store has written.
#[derive(Debug)]
pub(crate) struct Copies {
    sessions: Collection<RawDocumentBuf>,
    segments: Collection<RawDocumentBuf>,
    session: Document,
    sealed: Vec<Document>,
}

/// The key of the metadata by which the sessions are listed.
pub(crate) const CUSTOMER: &str = "customer";

const MINUTE_MS: i64 = 60_000;

impl Copies {
    /// Reads the chat. Copies wait for no disk: they are made before anything is measured.
    pub(crate) async fn of(floor: &Floor, store: &str, chat_id: &str) -> Result<Self> {
        let concern = WriteConcern::builder().w(Acknowledgment::from(1)).journal(false).build();
        let options = CollectionOptions::builder().write_concern(concern).build();
        let database = floor.database.client().database(store);
        let collection = |name| database.collection_with_options(name, options.clone());
        let (sessions, segments) = (collection("chat_sessions"), collection("chat_segments"));
        let session: Option<RawDocumentBuf> = sessions.find_one(doc! { "_id": chat_id }).await?;
        let session = session.context("the chat to copy is missing")?;
        let of_chat = doc! { "_id.chat_id": chat_id };
        let sealed: Vec<RawDocumentBuf> = segments.find(of_chat).await?.try_collect().await?;
        let sealed = sealed.iter().map(|raw| Ok(Document::try_from(raw.as_ref())?));
        let sealed = sealed.collect::<Result<_>>()?;
        Ok(Self { sessions, segments, session: Document::try_from(session)?, sealed })
    }

    /// Inserts a copy for each row.
    pub(crate) async fn insert(&self, rows: &[SessionRow]) -> Result<()> {
        let unordered = InsertManyOptions::builder().ordered(false).build();
        let sessions = rows.iter().map(|row| Ok(RawDocumentBuf::try_from(&self.copy(row))?));
        let sessions = sessions.collect::<Result<Vec<_>>>()?;
        self.sessions.insert_many(sessions).with_options(unordered.clone()).await?;
        let segments = rows.iter().flat_map(|row| self.sealed.iter().map(|it| of(it, row)));
        let segments = segments.map(|segment| Ok(RawDocumentBuf::try_from(&segment)?));
        let segments = segments.collect::<Result<Vec<_>>>()?;
        if !segments.is_empty() {
            self.segments.insert_many(segments).with_options(unordered).await?;
        }
        Ok(())
    }

    fn copy(&self, row: &SessionRow) -> Document {
        let mut copy = self.session.clone();
        copy.insert("_id", &row.chat_id);
        copy.insert("workflow_name", &row.workflow_name);
        copy.insert("user_id", row.user_id.as_deref());
        copy.insert("team_id", row.team_id.as_deref());
        copy.insert("visibility", row.visibility);
        copy.insert("status", row.status);
        copy.insert("title", row.title.as_deref());
        copy.insert("title_key", &row.title_key);
        copy.insert("sort", row.sort);
        copy.insert("created_at", DateTime::from_millis(row.created_at));
        let active = DateTime::from_millis(row.active_at);
        copy.insert("last_message_at", active);
        copy.insert("last_updated_at", active);
        let minute = row.active_at - row.active_at.rem_euclid(MINUTE_MS);
        copy.insert("active_minute", DateTime::from_millis(minute));
        copy.insert("pending_inputs", row.pending_inputs.clone());
        let turn = row.last_turn.map(|outcome| doc! { "request_id": "turn", "outcome": outcome });
        copy.insert("turns", i64::from(turn.is_some()));
        copy.insert("last_turn", turn);
        let member = |user_id: &String| doc! { "user_id": user_id, "role": "member" };
        let members: Vec<_> = row.members.iter().map(member).collect();
        let mut insert_some = |field: &str, value: Option<Bson>| match value {
            Some(value) => _ = copy.insert(field, value),
            None => _ = copy.remove(field),
        };
        insert_some("is_listed", row.is_listed.then_some(true.into()));
        insert_some("assistant_id", row.assistant_id.as_deref().map(Bson::from));
        insert_some("lifecycle", row.lifecycle.map(Bson::from));
        insert_some("lifecycle_at", row.lifecycle.map(|_| active.into()));
        let customer = |it: &String| vec![doc! { "k": CUSTOMER, "v": it }].into();
        insert_some("attrs", row.customer.as_ref().map(customer));
        let metadata = row.customer.as_ref().map(|it| doc! { CUSTOMER: it });
        insert_some("metadata", Some(metadata.unwrap_or_default().into()));
        let trigrams = &row.title_trigrams;
        insert_some("title_trigrams", (!trigrams.is_empty()).then(|| trigrams.clone().into()));
        insert_some("members", (!members.is_empty()).then(|| members.into()));
        copy
    }
}

/// Returns a copy of a segment for the copy of its session.
fn of(segment: &Document, row: &SessionRow) -> Document {
    let mut copy = segment.clone();
    let first = segment.get_document("_id").ok().and_then(|id| id.get("first_sequence")).cloned();
    copy.insert("_id", doc! { "chat_id": &row.chat_id, "first_sequence": first });
    copy
}
