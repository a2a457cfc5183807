use std::time::{Duration, Instant};

use super::family::Family;
use super::instrument::{Counter, Histogram};
use super::label::{By, label};
use crate::StoreError;
use crate::store::{Append, Outcome};

label! {
    /// A call to a store: one value for each method of its traits that returns a result.
    #[expect(missing_docs, reason = "the values have the names of the methods")]
    pub Call: "call" {
        Ping = "ping",
        CreateChat = "create_chat",
        GetChat = "get_chat",
        ListChats = "list_chats",
        CountChats = "count_chats",
        IndexMetadata = "index_metadata",
        PurgeChat = "purge_chat",
        ListDue = "list_due",
        CountDue = "count_due",
        ArchiveInactive = "archive_inactive",
        FinishPurges = "finish_purges",
        RemoveDeletedTexts = "remove_deleted_texts",
        NextAppWithChats = "next_app_with_chats",
        SetHold = "set_hold",
        ListHolds = "list_holds",
        BeginErasure = "begin_erasure",
        ContinueErasure = "continue_erasure",
        GetErasure = "get_erasure",
        UnfinishedErasures = "unfinished_erasures",
        FindChatsOf = "find_chats_of",
        SearchMessages = "search_messages",
        IndexChats = "index_chats",
        CatchUpIndex = "catch_up_index",
        LeadIndex = "lead_index",
        ProveMessage = "prove_message",
        SignChats = "sign_chats",
        SetStatus = "set_status",
        ChangeChat = "change_chat",
        ForkChat = "fork_chat",
        Append = "append",
        PersistInitialMessages = "persist_initial_messages",
        Messages = "messages",
        FilteredMessages = "filtered_messages",
        FindMessages = "find_messages",
        GetMessage = "get_message",
        GetMessageById = "get_message_by_id",
        UpdateMessage = "update_message",
        DeleteMessage = "delete_message",
        DeleteMessages = "delete_messages",
        PutMember = "put_member",
        RemoveMember = "remove_member",
        ListMembers = "list_members",
        JoinChat = "join_chat",
        LeaveChat = "leave_chat",
        ListParticipants = "list_participants",
        Announce = "announce",
        Withdraw = "withdraw",
        Presence = "presence",
        UpdateContextSnapshot = "update_context_snapshot",
        MergeContextSnapshot = "merge_context_snapshot",
        LoadContextSnapshot = "load_context_snapshot",
        RecordVersions = "record_versions",
        ListContextVersions = "list_context_versions",
        GetContextVersion = "get_context_version",
        UpdateLastArtifact = "update_last_artifact",
        GetLastArtifact = "get_last_artifact",
        ClearLastArtifact = "clear_last_artifact",
        Heads = "heads",
        ConfirmedHead = "confirmed_head",
        RecordCalls = "record_calls",
        ListCalls = "list_calls",
        SummarizeCalls = "summarize_calls",
        ChatUsage = "chat_usage",
        AppendExchange = "append_exchange",
        DeleteCall = "delete_call",
        RecordToolRuns = "record_tool_runs",
        ListToolRuns = "list_tool_runs",
        ChatToolStats = "chat_tool_stats",
        AppToolStats = "app_tool_stats",
        RemoveToolRuns = "remove_tool_runs",
        PutAssistant = "put_assistant",
        ChangeAssistant = "change_assistant",
        GetAssistant = "get_assistant",
        DeleteAssistant = "delete_assistant",
        ListAssistants = "list_assistants",
        ListAssistantTags = "list_assistant_tags",
        DeleteAssistants = "delete_assistants",
        PutDocument = "put_document",
        AppendDocument = "append_document",
        ReadDocument = "read_document",
        DeleteDocument = "delete_document",
        ListDocuments = "list_documents",
        DeleteDocuments = "delete_documents",
        ListNamespaces = "list_namespaces",
        StartStream = "start_stream",
        AppendChunks = "append_chunks",
        TakeOverStream = "take_over_stream",
        CancelStream = "cancel_stream",
        StopStream = "stop_stream",
        EndStream = "end_stream",
        ListStreams = "list_streams",
        GetStream = "get_stream",
        StreamGroups = "stream_groups",
        RemoveEndedStreams = "remove_ended_streams",
        CountDueToolRuns = "count_due_tool_runs",
        RequestInput = "request_input",
        GetInputRequest = "get_input_request",
        ListInputRequests = "list_input_requests",
        FindInputRequests = "find_input_requests",
        ListPendingInputs = "list_pending_inputs",
        AnswerInputRequest = "answer_input_request",
        CancelInputRequest = "cancel_input_request",
        ExpireInputRequests = "expire_input_requests",
        ResumeState = "resume_state",
        AppendTurn = "append_turn",
        ListResumePoints = "list_resume_points",
        LastResumePoint = "last_resume_point",
        DeleteResumePoints = "delete_resume_points",
        AcquireLease = "acquire_lease",
        RenewLease = "renew_lease",
        ReleaseLease = "release_lease",
        RevokeLease = "revoke_lease",
        InterruptAbandoned = "interrupt_abandoned",
        WorkflowStats = "workflow_stats",
        ListChatStats = "list_chat_stats",
        AppStats = "app_stats",
        HourlyStats = "hourly_stats",
        ListUserStats = "list_user_stats",
        UsageBy = "usage_by",
        UserStats = "user_stats",
        HourlyUserStats = "hourly_user_stats",
        HourlyUsage = "hourly_usage",
        ListAppsWithStats = "list_apps_with_stats",
        RegisterApp = "register_app",
        GetApp = "get_app",
        ListApps = "list_apps",
        SetAppStatus = "set_app_status",
        UpdateApp = "update_app",
        EnsureWallet = "ensure_wallet",
        GetWallet = "get_wallet",
        Credit = "credit",
        Debit = "debit",
        ListWalletEntries = "list_wallet_entries",
        ListWallets = "list_wallets",
        NextAppWithWallets = "next_app_with_wallets",
        CreateTicket = "create_ticket",
        RedeemTicket = "redeem_ticket",
        CreateAccessKey = "create_access_key",
        FindAccessKey = "find_access_key",
        ListAccessKeys = "list_access_keys",
        UseAccessKey = "use_access_key",
        RevokeAccessKey = "revoke_access_key",
        Revoke = "revoke",
        LiftRevocation = "lift_revocation",
        ListRevocations = "list_revocations",
        RecordChatRead = "record_chat_read",
        RecordRegistryRead = "record_registry_read",
        RecordAction = "record_action",
        ListAuditEntries = "list_audit_entries",
        GetPseudonym = "get_pseudonym",
        DestroyPseudonym = "destroy_pseudonym",
        ClaimWebhookEvents = "claim_webhook_events",
        SettleWebhookEvent = "settle_webhook_event",
        PostponeWebhookEvent = "postpone_webhook_event",
    }
}

