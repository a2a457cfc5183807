use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use records::{
    App, AppId, AppStatus, Artifact, CallId, ChatId, ChatSession, ChatStatus, Connection,
    ContextSnapshot, DisplayName, EventId, InputRequest, InputRequestId, JsonObject, KeptContext,
    Lease, Message, MessageEdit, NewArtifact, NewChatSession, NewFork, NewInputAnswer,
    NewInputRequest, NewLease, NewMessage, NewProviderCall, NewTicket, NewTurn, NewWalletEntry,
    ResumePoint, ResumeState, Scope, Ticket, TicketDigest, TurnId, Usage, UserId, Wallet,
    WalletEntry, WorkflowName,
};

use crate::StoreError;
use crate::metrics::{Call, Label as _, StoreMetrics};
use crate::store::{
    AnsweredInput, AppPage, Append, AppendedTurn, Apps, Artifacts, Billing, CallCursor, CallPage,
    Calls, Change, Changes, ChatFilter, ChatHead, ChatPresence, ChatSessions, ChatStatsPage,
    ContextHistory, ContextVersionPage, Contexts, CountedApps, Cursor, EntryPage, Exchange,
    Exchanges, Forks, HourlyStats, InputCursor, InputPage, InputRequests, Interrupted, Joined,
    Leases, MessageRange, Messages, Page, ParticipantCursor, ParticipantPage, Participants,
    Presence, Recording, RequestedInput, ResumePointCursor, ResumePointFilter, ResumePointPage,
    Resumption, Stats, Store, Tickets, Transcript, Turns, WalletPage, Wallets, WorkflowStats,
    WorkflowSummary,
};

/// Says of every call to a store how long it took: a slow one as a warning, any other at debug
/// level. Errors are for the caller to report. Counts calls and outcomes in the metrics of the store.
#[derive(Debug, Clone)]
pub struct Traced<S> {
    store: S,
    slow: Duration,
}

impl<S: Store> Traced<S> {
    /// Wraps a store; a call of at least `slow` is one to warn of.
    pub fn new(store: S, slow: Duration) -> Self {
        Self { store, slow }
    }

    async fn trace<T>(
        &self,
        call: Call,
        chat_id: Option<&ChatId>,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let underway = self.store.metrics().calls.begin(call);
        let answer = work.await;
        let elapsed = underway.end(&answer);
        let call = call.name();
        let chat_id = chat_id.map(tracing::field::display);
        let (elapsed_ms, is_ok) = (elapsed.as_secs_f64() * 1_000.0, answer.is_ok());
        if elapsed >= self.slow {
            tracing::warn!(call, chat_id, elapsed_ms, is_ok, "a slow call to the store");
        } else {
            tracing::debug!(call, chat_id, elapsed_ms, is_ok, "a call to the store");
        }
        answer
    }

    fn count(&self, append: Result<Append, StoreError>) -> Result<Append, StoreError> {
        append.inspect(|append| self.store.metrics().calls.appended(append))
    }
}

#[async_trait]
impl<S: Store> Store for Traced<S> {
    async fn ping(&self) -> Result<(), StoreError> {
        self.trace(Call::Ping, None, self.store.ping()).await
    }

    fn metrics(&self) -> &StoreMetrics {
        self.store.metrics()
    }
}

