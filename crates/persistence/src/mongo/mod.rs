//! A store in MongoDB: the only module that names the driver.
//!
//! A chat session is one document. It contains its newest messages, the *tail*; older messages are
//! *sealed* into segments, which are separate documents, so that the cost of an append does not grow
//! with the chat. Large context snapshots and artifacts are separate documents, *blobs*, for the same
//! reason. A wallet is also one document, and its older entries are separate documents, *lines*.

mod collection_names;
mod collections;
mod documents;
mod engine;

mod transcript;

mod access_keys;
mod app_documents;
mod apps;
mod archive;
mod archiving;
mod artifacts;
mod assistants;
mod audit;
mod blobs;
mod calls;
mod changes;
mod chat_sessions;
mod consistency;
mod context_history;
mod contexts;
mod declared_keys;
mod erasures;
mod exchanges;
mod foreign;
mod input_requests;
mod inspection;
mod integrity;
pub use inspection::MissingFeature;
mod leases;
mod members;
mod messages;
mod participants;
mod presence;
mod purges;
mod resumption;
mod revocations;
mod search;
mod session_change;
mod stats;
mod streams;
mod tickets;
mod tool_runs;
mod turns;
mod upgrade;
mod views;
mod wallets;
mod webhook_events;

pub use archive::{
    Archive, ArchiveError, ArchivedDocument, HeldSegments, RestoreError, RestoreInto, Restored,
};
pub use collections::{COLLECTIONS, Purge, StoredCollection};
pub use consistency::{DataCheck, DataFault, FaultKind};
pub use engine::client::{ConnectError, MongoOptions};
pub use engine::index::IndexState;
pub use engine::indexes::IndexReport;
pub use foreign::{ForeignCollection, ForeignError, Instead};
pub use stats::{StatsDifference, Workflow};
pub use transcript::append::QueueBounds;
pub use transcript::sealing::{Interruption, SealingBounds};
pub use upgrade::{FinishedUpgrade, FormatStatus};
pub use views::{ViewReport, ViewState};
pub use wallets::WalletVerification;

use std::sync::Arc;

use async_trait::async_trait;
use bson::{RawDocumentBuf, doc};
use mongodb::{Client, Collection, Database};
use records::{Clock, Ids, SystemClock, Uuid7Ids};
use tokio::sync::{OnceCell, Semaphore, broadcast};
use tokio_util::task::TaskTracker;

use crate::StoreError;
use crate::integrity::IntegrityKeys;
use crate::metrics::{Call, StoreMetrics};
use crate::store::{Change, Interests, Store};
use chat_sessions::TitleCounts;
use engine::change_stream::ChangeStreams;
use engine::failure::Failure;
use engine::format::KnownFormat;
use engine::transaction::{Round, Transaction};
use engine::{client, indexes, pool_events};
use streams::{Chains, GroupBatcher};
use transcript::append::{ChatCache, CommandBatcher, Queues};
use transcript::sealing::Sealer;

