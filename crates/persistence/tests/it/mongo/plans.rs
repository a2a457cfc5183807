//! No query scans a collection or sorts in memory. The tests of the contract check this for all of its calls;
//! the tests here use more data and every filter.

use std::collections::BTreeSet;
use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use chrono::{DateTime, TimeDelta, Utc};
use futures::TryStreamExt;
use persistence::mongo::{COLLECTIONS, Interruption, StoredCollection};
use persistence::{
    AppDocuments, AppendCondition, Apps, Artifacts, AssistantFilter, Assistants, AuditFilter,
    AuditLog, Began, Billing, Calls, Changes, ChatFilter, ChatOrder, ChatSessions, ContextHistory,
    Contexts, Direction, DocumentFilter, DocumentRange, Erasures, Exchanges, Forks, InputRequests,
    Integrity, Leases, ListCursor, Members, MessageRange, MessageSearch, Messages, Participants,
    PendingOrder, Position, Presence, Purges, PutCondition, ResumePointCursor, ResumePointFilter,
    RevocationCursor, Revocations, Search, Stats, Streams, Tickets, ToolRunFilter, ToolRuns, Turns,
    UsageBy, UsageFilter, Wallets, sign_all,
};
use records::{
    Actor, AppId, AppStatus, AssistantContent, AssistantId, AuditAction, CallId, Caller, ChatId,
    ChatStatus, Clock, Connection, ConnectionId, DisplayName, DocumentPath, Due, EntryId, EventId,
    FieldChange, Grant, InputRequestId, JsonObject, Lease, Lifecycle, MemberRole, MessageBody,
    MessageEdit, MetadataFilter, MetadataKeys, NewArtifact, NewAssistant, NewChatSession,
    NewDocument, NewFork, NewInputAnswer, NewInputRequest, NewLease, NewMessage, NewProviderCall,
    NewRevocation, NewStream, NewTicket, NewToolRun, NewTurn, NewWalletEntry, Owner, Permission,
    Question, RetentionChange, RevocationKey, RevocationTarget, Scope, SearchQuery, SessionChange,
    SettingsChange, StackFrame, StackId, StatedBinding, Step, StepKind, StreamEnding, StreamFormat,
    StreamHeader, StreamId, StreamState, SystemClock, TeamId, TicketDigest, ToolRunId, TurnId,
    TurnMessage, TurnOutcome, UserId, Visibility, WorkflowName,
};
use serde_json::json;

use super::database::Database;
use super::faults::{chat, numbered};

/// Runs every call of the store under the profiler, and then checks the plan of each operation.
#[tokio::test]
async fn every_query_uses_an_index() {
    let database = Database::create_unsealed().await;
    // As large as the operations need: a profile forgets the oldest.
    let profile = doc! { "create": "system.profile", "capped": true, "size": 64_i64 << 20 };
    database.raw.run_command(profile).await.unwrap();
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    use_everything(&database).await;
    use_apps(&database).await;
    use_revocations(&database).await;
    use_stats(&database).await;
    use_integrity(&database).await;
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();

    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let ours = doc! { "ns": { "$in": namespaces(&database) }, "planSummary": { "$exists": true } };
    let operations: Vec<RawDocumentBuf> =
        profile.find(ours).await.unwrap().try_collect().await.unwrap();
    assert!(operations.len() > 100, "only {} operations were profiled", operations.len());
    for operation in operations {
        let plan = operation.get_str("planSummary").unwrap();
        assert!(!plan.contains("COLLSCAN"), "{operation:?}");
        let sorts_in_memory = operation.get("hasSortStage").unwrap().is_some();
        let may_sort = is_aggregation(&operation) || is_of_one_rank(&operation);
        assert!(!sorts_in_memory || may_sort, "{operation:?}");
        assert!(!sorts_sessions(&operation) || names_index(&operation), "{operation:?}");
    }
    assert_scattered_have_a_reason(&database).await;
}

