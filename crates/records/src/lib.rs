#![doc = include_str!("../README.md")]

mod if_match;
pub use if_match::IfMatch;

mod ids;
pub use ids::{
    AccessKeyLabel, AppId, AssistantId, AuditEntryId, CallId, ChatId, ConnectionId, DisplayName,
    EntryId, EventId, IdError, Ids, InputRequestId, LeaseId, Owner, StackId, StreamId, TeamId,
    TokenId, ToolRunId, TurnId, UserId, Uuid7Ids, WorkflowName,
};

mod clock;
pub use clock::{Clock, SystemClock, truncated};

pub mod json;
pub use json::{JsonObject, Limits};

mod invalid;
pub use invalid::{Invalid, InvalidKind, SizeLimit};

mod location;
pub use location::{Item, Location, Segment};

mod scope;
pub use scope::{Caller, Scope, Visibility};

mod rights;
pub use rights::{Grant, Member, MemberRole, Permission, Reach, Relations, Sharing};

mod fork_origin;
pub use fork_origin::ForkOrigin;

mod id_salt;
pub use id_salt::{DerivedId, IdSalt, IdSpace};

mod lifecycle;
pub use lifecycle::Lifecycle;

mod retention;
pub use retention::{Due, Hold, OwnRetention, Retention, RetentionChange};

mod erasure;
pub use erasure::{ErasedKind, Erasure};

mod field_change;
pub use field_change::FieldChange;

mod chat_session;
pub use chat_session::{ChatSession, ChatStatus, NewChatSession, cache_seed, minute_of};

mod sigma;
mod title;
pub use title::{TitlePart, title_key, title_trigrams};

mod metadata_keys;
pub use metadata_keys::{MetadataFilter, MetadataKeys, listed_text};

mod search;
pub use search::{
    MAX_INDEXED_WORDS, MAX_WORD_CHARS, SearchQuery, Snippet, WordRange, said, search_rank,
    search_words,
};

mod session_change;
pub use session_change::SessionChange;

mod fork;
pub use fork::NewFork;

mod message;
pub use message::{Author, Message, MessageBody, MessageEdit, NewMessage};

mod input_request;
pub use input_request::{
    BoundToolCall, Closed, Closing, InputAnswer, InputKind, InputRequest, NewInputAnswer,
    NewInputRequest, Question, ToolCallRef, arguments_hash,
};

mod webhook_event;
pub use webhook_event::WebhookEvent;

mod lease;
pub use lease::{Acquisition, Lease, NewLease};

mod resume_state;
pub use resume_state::ResumeState;

mod call_tree;
mod turn;
pub use turn::{
    LastTurn, NewTurn, OpenStep, ResumePoint, StackFrame, Step, StepKind, StepStatus, TurnMessage,
    TurnOutcome,
};

mod stream;
pub use stream::{
    NewStream, Stream, StreamContent, StreamEnding, StreamEvent, StreamFormat, StreamGroup,
    StreamHeader, StreamMark, StreamState,
};

mod participant;
pub use participant::Participant;

mod presence;
pub use presence::{Connection, Present};

mod artifact;
pub use artifact::{Artifact, NewArtifact};

mod context;
mod derived_id;
pub use context::{ContextSnapshot, ContextVersion, KeptContext, merge_patch};

mod money;
pub use money::{MicroDollars, MoneyError};

mod provider_call;
pub use provider_call::{Model, NewProviderCall, ProviderCall, Tokens, Usage};

mod tool_run;
pub use tool_run::{NewToolRun, ToolRun, ToolSums};

mod app_document;
pub use app_document::{DocumentBinding, DocumentHead, DocumentPath, NewDocument, StatedBinding};

mod assistant;
pub use assistant::{Assistant, AssistantChange, AssistantContent, LocaleTexts, NewAssistant};

mod app;
pub use app::{App, AppStatus, OwnSettings, SettingsChange};

mod wallet;
pub use wallet::{EntryKind, NewWalletEntry, Wallet, WalletEntry};

mod revocation;
pub use revocation::{Credential, NewRevocation, Revocation, RevocationKey, RevocationTarget};

mod ticket;
pub use ticket::{NewTicket, Ticket, TicketDigest};

mod access_key;
pub use access_key::{
    AccessKey, AccessKeyDigest, AccessKeyId, AccessKeyKind, AccessKeySecret, Bearer, NewAccessKey,
};

mod audit;
pub use audit::{
    Actor, ActorRole, AuditAction, AuditEntry, AuditError, Network, Origin, Pseudonym,
    PseudonymKey, RequestId,
};

mod stats;
pub use stats::{
    Counter, Histogram, Measure, Rollup, RollupKey, StatusChange, Subject, Tally, hour_of,
};
