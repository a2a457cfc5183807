//! A separate database for a test, and direct reads of its documents.

mod stored_chat;

pub use stored_chat::{Kept, StoredChat};

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Result, ensure};
use futures::TryStreamExt as _;
use local_mongod::SharedMongod;
use mongodb::bson::{Document, doc};
use mongodb::options::{DatabaseOptions, ReadConcern, WriteConcern};
use mongodb::{Client, Collection};
use records::{Ids as _, Uuid7Ids};
use serde::Deserialize;

/// A separate database for a test.
#[derive(Debug)]
pub struct Database {
    uri: String,
    raw: mongodb::Database,
    /// The server that tests share, if it is on that.
    shared: Option<SharedMongod>,
}

impl Database {
    /// A database on a mongod that tests share. It goes with this, or with its server.
    pub async fn create() -> Result<Self> {
        let server = local_mongod::shared_for_tests().await?;
        let mut database = Self::on(server.uri()).await?;
        database.shared = Some(server);
        Ok(database)
    }

    /// A database on a mongod for this test alone, removed with it.
    pub async fn on(uri: &str) -> Result<Self> {
        Self::named(uri, &Uuid7Ids.mint("test_")).await
    }

    /// The database with the same name on another server.
    pub async fn at(&self, uri: &str) -> Result<Self> {
        Self::named(uri, self.name()).await
    }

    async fn named(uri: &str, name: &str) -> Result<Self> {
        let client = Client::with_uri_str(uri).await?;
        let majority = DatabaseOptions::builder()
            .read_concern(ReadConcern::majority())
            .write_concern(WriteConcern::majority())
            .build();
        let raw = client.database_with_options(name, majority);
        Ok(Self { uri: uri.to_owned(), raw, shared: None })
    }

    /// Its documents, read with majority concern.
    pub fn raw(&self) -> &mongodb::Database {
        &self.raw
    }

    /// Connects to the server it is on.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Its name, used by no other test.
    pub fn name(&self) -> &str {
        self.raw.name()
    }

    /// Reads the event ids of a chat from the stored documents, in the order of their sequences.
    ///
    /// Fails if the documents do not have exactly one message for each sequence.
    pub async fn stored_event_ids(&self, chat_id: &str) -> Result<Vec<String>> {
        let sessions: Collection<SessionDocument> = self.raw.collection("chat_sessions");
        let session = sessions.find_one(doc! { "_id": chat_id }).await?;
        let Some(session) = session else {
            anyhow::bail!("there is no document of chat {chat_id}");
        };
        let mut event_ids = self.sealed_event_ids(chat_id, session.first_sequence).await?;
        ensure!(
            event_ids.len() == usize::try_from(session.first_sequence)?,
            "a segment is missing"
        );
        event_ids.extend(session.messages.into_iter().map(|message| message.event_id));
        ensure!(event_ids.len() == usize::try_from(session.last_sequence)?, "the counter is wrong");
        Ok(event_ids)
    }

    /// Reads them from the segments below the tail of the session.
    async fn sealed_event_ids(&self, chat_id: &str, tail: i64) -> Result<Vec<String>> {
        let segments: Collection<SegmentDocument> = self.raw.collection("chat_segments");
        let below = doc! { "_id.chat_id": chat_id, "_id.first_sequence": { "$lt": tail } };
        let mut found = segments.find(below).sort(doc! { "_id.first_sequence": 1 }).await?;
        let mut event_ids = Vec::new();
        while let Some(segment) = found.try_next().await? {
            let first_sequence = usize::try_from(segment.id.first_sequence)?;
            ensure!(first_sequence == event_ids.len(), "segments overlap or leave a gap");
            ensure!(segment.messages.len() == usize::try_from(segment.count)?, "a count is wrong");
            event_ids.extend(segment.messages.into_iter().map(|message| message.event_id));
        }
        Ok(event_ids)
    }

    /// Measures the largest document of each collection.
    pub async fn largest_documents(&self) -> Result<BTreeMap<String, Largest>> {
        let mut largest = BTreeMap::new();
        for name in self.raw.list_collection_names().await? {
            let collection: Collection<Document> = self.raw.collection(&name);
            let mut found = collection.aggregate(by_size()).with_type::<Largest>().await?;
            if let Some(document) = found.try_next().await? {
                largest.insert(name, document);
            }
        }
        Ok(largest)
    }
}

/// Measures documents, and the largest single item in each: a message, or the data of a blob.
fn by_size() -> [Document; 3] {
    let messages = doc! { "$ifNull": ["$messages", []] };
    let sizes = doc! { "$map": { "input": messages, "in": { "$bsonSize": "$$this" } } };
    let data = doc! { "$ifNull": [{ "$bsonSize": "$data" }, 0] };
    let largest_part = doc! { "$max": [{ "$max": sizes }, data] };
    [
        doc! { "$project": { "bytes": { "$bsonSize": "$$ROOT" }, "largest_part": largest_part } },
        doc! { "$sort": { "bytes": -1 } },
        doc! { "$limit": 1 },
    ]
}

/// The largest document of a collection.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Largest {
    /// Its size.
    pub bytes: u64,
    /// The size of the largest single item in it: a message, or the data of a blob.
    pub largest_part: u64,
}

#[derive(Deserialize)]
struct SessionDocument {
    first_sequence: i64,
    last_sequence: i64,
    messages: Vec<MessageDocument>,
}

#[derive(Deserialize)]
struct SegmentDocument {
    #[serde(rename = "_id")]
    id: SegmentId,
    count: i64,
    messages: Vec<MessageDocument>,
}

#[derive(Deserialize)]
struct SegmentId {
    first_sequence: i64,
}

#[derive(Deserialize)]
struct MessageDocument {
    event_id: String,
}

impl Drop for Database {
    /// The runtime of the test may have ended already, so dropping uses a new one.
    fn drop(&mut self) {
        if self.shared.as_ref().is_none_or(SharedMongod::is_temporary) {
            return;
        }
        let (uri, name) = (self.uri.clone(), self.name().to_owned());
        let dropping = thread::spawn(move || -> Result<()> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                Ok(Client::with_uri_str(uri).await?.database(&name).drop().await?)
            })
        });
        let is_dropped = matches!(dropping.join(), Ok(Ok(())));
        assert!(is_dropped || thread::panicking(), "the test's database was not dropped");
    }
}