#[async_trait]
impl<S: Store> ChatSessions for Traced<S> {
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError> {
        self.trace(Call::CreateChat, None, self.store.create_chat(scope, new)).await
    }

    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError> {
        self.trace(Call::GetChat, Some(chat_id), self.store.get_chat(scope, chat_id)).await
    }

    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        let work = self.store.list_chats(scope, filter, limit, after);
        self.trace(Call::ListChats, None, work).await
    }

    async fn set_status(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        let work = self.store.set_status(scope, chat_id, next, reason);
        self.trace(Call::SetStatus, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Resumption for Traced<S> {
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ResumeState, StoreError> {
        let work = self.store.resume_state(scope, chat_id);
        self.trace(Call::ResumeState, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Turns for Traced<S> {
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        let work = self.store.append_turn(scope, chat_id, turn);
        self.trace(Call::AppendTurn, Some(chat_id), work).await
    }

    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError> {
        let work = self.store.list_resume_points(scope, chat_id, filter, limit, cursor);
        self.trace(Call::ListResumePoints, Some(chat_id), work).await
    }

    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        let work = self.store.last_resume_point(scope, chat_id);
        self.trace(Call::LastResumePoint, Some(chat_id), work).await
    }

    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        let work = self.store.delete_resume_points(scope, chat_id, request_id);
        self.trace(Call::DeleteResumePoints, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Leases for Traced<S> {
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Lease, StoreError> {
        let work = self.store.acquire_lease(scope, chat_id, lease);
        self.trace(Call::AcquireLease, Some(chat_id), work).await
    }

    async fn renew_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
        ttl: Duration,
    ) -> Result<Lease, StoreError> {
        let work = self.store.renew_lease(scope, chat_id, fencing_token, ttl);
        self.trace(Call::RenewLease, Some(chat_id), work).await
    }

    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError> {
        let work = self.store.release_lease(scope, chat_id, fencing_token);
        self.trace(Call::ReleaseLease, Some(chat_id), work).await
    }

    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError> {
        self.trace(Call::InterruptAbandoned, None, self.store.interrupt_abandoned(limit)).await
    }
}

#[async_trait]
impl<S: Store> Forks for Traced<S> {
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: NewFork,
    ) -> Result<ChatSession, StoreError> {
        let work = self.store.fork_chat(scope, chat_id, fork);
        self.trace(Call::ForkChat, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Messages for Traced<S> {
    async fn append(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        let work = self.store.append(scope, chat_id, messages);
        self.count(self.trace(Call::Append, Some(chat_id), work).await)
    }

    async fn persist_initial_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
    ) -> Result<Append, StoreError> {
        let work = self.store.persist_initial_messages(scope, chat_id, messages);
        self.count(self.trace(Call::PersistInitialMessages, Some(chat_id), work).await)
    }

    async fn messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        range: MessageRange,
    ) -> Result<Transcript, StoreError> {
        self.trace(Call::Messages, Some(chat_id), self.store.messages(scope, chat_id, range)).await
    }

    /// A stream takes as long as its reader does, so it is not timed.
    fn history<'a>(
        &'a self,
        scope: &'a Scope,
        chat_id: &'a ChatId,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        self.store.history(scope, chat_id)
    }

    async fn get_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        let work = self.store.get_message(scope, chat_id, sequence);
        self.trace(Call::GetMessage, Some(chat_id), work).await
    }

    async fn get_message_by_id(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        event_id: &EventId,
    ) -> Result<Option<Message>, StoreError> {
        let work = self.store.get_message_by_id(scope, chat_id, event_id);
        self.trace(Call::GetMessageById, Some(chat_id), work).await
    }

    async fn update_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
        edit: MessageEdit,
    ) -> Result<Message, StoreError> {
        let work = self.store.update_message(scope, chat_id, sequence, edit);
        self.trace(Call::UpdateMessage, Some(chat_id), work).await
    }

    async fn delete_message(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Message, StoreError> {
        let work = self.store.delete_message(scope, chat_id, sequence);
        self.trace(Call::DeleteMessage, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Participants for Traced<S> {
    async fn join_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
        display_name: Option<&DisplayName>,
    ) -> Result<Joined, StoreError> {
        let work = self.store.join_chat(scope, chat_id, user_id, display_name);
        self.trace(Call::JoinChat, Some(chat_id), work).await
    }

    async fn leave_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        let work = self.store.leave_chat(scope, chat_id, user_id);
        self.trace(Call::LeaveChat, Some(chat_id), work).await
    }

    async fn list_participants(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&ParticipantCursor>,
    ) -> Result<ParticipantPage, StoreError> {
        let work = self.store.list_participants(scope, chat_id, limit, after);
        self.trace(Call::ListParticipants, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Presence for Traced<S> {
    async fn announce(
        &self,
        scope: &Scope,
        connections: &[Connection],
        lasting: Duration,
    ) -> Result<(), StoreError> {
        let work = self.store.announce(scope, connections, lasting);
        self.trace(Call::Announce, None, work).await
    }

    async fn withdraw(&self, scope: &Scope, connections: &[Connection]) -> Result<(), StoreError> {
        self.trace(Call::Withdraw, None, self.store.withdraw(scope, connections)).await
    }

    async fn presence(&self, scope: &Scope, chat_id: &ChatId) -> Result<ChatPresence, StoreError> {
        self.trace(Call::Presence, Some(chat_id), self.store.presence(scope, chat_id)).await
    }
}

#[async_trait]
impl<S: Store> Contexts for Traced<S> {
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        let work = self.store.update_context_snapshot(scope, chat_id, data);
        self.trace(Call::UpdateContextSnapshot, Some(chat_id), work).await
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        let work = self.store.merge_context_snapshot(scope, chat_id, patch);
        self.trace(Call::MergeContextSnapshot, Some(chat_id), work).await
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        let work = self.store.load_context_snapshot(scope, chat_id);
        self.trace(Call::LoadContextSnapshot, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> ContextHistory for Traced<S> {
    async fn list_context_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError> {
        let work = self.store.list_context_versions(scope, chat_id, limit, before);
        self.trace(Call::ListContextVersions, Some(chat_id), work).await
    }

    async fn get_context_version(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        version: u64,
    ) -> Result<Option<KeptContext>, StoreError> {
        let work = self.store.get_context_version(scope, chat_id, version);
        self.trace(Call::GetContextVersion, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Artifacts for Traced<S> {
    async fn update_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        artifact: NewArtifact,
    ) -> Result<Artifact, StoreError> {
        let work = self.store.update_last_artifact(scope, chat_id, artifact);
        self.trace(Call::UpdateLastArtifact, Some(chat_id), work).await
    }

    async fn get_last_artifact(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<Artifact>, StoreError> {
        let work = self.store.get_last_artifact(scope, chat_id);
        self.trace(Call::GetLastArtifact, Some(chat_id), work).await
    }

    async fn clear_last_artifact(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), StoreError> {
        let work = self.store.clear_last_artifact(scope, chat_id);
        self.trace(Call::ClearLastArtifact, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Changes for Traced<S> {
    /// A stream waits for something to happen, so it is not timed.
    fn changes(&self) -> BoxStream<'static, Change> {
        self.store.changes()
    }

    fn tells_changes(&self) -> bool {
        self.store.tells_changes()
    }

    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError> {
        self.trace(Call::Heads, None, self.store.heads(scope, chat_ids)).await
    }

    async fn confirmed_head(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ChatHead, StoreError> {
        let work = self.store.confirmed_head(scope, chat_id);
        self.trace(Call::ConfirmedHead, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Calls for Traced<S> {
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
        billing: Billing,
    ) -> Result<Recording, StoreError> {
        let work = self.store.record_calls(scope, chat_id, calls, billing);
        self.trace(Call::RecordCalls, Some(chat_id), work).await
    }

    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        let work = self.store.list_calls(scope, chat_id, limit, after);
        self.trace(Call::ListCalls, Some(chat_id), work).await
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        let work = self.store.chat_usage(scope, chat_id);
        self.trace(Call::ChatUsage, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> Exchanges for Traced<S> {
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
        billing: Billing,
    ) -> Result<Exchange, StoreError> {
        let work = self.store.append_exchange(scope, chat_id, messages, call, billing);
        let exchange = self.trace(Call::AppendExchange, Some(chat_id), work).await;
        exchange.inspect(|exchange| self.store.metrics().calls.appended(&exchange.append))
    }

    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError> {
        let work = self.store.delete_call(scope, chat_id, call_id);
        self.trace(Call::DeletionOfCalls, Some(chat_id), work).await
    }
}

#[async_trait]
impl<S: Store> InputRequests for Traced<S> {
    async fn request_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewInputRequest,
    ) -> Result<RequestedInput, StoreError> {
        let work = self.store.request_input(scope, chat_id, new);
        self.trace(Call::RequestInput, Some(chat_id), work).await
    }

    async fn get_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<InputRequest, StoreError> {
        let work = self.store.get_input_request(scope, chat_id, request_id);
        self.trace(Call::GetInputRequest, Some(chat_id), work).await
    }

    async fn list_input_requests(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&InputCursor>,
    ) -> Result<InputPage, StoreError> {
        let work = self.store.list_input_requests(scope, chat_id, limit, after);
        self.trace(Call::ListInputRequests, Some(chat_id), work).await
    }

    async fn answer_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError> {
        let work = self.store.answer_input_request(scope, chat_id, request_id, answer);
        let answered = self.trace(Call::AnswerInputRequest, Some(chat_id), work).await;
        answered.inspect(|answered| self.store.metrics().calls.appended(&answered.append))
    }

    async fn cancel_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<InputRequest, StoreError> {
        let work = self.store.cancel_input_request(scope, chat_id, request_id, reason);
        self.trace(Call::CancelInputRequest, Some(chat_id), work).await
    }

    async fn find_input_requests(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError> {
        let work = self.store.find_input_requests(scope, request_id);
        self.trace(Call::FindInputRequests, None, work).await
    }

    async fn expire_input_requests(&self, limit: usize) -> Result<usize, StoreError> {
        let work = self.store.expire_input_requests(limit);
        self.trace(Call::ExpireInputRequests, None, work).await
    }
}

#[async_trait]
impl<S: Store> Stats for Traced<S> {
    async fn workflow_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
    ) -> Result<WorkflowStats, StoreError> {
        let work = self.store.workflow_stats(app_id, workflow_name);
        self.trace(Call::WorkflowStats, None, work).await
    }

    async fn list_chat_stats(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<ChatStatsPage, StoreError> {
        let work = self.store.list_chat_stats(app_id, workflow_name, limit, after);
        self.trace(Call::ListChatStats, None, work).await
    }

    async fn app_stats(&self, app_id: &AppId) -> Result<Vec<WorkflowSummary>, StoreError> {
        self.trace(Call::AppStats, None, self.store.app_stats(app_id)).await
    }

    async fn hourly_stats(
        &self,
        app_id: &AppId,
        workflow_name: Option<&WorkflowName>,
        range: Range<DateTime<Utc>>,
    ) -> Result<Vec<HourlyStats>, StoreError> {
        let work = self.store.hourly_stats(app_id, workflow_name, range);
        self.trace(Call::HourlyStats, None, work).await
    }

    async fn list_apps_with_stats(
        &self,
        limit: usize,
        after: Option<&AppId>,
    ) -> Result<CountedApps, StoreError> {
        let work = self.store.list_apps_with_stats(limit, after);
        self.trace(Call::ListAppsWithStats, None, work).await
    }
}

#[async_trait]
impl<S: Store> Apps for Traced<S> {
    async fn register_app(&self, app_id: &AppId) -> Result<App, StoreError> {
        self.trace(Call::RegisterApp, None, self.store.register_app(app_id)).await
    }

    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError> {
        self.trace(Call::GetApp, None, self.store.get_app(app_id)).await
    }

    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError> {
        self.trace(Call::ListApps, None, self.store.list_apps(limit, after)).await
    }

    async fn set_app_status(&self, app_id: &AppId, status: AppStatus) -> Result<App, StoreError> {
        self.trace(Call::SetAppStatus, None, self.store.set_app_status(app_id, status)).await
    }
}

#[async_trait]
impl<S: Store> Wallets for Traced<S> {
    async fn ensure_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
        initial_balance: i64,
    ) -> Result<Wallet, StoreError> {
        let work = self.store.ensure_wallet(scope, user_id, initial_balance);
        self.trace(Call::EnsureWallet, None, work).await
    }

    async fn get_wallet(
        &self,
        scope: &Scope,
        user_id: &UserId,
    ) -> Result<Option<Wallet>, StoreError> {
        self.trace(Call::GetWallet, None, self.store.get_wallet(scope, user_id)).await
    }

    async fn credit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError> {
        self.trace(Call::Credit, None, self.store.credit(scope, user_id, entry)).await
    }

    async fn debit(
        &self,
        scope: &Scope,
        user_id: &UserId,
        entry: NewWalletEntry,
    ) -> Result<WalletEntry, StoreError> {
        self.trace(Call::Debit, None, self.store.debit(scope, user_id, entry)).await
    }

    async fn list_wallet_entries(
        &self,
        scope: &Scope,
        user_id: &UserId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<EntryPage, StoreError> {
        let work = self.store.list_wallet_entries(scope, user_id, limit, before);
        self.trace(Call::ListWalletEntries, None, work).await
    }

    async fn list_wallets(
        &self,
        scope: &Scope,
        limit: usize,
        after: Option<&UserId>,
    ) -> Result<WalletPage, StoreError> {
        self.trace(Call::ListWallets, None, self.store.list_wallets(scope, limit, after)).await
    }

    async fn next_app_with_wallets(
        &self,
        after: Option<&AppId>,
    ) -> Result<Option<AppId>, StoreError> {
        let work = self.store.next_app_with_wallets(after);
        self.trace(Call::NextAppWithWallets, None, work).await
    }
}

#[async_trait]
impl<S: Store> Tickets for Traced<S> {
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<DateTime<Utc>, StoreError> {
        let work = self.store.create_ticket(scope, chat_id, ticket);
        self.trace(Call::CreateTicket, Some(chat_id), work).await
    }

    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError> {
        let work = self.store.redeem_ticket(app_id, chat_id, digest);
        self.trace(Call::RedeemTicket, Some(chat_id), work).await
    }
}