/// A store that keeps all records in one MongoDB database.
///
/// It is cheap to clone; clones share the connection pool.
#[derive(Debug, Clone)]
pub struct MongoStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    database: Database,
    chat_sessions: Collection<RawDocumentBuf>,
    chat_segments: Collection<RawDocumentBuf>,
    message_versions: Collection<RawDocumentBuf>,
    chat_blobs: Collection<RawDocumentBuf>,
    context_snapshots: Collection<RawDocumentBuf>,
    chat_participants: Collection<RawDocumentBuf>,
    presence: Collection<RawDocumentBuf>,
    provider_calls: Collection<RawDocumentBuf>,
    tool_runs: Collection<RawDocumentBuf>,
    workflow_stats: Collection<RawDocumentBuf>,
    status_changes: Collection<RawDocumentBuf>,
    webhook_events: Collection<RawDocumentBuf>,
    input_requests: Collection<RawDocumentBuf>,
    resume_points: Collection<RawDocumentBuf>,
    turns_without_messages: Collection<RawDocumentBuf>,
    apps: Collection<RawDocumentBuf>,
    wallets: Collection<RawDocumentBuf>,
    wallet_entries: Collection<RawDocumentBuf>,
    assistants: Collection<RawDocumentBuf>,
    documents: Collection<RawDocumentBuf>,
    document_parts: Collection<RawDocumentBuf>,
    streams: Collection<RawDocumentBuf>,
    stream_groups: Collection<RawDocumentBuf>,
    tickets: Collection<RawDocumentBuf>,
    access_keys: Collection<RawDocumentBuf>,
    revocations: Collection<RawDocumentBuf>,
    audit_entries: Collection<RawDocumentBuf>,
    pseudonym_keys: Collection<RawDocumentBuf>,
    erasures: Collection<RawDocumentBuf>,
    search_entries: Collection<RawDocumentBuf>,
    search_marks: Collection<RawDocumentBuf>,
    search_progress: Collection<RawDocumentBuf>,
    integrity_chains: Collection<RawDocumentBuf>,
    integrity_blocks: Collection<RawDocumentBuf>,
    store_format: Collection<RawDocumentBuf>,
    format: KnownFormat,
    deadline: std::time::Duration,
    slow_call: std::time::Duration,
    context_history: u64,
    context_history_bytes: u64,
    proof_snapshot: std::time::Duration,
    audit_keep: Option<chrono::Duration>,
    keeps_webhook_events: bool,
    integrity: Option<IntegrityKeys>,
    queues: Queues,
    sealer: Arc<Sealer>,
    /// One for each write call that may use the database at the same time.
    write_slots: Semaphore,
    batcher: CommandBatcher,
    chat_cache: ChatCache,
    title_counts: TitleCounts,
    chains: Chains,
    group_batcher: GroupBatcher,
    stripes: stats::Stripes,
    merge_turns: contexts::MergeTurns,
    metrics: Arc<StoreMetrics>,
    announcements: broadcast::Sender<Change>,
    interests: Interests,
    change_streams: ChangeStreams,
    indexes: OnceCell<()>,
    /// Whatever runs apart from its callers: writes, appends, sealing.
    tasks: TaskTracker,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
}

/// How many changes of this process are buffered for a slow listener.
const KEPT_ANNOUNCEMENTS: usize = 4_096;

impl MongoStore {
    /// Creates a store. Nothing is sent to the server yet.
    pub async fn connect(options: &MongoOptions) -> Result<Self, ConnectError> {
        Self::connect_with(options, Arc::new(SystemClock), Arc::new(Uuid7Ids)).await
    }

