//! A store that fails, always in the same way.

use std::future::pending;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::FutureExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};
use persistence::memory::MemoryStore;
use persistence::metrics::StoreMetrics;
use persistence::{
    AnsweredInput, AppPage, Append, AppendedTurn, Apps, Artifacts, Billing, BoxError, CallCursor,
    CallPage, Calls, Change, Changes, ChatFilter, ChatHead, ChatPresence, ChatSessions,
    ChatStatsPage, ContextHistory, ContextVersionPage, Contexts, CountedApps, Cursor, EntryPage,
    Exchange, Exchanges, Forks, HourlyStats, InputCursor, InputPage, InputRequests, Interrupted,
    Joined, Leases, MessageRange, Messages, Page, ParticipantCursor, ParticipantPage, Participants,
    Presence, Recording, RequestedInput, ResumePointCursor, ResumePointFilter, ResumePointPage,
    Resumption, Stats, Store, StoreError, Tickets, Transcript, Turns, WalletPage, Wallets,
    WorkflowStats, WorkflowSummary,
};
use records::{
    App, AppId, AppStatus, Artifact, CallId, ChatId, ChatSession, ChatStatus, Connection,
    ContextSnapshot, DisplayName, EventId, InputRequest, InputRequestId, JsonObject, KeptContext,
    Lease, Message, MessageEdit, NewArtifact, NewChatSession, NewFork, NewInputAnswer,
    NewInputRequest, NewLease, NewMessage, NewProviderCall, NewTicket, NewTurn, NewWalletEntry,
    ResumePoint, ResumeState, Scope, Ticket, TicketDigest, TurnId, Usage, UserId, Wallet,
    WalletEntry, WorkflowName,
};
use tokio::time::sleep;

use crate::histories::{self, Meter};

/// How it fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Unavailable,
    OutcomeUnknown,
    Overloaded,
    Refused,
    Corrupt,
    UnsupportedVersion,
    UpgradePending,
    Hang,
    Panic,
    /// Fails after so many messages of a history.
    BreakOff(usize),
    /// Has a history without an end.
    Endless(&'static Meter),
    /// Takes a while for each message of a short history.
    Trickle(Duration),
}

#[derive(Debug)]
pub(crate) struct Faulty {
    fault: Fault,
    /// What can be joined all the same.
    readable: Option<Arc<MemoryStore>>,
    metrics: StoreMetrics,
}

/// What a driver might say: never for the caller's eyes.
pub(crate) const DRIVER_SAYS: &str = "no server at mongodb://db.internal:27017";

/// The one app whose look-up works: routes look their app up first, and those about this one are
/// to fail by themselves.
pub(crate) const APP_TO_LOOK_UP: &str = "acme_corp";

impl Faulty {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, readable: None, metrics: StoreMetrics::default() }
    }

    /// Fails at everything but joining the chats of another store.
    pub(crate) fn to_join(readable: Arc<MemoryStore>, fault: Fault) -> Self {
        Self { readable: Some(readable), ..Self::new(fault) }
    }

    async fn fail<T>(&self) -> Result<T, StoreError> {
        let source = || BoxError::from(DRIVER_SAYS);
        Err(match self.fault {
            Fault::Unavailable | Fault::BreakOff(_) | Fault::Endless(_) | Fault::Trickle(_) => {
                StoreError::Unavailable {
                    retry_after: Duration::from_millis(1_500),
                    source: source(),
                }
            }
            Fault::OutcomeUnknown => StoreError::OutcomeUnknown { source: source() },
            Fault::Overloaded => StoreError::Overloaded { retry_after: Duration::from_secs(1) },
            Fault::Refused => StoreError::Refused { source: source() },
            Fault::Corrupt => StoreError::Corrupt {
                collection: "chat_sessions",
                id: "c1".to_owned(),
                field: "status".to_owned(),
                source: Some(source()),
            },
            Fault::UnsupportedVersion => StoreError::UnsupportedVersion {
                collection: "chat_sessions",
                id: "c1".to_owned(),
                found: 9,
                supported: 1,
            },
            Fault::UpgradePending => {
                StoreError::UpgradePending { shape: "forks", needed: 2, stored: 1 }
            }
            Fault::Hang => pending().await,
            Fault::Panic => panic!("the store panicked"),
        })
    }
}

#[async_trait]
impl Store for Faulty {
    async fn ping(&self) -> Result<(), StoreError> {
        self.fail().await
    }

    fn metrics(&self) -> &StoreMetrics {
        &self.metrics
    }
}

#[async_trait]
impl ChatSessions for Faulty {
    async fn create_chat(&self, _: &Scope, _: NewChatSession) -> Result<ChatSession, StoreError> {
        self.fail().await
    }

    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError> {
        match &self.readable {
            Some(readable) => readable.get_chat(scope, chat_id).await,
            None => self.fail().await,
        }
    }

    async fn list_chats(
        &self,
        _: &Scope,
        _: &ChatFilter,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        self.fail().await
    }