label! {
    /// The outcome for the caller.
    CallOutcome: "outcome" {
        Ok = "ok",
        NotFound = "not_found",
        Forbidden = "forbidden",
        Conflict = "conflict",
        Invalid = "invalid",
        Unavailable = "unavailable",
        Overloaded = "overloaded",
        Unknown = "outcome_unknown",
        Refused = "refused",
        Corrupt = "corrupt",
        UnsupportedVersion = "unsupported_version",
        Cancelled = "cancelled",
    }
}

label! {
    /// The outcome for a message.
    MessageOutcome: "outcome" {
        Stored = "stored",
        Duplicate = "duplicate",
    }
}

/// The calls to a store, and their outcomes.
#[derive(Debug)]
pub(crate) struct CallMetrics {
    outcomes: By<Call, By<CallOutcome, Counter>>,
    durations: By<Call, Histogram>,
    messages: By<MessageOutcome, Counter>,
}

impl Default for CallMetrics {
    fn default() -> Self {
        Self {
            outcomes: By::default(),
            durations: By::new(Histogram::of_durations),
            messages: By::default(),
        }
    }
}

impl CallMetrics {
    /// Begins a call. It is counted when it ends, or as cancelled when it is dropped.
    pub(crate) fn begin(&self, call: Call) -> RunningCall<'_> {
        RunningCall { calls: self, call, start: Instant::now(), outcome: CallOutcome::Cancelled }
    }

    /// Counts the messages of a successful append.
    pub(crate) fn appended(&self, append: &Append) {
        let stored = append.messages.iter().filter(|message| message.outcome == Outcome::Stored);
        let stored = stored.count();
        self.messages.of(MessageOutcome::Stored).add(stored);
        self.messages.of(MessageOutcome::Duplicate).add(append.messages.len() - stored);
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![
            Family::counter(
                "reprise_store_calls_total",
                "Calls to the store, by outcome.",
                &self.outcomes,
            ),
            Family::histogram(
                "reprise_store_call_duration_seconds",
                "Duration of calls to the store, including retries.",
                &self.durations,
            ),
            Family::counter(
                "reprise_store_messages_total",
                "Messages of successful appends, by outcome.",
                &self.messages,
            ),
        ]
    }
}

/// A call in progress.
#[derive(Debug)]
pub(crate) struct RunningCall<'a> {
    calls: &'a CallMetrics,
    pub(crate) call: Call,
    start: Instant,
    outcome: CallOutcome,
}

impl RunningCall<'_> {
    /// Ends the call with its error, if it has failed, and returns its duration.
    pub(crate) fn end(mut self, error: Option<&StoreError>) -> Duration {
        self.outcome = error.map_or(CallOutcome::Ok, CallOutcome::of);
        self.start.elapsed()
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.calls.outcomes.of(self.call).of(self.outcome).increment();
        self.calls.durations.of(self.call).observe_duration(self.start.elapsed());
    }
}

