//! A store in the memory of one process.
//!
//! It passes the same contract suite as the MongoDB store, and tests compare the two. Nothing
//! survives the process.

mod access_keys;
mod app_documents;
mod apps;
mod artifacts;
mod assistants;
mod audit;
mod calls;
mod changes;
mod chat_sessions;
mod context_history;
mod contexts;
mod erasures;
mod exchanges;
mod faults;
mod forks;
mod input_requests;
mod integrity;
mod leases;
mod members;
mod messages;
mod participants;
mod presence;
mod purges;
mod resumption;
mod revocations;
mod search;
mod stats;
mod streams;
mod tickets;
mod tool_runs;
mod turns;
mod wallets;
mod webhook_events;

pub use faults::Faults;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::json::Digest;
use records::{
    AccessKey, AccessKeyId, Acquisition, App, AppId, Artifact, Assistant, AssistantId, AuditEntry,
    ChatId, ChatSession, Clock, ConnectionId, ContextSnapshot, DocumentPath, Erasure, Ids,
    InputRequestId, KeptContext, Member, Message, Participant, PseudonymKey, ResumePoint, Scope,
    StatusChange, SystemClock, TicketDigest, TurnId, UserId, Uuid7Ids, WorkflowName,
};
use tokio::sync::broadcast;

use self::app_documents::MemoryDocument;
use crate::StoreError;
use crate::metrics::{Call, StoreMetrics};
use crate::rules::call_batch::DigestedCall;
use crate::rules::input::KeptInput;
use crate::rules::presence::Announced;
use crate::rules::tool_run_batch::DigestedRun;
use crate::store::{Change, DocumentChange, Store};
use revocations::RevocationList;
use streams::KeptStream;
use tickets::Unused;
use wallets::Ledger;
use webhook_events::KeptEvent;

/// A store that keeps all records in memory.
#[derive(Debug)]
pub struct MemoryStore {
    chats: Mutex<HashMap<ChatId, Chat>>,
    apps: Mutex<BTreeMap<AppId, App>>,
    ledgers: Mutex<BTreeMap<(AppId, UserId), Ledger>>,
    assistants: Mutex<BTreeMap<(AppId, AssistantId), Assistant>>,
    app_documents: Mutex<BTreeMap<(AppId, DocumentPath), MemoryDocument>>,
    tickets: Mutex<HashMap<TicketDigest, Unused>>,
    access_keys: Mutex<BTreeMap<AccessKeyId, AccessKey>>,
    revocations: Mutex<RevocationList>,
    audit_entries: Mutex<Vec<AuditEntry>>,
    pseudonym_keys: Mutex<HashMap<(Option<AppId>, UserId), PseudonymKey>>,
    erasures: Mutex<Vec<Erasure>>,
    /// When the stats of each workflow last changed.
    counted_at: Mutex<BTreeMap<(AppId, WorkflowName), DateTime<Utc>>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    metrics: StoreMetrics,
    changes: broadcast::Sender<Change>,
    document_changes: broadcast::Sender<DocumentChange>,
    faults: Option<Arc<dyn Faults>>,
}

/// How many changes are buffered for a slow listener.
const KEPT_CHANGES: usize = 1_024;

/// A chat and all records that belong to it.
#[derive(Debug)]
struct Chat {
    session: ChatSession,
    /// The user for whom the calls count: the owner, also after a purge; the pseudonym after an erasure.
    counted_user: Option<UserId>,
    /// The token of the newest lease; 0 if there was none.
    fencing_token: u64,
    /// By what the newest lease was acquired.
    newest_lease: Option<Acquisition>,
    turns: u64,
    points: Vec<ResumePoint>,
    turn_digests: HashMap<TurnId, Digest>,
    messages: Vec<Kept>,
    context: ContextSnapshot,
    context_version: u64,
    /// The stored versions, newest last.
    contexts: VecDeque<KeptContext>,
    artifact: Option<Artifact>,
    artifact_version: u64,
    revision: u64,
    recent_edits: Vec<u64>,
    calls: Vec<DigestedCall>,
    tool_runs: Vec<DigestedRun>,
    inputs: Vec<KeptInput>,
    input_version: u64,
    recent_inputs: Vec<InputRequestId>,
    status_changes: Vec<StatusChange>,
    webhook_events: Vec<KeptEvent>,
    members: Vec<Member>,
    participants: Vec<Participant>,
    announced: BTreeMap<ConnectionId, Announced>,
    streams: Vec<KeptStream>,
}

/// A message, with the digest of its original body.
#[derive(Debug, Clone)]
struct Kept {
    message: Message,
    digest: Digest,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock), Arc::new(Uuid7Ids))
    }
}

impl MemoryStore {
    /// Creates an empty store.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        let (chats, apps, ledgers, tickets, revocations, counted_at, metrics) = Default::default();
        let (audit_entries, pseudonym_keys) = Default::default();
        let (changes, _) = broadcast::channel(KEPT_CHANGES);
        Self {
            chats,
            apps,
            ledgers,
            assistants: Mutex::default(),
            app_documents: Mutex::default(),
            tickets,
            access_keys: Mutex::default(),
            revocations,
            audit_entries,
            pseudonym_keys,
            erasures: Mutex::default(),
            counted_at,
            clock,
            ids,
            metrics,
            changes,
            document_changes: broadcast::channel(KEPT_CHANGES).0,
            faults: None,
        }
    }

    /// Injects faults into every call from now on.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn Faults>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    /// Runs a call: counts and times it, and injects a fault if there is one for it.
    async fn observe<T>(
        &self,
        call: Call,
        work: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let underway = self.metrics.calls.begin(call);
        let injected = match &self.faults {
            Some(faults) => faults.before(call).await,
            None => Ok(()),
        };
        let answer = injected.and_then(|()| work());
        underway.end(answer.as_ref().err());
        answer
    }

    fn chats(&self) -> MutexGuard<'_, HashMap<ChatId, Chat>> {
        held(&self.chats)
    }

    /// Runs `work` on a chat if it is visible in the scope. Otherwise the chat is not found.
    fn with_chat<T>(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        work: impl FnOnce(&mut Chat) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        work_on(&mut self.chats(), scope, chat_id, work)
    }
}

/// Runs `work` on one of these chats, as [`MemoryStore::with_chat`] does, for a call that goes on with the lock.
fn work_on<T>(
    chats: &mut HashMap<ChatId, Chat>,
    scope: &Scope,
    chat_id: &ChatId,
    work: impl FnOnce(&mut Chat) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let not_found = || StoreError::ChatNotFound(chat_id.clone());
    let chat = chats.get_mut(chat_id).ok_or_else(not_found)?;
    if !chat.permits(scope) {
        if !chat.permits(&scope.reading()) {
            return Err(not_found());
        }
        let (chat_id, permission) = (chat_id.clone(), scope.permission);
        return Err(StoreError::Forbidden { chat_id, permission });
    }
    work(chat).map_err(|error| {
        let fence = error.is_conflict().then(|| chat.check_fence(scope.fencing_token));
        fence.and_then(Result::err).unwrap_or(error)
    })
}

fn held<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Chat {
    /// Returns whether the caller has the permission of the scope in this chat.
    fn permits(&self, scope: &Scope) -> bool {
        self.session.app_id == scope.app_id
            && scope.may(scope.permission, &self.session, &self.members)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.observe(Call::Ping, || Ok(())).await
    }

    fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }
}