    /// Creates a store with this clock and id source.
    pub async fn connect_with(
        options: &MongoOptions,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Result<Self, ConnectError> {
        let metrics = Arc::new(StoreMetrics::default());
        let mut driver = client::options(options).await?;
        let change_streams = ChangeStreams::new(driver.clone(), &options.database);
        driver.cmap_event_handler = Some(pool_events::handler(&metrics));
        let client = Client::with_options(driver)?;
        let database = client.database(&options.database);
        let inner = Inner {
            chat_sessions: database.collection(collection_names::CHAT_SESSIONS),
            chat_segments: database.collection(collection_names::CHAT_SEGMENTS),
            message_versions: database.collection(collection_names::MESSAGE_VERSIONS),
            chat_blobs: database.collection(collection_names::CHAT_BLOBS),
            context_snapshots: database.collection(collection_names::CONTEXT_SNAPSHOTS),
            chat_participants: database.collection(collection_names::CHAT_PARTICIPANTS),
            presence: database.collection(collection_names::PRESENCE),
            provider_calls: database.collection(collection_names::PROVIDER_CALLS),
            tool_runs: database.collection(collection_names::TOOL_RUNS),
            workflow_stats: database.collection(collection_names::WORKFLOW_STATS),
            status_changes: database.collection(collection_names::STATUS_CHANGES),
            webhook_events: database.collection(collection_names::WEBHOOK_EVENTS),
            input_requests: database.collection(collection_names::INPUT_REQUESTS),
            resume_points: database.collection(collection_names::RESUME_POINTS),
            turns_without_messages: database.collection(collection_names::TURNS_WITHOUT_MESSAGES),
            apps: database.collection(collection_names::APPS),
            wallets: database.collection(collection_names::WALLETS),
            wallet_entries: database.collection(collection_names::WALLET_ENTRIES),
            assistants: database.collection(collection_names::ASSISTANTS),
            documents: database.collection(collection_names::DOCUMENTS),
            document_parts: database.collection(collection_names::DOCUMENT_PARTS),
            streams: database.collection(collection_names::STREAMS),
            stream_groups: database.collection(collection_names::STREAM_GROUPS),
            tickets: database.collection(collection_names::TICKETS),
            access_keys: database.collection(collection_names::ACCESS_KEYS),
            revocations: database.collection(collection_names::REVOCATIONS),
            audit_entries: database.collection(collection_names::AUDIT_ENTRIES),
            pseudonym_keys: database.collection(collection_names::PSEUDONYM_KEYS),
            erasures: database.collection(collection_names::ERASURES),
            search_entries: database.collection(collection_names::SEARCH_ENTRIES),
            search_marks: database.collection(collection_names::SEARCH_MARKS),
            search_progress: database.collection(collection_names::SEARCH_PROGRESS),
            integrity_chains: database.collection(collection_names::INTEGRITY_CHAINS),
            integrity_blocks: database.collection(collection_names::INTEGRITY_BLOCKS),
            store_format: database.collection(collection_names::STORE_FORMAT),
            format: KnownFormat::default(),
            database,
            deadline: options.deadline,
            slow_call: options.slow_call,
            context_history: options.context_history.max(1),
            context_history_bytes: options.context_history_bytes,
            proof_snapshot: options.proof_snapshot,
            audit_keep: options.audit_keep.and_then(|keep| chrono::Duration::from_std(keep).ok()),
            keeps_webhook_events: options.webhook_events,
            integrity: options.integrity.clone(),
            queues: Queues::new(options.queue, Arc::clone(&metrics)),
            sealer: Arc::new(Sealer::new(options.sealing)),
            write_slots: Semaphore::new(client::write_slots(options.max_pool_size)),
            batcher: CommandBatcher::new(client::append_slots(options.max_pool_size)),
            chat_cache: ChatCache::default(),
            title_counts: TitleCounts::default(),
            chains: Chains::default(),
            group_batcher: GroupBatcher::default(),
            stripes: stats::Stripes::default(),
            merge_turns: contexts::MergeTurns::default(),
            metrics,
            announcements: broadcast::Sender::new(KEPT_ANNOUNCEMENTS),
            interests: Interests::default(),
            change_streams,
            indexes: OnceCell::new(),
            tasks: TaskTracker::new(),
            clock,
            ids,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Creates the missing indexes, waits until they are built, and returns the state of each index.
    pub async fn build_indexes(&self) -> Result<Vec<IndexReport>, StoreError> {
        indexes::build(self).await
    }
}

impl MongoStore {
    /// Proves that a server answers.
    async fn ping_once(&self) -> Result<(), Failure> {
        self.inner.database.run_command(doc! { "ping": 1 }).await?;
        Ok(())
    }

    /// Runs a transaction. Appends need none, so without this a server that has none would look ready.
    async fn prove_transactions(&self) -> Result<(), StoreError> {
        self.write(|call| async move {
            call.transact_without_chat(|tx| call.transaction_round(tx)).await
        })
        .await
    }

    async fn transaction_round(&self, tx: Transaction<'_>) -> Result<Round<()>, Failure> {
        tx.begin().await?;
        let find = self.inner.store_format.find_one(doc! {});
        find.session(&mut *tx.session().await?).await?;
        Ok(Round::Done(()))
    }
}

#[async_trait]
impl Store for MongoStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.observe(Call::Ping, None, async {
            let prepare = async || {
                let hello =
                    || async { Ok(self.inner.database.run_command(doc! { "hello": 1 }).await?) };
                self.inner.change_streams.record_server(&self.read(hello).await?);
                self.note_change_stream_rights().await;
                indexes::ensure(self).await?;
                self.prove_transactions().await?;
                self.log_format().await
            };
            self.inner.indexes.get_or_try_init(prepare).await?;
            self.read(|| self.ping_once()).await
        })
        .await
    }

    fn metrics(&self) -> &StoreMetrics {
        &self.inner.metrics
    }
}
