use std::time::Duration;

use records::{
    AppId, CallId, ChatId, ChatStatus, EntryId, EventId, InputRequest, InputRequestId, Invalid,
    Lease, Limits, TurnId, UserId,
};

/// The error of a backend, kept as the source of a [`StoreError`].
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why a store call did not do what was asked.
///
/// Except for [`StoreError::OutcomeUnknown`], an error means that nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such chat within the caller's scope.
    #[error("chat {0} not found")]
    ChatNotFound(ChatId),

    /// There is no message with that sequence in the chat.
    #[error("message {sequence} of chat {chat_id} not found")]
    MessageNotFound {
        /// The chat.
        chat_id: ChatId,
        /// The sequence asked for.
        sequence: u64,
    },

    /// A chat with that id exists already.
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
        /// The position, in the batch, of the message that was refused.
        index: usize,
    },

    /// A `call_id` was repeated with another body.
    #[error("call {call_id} of chat {chat_id} was recorded with another body")]
    CallConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        call_id: CallId,
        /// The position, in the batch, of the call that was refused.
        index: usize,
    },

    /// There is no such call.
    #[error("chat {chat_id} has no call {call_id}")]
    CallNotFound {
        /// The chat.
        chat_id: ChatId,
        /// The call.
        call_id: CallId,
    },

    /// There is no such input request.
    #[error("chat {chat_id} has no input request {request_id}")]
    InputNotFound {
        /// The chat.
        chat_id: ChatId,
        /// The request.
        request_id: InputRequestId,
    },

    /// A `request_id` was repeated with another question.
    #[error("input request {request_id} of chat {chat_id} asks another question")]
    InputConflict {
        /// The chat.
        chat_id: ChatId,
        /// The repeated id.
        request_id: InputRequestId,
    },

    /// The input request takes no answer any more: this is how it stands.
    #[error("input request {} of chat {} is {}", .0.request_id, .0.chat_id, .0.state())]
    InputClosed(Box<InputRequest>),

    /// The answer is for another call of a tool than the one the request is bound to, or for none.
    #[error("input request {request_id} of chat {chat_id} is not about that call of a tool")]
    ToolCallMismatch {
        /// The chat.
        chat_id: ChatId,
        /// The request.
        request_id: InputRequestId,
        /// The id of the call it is bound to, if it is to any.
        bound_to: Option<String>,
    },

    /// The chat has as many input requests pending as it may have.
    #[error("chat {0} has {limit} input requests pending", limit = InputRequest::MAX_PENDING)]
    TooManyInputs(ChatId),

    /// The chat has as many participants as it may have.
    #[error("chat {0} has {limit} participants, as many as it may have", limit = Limits::PARTICIPANTS)]
    TooManyParticipants(ChatId),

    /// Somebody else holds the lease of the chat.
    #[error("chat {chat_id} is carried on by {} until {}", .lease.owner, .lease.expires_at)]
    LeaseHeld {
        /// The chat.
        chat_id: ChatId,
        /// The lease they hold.
        lease: Box<Lease>,
    },

    /// The write carries the fencing token of a lease that is gone.
    #[error("the lease of chat {chat_id} with fencing token {fencing_token} is gone")]
    Fenced {
        /// The chat.
        chat_id: ChatId,
        /// The token the write carries.
        fencing_token: u64,
    },

    /// The chat has ended and takes no more messages.
    #[error("chat {chat_id} is {status}")]
    ChatEnded {
        /// The chat.
        chat_id: ChatId,
        /// How it ended.
        status: ChatStatus,
    },

    /// The chat cannot move from its status to the one asked for.
    #[error("chat {chat_id} is {from} and cannot become {to}")]
    IllegalTransition {
        /// The chat.
        chat_id: ChatId,
        /// Where it stands.
        from: ChatStatus,
        /// Where it was to go.
        to: ChatStatus,
    },

    /// There is no such app in the registry.
    #[error("app {0} is not registered")]
    AppNotFound(AppId),

    /// The user has no wallet within the caller's scope.
    #[error("wallet of user {0} not found")]
    WalletNotFound(UserId),

    /// The wallet holds fewer tokens than a debit asks for.
    #[error("wallet of user {user_id} holds {balance} tokens, fewer than {amount}")]
    InsufficientTokens {
        /// Whose wallet it is.
        user_id: UserId,
        /// What it holds; 0 where there is no wallet.
        balance: i64,
        /// What was asked for.
        amount: i64,
    },

    /// A credit would take the wallet beyond the most it may hold.
    #[error(
        "wallet of user {user_id} holds {balance} tokens; {amount} more are beyond the limit of {limit}"
    )]
    BalanceTooLarge {
        /// Whose wallet it is.
        user_id: UserId,
        /// What it holds.
        balance: i64,
        /// What was to be added.
        amount: i64,
        /// The most it may hold.
        limit: i64,
    },

    /// An `entry_id` was repeated with another amount or as another kind of change.
    #[error("entry {entry_id} of the wallet of user {user_id} is a {kind} of {amount} tokens")]
    EntryConflict {
        /// Whose wallet it is.
        user_id: UserId,
        /// The repeated id.
        entry_id: EntryId,
        /// The kind of the entry that has it.
        kind: &'static str,
        /// The amount of that entry, without a sign.
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
        /// The format from which on it is written.
        needed: i64,
        /// The format that the database is at.
        stored: i64,
    },

    /// The document was written by a newer version of this software.
    #[error(
        "{collection} document {id} has schema version {found}, newer than {supported}, the newest known here"
    )]
    UnsupportedVersion {
        /// The collection it lies in.
        collection: &'static str,
        /// Its id.
        id: String,
        /// Its version.
        found: i64,
        /// The newest version that can be read.
        supported: i64,
    },

    /// A stored document is not what this software writes.
    #[error("{collection} document {id} is corrupt at {field}")]
    Corrupt {
        /// The collection it lies in.
        collection: &'static str,
        /// Its id.
        id: String,
        /// The field at fault.
        field: String,
        /// What the decoder said, if it was one.
        #[source]
        source: Option<BoxError>,
    },

    /// The database cannot be reached or does not take the write; nothing was applied.
    #[error("the store is unavailable")]
    Unavailable {
        /// When trying again makes sense.
        retry_after: Duration,
        /// What the backend said last.
        #[source]
        source: BoxError,
    },

    /// Too many appends wait already; nothing was applied.
    #[error("too many appends are waiting")]
    Overloaded {
        /// When trying again makes sense.
        retry_after: Duration,
    },

    /// The write may or may not have been applied; repeating it with the same ids is safe.
    #[error("the outcome of the write is unknown")]
    OutcomeUnknown {
        /// What the backend said last.
        #[source]
        source: BoxError,
    },

    /// The database refused a command in a way that repeating does not mend.
    #[error("the store refused the command")]
    Refused {
        /// What the backend said.
        #[source]
        source: BoxError,
    },
}

impl StoreError {
    pub(crate) fn held(chat_id: &ChatId, lease: Lease) -> Self {
        Self::LeaseHeld { chat_id: chat_id.clone(), lease: Box::new(lease) }
    }

    pub(crate) fn fenced(chat_id: &ChatId, fencing_token: u64) -> Self {
        Self::Fenced { chat_id: chat_id.clone(), fencing_token }
    }

    /// Tells whether what was sent is at odds with what a chat holds under the same id.
    ///
    /// Who has lost the lease hears of that instead: what they are at odds with may have been stored since.
    /// Tells whether the store was away: the same call may succeed later.
    pub(crate) fn is_away(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. } | Self::Overloaded { .. } | Self::OutcomeUnknown { .. }
        )
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::EventConflict { .. } | Self::TurnConflict { .. } | Self::InputConflict { .. }
        )
    }
}