impl CallOutcome {
    fn of(error: &StoreError) -> Self {
        match error {
            StoreError::ChatNotFound(_)
            | StoreError::MessageNotFound { .. }
            | StoreError::InputNotFound { .. }
            | StoreError::AppNotFound(_)
            | StoreError::ErasureNotFound(_)
            | StoreError::WalletNotFound(_)
            | StoreError::AssistantNotFound(_)
            | StoreError::DocumentNotFound(_)
            | StoreError::StreamNotFound(_) => Self::NotFound,
            StoreError::Forbidden { .. }
            | StoreError::AssistantForbidden { .. }
            | StoreError::DocumentForbidden { .. } => Self::Forbidden,
            StoreError::ChatExists(_)
            | StoreError::ChatHeld(_)
            | StoreError::LeaseHeld { .. }
            | StoreError::TurnConflict { .. }
            | StoreError::Fenced { .. }
            | StoreError::Changed { .. }
            | StoreError::SequenceConflict { .. }
            | StoreError::EventConflict { .. }
            | StoreError::CallConflict { .. }
            | StoreError::ToolRunConflict { .. }
            | StoreError::AssistantTaken(_)
            | StoreError::AssistantChanged(_)
            | StoreError::DocumentTaken(_)
            | StoreError::AppendConflict(_)
            | StoreError::DocumentChanged(_)
            | StoreError::DocumentOffset { .. }
            | StoreError::StreamRefused { .. }
            | StoreError::InputConflict { .. }
            | StoreError::InputClosed(_)
            | StoreError::ToolCallMismatch { .. }
            | StoreError::TooManyInputs(_)
            | StoreError::EntryConflict { .. }
            | StoreError::InsufficientTokens { .. }
            | StoreError::BalanceTooLarge { .. }
            | StoreError::TooManyParticipants(_)
            | StoreError::TooManyMembers(_)
            | StoreError::TooManyRevocations
            | StoreError::ChatEnded { .. }
            | StoreError::IllegalTransition { .. } => Self::Conflict,
            StoreError::Invalid(_) => Self::Invalid,
            StoreError::Unavailable { .. } => Self::Unavailable,
            StoreError::Overloaded { .. } => Self::Overloaded,
            StoreError::OutcomeUnknown { .. } => Self::Unknown,
            StoreError::Refused { .. }
            | StoreError::NotAReplicaSet
            | StoreError::UpgradePending { .. }
            | StoreError::IndexingMetadata(_) => Self::Refused,
            StoreError::Corrupt { .. } => Self::Corrupt,
            StoreError::UnsupportedVersion { .. } => Self::UnsupportedVersion,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::metrics::label::Label as _;

    /// Returns the text of every source file below a folder of this crate.
    fn sources(folder: &str) -> Vec<String> {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder)];
        let mut sources = Vec::new();
        while let Some(folder) = folders.pop() {
            let entries = fs::read_dir(folder).unwrap();
            let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            let (inner, files): (Vec<_>, Vec<_>) =
                paths.into_iter().partition(|path| path.is_dir());
            sources.extend(files.iter().map(|file| fs::read_to_string(file).unwrap()));
            folders.extend(inner);
        }
        sources
    }

    /// Returns the name and the text of each asynchronous function in a source.
    fn functions(source: &str) -> impl Iterator<Item = (&str, &str)> {
        source.split("async fn ").skip(1).map(|text| (text.split(['(', '<']).next().unwrap(), text))
    }

    #[test]
    fn every_method_of_a_store_has_its_call() {
        let sources = sources("store");
        let methods = sources.iter().flat_map(|source| functions(source));
        // A method with a default body makes other calls.
        let required = methods.filter(|(_, text)| {
            text.find([';', '{']).is_some_and(|end| text[end..].starts_with(';'))
        });
        let required: BTreeSet<_> = required.map(|(name, _)| name).collect();
        let calls: BTreeSet<_> = Call::ALL.iter().map(|call| call.name()).collect();
        assert_eq!(calls, required);
        assert_eq!(calls.len(), Call::ALL.len());
    }

    #[test]
    fn each_store_observes_every_call_exactly_once() {
        for store in ["memory", "mongo"] {
            let sources = sources(store);
            for call in Call::ALL {
                let (name, observed) = (call.name(), format!("Call::{call:?},"));
                let observing = sources.iter().flat_map(|source| functions(source));
                let observing = observing.filter(|(_, text)| text.contains(&observed));
                let observing: Vec<_> = observing.map(|(name, _)| name).collect();
                assert_eq!(observing, [name], "{store}");
                let inner = format!("self.{name}(");
                let is_counted_twice = sources.iter().any(|source| source.contains(&inner));
                assert!(!is_counted_twice, "{store} makes the call {name} within another");
            }
        }
    }
}
