use std::time::Duration;

use records::{
    AppId, AssistantId, CallId, ChatId, ChatStatus, DocumentPath, EntryId, EventId, InputRequest,
    InputRequestId, Invalid, Lease, Limits, Member, Permission, Pseudonym, Revocation, Stream,
    StreamId, StreamState, ToolRunId, TurnId, UserId,
};

/// The error of a backend, the source of a [`StoreError`].
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The reason why a store call failed.
///
/// Every error except [`StoreError::OutcomeUnknown`] means that nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The chat does not exist within the caller's scope.
    #[error("chat {0} not found")]
    ChatNotFound(ChatId),

    /// The caller may read the chat, and does not have the permission that the call needs.
    #[error(
        "this needs the permission {permission} in chat {chat_id}, which the caller does not have"
    )]
    Forbidden {
        /// The chat.
        chat_id: ChatId,
        /// The permission.
        permission: Permission,
    },

    /// The chat has no message with that sequence.
    #[error("message {sequence} of chat {chat_id} not found")]
    MessageNotFound {
        /// The chat.
        chat_id: ChatId,
        /// The requested sequence.
        sequence: u64,
    },

    /// The chat is under hold and cannot be purged.
    #[error("chat {0} is under hold")]
    ChatHeld(ChatId),

    /// A chat with that id already exists.
    #[error("chat {0} already exists")]
    ChatExists(ChatId),

    /// A turn without messages was repeated with other steps.
    #[error("turn {request_id} of chat {chat_id} was stored with other steps")]
    TurnConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        request_id: TurnId,
    },

    /// An `event_id` was repeated with another body.
    #[error(
        "event {event_id} of chat {chat_id} was stored with another body, as message {sequence}"
    )]
    EventConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        event_id: EventId,
        /// The sequence of the message that has it.
        sequence: u64,
        /// The position of the refused message in the batch.
        index: usize,
    },

    /// A `call_id` was repeated with another body.
    #[error("call {call_id} of chat {chat_id} was recorded with another body")]
    CallConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        call_id: CallId,
        /// The position of the refused call in the batch.
        index: usize,
    },

    /// A `run_id` was repeated with another body.
    #[error("tool run {run_id} of chat {chat_id} was recorded with another body")]
    ToolRunConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        run_id: ToolRunId,
        /// The position of the refused run in the batch.
        index: usize,
    },

    /// The app has no such assistant within the caller's scope.
    #[error("assistant {0} not found")]
    AssistantNotFound(AssistantId),

    /// The caller may read the assistant, and does not have the permission that the call needs.
    #[error(
        "this needs the permission {permission} in assistant {assistant_id}, which the caller does not have"
    )]
    AssistantForbidden {
        /// The assistant.
        assistant_id: AssistantId,
        /// The permission.
        permission: Permission,
    },

    /// The id belongs to an assistant that the caller may not read.
    #[error("the id {0} belongs to another assistant")]
    AssistantTaken(AssistantId),

    /// The assistant is not what the caller has seen of it.
    #[error("assistant {0} has changed since it was read")]
    AssistantChanged(AssistantId),

    /// The app has no such document within the caller's scope.
    #[error("document {0} not found")]
    DocumentNotFound(DocumentPath),

    /// The caller may read the document, and does not have the permission that the call needs.
    #[error(
        "this needs the permission {permission} in document {path}, which the caller does not have"
    )]
    DocumentForbidden {
        /// The path of the document.
        path: DocumentPath,
        /// The permission.
        permission: Permission,
    },

    /// The path belongs to a document that the caller may not read.
    #[error("the path {0} belongs to another document")]
    DocumentTaken(DocumentPath),

    /// The document is not what the caller has seen of it.
    #[error("document {0} has changed since it was read")]
    DocumentChanged(DocumentPath),

    /// The content of the document does not end where an append was to begin.
    #[error("the content of document {path} has {size} bytes")]
    DocumentOffset {
        /// The path of the document.
        path: DocumentPath,
        /// The size of the content; 0 if there is no document.
        size: u64,
    },

    /// The chat has no input request with that id.
    #[error("chat {chat_id} has no input request {request_id}")]
    InputNotFound {
        /// The chat.
        chat_id: ChatId,
        /// The request.
        request_id: InputRequestId,
    },

    /// A `request_id` was repeated with another question.
    #[error("input request {request_id} of chat {chat_id} was stored with another question")]
    InputConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        request_id: InputRequestId,
    },

    /// The input request is closed or expired and accepts no answer. Contains its current state.
    #[error("input request {} of chat {} is {}", .0.request_id, .0.chat_id, .0.state())]
    InputClosed(Box<InputRequest>),

    /// The answer names another tool call than the one to which the request is bound, or none.
    #[error(
        "input request {request_id} of chat {chat_id} is not bound to the tool call of the answer"
    )]
    ToolCallMismatch {
        /// The chat.
        chat_id: ChatId,
        /// The request.
        request_id: InputRequestId,
        /// The id of the tool call to which the request is bound, if there is one.
        bound_to: Option<String>,
    },

    /// The chat already has the largest number of pending input requests.
    #[error("chat {0} has too many pending input requests (limit {limit})", limit = InputRequest::MAX_PENDING)]
    TooManyInputs(ChatId),

    /// The chat already has the largest number of participants.
    #[error("chat {0} has too many participants (limit {limit})", limit = Limits::PARTICIPANTS)]
    TooManyParticipants(ChatId),

    /// The chat already has the largest number of members.
    #[error("chat {0} has too many members (limit {limit})", limit = Member::MAX)]
    TooManyMembers(ChatId),

    /// The list of revocations is full.
    #[error("the list of revocations is full (limit {limit}); lift some of them", limit = Revocation::MAX)]
    TooManyRevocations,

    /// The chat has no such stream, or no longer.
    #[error("stream {0} not found")]
    StreamNotFound(StreamId),

    /// The stream cannot be written in this way.
    #[error("stream {stream_id} {reason}")]
    StreamRefused {
        /// The stream.
        stream_id: StreamId,
        /// Why.
        reason: StreamRefusal,
    },

    /// Another owner holds the lease of the chat.
    #[error("the lease of chat {chat_id} is held by {} until {}", .lease.owner, .lease.expires_at)]
    LeaseHeld {
        /// The chat.
        chat_id: ChatId,
        /// The current lease.
        lease: Box<Lease>,
    },

    /// The fencing token of the write belongs to a lease that is gone: released, taken over, or
    /// ended with the chat.
    #[error("the lease of chat {chat_id} with fencing token {fencing_token} is gone")]
    Fenced {
        /// The chat.
        chat_id: ChatId,
        /// The fencing token of the write.
        fencing_token: u64,
    },

    /// The record is not what the caller has seen of it.
    #[error("{record} of chat {chat_id} has changed since it was read")]
    Changed {
        /// The chat.
        chat_id: ChatId,
        /// What was to be written: `the context snapshot`, `the artifact`, `the message` or `the chat`.
        record: &'static str,
    },

    /// The key of a write of a document was repeated with other bytes.
    #[error("the key of this write of document {0} belongs to a write of other bytes")]
    AppendConflict(DocumentPath),

    /// The chat has another number of messages than the caller expects.
    #[error("chat {chat_id} has last_sequence {actual}, not {expected}")]
    SequenceConflict {
        /// The chat.
        chat_id: ChatId,
        /// What the caller expects.
        expected: u64,
        /// The number of messages ever appended.
        actual: u64,
    },

    /// The chat has ended and accepts no more messages.
    #[error("chat {chat_id} is {status}")]
    ChatEnded {
        /// The chat.
        chat_id: ChatId,
        /// The status in which it ended.
        status: ChatStatus,
    },

    /// The chat cannot change from its status to the requested one.
    #[error("chat {chat_id} is {from} and cannot become {to}")]
    IllegalTransition {
        /// The chat.
        chat_id: ChatId,
        /// The current status.
        from: ChatStatus,
        /// The requested status.
        to: ChatStatus,
    },

    /// There is no such app in the registry.
    #[error("app {0} is not registered")]
    AppNotFound(AppId),

    /// There is no erasure with this pseudonym in the app.
    #[error("there is no erasure {0}")]
    ErasureNotFound(Pseudonym),

    /// The user has no wallet within the caller's scope.
    #[error("wallet of user {0} not found")]
    WalletNotFound(UserId),

    /// The wallet holds fewer tokens than the debit takes.
    #[error("wallet of user {user_id} holds {balance} tokens, fewer than {amount}")]
    InsufficientTokens {
        /// The user who owns the wallet.
        user_id: UserId,
        /// The balance; 0 if there is no wallet.
        balance: i64,
        /// The amount of the debit.
        amount: i64,
    },

    /// The credit would raise the balance above its limit.
    #[error(
        "wallet of user {user_id} holds {balance} tokens; {amount} more would exceed the limit of {limit}"
    )]
    BalanceTooLarge {
        /// The user who owns the wallet.
        user_id: UserId,
        /// The balance.
        balance: i64,
        /// The amount of the credit.
        amount: i64,
        /// The largest allowed balance.
        limit: i64,
    },

    /// An `entry_id` was repeated with another amount or kind.
    #[error("entry {entry_id} of the wallet of user {user_id} is a {kind} of {amount} tokens")]
    EntryConflict {
        /// The user who owns the wallet.
        user_id: UserId,
        /// The repeated id.
        entry_id: EntryId,
        /// The kind of the stored entry.
        kind: &'static str,
        /// The amount of the stored entry, without a sign.
        amount: i64,
    },

    /// The input breaks a rule or a limit.
    #[error(transparent)]
    Invalid(#[from] Invalid),

    /// The call needs a stored shape that older releases cannot read, and the upgrade from them is not
    /// finished.
    #[error(
        "{shape} need stored format {needed}, the database is at {stored}: run `reprise upgrade --finish` \
         when no process of an older release runs"
    )]
    UpgradePending {
        /// What the call needs, in words.
        shape: &'static str,
        /// The first format with that shape.
        needed: i64,
        /// The format of the database.
        stored: i64,
    },

    /// The app has declared the key a short while ago, and the metadata of its chats are still being indexed by it.
    #[error("the chats of the app are still being indexed by the metadata key {0:?}")]
    IndexingMetadata(String),

    /// The document was written by a newer version of this software.
    #[error(
        "{collection} document {id} has schema version {found}; this release supports versions up to {supported}"
    )]
    UnsupportedVersion {
        /// The collection of the document.
        collection: &'static str,
        /// The id of the document.
        id: String,
        /// The version of the document.
        found: i64,
        /// The newest supported version.
        supported: i64,
    },

    /// A stored document does not have the expected shape.
    #[error("{collection} document {id} is corrupt at {field}")]
    Corrupt {
        /// The collection of the document.
        collection: &'static str,
        /// The id of the document.
        id: String,
        /// The field that is wrong.
        field: String,
        /// The error of the decoder, if there is one.
        #[source]
        source: Option<BoxError>,
    },

    /// The database cannot be reached or cannot accept the write. Nothing was applied.
    #[error("the store is unavailable")]
    Unavailable {
        /// The time to wait before a retry.
        retry_after: Duration,
        /// The last error of the backend.
        #[source]
        source: BoxError,
    },

    /// Too many appends are waiting. Nothing was applied.
    #[error("too many appends are waiting")]
    Overloaded {
        /// The time to wait before a retry.
        retry_after: Duration,
    },

    /// The write may have been applied. It is safe to repeat it with the same ids.
    #[error("the outcome of the write is unknown")]
    OutcomeUnknown {
        /// The last error of the backend.
        #[source]
        source: BoxError,
    },

    /// The database refused a command, and a retry would not help.
    #[error("the store refused the command")]
    Refused {
        /// The error of the backend.
        #[source]
        source: BoxError,
    },

    /// The database has no transactions, so most calls fail.
    #[error(
        "the MongoDB server is not in a replica set: start mongod with --replSet, then run rs.initiate()"
    )]
    NotAReplicaSet,
}