/// Behind routers, sessions are sharded by the hash of their id, and all other collections by ranges of it. A query then goes to
/// one shard, or to few, if it names ids or a range of them. Each other query goes to every shard, and is in this list with the
/// reason, by the fields that it selects by; docs/COMPATIBILITY.md says what follows.
const SCATTERED: &[(&str, &[&str])] = &[
    (
        "A list for people, in an order of its own: every shard gives its first entries.",
        &[
            "assistants: $and, $or, _id.app_id",
            "assistants: $and, $or, _id.app_id, mentionable, type, user_id",
            "assistants: $and, _id.app_id",
            "assistants: $and, _id.app_id, mentionable, type",
            "assistants: $or, _id.app_id",
            "assistants: $or, _id.app_id, mentionable, type, user_id",
            "assistants: _id.app_id",
            "assistants: _id.app_id, mentionable, type",
            "audit_entries: ",
            "audit_entries: $and",
            "audit_entries: $and, action",
            "audit_entries: $and, app_id",
            "audit_entries: $and, app_id, persons",
            "audit_entries: app_id",
            "audit_entries: app_id, chat_id",
            "audit_entries: app_id, persons",
            "chat_sessions: $and, app_id, workflow_name",
            "chat_sessions: _id, app_id, hold",
            "chat_sessions: app_id, attrs, lifecycle, status",
            "chat_sessions: app_id, workflow_name",
            "chat_sessions: $and, app_id, is_listed, lifecycle, status",
            "chat_sessions: $and, app_id, lifecycle, members.user_id, status",
            "chat_sessions: $and, app_id, lifecycle, status",
            "chat_sessions: $and, app_id, lifecycle, status, team_id, visibility",
            "chat_sessions: $and, app_id, lifecycle, status, user_id",
            "chat_sessions: app_id, is_listed, lifecycle, status",
            "chat_sessions: app_id, lifecycle, members.user_id, status",
            "chat_sessions: app_id, lifecycle, status",
            "chat_sessions: app_id, lifecycle, status, team_id, visibility",
            "chat_sessions: app_id, lifecycle, status, user_id",
            "input_requests: $or, _id.chat_id, app_id, created_at, state",
            "input_requests: $or, app_id, created_at, state",
            "input_requests: _id.chat_id, app_id, state",
            "input_requests: app_id, state",
            "search_entries: app_id, words",
            "tool_runs: app_id",
            "tool_runs: app_id, started_at",
            "wallet_entries: app_id, sequence, user_id",
            "wallets: ",
            "wallets: _id",
            "revocations: ",
        ],
    ),
    ("A list of apps: there are few.", &["apps: _id", "apps: metadata_keys_version"]),
    (
        "What a chat has in an order other than that of its ids: one page, of one chat.",
        &[
            "chat_segments: _id.chat_id, _id.first_sequence, app_id, messages.produced_by_call_id",
            "input_requests: $and, _id.chat_id, app_id",
            "input_requests: _id.chat_id, app_id",
            "message_versions: $or, app_id, message.produced_by_call_id",
            "provider_calls: $and, _id.chat_id, app_id",
            "provider_calls: _id.chat_id, app_id",
            "search_entries: $and, _id.chat_id, app_id",
            "search_entries: $and, _id, _id.chat_id, app_id, rank",
            "search_entries: $and, _id.chat_id, app_id, rank",
            "tool_runs: $and, _id.chat_id, app_id",
            "tool_runs: $and, _id.chat_id, app_id, is_success, started_at, tool_name",
            "tool_runs: _id.chat_id, app_id",
            "tool_runs: _id.chat_id, app_id, is_success, started_at, tool_name",
            "tool_runs: _id.chat_id, app_id, started_at",
            "resume_points: $and, _id.chat_id, _id.request_id, app_id",
            "resume_points: $and, _id.chat_id, app_id",
            "resume_points: $and, _id.chat_id, app_id, stack_id",
            "resume_points: _id.chat_id, _id.request_id, app_id",
            "resume_points: _id.chat_id, app_id",
            "resume_points: _id.chat_id, app_id, stack_id",
        ],
    ),
    (
        "Whether ids of messages are sealed in a chat: with each append that the process does not remember.",
        &["chat_segments: _id.chat_id, app_id, messages.event_id"],
    ),
    (
        "A sweep: one process, every few seconds, finds what is due.",
        &[
            "chat_sessions: _id, lease.expires_at, schema_version, status",
            "input_requests: _id, expires_at, state",
            "tool_runs: $and, app_id, recorded_at",
            "tool_runs: app_id, recorded_at",
            "streams: _id, removed_at",
        ],
    ),
    (
        "What a declaration of keys for lists, once, and the process that follows it look for.",
        &["chat_sessions: app_id", "chat_sessions: app_id, attrs_version, schema_version"],
    ),
    (
        "The chats that have changed: the pass that signs them, about once a minute, and that which indexes them.",
        &[
            "chat_sessions: _id, active_minute, app_id, lifecycle, status",
            "chat_sessions: _id, app_id, edited_at",
            "chat_sessions: active_minute, app_id, lifecycle, status",
            "chat_sessions: app_id, edited_at",
        ],
    ),
    (
        "`check --deep` and the export of checkpoints, which read everything once.",
        &["chat_sessions: _id", "chat_sessions: _id, app_id", "integrity_chains: _id, app_id"],
    ),
    (
        "What is selected by ids within a condition: a router does not see them there.",
        &["assistants: $or", "chat_sessions: $and", "documents: $or"],
    ),
    (
        "A question by its id alone, for the inbox of an app.",
        &["input_requests: _id.request_id, app_id, state"],
    ),
    (
        "The versions of messages that several chats have changed: each condition is a range of ids.",
        &["message_versions: $or, app_id"],
    ),
    (
        "What was revoked since the last look: each process, every few seconds.",
        &["revocations: $or, changed_at", "revocations: changed_at"],
    ),
    (
        "Sums of an app: a row for each hour or name.",
        &[
            "workflow_stats: $and, _id.app_id, _id.kind, _id.workflow_name, started_at",
            "workflow_stats: _id.app_id, _id.hour, _id.kind",
            "workflow_stats: _id.app_id, _id.hour, _id.kind, _id.name",
            "workflow_stats: _id.app_id, _id.hour, _id.kind, _id.workflow_name",
            "workflow_stats: _id.app_id, _id.kind, _id.workflow_name",
            "workflow_stats: _id.app_id, _id.kind, _id.workflow_name, started_at",
            "workflow_stats: _id.app_id",
        ],
    ),
    (
        "`stats verify`, which reads everything once.",
        &[
            "chat_sessions: ",
            "chat_sessions: app_id, created_at, workflow_name",
            "provider_calls: _id.chat_id, app_id, workflow_name",
            "provider_calls: app_id, called_at, workflow_name",
            "status_changes: app_id, changed_at, workflow_name",
            "workflow_stats: ",
        ],
    ),
];

/// Asserts that the list is complete, and has nothing that is gone.
async fn assert_scattered_have_a_reason(database: &Database) {
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let ours =
        doc! { "ns": { "$in": namespaces(database) }, "op": { "$nin": ["insert", "getmore"] } };
    let operations: Vec<RawDocumentBuf> =
        profile.find(ours).await.unwrap().try_collect().await.unwrap();
    let operations = operations.iter().map(|raw| Document::try_from(&**raw).unwrap());
    let found: BTreeSet<_> = operations.filter_map(|it| scattered(&it)).collect();
    let reasoned = SCATTERED.iter().flat_map(|(_, queries)| *queries);
    let reasoned: BTreeSet<_> = reasoned.map(|&query| query.to_owned()).collect();
    assert_eq!(found, reasoned);
}

/// Describes a query that names no ids: the collection, and the fields that it selects by.
fn scattered(operation: &Document) -> Option<String> {
    let collection = operation.get_str("ns").unwrap().split_once('.').unwrap().1.to_owned();
    let command = operation.get_document("command").unwrap();
    // The profiler cuts commands that are too long for it.
    if command.contains_key("$truncated") {
        return None;
    }
    let first =
        |pipeline: &bson::Array| pipeline.first().and_then(|stage| stage.as_document()).cloned();
    let selected = if let Ok(pipeline) = command.get_array("pipeline") {
        first(pipeline).and_then(|stage| stage.get_document("$match").ok().cloned())
    } else {
        let of = |field| command.get_document(field).ok().cloned();
        of("filter").or_else(|| of("q")).or_else(|| of("query"))
    };
    let selected = selected.unwrap_or_default();
    let is_named =
        |fields: &Document| fields.get("_id").is_some_and(|id| names_ids(id, &collection));
    let both = selected.get_array("$and").ok().into_iter().flatten();
    let mut parts = both.filter_map(|part| part.as_document()).chain([&selected]);
    if parts.any(is_named) {
        return None;
    }
    let fields: BTreeSet<_> = selected.keys().map(String::as_str).collect();
    Some(format!("{collection}: {}", fields.into_iter().collect::<Vec<_>>().join(", ")))
}

