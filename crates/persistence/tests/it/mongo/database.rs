use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use local_mongod::SharedMongod;
use persistence::mongo::{MongoOptions, MongoStore, SealingBounds};
use persistence::{IntegrityKeys, Store};
use records::{ChatId, Clock, Ids, SystemClock, Uuid7Ids};
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use secrecy::ExposeSecret as _;

/// Returns keys of its own for each test.
pub(crate) fn integrity_keys() -> IntegrityKeys {
    IntegrityKeys::new(&new_key(), &[]).unwrap()
}

pub(crate) fn new_key() -> Vec<u8> {
    Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap().as_ref().to_vec()
}

/// The database of one test on a real mongod. It goes with this, or with its server.
pub(crate) struct Database {
    pub(crate) store: MongoStore,
    pub(crate) raw: mongodb::Database,
    pub(crate) options: MongoOptions,
    server: SharedMongod,
}

impl Database {
    pub(crate) async fn create() -> Self {
        Self::create_with(|_| {}).await
    }

    /// Creates a database in which only the test seals.
    pub(crate) async fn create_unsealed() -> Self {
        Self::create_with(|options| options.sealing.is_automatic = false).await
    }

    pub(crate) async fn create_with(change: impl FnOnce(&mut MongoOptions)) -> Self {
        Self::create_from(Arc::new(SystemClock), Arc::new(Uuid7Ids), change).await
    }

    /// Creates a database as an older release leaves it: with documents, and without a format.
    pub(crate) async fn create_older(documents: &[(&str, Document)]) -> Self {
        let database =
            Self::create_unprepared(|options| options.sealing.is_automatic = false).await;
        database.raw.create_collection("chat_sessions").await.unwrap();
        for (collection, document) in documents {
            database.insert(collection, document.clone()).await;
        }
        database.store.ping().await.unwrap();
        database
    }

    pub(crate) async fn create_from(
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        change: impl FnOnce(&mut MongoOptions),
    ) -> Self {
        let database = Self::connect(clock, ids, change).await;
        database.store.ping().await.unwrap();
        database
    }

    /// Creates a database that no process has used yet.
    pub(crate) async fn create_unprepared(change: impl FnOnce(&mut MongoOptions)) -> Self {
        Self::connect(Arc::new(SystemClock), Arc::new(Uuid7Ids), change).await
    }

    async fn connect(
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
        change: impl FnOnce(&mut MongoOptions),
    ) -> Self {
        let server = local_mongod::shared_for_tests().await.expect("a mongod starts for tests");
        let name = Uuid7Ids.mint("test_");
        let mut options = MongoOptions::new(server.uri(), &name);
        // The bounds are small, so that a few messages are enough for sealing.
        options.sealing = SealingBounds {
            tail_messages: 32,
            tail_bytes: 64 << 10,
            keep_messages: 4,
            keep_bytes: 16 << 10,
            ..SealingBounds::default()
        };
        // Long enough for a machine whose disk is slow for a while. Tests of deadlines set their own.
        options.deadline = Duration::from_mins(1);
        options.webhook_events = true;
        // So that every change of a message is tagged.
        options.integrity = Some(integrity_keys());
        // The server refuses what newer versions may not have.
        options.stable_api = true;
        change(&mut options);
        let store = MongoStore::connect_with(&options, clock, ids).await.unwrap();
        let client = mongodb::Client::with_uri_str(options.uri.expose_secret()).await.unwrap();
        Self { store, raw: client.database(&name), options, server }
    }

    pub(crate) fn as_dyn(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }

    /// Returns every document of a collection, ordered by id.
    pub(crate) async fn all(&self, collection: &str) -> Vec<RawDocumentBuf> {
        use futures::TryStreamExt;
        let collection = self.raw.collection::<RawDocumentBuf>(collection);
        let found = collection.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
        found.try_collect().await.unwrap()
    }

    /// Returns a chat as it is stored.
    pub(crate) async fn session(&self, chat_id: &ChatId) -> Document {
        let sessions = self.raw.collection::<RawDocumentBuf>("chat_sessions");
        let found = sessions.find_one(doc! { "_id": chat_id.as_str() }).await.unwrap().unwrap();
        Document::try_from(&found).unwrap()
    }

    /// Stores a copy of a chat for each number. `change` makes each copy another chat.
    pub(crate) async fn copy_session(
        &self,
        chat_id: &ChatId,
        numbers: Range<i64>,
        change: impl Fn(i64, &mut Document),
    ) {
        let one = self.session(chat_id).await;
        let copy = |number| {
            let mut copy = one.clone();
            change(number, &mut copy);
            RawDocumentBuf::try_from(&copy).unwrap()
        };
        let sessions = self.raw.collection::<RawDocumentBuf>("chat_sessions");
        sessions.insert_many(numbers.map(copy).collect::<Vec<_>>()).await.unwrap();
    }

    pub(crate) async fn insert(&self, collection: &str, document: Document) {
        let document = RawDocumentBuf::try_from(&document).unwrap();
        self.raw.collection::<RawDocumentBuf>(collection).insert_one(document).await.unwrap();
    }
}

impl Deref for Database {
    type Target = MongoStore;
    fn deref(&self) -> &MongoStore {
        &self.store
    }
}

impl Drop for Database {
    /// The test's runtime may have ended, so the drop runs in a new one.
    fn drop(&mut self) {
        if self.server.is_temporary() {
            return;
        }
        let uri = self.options.uri.expose_secret().to_owned();
        let name = self.options.database.clone();
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let client = mongodb::Client::with_uri_str(uri).await?;
                client.database(&name).drop().await?;
                anyhow::Ok(())
            })
        });
        let is_dropped = matches!(dropping.join(), Ok(Ok(())));
        assert!(is_dropped || std::thread::panicking(), "the test's database was not dropped");
    }
}