    async fn set_status(
        &self,
        _: &Scope,
        _: &ChatId,
        _: ChatStatus,
        _: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Resumption for Faulty {
    async fn resume_state(&self, _: &Scope, _: &ChatId) -> Result<ResumeState, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Turns for Faulty {
    async fn append_turn(
        &self,
        _: &Scope,
        _: &ChatId,
        _: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        self.fail().await
    }

    async fn list_resume_points(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &ResumePointFilter,
        _: usize,
        _: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError> {
        self.fail().await
    }

    async fn last_resume_point(
        &self,
        _: &Scope,
        _: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        self.fail().await
    }

    async fn delete_resume_points(
        &self,
        _: &Scope,
        _: &ChatId,
        _: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Leases for Faulty {
    async fn acquire_lease(&self, _: &Scope, _: &ChatId, _: NewLease) -> Result<Lease, StoreError> {
        self.fail().await
    }

    async fn renew_lease(
        &self,
        _: &Scope,
        _: &ChatId,
        _: u64,
        _: Duration,
    ) -> Result<Lease, StoreError> {
        self.fail().await
    }

    async fn release_lease(&self, _: &Scope, _: &ChatId, _: u64) -> Result<(), StoreError> {
        self.fail().await
    }

    async fn interrupt_abandoned(&self, _: usize) -> Result<Vec<Interrupted>, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Forks for Faulty {
    async fn fork_chat(
        &self,
        _: &Scope,
        _: &ChatId,
        _: NewFork,
    ) -> Result<ChatSession, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Messages for Faulty {
    async fn append(
        &self,
        _: &Scope,
        _: &ChatId,
        _: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.fail().await
    }

    async fn persist_initial_messages(
        &self,
        _: &Scope,
        _: &ChatId,
        _: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        self.fail().await
    }

    async fn messages(
        &self,
        _: &Scope,
        _: &ChatId,
        _: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.fail().await
    }

    fn history<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        match self.fault {
            Fault::BreakOff(count) => histories::of(count).chain(stream::once(self.fail())).boxed(),
            Fault::Endless(meter) => histories::endless(meter).boxed(),
            Fault::Trickle(pause) => {
                histories::of(20).then(move |message| sleep(pause).map(|()| message)).boxed()
            }
            _ => stream::once(self.fail()).boxed(),
        }
    }

    async fn get_message(&self, _: &Scope, _: &ChatId, _: u64) -> Result<Message, StoreError> {
        self.fail().await
    }

    async fn get_message_by_id(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &EventId,
    ) -> Result<Option<Message>, StoreError> {
        self.fail().await
    }

    async fn update_message(
        &self,
        _: &Scope,
        _: &ChatId,
        _: u64,
        _: MessageEdit,
    ) -> Result<Message, StoreError> {
        self.fail().await
    }

    async fn delete_message(&self, _: &Scope, _: &ChatId, _: u64) -> Result<Message, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Participants for Faulty {
    async fn join_chat(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &UserId,
        _: Option<&DisplayName>,
    ) -> Result<Joined, StoreError> {
        self.fail().await
    }

    async fn leave_chat(&self, _: &Scope, _: &ChatId, _: &UserId) -> Result<(), StoreError> {
        self.fail().await
    }

    async fn list_participants(
        &self,
        _: &Scope,
        _: &ChatId,
        _: usize,
        _: Option<&ParticipantCursor>,
    ) -> Result<ParticipantPage, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Presence for Faulty {
    async fn announce(&self, _: &Scope, _: &[Connection], _: Duration) -> Result<(), StoreError> {
        self.fail().await
    }

    async fn withdraw(&self, _: &Scope, _: &[Connection]) -> Result<(), StoreError> {
        self.fail().await
    }

    async fn presence(&self, _: &Scope, _: &ChatId) -> Result<ChatPresence, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Contexts for Faulty {
    async fn update_context_snapshot(
        &self,
        _: &Scope,
        _: &ChatId,
        _: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.fail().await
    }

    async fn merge_context_snapshot(
        &self,
        _: &Scope,
        _: &ChatId,
        _: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.fail().await
    }

    async fn load_context_snapshot(
        &self,
        _: &Scope,
        _: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl ContextHistory for Faulty {
    async fn list_context_versions(
        &self,
        _: &Scope,
        _: &ChatId,
        _: usize,
        _: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError> {
        self.fail().await
    }

    async fn get_context_version(
        &self,
        _: &Scope,
        _: &ChatId,
        _: u64,
    ) -> Result<Option<KeptContext>, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Artifacts for Faulty {
    async fn update_last_artifact(
        &self,
        _: &Scope,
        _: &ChatId,
        _: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        self.fail().await
    }

    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError> {
        match &self.readable {
            Some(readable) => readable.get_last_artifact(scope, chat_id).await,
            None => self.fail().await,
        }
    }

    async fn clear_last_artifact(&self, _: &Scope, _: &ChatId) -> Result<(), StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Changes for Faulty {
    fn changes(&self) -> BoxStream<'static, Change> {
        stream::pending().boxed()
    }

    fn tells_changes(&self) -> bool {
        true
    }

    async fn heads(&self, scope: &Scope, chats: &[ChatId]) -> Result<Vec<ChatHead>, StoreError> {
        match &self.readable {
            Some(readable) => readable.heads(scope, chats).await,
            None => self.fail().await,
        }
    }

    async fn confirmed_head(&self, _: &Scope, _: &ChatId) -> Result<ChatHead, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Calls for Faulty {
    async fn record_calls(
        &self,
        _: &Scope,
        _: &ChatId,
        _: Vec<NewProviderCall>,
        _: Billing,
    ) -> Result<Recording, StoreError> {
        self.fail().await
    }

    async fn list_calls(
        &self,
        _: &Scope,
        _: &ChatId,
        _: usize,
        _: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        self.fail().await
    }

    async fn chat_usage(&self, _: &Scope, _: &ChatId) -> Result<Usage, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Exchanges for Faulty {
    async fn append_exchange(
        &self,
        _: &Scope,
        _: &ChatId,
        _: Vec<NewMessage>,
        _: NewProviderCall,
        _: Billing,
    ) -> Result<Exchange, StoreError> {
        self.fail().await
    }

    async fn delete_call(&self, _: &Scope, _: &ChatId, _: &CallId) -> Result<(), StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl InputRequests for Faulty {
    async fn request_input(
        &self,
        _: &Scope,
        _: &ChatId,
        _: NewInputRequest,
    ) -> Result<RequestedInput, StoreError> {
        self.fail().await
    }

    async fn get_input_request(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &InputRequestId,
    ) -> Result<InputRequest, StoreError> {
        self.fail().await
    }

    async fn list_input_requests(
        &self,
        _: &Scope,
        _: &ChatId,
        _: usize,
        _: Option<&InputCursor>,
    ) -> Result<InputPage, StoreError> {
        self.fail().await
    }

    async fn answer_input_request(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &InputRequestId,
        _: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError> {
        self.fail().await
    }

    async fn cancel_input_request(
        &self,
        _: &Scope,
        _: &ChatId,
        _: &InputRequestId,
        _: Option<&str>,
    ) -> Result<InputRequest, StoreError> {
        self.fail().await
    }

    async fn find_input_requests(
        &self,
        _: &Scope,
        _: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError> {
        self.fail().await
    }

    async fn expire_input_requests(&self, _: usize) -> Result<usize, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Stats for Faulty {
    async fn workflow_stats(
        &self,
        _: &AppId,
        _: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError> {
        self.fail().await
    }

    async fn list_chat_stats(
        &self,
        _: &AppId,
        _: &WorkflowName,
        _: usize,
        _: Option<&Cursor>,
    ) -> Result<ChatStatsPage, StoreError> {
        self.fail().await
    }

    async fn app_stats(&self, _: &AppId) -> Result<Vec<WorkflowSummary>, StoreError> {
        self.fail().await
    }

    async fn hourly_stats(
        &self,
        _: &AppId,
        _: Option<&WorkflowName>,
        _: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        self.fail().await
    }

    async fn list_apps_with_stats(
        &self,
        _: usize,
        _: Option<&AppId>,
    ) -> Result<CountedApps, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Apps for Faulty {
    async fn register_app(&self, _: &AppId) -> Result<App, StoreError> {
        self.fail().await
    }

    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError> {
        if app_id.as_str() == APP_TO_LOOK_UP { Ok(None) } else { self.fail().await }
    }

    async fn list_apps(&self, _: usize, _: Option<&AppId>) -> Result<AppPage, StoreError> {
        self.fail().await
    }

    async fn set_app_status(&self, _: &AppId, _: AppStatus) -> Result<App, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Wallets for Faulty {
    async fn ensure_wallet(&self, _: &Scope, _: &UserId, _: i64) -> Result<Wallet, StoreError> {
        self.fail().await
    }

    async fn get_wallet(&self, _: &Scope, _: &UserId) -> Result<Option<Wallet>, StoreError> {
        self.fail().await
    }

    async fn credit(
        &self,
        _: &Scope,
        _: &UserId,
        _: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError> {
        self.fail().await
    }

    async fn debit(
        &self,
        _: &Scope,
        _: &UserId,
        _: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError> {
        self.fail().await
    }

    async fn list_wallet_entries(
        &self,
        _: &Scope,
        _: &UserId,
        _: usize,
        _: Option<u64>,
    ) -> Result<EntryPage, StoreError> {
        self.fail().await
    }

    async fn list_wallets(
        &self,
        _: &Scope,
        _: usize,
        _: Option<&UserId>,
    ) -> Result<WalletPage, StoreError> {
        self.fail().await
    }

    async fn next_app_with_wallets(&self, _: Option<&AppId>) -> Result<Option<AppId>, StoreError> {
        self.fail().await
    }
}

#[async_trait]
impl Tickets for Faulty {
    async fn create_ticket(
        &self,
        _: &Scope,
        _: &ChatId,
        _: NewTicket,
    ) -> Result<DateTime<Utc>, StoreError> {
        self.fail().await
    }

    async fn redeem_ticket(
        &self,
        _: &AppId,
        _: &ChatId,
        _: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError> {
        self.fail().await
    }
}