/// Returns whether a condition names ids, or, for all but the hashed sessions, a range of ids.
fn names_ids(condition: &Bson, collection: &str) -> bool {
    let Some(condition) = condition.as_document() else { return true };
    let operators: Vec<_> = condition.keys().filter(|key| key.starts_with('$')).collect();
    let is_range = |key: &str| condition.contains_key(key);
    let is_bounded = (is_range("$gte") || is_range("$gt")) && (is_range("$lt") || is_range("$lte"));
    operators.is_empty()
        || is_range("$in")
        || is_range("$eq")
        || is_bounded && collection != "chat_sessions"
}

/// Only the sums of an aggregation are sorted in memory: no index has them.
fn is_aggregation(operation: &RawDocumentBuf) -> bool {
    operation.get_document("command").unwrap().get("aggregate").unwrap().is_some()
}

/// Returns whether an operation reads the entries of one rank of a search, which are few.
fn is_of_one_rank(operation: &RawDocumentBuf) -> bool {
    let filter = operation.get_document("command").unwrap().get_document("filter");
    filter.is_ok_and(|filter| filter.get_i64("rank").is_ok())
}

/// Returns whether an operation reads sessions in an order. While it tries plans, the server may choose an index in another
/// order and sort in memory, so each such operation names its index.
fn sorts_sessions(operation: &RawDocumentBuf) -> bool {
    let command = operation.get_document("command").unwrap();
    let is_sorted = command.get("sort").unwrap().is_some();
    is_sorted && command.get_str("find").is_ok_and(|collection| collection == "chat_sessions")
}

fn names_index(operation: &RawDocumentBuf) -> bool {
    operation.get_document("command").unwrap().get("hint").unwrap().is_some()
}

/// Returns the names of all collections of the store, as the profiler writes them.
fn namespaces(database: &Database) -> Vec<String> {
    let in_database =
        |stored: &StoredCollection| format!("{}.{}", database.raw.name(), stored.name);
    COLLECTIONS.iter().map(in_database).collect()
}

/// Records every query from now on that scans a collection of the store, or sorts in memory what is no sum of an aggregation and
/// not of one rank of a search.
pub(crate) async fn record_scans(database: &Database) {
    let is_scan = doc! { "planSummary": { "$regex": "COLLSCAN" } };
    let filter = doc! {
        "ns": { "$in": namespaces(database) },
        "$or": [is_scan, {
            "hasSortStage": true,
            "command.aggregate": { "$exists": false },
            "command.filter.rank": { "$not": { "$type": "long" } },
        }],
    };
    database.raw.run_command(doc! { "profile": 1, "filter": filter }).await.unwrap();
}

/// Ends the recording, and returns the recorded queries.
pub(crate) async fn recorded_scans(database: &Database) -> Vec<Document> {
    database.raw.run_command(doc! { "profile": 0, "filter": "unset" }).await.unwrap();
    let recorded = database.all("system.profile").await;
    recorded.iter().map(|raw| Document::try_from(&**raw).unwrap()).collect()
}

/// An index may still be under construction, or have been dropped by an operator.
#[tokio::test]
async fn a_missing_index_makes_a_query_slower_and_does_not_fail_it() {
    let database = Database::create().await;
    let (scope, user) = (scope(), UserId::parse("user").unwrap());
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    database.create_chat(&scope, new).await.unwrap();
    for stored in COLLECTIONS {
        let drop = doc! { "dropIndexes": stored.name, "index": "*" };
        // A collection without documents may not exist.
        database.raw.run_command(drop).await.ok();
    }
    for order in [ChatOrder::Created, ChatOrder::Active] {
        let filter = ChatFilter { order, ..ChatFilter::default() };
        assert_eq!(database.list_chats(&scope, &filter, 10, None).await.unwrap().chats.len(), 1);
    }
    database.expire_input_requests(1).await.unwrap();
    database.interrupt_abandoned(1).await.unwrap();
    database.finish_purges(1).await.unwrap();
    for due in Due::ALL {
        let (app_id, before) = (&scope.app_id, DateTime::UNIX_EPOCH);
        for other in [vec![], Due::PURGES.map(|due| (due, before)).to_vec()] {
            database.list_due(app_id, due, before, &other, 1).await.unwrap();
            database.count_due(app_id, due, before, &other).await.unwrap();
        }
    }
    assert_eq!(database.next_app_with_chats(None).await.unwrap(), Some(scope.app_id.clone()));
    let actor = Actor::command_line();
    database.find_chats_of(&scope.app_id, &user, None, 10).await.unwrap();
    let erasure = database.begin_erasure(&actor, &scope.app_id, &user).await.unwrap();
    for _ in 0..4 {
        database.continue_erasure(&scope.app_id, erasure.pseudonym, 9).await.unwrap();
    }
    let workflow = database.counted_workflows(None).await.unwrap().pop().unwrap();
    let mut tell = |difference| panic!("{difference:?}");
    database.verify_stats(&workflow, &|| {}, &mut tell).await.unwrap();
}

#[tokio::test]
async fn a_scan_is_recorded() {
    let database = Database::create().await;
    use_apps(&database).await;
    record_scans(&database).await;
    use_apps(&database).await;
    let apps = database.raw.collection::<RawDocumentBuf>("apps");
    apps.find_one(doc! { "status": "enabled" }).await.unwrap();
    apps.find_one(doc! { "_id": { "$gt": "" } }).sort(doc! { "status": 1 }).await.unwrap();
    assert_eq!(recorded_scans(&database).await.len(), 2);
}

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

