//! Documents of every released version load; documents of a newer version are refused.

use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use persistence::mongo::{Interruption, Workflow};
use persistence::{
    AppDocuments, Apps, Artifacts, AssistantFilter, Assistants, Calls, Changes, ChatSessions,
    ContextHistory, Contexts, DocumentRange, Forks, InputRequests, Leases, Members, MessageRange,
    Messages, Participants, Presence, Resumption, Revocations, Stats, StoreError, Streams, Tickets,
    ToolRunFilter, ToolRuns, Turns, Wallets,
};
use records::{
    Actor, AppId, BoundToolCall, ChatId, ChatStatus, Connection, ConnectionId, Credential,
    DocumentPath, EntryId, Grant, JsonObject, Member, MemberRole, MessageBody, MessageEdit,
    NewArtifact, NewChatSession, NewFork, NewInputRequest, NewLease, NewRevocation, NewTicket,
    NewToolRun, NewTurn, NewWalletEntry, Owner, Question, RevocationKey, RevocationTarget, Scope,
    StackFrame, StackId, Step, StepKind, Ticket, TicketDigest, TurnId, TurnMessage, TurnOutcome,
    UserId, Visibility, WorkflowName,
};

use serde_json::json;

use super::database::Database;
use super::formats::NEWEST;
use super::goldens::{assert_fields, assert_golden, golden};
use crate::waiting::until;

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

