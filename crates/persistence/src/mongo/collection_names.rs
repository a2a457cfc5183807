//! The names of the collections.

/// Chat sessions, each with the tail of its messages.
pub(crate) const CHAT_SESSIONS: &str = "chat_sessions";
/// Sealed messages.
pub(crate) const CHAT_SEGMENTS: &str = "chat_segments";
/// Overlays: the edited versions of messages that several chats share.
pub(crate) const MESSAGE_VERSIONS: &str = "message_versions";
/// Large context snapshots and artifact payloads.
pub(crate) const CHAT_BLOBS: &str = "chat_blobs";
/// Replaced context snapshots.
pub(crate) const CONTEXT_SNAPSHOTS: &str = "context_snapshots";
/// The participants of chats.
pub(crate) const CHAT_PARTICIPANTS: &str = "chat_participants";
/// The connections over which users subscribe to chats.
pub(crate) const PRESENCE: &str = "presence";
/// Provider calls.
pub(crate) const PROVIDER_CALLS: &str = "provider_calls";
/// Runs of tools.
pub(crate) const TOOL_RUNS: &str = "tool_runs";
/// Input requests.
pub(crate) const INPUT_REQUESTS: &str = "input_requests";
/// The steps from which turns can be resumed.
pub(crate) const RESUME_POINTS: &str = "resume_points";
/// The ids and digests of turns without messages, kept forever to recognise retries.
pub(crate) const TURNS_WITHOUT_MESSAGES: &str = "turns_without_messages";
/// The status changes of chats.
pub(crate) const STATUS_CHANGES: &str = "status_changes";
/// The ends of chats that the receiver of webhooks has not taken yet.
pub(crate) const WEBHOOK_EVENTS: &str = "webhook_events";
/// Rollups: the stats of workflows, agents, models and chats.
pub(crate) const WORKFLOW_STATS: &str = "workflow_stats";
/// The registry of apps.
pub(crate) const APPS: &str = "apps";
/// Wallets, each with its newest entries.
pub(crate) const WALLETS: &str = "wallets";
/// The archived entries of wallets, one document (a *line*) for each.
pub(crate) const WALLET_ENTRIES: &str = "wallet_entries";
/// Streams: what agents are producing at the moment.
pub(crate) const STREAMS: &str = "streams";
/// The writes of streams, one document (a *group*) for each.
pub(crate) const STREAM_GROUPS: &str = "stream_groups";
/// The assistants of apps.
pub(crate) const ASSISTANTS: &str = "assistants";
/// The documents of apps, each with the end of its content.
pub(crate) const DOCUMENTS: &str = "documents";
/// The parts of the contents of documents.
pub(crate) const DOCUMENT_PARTS: &str = "document_parts";
/// Tickets that admit a client to a chat.
pub(crate) const TICKETS: &str = "tickets";
/// The keys that Reprise has issued to programs and to browsers.
pub(crate) const ACCESS_KEYS: &str = "access_keys";
/// Revoked tokens.
pub(crate) const REVOCATIONS: &str = "revocations";
/// The audit log.
pub(crate) const AUDIT_ENTRIES: &str = "audit_entries";
/// The keys that tie the pseudonyms of the audit log to persons.
pub(crate) const PSEUDONYM_KEYS: &str = "pseudonym_keys";
/// Erasures of persons: how far they have come, and their receipts.
pub(crate) const ERASURES: &str = "erasures";
/// The words of messages, for search.
pub(crate) const SEARCH_ENTRIES: &str = "search_entries";
/// How far the messages of each chat are in `search_entries`.
pub(crate) const SEARCH_MARKS: &str = "search_marks";
/// How far the chats of each app are known to be in `search_entries`.
pub(crate) const SEARCH_PROGRESS: &str = "search_progress";
/// The chains of commitments to the messages of chats, one document for each chat.
pub(crate) const INTEGRITY_CHAINS: &str = "integrity_chains";
/// The full blocks of these chains.
pub(crate) const INTEGRITY_BLOCKS: &str = "integrity_blocks";
/// The format of the database, in a single document.
pub(crate) const STORE_FORMAT: &str = "store_format";