async fn use_calls(database: &Database, scope: &Scope, chat_id: &ChatId) {
    for _ in 0..2 {
        let calls = vec![NewProviderCall::default(); 3];
        database.record_calls(scope, chat_id, calls, Billing::Free).await.unwrap();
    }
    let call_id = CallId::parse("call_of_an_exchange").unwrap();
    let call = NewProviderCall { call_id: Some(call_id.clone()), ..NewProviderCall::default() };
    let messages = vec![MessageBody::new("assistant", None, "linked").into()];
    database.append_exchange(scope, chat_id, messages, call, Billing::Free).await.unwrap();
    database.delete_call(scope, chat_id, &call_id).await.unwrap();
    let first = database.list_calls(scope, chat_id, 2, None).await.unwrap();
    database.list_calls(scope, chat_id, 2, first.next.as_ref()).await.unwrap();
    assert_eq!(database.chat_usage(scope, chat_id).await.unwrap().calls, 6);
}

async fn use_tool_runs(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let run = |n: usize| NewToolRun {
        run_id: ToolRunId::parse(format!("run_{n}")).ok(),
        tool_name: "search".to_owned(),
        ..NewToolRun::default()
    };
    for _ in 0..2 {
        database.record_tool_runs(scope, chat_id, (0..50).map(run).collect()).await.unwrap();
    }
    let began = Began { from: Some(DateTime::UNIX_EPOCH), before: Some(DateTime::<Utc>::MAX_UTC) };
    for direction in [Direction::Ascending, Direction::Descending] {
        let all = ToolRunFilter { direction, ..ToolRunFilter::default() };
        let (tool_name, is_success) = (Some("search".to_owned()), Some(false));
        let some = ToolRunFilter { tool_name, is_success, began, direction };
        for filter in [all, some] {
            let page = database.list_tool_runs(scope, chat_id, &filter, 3, None).await.unwrap();
            let next = page.next.as_ref();
            database.list_tool_runs(scope, chat_id, &filter, 3, next).await.unwrap();
        }
    }
    for began in [Began::default(), began] {
        database.chat_tool_stats(scope, chat_id, &began).await.unwrap();
        database.app_tool_stats(&scope.app_id, &began).await.unwrap();
    }
    let (app_id, ever) = (&scope.app_id, DateTime::<Utc>::MAX_UTC);
    let next = database.remove_tool_runs(app_id, ever, 10, None).await.unwrap().next;
    database.remove_tool_runs(app_id, ever, 10, next.as_ref()).await.unwrap();
    database.count_due_tool_runs(app_id, ever, 10, next.as_ref()).await.unwrap();
}

async fn use_assistants(database: &Database, scope: &Scope) {
    let owner = scope.caller.person().cloned();
    let scope = &scope.needing(Permission::Manage);
    let id = |n: usize| AssistantId::parse(format!("{}{n}", owner.is_some())).unwrap();
    let content = || AssistantContent {
        name: "Weather".to_owned(),
        kind: "assistant".to_owned(),
        ..AssistantContent::default()
    };
    for sort in 0..2 {
        for n in 0..50 {
            let user_id = owner.clone().map_or(FieldChange::Keep, FieldChange::Set);
            let content = AssistantContent { sort, ..content() };
            let new = NewAssistant { user_id, content };
            database.put_assistant(scope, &id(n), new).await.unwrap();
        }
    }
    database.get_assistant(scope, &id(3)).await.unwrap().unwrap();
    let (one, text) = (vec!["assistant".to_owned()], Some("weather".to_owned()));
    let everything = AssistantFilter {
        user_id: owner.clone(),
        kinds: one,
        mentionable: Some(false),
        text,
        ..AssistantFilter::default()
    };
    let some = AssistantFilter { ids: vec![id(1), id(2), id(3)], ..AssistantFilter::default() };
    for filter in [AssistantFilter::default(), everything, some.clone()] {
        let page = database.list_assistants(scope, &filter, 2, None).await.unwrap();
        assert_eq!(page.assistants.len(), 2);
        database.list_assistants(scope, &filter, 2, page.next.as_ref()).await.unwrap();
        database.list_assistant_tags(scope, &filter).await.unwrap();
    }
    assert_eq!(database.delete_assistants(scope, &some, 10).await.unwrap().deleted, 3);
    assert!(database.delete_assistant(scope, &id(4)).await.unwrap());
}

async fn use_documents(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let owner = scope.caller.person().is_some();
    let path = |n: usize| DocumentPath::parse(format!("{owner}/{n}")).unwrap();
    let new = |bytes, chat_id: Option<&ChatId>| NewDocument {
        binding: StatedBinding { chat_id: chat_id.cloned(), ..StatedBinding::default() },
        content_type: "text/plain".to_owned(),
        content: vec![0; bytes],
        lifetime: None,
    };
    let namespace = || DocumentPath::parse(owner.to_string()).ok();
    for n in 0..40 {
        let bound = (n % 2 == 0).then_some(chat_id);
        database
            .put_document(scope, &path(n), new(300_000, bound), PutCondition::NEW)
            .await
            .unwrap();
        let condition = AppendCondition::default();
        database.append_document(scope, &path(n), new(9, None), condition).await.unwrap();
        let condition = AppendCondition { offset: Some(0), write_id: None };
        database.append_document(scope, &path(n), new(300_000, None), condition).await.unwrap();
    }
    database.put_document(scope, &path(0), new(1, None), PutCondition::default()).await.unwrap();
    let range = DocumentRange::From(262_000, 200);
    database.read_document(scope, &path(1), range).await.unwrap().unwrap();
    let of_chat = || Some(chat_id.clone());
    for filter in [
        DocumentFilter { namespace: namespace(), ..DocumentFilter::default() },
        DocumentFilter { chat_id: of_chat(), with_content: true, ..DocumentFilter::default() },
    ] {
        let page = database.list_documents(scope, &filter, 5, None).await.unwrap();
        assert_eq!(page.documents.len(), 5);
        database.list_documents(scope, &filter, 5, page.next.as_ref()).await.unwrap();
        database.list_namespaces(scope, &filter, 1, 5, None).await.unwrap();
        assert_eq!(database.delete_documents(scope, &filter, 3).await.unwrap().deleted, 3);
    }
    assert!(database.delete_document(scope, &path(39)).await.unwrap());
}