#[tokio::test]
async fn documents_of_version_1_load() {
    let database = Database::create().await;
    database.insert("chat_sessions", golden("chat_session", 1)).await;
    database.insert("chat_segments", golden("chat_segment", 1)).await;
    database.insert("chat_blobs", golden("chat_blob", 1)).await;
    database.insert("provider_calls", golden("provider_call", 1)).await;
    database.insert("tool_runs", golden("tool_run", 1)).await;
    database.insert("workflow_stats", golden("workflow_stats", 1)).await;
    database.insert("workflow_stats", golden("rollup", 1)).await;
    database.insert("status_changes", golden("status_change", 1)).await;
    database.insert("input_requests", golden("input_request", 1)).await;
    database.insert("resume_points", golden("resume_point", 1)).await;
    let chat_id = ChatId::parse("chat_golden").unwrap();

    let chat = database.get_chat(&scope(), &chat_id).await.unwrap().unwrap();
    insta::assert_debug_snapshot!("chat_session_v1", chat);
    let page = database.messages(&scope(), &chat_id, MessageRange::all()).await.unwrap();
    insta::assert_debug_snapshot!("messages_v1", page);
    let context = database.load_context_snapshot(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("context_v1", context);
    let point = database.last_resume_point(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("resume_point_v1", point);
    database.insert("context_snapshots", golden("context_snapshot", 1)).await;
    let versions = database.list_context_versions(&scope(), &chat_id, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("context_versions_v1", versions);
    for listed in versions.versions {
        let kept = database.get_context_version(&scope(), &chat_id, listed.version).await;
        assert_eq!(kept.unwrap().unwrap().version, listed);
    }
    let artifact = database.get_last_artifact(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("artifact_v1", artifact);
    let calls = database.list_calls(&scope(), &chat_id, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("calls_v1", calls);
    let filter = ToolRunFilter::default();
    let runs = database.list_tool_runs(&scope(), &chat_id, &filter, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("tool_runs_v1", runs.runs);
    let usage = database.chat_usage(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("usage_v1", usage);
    let requests = database.list_input_requests(&scope(), &chat_id, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("input_requests_v1", requests);
    let workflow_name = WorkflowName::parse("Generator").unwrap();
    let stats = database.workflow_stats(&scope().app_id, &workflow_name).await.unwrap();
    insta::assert_debug_snapshot!("stats_v1", stats.models);
    let workflow = Workflow { app_id: scope().app_id, workflow_name };
    database.verify_stats(&workflow, &|| {}, &mut |_| {}).await.unwrap();

    database.insert("assistants", golden("assistant", 1)).await;
    let all = AssistantFilter::default();
    let assistants = database.list_assistants(&scope(), &all, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("assistants_v1", assistants.assistants);
    database.insert("documents", golden("document", 1)).await;
    database.insert("document_parts", golden("document_part", 1)).await;
    let path = DocumentPath::parse("notes/plan.md").unwrap();
    let all = DocumentRange::From(0, u64::MAX);
    let document = database.read_document(&scope(), &path, all).await.unwrap().unwrap();
    assert_eq!(document.content, b"Picnic by the lake");
    insta::assert_debug_snapshot!("document_v1", document.head);
    for (collection, record) in [
        ("streams", "stream"),
        ("stream_groups", "stream_group"),
        ("stream_groups", "stream_group_ended"),
    ] {
        database.insert(collection, golden(record, 1)).await;
    }
    let streams = database.list_streams(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("streams_v1", streams);
    let stream_id = &streams[0].stream_id;
    let groups = database.stream_groups(&scope(), &chat_id, stream_id, None).await.unwrap();
    insta::assert_debug_snapshot!("stream_groups_v1", groups);
    database.insert("chat_participants", golden("chat_participants", 1)).await;
    let participants = database.list_participants(&scope(), &chat_id, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("participants_v1", participants);
    database.insert("presence", golden("presence", 1)).await;
    let presence = database.presence(&scope(), &chat_id).await.unwrap();
    insta::assert_debug_snapshot!("presence_v1", presence.present);
    let alice = UserId::parse("alice").unwrap();
    database.leave_chat(&scope(), &chat_id, &alice).await.unwrap();

    let more = vec![MessageBody::new("user", Some("user"), "more").into()];
    let append = database.append(&scope(), &chat_id, more).await.unwrap();
    assert_eq!(append.last_sequence, page.last_sequence + 1);
}

/// Chats that were open to every user of the app, as the documents of earlier releases say, are open to those who know
/// the id. Only chats that say so are listed, too.
#[tokio::test]
async fn a_shared_chat_loads_with_its_visibility_and_members() {
    let database = Database::create().await;
    let golden = golden("chat_shared", 1);
    let chat_id = ChatId::parse("chat_golden_shared").unwrap();
    database.insert("chat_sessions", golden.clone()).await;
    let members = database.list_members(&scope(), &chat_id).await.unwrap();
    let (bob, carol) = (UserId::parse("user_bob").unwrap(), UserId::parse("user_carol").unwrap());
    let expected = [(bob, MemberRole::Member), (carol, MemberRole::Reader)];
    assert_eq!(members, expected.map(|(user_id, role)| Member { user_id, role }));
    let chat = database.get_chat(&scope(), &chat_id).await.unwrap().unwrap();
    assert_eq!(chat.visibility, Visibility::App);
    let mut earlier = golden;
    earlier.insert("_id", "chat_golden_earlier");
    for field in ["is_listed", "members"] {
        earlier.remove(field).unwrap();
    }
    database.insert("chat_sessions", earlier).await;
    let chat_id = ChatId::parse("chat_golden_earlier").unwrap();
    let chat = database.get_chat(&scope(), &chat_id).await.unwrap().unwrap();
    assert_eq!(chat.visibility, Visibility::Link);
    assert_eq!(database.list_members(&scope(), &chat_id).await.unwrap(), []);
}

/// Loads a chat without the fields that were added to version 1 later.
#[tokio::test]
async fn chats_without_change_counters_load() {
    let database = Database::create().await;
    let mut golden = golden("chat_session", 1);
    for field in [
        "recent_edits",
        "artifact_version",
        "pending_inputs",
        "recent_inputs",
        "input_version",
        "context_written",
        "context_recent",
    ] {
        golden.remove(field).unwrap();
    }
    database.insert("chat_sessions", golden).await;
    let chat_id = ChatId::parse("chat_golden").unwrap();
    let before = database.confirmed_head(&scope(), &chat_id).await.unwrap();
    assert_eq!((before.revision, before.artifact_version), (1, 0));
    assert_eq!(before.edits_since(0), None);

    database.delete_message(&scope(), &chat_id, 3).await.unwrap();
    database.clear_last_artifact(&scope(), &chat_id).await.unwrap();
    let head = database.confirmed_head(&scope(), &chat_id).await.unwrap();
    assert_eq!((head.revision, head.artifact_version), (2, 1));
    assert_eq!(head.edits_since(1), Some(vec![(2, 3)]));

    database.insert("chat_blobs", self::golden("chat_blob", 1)).await;
    let context = database.load_context_snapshot(&scope(), &chat_id).await.unwrap();
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    let forked = database.load_context_snapshot(&scope(), &fork).await.unwrap();
    assert_eq!(forked, context);
    let versions = async || database.list_context_versions(&scope(), &chat_id, 9, None).await;
    assert_eq!(versions().await.unwrap().versions, []);
    database.update_context_snapshot(&scope(), &chat_id, JsonObject::new()).await.unwrap();
    let versions = versions().await.unwrap().versions;
    assert_eq!(versions.iter().map(|kept| kept.version).collect::<Vec<_>>(), [4]);
}

#[tokio::test]
async fn forks_of_every_version_load() {
    for version in [1, 2] {
        let database = Database::create().await;
        for (collection, record, version) in [
            ("chat_sessions", "chat_session", version),
            ("chat_sessions", "chat_fork", version),
            ("chat_segments", "chat_segment", 1),
            ("message_versions", "message_version", 1),
        ] {
            database.insert(collection, golden(record, version)).await;
        }
        let chat_id = ChatId::parse("chat_golden_fork").unwrap();
        let chat = database.get_chat(&scope(), &chat_id).await.unwrap().unwrap();
        let of_fork = (chat.chat_id, chat.title, chat.last_sequence, chat.forked_from);
        insta::assert_debug_snapshot!("chat_fork_v1", of_fork);
        let page = database.messages(&scope(), &chat_id, MessageRange::all()).await.unwrap();
        insta::assert_debug_snapshot!("messages_of_a_fork_v1", page);
        for chat_id in [chat_id, ChatId::parse("chat_golden").unwrap()] {
            let more = vec![MessageBody::new("user", Some("user"), "more").into()];
            database.append(&scope(), &chat_id, more).await.unwrap();
            database.delete_message(&scope(), &chat_id, 0).await.unwrap();
        }
    }
}

/// Loads resume points with cut paths and with a whole path, and a turn without messages.
#[tokio::test]
async fn turns_of_version_1_load() {
    let database = Database::create().await;
    let mut session = golden("chat_session", 1);
    session.insert("turns_without_messages", 1_i64);
    database.insert("chat_sessions", session).await;
    for (collection, record) in [
        ("chat_segments", "chat_segment"),
        ("chat_blobs", "chat_blob"),
        ("input_requests", "input_request"),
        ("resume_points", "resume_point"),
        ("resume_points", "resume_point_cut"),
        ("turns_without_messages", "turn_without_messages"),
    ] {
        database.insert(collection, golden(record, 1)).await;
    }
    let chat_id = ChatId::parse("chat_golden").unwrap();
    let state = database.resume_state(&scope(), &chat_id).await.unwrap().state;
    insta::assert_debug_snapshot!("resume_points_v1", state.resume_points);
    let request_id = TurnId::parse("turn_golden_silent").unwrap();
    let turn = NewTurn { request_id, ..interrupted_turn() };
    let refusal = database.append_turn(&scope(), &chat_id, turn).await.unwrap_err();
    assert!(matches!(refusal, StoreError::TurnConflict { .. }), "{refusal:?}");
}

#[tokio::test]
async fn written_turns_have_the_fields_of_their_version() {
    // Before and after an upgrade from an older release is finished.
    written_turns_have_the_fields_of(&Database::create_older(&[]).await, golden).await;
    let salted = |record: &str, version: u32| {
        let mut golden = golden(record, version);
        golden.insert("salt", self::golden("turn_without_messages", 4).get("salt").cloned());
        golden
    };
    written_turns_have_the_fields_of(&Database::create_unsealed().await, salted).await;
}

async fn written_turns_have_the_fields_of(
    database: &Database,
    golden: impl Fn(&str, u32) -> Document,
) {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let mut turn = NewTurn { messages: Vec::new(), ..interrupted_turn() };
    turn.steps.push(turn.steps[0].clone());
    database.append_turn(&scope(), &chat_id, turn).await.unwrap();
    let written = async |collection: &str| {
        let documents = database.all(collection).await;
        documents.iter().map(|raw| Document::try_from(&**raw).unwrap()).collect::<Vec<_>>()
    };
    let session = &written("chat_sessions").await[0];
    assert_eq!(session.get_i64("turns_without_messages").unwrap(), 1);
    let name = &written("turns_without_messages").await[0];
    assert_fields(name, &golden("turn_without_messages", 1), "turn_without_messages");
    let points = written("resume_points").await;
    for (point, record) in points.iter().zip(["resume_point_cut", "resume_point"]) {
        assert_fields(point, &golden(record, 1), record);
        let length = point.get_array("stack_path").unwrap().len();
        assert_eq!(length, golden(record, 1).get_array("stack_path").unwrap().len(), "{record}");
    }
}

#[tokio::test]
async fn apps_and_wallets_of_version_1_load() {
    let database = Database::create().await;
    database.insert("apps", golden("app", 1)).await;
    database.insert("wallets", golden("wallet", 1)).await;
    database.insert("wallet_entries", golden("wallet_entry", 1)).await;
    let user_id = UserId::parse("alice").unwrap();

    let app = database.get_app(&scope().app_id).await.unwrap().unwrap();
    insta::assert_debug_snapshot!("app_v1", app);
    let wallet = database.get_wallet(&scope(), &user_id).await.unwrap().unwrap();
    insta::assert_debug_snapshot!("wallet_v1", wallet);
    let page = database.list_wallet_entries(&scope(), &user_id, 10, None).await.unwrap();
    insta::assert_debug_snapshot!("wallet_entries_v1", page);

    let entry_id = EntryId::parse("entry_2").unwrap();
    let debit = NewWalletEntry { entry_id, amount: 65, reason: None };
    let debit = database.debit(&scope(), &user_id, debit).await.unwrap();
    assert_eq!((debit.sequence, debit.balance), (3, 0));
}

#[tokio::test]
async fn a_ticket_of_version_1_loads() {
    let database = Database::create().await;
    database.insert("tickets", golden("ticket", 1)).await;
    let (app_id, chat_id) = (scope().app_id, ChatId::parse("chat_golden").unwrap());
    let digest = TicketDigest::of("golden ticket");
    let ticket = database.redeem_ticket(&app_id, &chat_id, digest).await.unwrap().unwrap();
    insta::assert_debug_snapshot!("ticket_v1", ticket);

    // As earlier releases wrote it.
    let mut earlier = golden("ticket", 1);
    earlier.insert("_id", TicketDigest::of("earlier").to_string());
    for field in ["permissions", "token_id", "token_subject", "token_issued_at", "token_key"] {
        earlier.remove(field).unwrap();
    }
    earlier.insert("redeemed_by", bson::Bson::Null);
    database.insert("tickets", earlier).await;
    let digest = TicketDigest::of("earlier");
    let earlier = database.redeem_ticket(&app_id, &chat_id, digest).await.unwrap().unwrap();
    let (credential, grant) = (Credential::default(), Grant::Everything);
    assert_eq!(earlier, Ticket { credential, grant, ..ticket });
}

#[tokio::test]
async fn a_revocation_of_version_1_loads_and_is_lifted() {
    let database = Database::create().await;
    database.insert("revocations", golden("revocation", 1)).await;
    let page = database.list_revocations(10, None).await.unwrap();
    insta::assert_debug_snapshot!("revocation_v1", page);
    assert!(
        database
            .lift_revocation(&Actor::command_line(), &page.entries[0].revocation.key)
            .await
            .unwrap()
    );
    let lifted = database.list_revocations(10, None).await.unwrap();
    assert!(lifted.entries.len() == 1 && lifted.entries[0].is_lifted, "{lifted:?}");
}

#[tokio::test]
async fn a_revocation_of_a_newer_version_is_refused_and_not_changed() {
    let database = Database::create().await;
    let mut newer = golden("revocation", 1);
    newer.insert("schema_version", 99_i64);
    database.insert("revocations", newer).await;
    let before = database.all("revocations").await;
    let target = RevocationTarget::User(UserId::parse("alice").unwrap());
    let key = RevocationKey { target, app_id: Some(scope().app_id) };
    let new = NewRevocation { key: key.clone(), issued_until: None, expires_at: None };
    let refusals = [
        database.revoke(&Actor::command_line(), new).await.unwrap_err(),
        database.lift_revocation(&Actor::command_line(), &key).await.unwrap_err(),
        database.list_revocations(10, None).await.unwrap_err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, StoreError::UnsupportedVersion { .. }), "{refusal:?}");
    }
    assert_eq!(database.all("revocations").await, before);
}

#[tokio::test]
async fn a_document_of_a_newer_version_is_refused_and_not_changed() {
    let database = Database::create().await;
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let newer = doc! { "$set": { "schema_version": 99 } };
    let sessions = database.raw.collection::<bson::RawDocumentBuf>("chat_sessions");
    sessions.update_one(doc! { "_id": chat_id.as_str() }, newer).await.unwrap();
    let before = database.all("chat_sessions").await;

    let message = || vec![MessageBody::new("user", Some("user"), "hello").into()];
    let tool_runs = || vec![NewToolRun { tool_name: "search".to_owned(), ..NewToolRun::default() }];
    let (store, scope) = (&database.store, &scope());
    let refusals: Vec<StoreError> = vec![
        store.get_chat(scope, &chat_id).await.unwrap_err(),
        store.set_status(scope, &chat_id, ChatStatus::Paused, None).await.unwrap_err(),
        store.append(scope, &chat_id, message()).await.unwrap_err(),
        store.persist_initial_messages(scope, &chat_id, message()).await.unwrap_err(),
        store.messages(scope, &chat_id, MessageRange::all()).await.unwrap_err(),
        store.delete_message(scope, &chat_id, 0).await.unwrap_err(),
        store.update_context_snapshot(scope, &chat_id, JsonObject::new()).await.unwrap_err(),
        store.merge_context_snapshot(scope, &chat_id, JsonObject::new()).await.unwrap_err(),
        store.load_context_snapshot(scope, &chat_id).await.unwrap_err(),
        store.update_last_artifact(scope, &chat_id, NewArtifact::default()).await.unwrap_err(),
        store.get_last_artifact(scope, &chat_id).await.unwrap_err(),
        store.fork_chat(scope, &chat_id, NewFork::default()).await.unwrap_err(),
        store.clear_last_artifact(scope, &chat_id).await.unwrap_err(),
        store.record_tool_runs(scope, &chat_id, tool_runs()).await.unwrap_err(),
    ];
    for refusal in refusals {
        let StoreError::UnsupportedVersion { found, supported, .. } = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!((found, supported), (99, NEWEST));
    }
    assert_eq!(database.all("chat_sessions").await, before);
}

#[tokio::test]
async fn an_invalid_document_is_corrupt_and_the_error_names_its_field() {
    let database = Database::create().await;
    let mut document = golden("chat_session", 1);
    document.insert("created_at", "yesterday");
    database.insert("chat_sessions", document).await;
    let chat_id = ChatId::parse("chat_golden").unwrap();
    let refusal = database.get_chat(&scope(), &chat_id).await.unwrap_err();
    assert!(
        matches!(&refusal, StoreError::Corrupt { field, .. } if field == "created_at"),
        "{refusal:?}"
    );
}

#[tokio::test]
async fn written_documents_have_the_fields_of_version_1() {
    // Before and after an upgrade from an older release is finished.
    for database in [Database::create_older(&[]).await, Database::create_unsealed().await] {
        write_every_record(&database).await;
        let session = Document::try_from(&*database.all("chat_sessions").await[0]).unwrap();
        // Who joins a chat is a member from then on.
        let mut with_members = golden("chat_session", 1);
        with_members.insert("members", golden("chat_shared", 1).get("members").unwrap().clone());
        assert_fields(&session, &with_members, "chat_session");
        let written = assert_golden(&database).await;
        assert!(WRITTEN.iter().all(|collection| written.contains(collection)), "{written:?}");
        for collection in database.raw.list_collection_names().await.unwrap() {
            for document in database.all(&collection).await {
                let is_salted = SALTED.contains(&&*collection) && has_salt(&document);
                let version = document.get_i64("schema_version").unwrap();
                assert_eq!(version, if is_salted { 4 } else { 1 }, "{document:?}");
            }
        }
    }
}

/// Returns whether a document has a field `salt`, at any depth.
fn has_salt(document: &RawDocumentBuf) -> bool {
    document.as_bytes().windows(6).any(|bytes| bytes == b"\x05salt\0")
}

/// The collections whose documents may have salts.
const SALTED: [&str; 5] = [
    "chat_sessions",
    "chat_segments",
    "message_versions",
    "resume_points",
    "turns_without_messages",
];

/// The collections that [`write_every_record`] writes.
const WRITTEN: [&str; 16] = [
    "apps",
    "audit_entries",
    "chat_blobs",
    "chat_participants",
    "chat_segments",
    "chat_sessions",
    "context_snapshots",
    "input_requests",
    "presence",
    "pseudonym_keys",
    "resume_points",
    "revocations",
    "status_changes",
    "tickets",
    "wallet_entries",
    "wallets",
];

async fn write_every_record(database: &Database) {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let messages = (0..40).map(|_| MessageBody::new("user", Some("user"), "hello").into());
    database.append(&scope(), &chat_id, messages.collect()).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let large: JsonObject = [("key".to_owned(), "x".repeat(10_000).into())].into_iter().collect();
    for _ in 0..9 {
        database.update_context_snapshot(&scope(), &chat_id, large.clone()).await.unwrap();
    }
    until("the snapshots", async || database.all("context_snapshots").await.len() >= 8).await;
    let artifact = NewArtifact::default();
    database.update_last_artifact(&scope(), &chat_id, artifact).await.unwrap();

    let question = Question { tool_call: Some(bound_call()), ..Question::of("May I?") };
    let question = NewInputRequest { request_id: None, question, expires_in_sec: Some(60) };
    database.request_input(&scope(), &chat_id, question).await.unwrap();
    database.append_turn(&scope(), &chat_id, interrupted_turn()).await.unwrap();
    let (owner, ttl) = (Owner::parse("orchestrator-7").unwrap(), Duration::from_secs(30));
    let lease = NewLease { lease_id: None, owner, ttl };
    database.acquire_lease(&scope(), &chat_id, lease).await.unwrap();
    let user_id = UserId::parse("alice").unwrap();
    database.join_chat(&scope(), &chat_id, &user_id, None).await.unwrap();

    let connection_id = ConnectionId::parse("conn_1").unwrap();
    let connection = Connection { connection_id, chat_id: chat_id.clone(), user_id };
    database.announce(&scope(), &[connection], Duration::from_hours(1)).await.unwrap();

    write_app_and_wallet(database).await;
    let digest = TicketDigest::of("a ticket");
    let (caller_expires_at, credential) = Default::default();
    let (valid_for, grant) = (Duration::from_secs(30), Grant::ReadAndSay);
    let ticket = NewTicket { digest, valid_for, grant, caller_expires_at, credential };
    database.create_ticket(&scope(), &chat_id, ticket).await.unwrap();
    let target = RevocationTarget::User(UserId::parse("alice").unwrap());
    let key = RevocationKey { target, app_id: None };
    let new = NewRevocation { key, issued_until: None, expires_at: None };
    database.revoke(&Actor::command_line(), new).await.unwrap();
}

fn interrupted_turn() -> NewTurn {
    let root = StackFrame::root(StackId::parse("stk_001").unwrap());
    let object = || Some(json!({"a": 1}).as_object().cloned().unwrap());
    let step = Step {
        assistant_id: Some("analyzer".to_owned()),
        input: object(),
        output: object(),
        error: Some("no".to_owned()),
        ..Step::new(StepKind::Delegate, root.call(StackId::parse("stk_002").unwrap()))
    };
    let body = MessageBody::new("user", Some("user"), "hello");
    NewTurn {
        request_id: TurnId::parse("turn_golden").unwrap(),
        outcome: TurnOutcome::Interrupted,
        messages: vec![TurnMessage { body, author: None }],
        steps: vec![step],
        connector: Some("deepseek.v3".to_owned()),
        mode: Some("task".to_owned()),
    }
}

#[tokio::test]
async fn written_forks_have_the_fields_of_version_2() {
    let database = Database::create_unsealed().await;
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let source = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let messages = (0..40).map(|_| MessageBody::new("user", Some("user"), "hello").into());
    database.append(&scope(), &source, messages.collect()).await.unwrap();
    database.seal(&scope().app_id, &source, Interruption::Never).await.unwrap();
    let chat_id = database.fork_chat(&scope(), &source, NewFork::default()).await.unwrap().chat_id;
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    database.update_message(&scope(), &chat_id, 0, edit).await.unwrap();

    // The documents are ordered by id, and so by creation.
    let sessions = database.all("chat_sessions").await;
    let [shared, fork] = [0, 1].map(|index: usize| Document::try_from(&*sessions[index]).unwrap());
    // A fork has every field of a session, and its own.
    let mut golden_fork = golden("chat_session", 1);
    golden_fork.extend(golden("chat_fork", 2));
    let edited_at = golden("chat_shared", 1).get("edited_at").cloned();
    golden_fork.insert("edited_at", edited_at);
    // It has had no lease yet.
    golden_fork.remove("newest_lease");
    assert_fields(&fork, &golden_fork, "chat_fork");
    let shared = ["shared_below", "shared_revision", "schema_version"].map(|it| shared.get_i64(it));
    // Its messages have salts.
    assert_eq!(shared.map(Result::unwrap), [36, 0, 4]);
    let version = Document::try_from(&*database.all("message_versions").await[0]).unwrap();
    assert_fields(&version, &golden("message_version", 1), "message_version");
}

fn bound_call() -> BoundToolCall {
    BoundToolCall { id: "call_1".to_owned(), name: "rm".to_owned(), arguments: json!({}) }
}

/// Registers an app as a person, and makes enough changes of a wallet that some entries are lines.
async fn write_app_and_wallet(database: &Database) {
    let user_id = UserId::parse("alice").unwrap();
    let actor = Actor { person: Some(user_id.clone()), ..Actor::command_line() };
    database.register_app(&actor, &scope().app_id).await.unwrap();
    database.ensure_wallet(&scope(), &user_id, 1_000).await.unwrap();
    for n in 0..70 {
        let entry_id = EntryId::parse(format!("{n}")).unwrap();
        let debit = NewWalletEntry { entry_id, amount: 1, reason: None };
        database.debit(&scope(), &user_id, debit).await.unwrap();
    }
}