/// Why a write of a stream is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamRefusal {
    /// The id belongs to a stream with another header.
    #[error("was started with another format, agent or turn")]
    Exists,
    /// The stream has ended.
    #[error("is {0}")]
    Ended(StreamState),
    /// The chunks do not follow those that the stream has.
    #[error("has {next} chunks; the next one must have the position {next}")]
    Gap {
        /// The position of the next chunk.
        next: u64,
    },
    /// The stream is not at the attempt that a restart is to void.
    #[error("is at the attempt {attempt}")]
    OtherAttempt {
        /// Its attempt.
        attempt: u32,
    },
    /// The stream does not hold what its turn was made of: chunks were added, or made void, meanwhile.
    #[error("was written to while its turn was made: end it again")]
    OtherContent,
    /// The chunks would exceed the largest size of a stream.
    #[error("would exceed the limit of {} bytes", Stream::MAX_BYTES)]
    Full,
    /// The turn that it is to become part of is stored.
    #[error("cannot be started: its turn is stored already")]
    TurnStored,
    /// The chat has as many running streams as it may have.
    #[error(
        "cannot be started: the chat has {} running streams, the most it may have",
        Stream::MAX_RUNNING
    )]
    TooMany,
    /// The stream is written under an earlier lease than that of the caller, or under none.
    #[error("is not written under this lease: take it over first")]
    NotTakenOver,
    /// The caller has no lease.
    #[error("is written under a lease: its fencing token is needed")]
    NoLease,
}

impl StoreError {
    pub(crate) fn held(chat_id: &ChatId, lease: Lease) -> Self {
        Self::LeaseHeld { chat_id: chat_id.clone(), lease: Box::new(lease) }
    }

    pub(crate) fn fenced(chat_id: &ChatId, fencing_token: u64) -> Self {
        Self::Fenced { chat_id: chat_id.clone(), fencing_token }
    }

    /// Returns whether the store was unavailable, so that the same call may succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. } | Self::Overloaded { .. } | Self::OutcomeUnknown { .. }
        )
    }

    /// Returns whether what is stored is not understood: no retry changes that.
    pub(crate) fn is_not_understood(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::UnsupportedVersion { .. })
    }

    /// Returns whether the request conflicts with what the chat holds under the same id.
    ///
    /// If the caller has lost its lease, `Fenced` is returned instead of the conflict, because the
    /// conflicting record may have been stored since.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::EventConflict { .. } | Self::TurnConflict { .. } | Self::InputConflict { .. }
        )
    }
}