async fn use_streams(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let owner = scope.caller.person().is_some();
    let id = |n: usize| StreamId::parse(format!("{owner}_{n}")).unwrap();
    let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
    let ending = StreamEnding::of(StreamState::Finished);
    for n in 0..30 {
        let new = NewStream { stream_id: Some(id(n)), header: header.clone() };
        database.start_stream(scope, chat_id, new).await.unwrap();
        let chunks = vec!["\"a\"".to_owned()];
        database.append_chunks(scope, chat_id, &id(n), 0, chunks).await.unwrap();
        database.cancel_stream(scope, chat_id, &id(n)).await.unwrap();
        database.stream_groups(scope, chat_id, &id(n), Some(0)).await.unwrap();
        database.end_stream(scope, chat_id, &id(n), ending.clone(), None).await.unwrap();
    }
    assert!(database.list_streams(scope, chat_id).await.unwrap().len() >= 30);
    database.remove_ended_streams(10).await.unwrap();
}

async fn use_everything(database: &Database) {
    let user = UserId::parse("user").unwrap();
    let team_id = Some(TeamId::parse("team").unwrap());
    let caller = Caller::User { user_id: user.clone(), team_id, may_run: true };
    let as_user = Scope { caller, permission: Permission::Run, ..scope() };
    for scope in [scope(), as_user] {
        let new = NewChatSession {
            user_id: Some(user.clone()),
            ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
        };
        let chat_id = database.create_chat(&scope, new).await.unwrap().chat_id;
        let again = NewChatSession {
            chat_id: Some(chat_id.clone()),
            ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
        };
        database.create_chat(&scope, again).await.unwrap_err();
        use_messages(database, &scope, &chat_id).await;
        use_context_and_artifact(database, &scope, &chat_id).await;
        use_forks(database, &scope, &chat_id).await;
        use_calls(database, &scope, &chat_id).await;
        use_tool_runs(database, &scope, &chat_id).await;
        use_inputs(database, &scope, &chat_id).await;
        use_participants(database, &scope, &chat_id).await;
        use_lists(database, &scope).await;
        use_search(database, &scope, &chat_id).await;
        use_wallet(database, &scope).await;
        use_assistants(database, &scope).await;
        use_documents(database, &scope, &chat_id).await;
        use_streams(database, &scope, &chat_id).await;
        use_ticket(database, &scope, &chat_id).await;
        use_lease(database, &scope, &chat_id).await;
        use_turns(database, &scope, &chat_id).await;
        use_session_changes(database, &scope, &chat_id).await;
        database.get_chat(&scope, &chat_id).await.unwrap().unwrap();
        for status in [ChatStatus::Paused, ChatStatus::Completed, ChatStatus::Running] {
            database.set_status(&scope, &chat_id, status, None).await.unwrap();
        }
    }
}

async fn use_search(database: &Database, scope: &Scope, chat_id: &ChatId) {
    database.index_chats(std::slice::from_ref(chat_id)).await.unwrap();
    let mut after = None;
    loop {
        after = database.catch_up_index(&scope.app_id, after.as_ref(), 1).await.unwrap();
        if after.is_none() {
            break;
        }
    }
    for words in ["hello", "hel*", "hello message"] {
        let search = MessageSearch::of(SearchQuery::parse(words).unwrap());
        let in_chat = MessageSearch { chat_id: Some(chat_id.clone()), ..search.clone() };
        let of_app = MessageSearch { of_app: true, ..search.clone() };
        for search in [search, in_chat, of_app] {
            let first = database.search_messages(scope, &search, 2, None).await.unwrap();
            database.search_messages(scope, &search, 2, first.next.as_ref()).await.unwrap();
        }
    }
    database.store.rebuild_search(&scope.app_id, &|_| {}).await.unwrap();
}

/// Signs and verifies the chats that were used, and one with a full block.
async fn use_integrity(database: &Database) {
    let chat_id = chat(database).await;
    database.append(&scope(), &chat_id, numbered("ids", 300)).await.unwrap();
    for since in [None, Some(SystemClock.now() - TimeDelta::minutes(5))] {
        sign_all(&**database, since).await.unwrap();
        let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
        database.update_message(&scope(), &chat_id, 5, edit).await.unwrap();
    }
    database.prove_message(&scope(), &chat_id, 5).await.unwrap();
    let app_id = &scope().app_id;
    let exported = database.checkpoints(app_id, None, 10).await.unwrap();
    let exported: Vec<String> = exported.into_iter().map(|it| it.signed).collect();
    for of in [None, Some(app_id)] {
        database.verify_integrity(of, &exported, &mut |_| {}).await.unwrap();
    }
}

async fn use_session_changes(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let everything = SessionChange {
        title: FieldChange::Set("title".to_owned()),
        metadata: Some([("n".to_owned(), json!(1))].into_iter().collect()),
        visibility: Some(Visibility::App),
        team_id: FieldChange::Set(TeamId::parse("team").unwrap()),
        assistant_id: FieldChange::Set(AssistantId::parse("assistant").unwrap()),
        sort: Some(1),
        system_prompt: FieldChange::Set("Be brief.".to_owned()),
        lifecycle: Some(Lifecycle::Archived),
    };
    database.change_chat(scope, chat_id, everything).await.unwrap();
    for lifecycle in [Lifecycle::Deleted, Lifecycle::Active] {
        let change = SessionChange::to_lifecycle(lifecycle);
        database.change_chat(&scope.finding_deleted(), chat_id, change).await.unwrap();
    }
}

/// Forks a chat, and makes all the usual calls on the chat and on its fork.
async fn use_forks(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let user_id = scope.caller.person().cloned();
    let fork = |sequence| NewFork { sequence, user_id: user_id.clone(), ..NewFork::default() };
    let forked = database.fork_chat(scope, chat_id, fork(None)).await.unwrap().chat_id;
    let of_fork = database.fork_chat(scope, &forked, fork(Some(40))).await.unwrap().chat_id;
    for chat_id in [chat_id, &forked, &of_fork] {
        use_messages(database, scope, chat_id).await;
        let call_id = CallId::parse("call_of_a_fork").unwrap();
        let call = NewProviderCall { call_id: Some(call_id.clone()), ..NewProviderCall::default() };
        database.record_calls(scope, chat_id, vec![call], Billing::Free).await.unwrap();
        database.delete_call(scope, chat_id, &call_id).await.unwrap();
    }
}

async fn use_inputs(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let asked = ["q1", "q2", "q3", "q4"].map(|id| InputRequestId::parse(id).unwrap());
    for request_id in &asked {
        let question = Question::of("Why?");
        let request_id = Some(request_id.clone());
        let new = NewInputRequest { request_id, question, expires_in_sec: Some(1) };
        database.request_input(scope, chat_id, new).await.unwrap();
    }
    let answer = NewInputAnswer::of("so");
    database.answer_input_request(scope, chat_id, &asked[0], answer).await.unwrap();
    database.cancel_input_request(scope, chat_id, &asked[1], None).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(database.expire_input_requests(1).await.unwrap(), 1);
    database.get_input_request(scope, chat_id, &asked[3]).await.unwrap();
    database.find_input_requests(scope, &asked[3]).await.unwrap();
    let person = Caller::User {
        user_id: UserId::parse("user").unwrap(),
        team_id: TeamId::parse("team").ok(),
        may_run: true,
    };
    let person = Scope::new(scope.app_id.clone(), person, Permission::Read);
    for scope in [scope, &person] {
        for order in [PendingOrder::Newest, PendingOrder::Oldest] {
            let page = database.list_pending_inputs(scope, order, 1, None).await.unwrap();
            database.list_pending_inputs(scope, order, 1, page.next.as_ref()).await.unwrap();
        }
    }
    let page = database.list_input_requests(scope, chat_id, 2, None).await.unwrap();
    database.list_input_requests(scope, chat_id, 2, page.next.as_ref()).await.unwrap();
}

async fn use_participants(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let name = DisplayName::parse("Ada").unwrap();
    for role in MemberRole::ALL {
        let user_id = UserId::parse("eve").unwrap();
        database.put_member(scope, chat_id, &user_id, role).await.unwrap();
    }
    database.list_members(scope, chat_id).await.unwrap();
    for user_id in ["ada", "bob"].map(|user_id| UserId::parse(user_id).unwrap()) {
        for _ in 0..2 {
            database.join_chat(scope, chat_id, &user_id, Some(&name)).await.unwrap();
        }
        let page = database.list_participants(scope, chat_id, 1, None).await.unwrap();
        database.list_participants(scope, chat_id, 1, page.next.as_ref()).await.unwrap();
        database.leave_chat(scope, chat_id, &user_id).await.unwrap();
        let connection_id = ConnectionId::parse(user_id.as_str()).unwrap();
        let connection = Connection { connection_id, chat_id: chat_id.clone(), user_id };
        for _ in 0..2 {
            let hour = Duration::from_hours(1);
            database
                .announce(scope, &[connection.clone(), connection.clone()], hour)
                .await
                .unwrap();
        }
        assert_eq!(database.presence(scope, chat_id).await.unwrap().count, 1);
        database.withdraw(scope, &[connection]).await.unwrap();
    }
}

async fn use_ticket(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let digest = TicketDigest::of(chat_id.as_str());
    let (caller_expires_at, credential) = Default::default();
    let (valid_for, grant) = (Duration::from_secs(30), Grant::ReadAndSay);
    let ticket = NewTicket { digest, valid_for, grant, caller_expires_at, credential };
    database.create_ticket(scope, chat_id, ticket).await.unwrap();
    for is_good in [true, false] {
        let redeemed = database.redeem_ticket(&scope.app_id, chat_id, digest).await.unwrap();
        assert_eq!(redeemed.is_some(), is_good);
    }
}

async fn use_revocations(database: &Database) {
    let target = RevocationTarget::User(UserId::parse("user").unwrap());
    let key = RevocationKey { target, app_id: None };
    let new = NewRevocation { key: key.clone(), issued_until: None, expires_at: None };
    for app_id in [None, Some(scope().app_id)] {
        let key = RevocationKey { app_id, ..key.clone() };
        database
            .revoke(&Actor::command_line(), NewRevocation { key, ..new.clone() })
            .await
            .unwrap();
    }
    database.revoke(&Actor::command_line(), new).await.unwrap();
    database.lift_revocation(&Actor::command_line(), &key).await.unwrap();
    let page = database.list_revocations(1, None).await.unwrap();
    let rest = database.list_revocations(1, page.next.as_ref()).await.unwrap();
    let begin = RevocationCursor::before(page.entries[0].changed_at, TimeDelta::minutes(1));
    let both = database.list_revocations(9, Some(&begin)).await.unwrap();
    assert_eq!((rest.entries.len(), both.entries.len()), (1, 2));
}

async fn use_lease(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let ttl = Lease::MIN_TTL;
    database.set_status(scope, chat_id, ChatStatus::Running, None).await.unwrap();
    for _ in 0..2 {
        let new = NewLease { lease_id: None, owner: Owner::parse("o").unwrap(), ttl };
        let token = database.acquire_lease(scope, chat_id, new).await.unwrap().fencing_token;
        database.renew_lease(scope, chat_id, token, ttl).await.unwrap();
        tokio::time::sleep(ttl * 2).await;
        database.release_lease(scope, chat_id, token - 1).await.unwrap();
        database.revoke_lease(scope, chat_id, DateTime::UNIX_EPOCH).await.unwrap();
    }
    assert_eq!(database.interrupt_abandoned(9).await.unwrap().len(), 1);
}

async fn use_turns(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let stack_id = StackId::parse("stk_1").unwrap();
    let step = Step::new(StepKind::Llm, StackFrame::root(stack_id.clone()));
    let body = MessageBody::new("user", Some("user"), "hello");
    let turn = |request_id: &str, messages, outcome| NewTurn {
        request_id: TurnId::parse(request_id).unwrap(),
        outcome,
        messages: vec![TurnMessage { body: body.clone(), author: None }; messages],
        steps: vec![step.clone()],
        connector: None,
        mode: None,
    };
    for _ in 0..2 {
        for (index, messages) in [0, 2, 40, 1_100].into_iter().enumerate() {
            for outcome in [TurnOutcome::Completed, TurnOutcome::Failed] {
                let turn = turn(&format!("{}-{index}", outcome.as_str()), messages, outcome);
                if messages > 0 || outcome == TurnOutcome::Failed {
                    database.append_turn(scope, chat_id, turn).await.unwrap();
                }
            }
        }
    }
    let request_id = Some(TurnId::parse("failed-0").unwrap());
    for filter in [
        ResumePointFilter::default(),
        ResumePointFilter { request_id: request_id.clone(), stack_id: None },
        ResumePointFilter { request_id: None, stack_id: Some(stack_id) },
    ] {
        for cursor in [None, Some(ResumePointCursor { turn: 2, sequence: 1 })] {
            database.list_resume_points(scope, chat_id, &filter, 10, cursor).await.unwrap();
        }
    }
    database.last_resume_point(scope, chat_id).await.unwrap();
    for request_id in [request_id.as_ref(), None] {
        assert!(database.delete_resume_points(scope, chat_id, request_id).await.unwrap() > 0);
    }
}

async fn use_stats(database: &Database) {
    let workflow_name = WorkflowName::parse("Generator").unwrap();
    let app_id = scope().app_id;
    database.workflow_stats(&app_id, &workflow_name).await.unwrap();
    let first = database.list_chat_stats(&app_id, &workflow_name, 1, None).await.unwrap();
    let after = first.next.as_ref();
    assert!(after.is_some());
    database.list_chat_stats(&app_id, &workflow_name, 1, after).await.unwrap();
    database.app_stats(&app_id).await.unwrap();
    let ever = || DateTime::UNIX_EPOCH..DateTime::<Utc>::MAX_UTC;
    for workflow_name in [None, Some(&workflow_name)] {
        database.hourly_stats(&app_id, workflow_name, ever()).await.unwrap();
    }
    for (by, range) in [(UsageBy::Agent, None), (UsageBy::Model, Some(ever()))] {
        let filter = UsageFilter { range, ..UsageFilter::default() };
        let shares = database.usage_by(&app_id, by, &filter, 9).await.unwrap().shares;
        let subjects: Vec<_> = shares.into_iter().map(|(subject, _)| subject).collect();
        database.hourly_usage(&app_id, &subjects, ever()).await.unwrap();
    }
    assert_eq!(database.list_apps_with_stats(9, None).await.unwrap().apps, [app_id]);
    for workflow in database.counted_workflows(None).await.unwrap() {
        let mut found = Vec::new();
        let mut tell = |difference| found.push(difference);
        database.verify_stats(&workflow, &|| {}, &mut tell).await.unwrap();
        assert_eq!(found, []);
    }
}

async fn use_apps(database: &Database) {
    let app_id = scope().app_id;
    database.get_app(&app_id).await.unwrap();
    for _ in 0..2 {
        database.register_app(&Actor::command_line(), &app_id).await.unwrap();
        database
            .set_app_status(&Actor::command_line(), &app_id, AppStatus::Disabled)
            .await
            .unwrap();
        let change = SettingsChange {
            default_visibility: FieldChange::Set(Visibility::Link),
            support_access: FieldChange::Set(true),
            users_may_run: FieldChange::Set(true),
            retention: RetentionChange {
                completed_days: FieldChange::Set(1),
                failed_days: FieldChange::Set(2),
                abandoned_days: FieldChange::Set(3),
                deleted_days: FieldChange::Set(4),
                tool_run_days: FieldChange::Set(5),
                archive_after_days: FieldChange::Set(6),
            },
            metadata_keys: FieldChange::Set(MetadataKeys::parse(vec!["a".into()]).unwrap()),
        };
        database.update_app(&Actor::command_line(), &app_id, change).await.unwrap();
    }
    use_audit_log(database, &app_id).await;
    let (new, scope) = (NewChatSession::of(WorkflowName::parse("flow").unwrap()), scope());
    let chat_id = database.create_chat(&scope, new).await.unwrap().chat_id;
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    let behind = doc! { "$unset": { "attrs_version": "" } };
    sessions.update_one(doc! { "_id": chat_id.as_str() }, behind).await.unwrap();
    while database.index_metadata(9).await.unwrap() > 0 {}
    let metadata = MetadataFilter::parse("a:1").ok();
    let filter = ChatFilter { metadata, ..ChatFilter::default() };
    database.list_chats(&scope, &filter, 9, None).await.unwrap();
    database.count_chats(&scope, &filter).await.unwrap();
    database.list_apps(10, None).await.unwrap();
    database.list_apps(10, Some(&app_id)).await.unwrap();
    database.list_holds(&app_id, 10, ChatId::parse("chat").ok().as_ref()).await.unwrap();
}

async fn use_audit_log(database: &Database, app_id: &AppId) {
    let user = UserId::parse("user").unwrap();
    let action = AuditAction::GetApp;
    let actor = Actor { person: Some(user.clone()), ..Actor::command_line() };
    for _ in 0..2 {
        database.record_registry_read(&actor, Some(app_id), action).await.unwrap();
    }
    database.record_chat_read(&scope(), None, AuditAction::ListChats).await.unwrap();
    let person = database.get_pseudonym(Some(app_id), &user).await.unwrap();
    let app_id = Some(app_id.clone());
    let chat_id = ChatId::parse("chat").ok();
    let since = Some(DateTime::<Utc>::UNIX_EPOCH);
    for filter in [
        AuditFilter::default(),
        AuditFilter {
            action: Some(action),
            since,
            until: Some(DateTime::<Utc>::MAX_UTC),
            ..AuditFilter::default()
        },
        AuditFilter { app_id: app_id.clone(), ..AuditFilter::default() },
        AuditFilter { chat_id, app_id: app_id.clone(), ..AuditFilter::default() },
        AuditFilter { person, app_id: app_id.clone(), ..AuditFilter::default() },
    ] {
        let page = database.list_audit_entries(&filter, 1, None).await.unwrap();
        database.list_audit_entries(&filter, 1, page.next.as_ref()).await.unwrap();
    }
    database.destroy_pseudonym(app_id.as_ref(), &user).await.unwrap();
}

async fn use_wallet(database: &Database, scope: &Scope) {
    let user = UserId::parse("user").unwrap();
    for _ in 0..2 {
        database.ensure_wallet(scope, &user, 1_000).await.unwrap();
        for n in 0..70 {
            let entry_id = EntryId::parse(format!("entry-{n}")).unwrap();
            let debit = NewWalletEntry { entry_id, amount: 1, reason: None };
            database.debit(scope, &user, debit).await.unwrap();
        }
    }
    let entry_id = EntryId::parse("too much").unwrap();
    let debit = NewWalletEntry { entry_id, amount: 1_000, reason: None };
    database.try_debit(scope, &user, debit).await.unwrap();
    database.get_wallet(scope, &user).await.unwrap();
    for before in [None, Some(30)] {
        database.list_wallet_entries(scope, &user, 50, before).await.unwrap();
    }
    database.list_wallets(scope, 10, None).await.unwrap();
    database.list_wallets(scope, 10, Some(&user)).await.unwrap();
    let app_id = database.next_app_with_wallets(None).await.unwrap();
    database.next_app_with_wallets(app_id.as_ref()).await.unwrap();
}

async fn use_messages(database: &Database, scope: &Scope, chat_id: &ChatId) {
    let message = |index: usize| NewMessage {
        event_id: Some(EventId::parse(format!("event-{index}")).unwrap()),
        ..MessageBody::new("user", Some("user"), format!("message {index}")).into()
    };
    let first = vec![MessageBody::new("user", Some("user"), "start").into()];
    database.persist_initial_messages(scope, chat_id, first).await.unwrap();
    let batch = || (1..60).map(message).collect::<Vec<_>>();
    database.append(scope, chat_id, batch()).await.unwrap();
    database.seal(&scope.app_id, chat_id, Interruption::Never).await.unwrap();
    database.append(scope, chat_id, batch()).await.unwrap();
    database.append(scope, chat_id, vec![message(60)]).await.unwrap();
    database.heads(scope, std::slice::from_ref(chat_id)).await.unwrap();
    database.confirmed_head(scope, chat_id).await.unwrap();
    for range in [
        MessageRange::all(),
        MessageRange::Oldest { after: Some(3), before: Some(20), limit: 5 },
        MessageRange::Newest { before: Some(50), limit: 30 },
    ] {
        database.messages(scope, chat_id, range).await.unwrap();
    }
    for sequence in [2, 60] {
        let message = database.get_message(scope, chat_id, sequence).await.unwrap();
        if message.deleted_at.is_none() {
            let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
            database.update_message(scope, chat_id, sequence, edit).await.unwrap();
        }
        database.delete_message(scope, chat_id, sequence).await.unwrap();
    }
    let large = MessageEdit { content: Some("x".repeat(2 << 20).into()), ..MessageEdit::default() };
    database.update_message(scope, chat_id, 5, large).await.unwrap();
}

async fn use_context_and_artifact(database: &Database, scope: &Scope, chat_id: &ChatId) {
    for text in ["small".to_owned(), "large".repeat(10_000), "small".to_owned()] {
        let data: JsonObject = [("key".to_owned(), json!(text))].into_iter().collect();
        database.update_context_snapshot(scope, chat_id, data.clone()).await.unwrap();
        database.merge_context_snapshot(scope, chat_id, data).await.unwrap();
        database.load_context_snapshot(scope, chat_id).await.unwrap();
        let artifact = NewArtifact { payload: json!(text), ..NewArtifact::default() };
        database.update_last_artifact(scope, chat_id, artifact).await.unwrap();
        database.get_last_artifact(scope, chat_id).await.unwrap();
    }
    database.clear_last_artifact(scope, chat_id).await.unwrap();
    use_context_history(database, scope, chat_id).await;
}

async fn use_context_history(database: &Database, scope: &Scope, chat_id: &ChatId) {
    for n in 0..30 {
        let data: JsonObject = [("n".to_owned(), json!(n))].into_iter().collect();
        database.update_context_snapshot(scope, chat_id, data).await.unwrap();
    }
    let page = database.list_context_versions(scope, chat_id, 20, None).await.unwrap();
    database.list_context_versions(scope, chat_id, 20, page.next).await.unwrap();
    for version in [1, 3, 36, 99] {
        database.get_context_version(scope, chat_id, version).await.unwrap();
    }
}

async fn use_lists(database: &Database, scope: &Scope) {
    let everything = ChatFilter {
        of_app: true,
        workflow_name: Some(WorkflowName::parse("Generator").unwrap()),
        user_id: Some(UserId::parse("user").unwrap()),
        statuses: vec![ChatStatus::Running],
        created_from: Some(DateTime::<Utc>::UNIX_EPOCH),
        created_before: Some(DateTime::<Utc>::MAX_UTC),
        lifecycles: vec![Lifecycle::Archived],
        order: ChatOrder::Created,
        ..ChatFilter::default()
    };
    let one = |change: fn(&mut ChatFilter, &ChatFilter)| {
        let mut filter = ChatFilter::default();
        change(&mut filter, &everything);
        filter
    };
    let filters = [
        ChatFilter::default(),
        one(|filter, all| filter.workflow_name.clone_from(&all.workflow_name)),
        one(|filter, all| filter.user_id.clone_from(&all.user_id)),
        one(|filter, all| filter.statuses.clone_from(&all.statuses)),
        one(|filter, all| filter.created_from = all.created_from),
        everything.clone(),
    ];
    let created_at = DateTime::<Utc>::from_timestamp_millis(4_000_000_000_000).unwrap();
    let chat_id = ChatId::parse("chat_x").unwrap();
    let cursor = ListCursor { position: Position::Created(created_at), chat_id: chat_id.clone() };
    for filter in filters {
        database.list_chats(scope, &filter, 20, None).await.unwrap();
        database.list_chats(scope, &filter, 20, Some(&cursor)).await.unwrap();
    }
    use_lists_by_activity(database, scope, created_at, chat_id).await;
}

async fn use_lists_by_activity(
    database: &Database,
    scope: &Scope,
    minute: DateTime<Utc>,
    chat_id: ChatId,
) {
    let cursor = ListCursor { position: Position::Active(minute), chat_id };
    let user_id = UserId::parse("user").unwrap();
    let team_id = TeamId::parse("team").ok();
    let caller = Caller::User { user_id: user_id.clone(), team_id, may_run: true };
    let person = Scope::new(scope.app_id.clone(), caller, Permission::Read);
    let by_activity = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let of_user = ChatFilter { user_id: Some(user_id), ..by_activity.clone() };
    let of_app = ChatFilter { of_app: true, ..by_activity.clone() };
    for lifecycle in [None, Some(Lifecycle::Active), Some(Lifecycle::Archived)] {
        for (scope, filter) in [
            (scope, &by_activity),
            (scope, &of_user),
            (&person, &by_activity),
            (&person, &of_user),
            (&person, &of_app),
        ] {
            let lifecycles = Vec::from_iter(lifecycle);
            let filter = ChatFilter { lifecycles, ..filter.clone() };
            database.list_chats(scope, &filter, 20, None).await.unwrap();
            database.list_chats(scope, &filter, 20, Some(&cursor)).await.unwrap();
        }
    }
}
