//! What a purge leaves in the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bson::{RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use persistence::mongo::{Interruption, Workflow};
use persistence::{
    Artifacts, Billing, Calls, ChatSessions, Contexts, Forks, InputRequests, Leases, Members,
    Messages, PURGED_AGAIN_AFTER_MINUTES, Participants, Presence, Purges, Stats, ToolRuns, Turns,
};
use records::{
    Actor, AppId, AssistantId, Author, ChatId, ChatStatus, Clock, Connection, ConnectionId,
    Counter, DisplayName, EventId, FieldChange, Ids as _, InputRequestId, JsonObject, MemberRole,
    MessageBody, MessageEdit, NewArtifact, NewChatSession, NewFork, NewInputAnswer,
    NewInputRequest, NewLease, NewMessage, NewProviderCall, NewToolRun, NewTurn, Owner, Question,
    Scope, SessionChange, StackFrame, StackId, Step, StepKind, TeamId, TurnId, TurnMessage,
    TurnOutcome, UserId, Uuid7Ids, WorkflowName,
};
use serde_json::{Value, json};

use super::database::Database;

/// A clock that the test moves.
#[derive(Debug)]
struct SetClock(AtomicI64);

impl SetClock {
    fn advance(&self, minutes: i64) {
        self.0.fetch_add(minutes * 60_000, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

fn clock() -> Arc<SetClock> {
    Arc::new(SetClock(AtomicI64::new(1_800_000_000_000)))
}

pub(super) fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

/// Returns the collections with documents that contain a text, and how many documents each has.
pub(super) async fn holding(database: &Database, text: &str) -> BTreeMap<String, usize> {
    let mut holding = BTreeMap::new();
    for name in database.raw.list_collection_names().await.unwrap() {
        let contains = |raw: &RawDocumentBuf| {
            raw.as_bytes().windows(text.len()).any(|bytes| bytes == text.as_bytes())
        };
        let count = database.all(&name).await.iter().filter(|raw| contains(raw)).count();
        if count > 0 {
            holding.insert(name, count);
        }
    }
    holding
}

/// Creates a chat, and writes a token wherever callers may write text.
///
/// Every kind of record that a chat can have then contains the token. Ids contain another text, because some stay taken, and
/// forks have the team and the assistant of their source.
pub(super) async fn plant(database: &Database, token: &str, ids: &str) -> ChatId {
    let scope = &scope();
    let user = UserId::parse(token).unwrap();
    let object = |value: Value| -> JsonObject { serde_json::from_value(value).unwrap() };
    let new = NewChatSession {
        user_id: Some(user.clone()),
        team_id: TeamId::parse(ids).ok(),
        title: Some(token.to_owned()),
        metadata: object(json!({ token: token })),
        assistant_id: AssistantId::parse(ids).ok(),
        system_prompt: Some(token.to_owned()),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let chat_id = &database.create_chat(scope, new).await.unwrap().chat_id;
    let say = |n: usize| NewMessage {
        event_id: EventId::parse(format!("{ids}-{n}")).ok(),
        author: Some(Author {
            user_id: user.clone(),
            display_name: DisplayName::parse(token).ok(),
        }),
        ..MessageBody::new("user", Some(token), format!("{token} {n}")).into()
    };
    for n in 0..80 {
        database.append(scope, chat_id, vec![say(n)]).await.unwrap();
    }
    database.seal(&scope.app_id, chat_id, Interruption::Never).await.unwrap();
    let edit = |n: usize| MessageEdit {
        content: Some(format!("{token} edited {n}").into()),
        ..MessageEdit::default()
    };
    database.update_message(scope, chat_id, 3, edit(3)).await.unwrap();
    database.update_message(scope, chat_id, 79, edit(79)).await.unwrap();
    for data in [json!({ "a": token }), json!({ "b": token.repeat(60_000) }), json!({ "c": token })]
    {
        database.update_context_snapshot(scope, chat_id, object(data)).await.unwrap();
    }
    for n in 0..30 {
        let data = object(json!({ "n": [n, token] }));
        database.update_context_snapshot(scope, chat_id, data).await.unwrap();
    }
    for payload in [json!(token), json!(token.repeat(60_000))] {
        let artifact = NewArtifact { payload, ..NewArtifact::default() };
        database.update_last_artifact(scope, chat_id, artifact).await.unwrap();
    }
    for name in ["one", "two"] {
        let request_id = InputRequestId::parse(format!("{ids}-{name}")).ok();
        let question = Question::of(token);
        let new = NewInputRequest { request_id, question, expires_in_sec: None };
        let asked = database.request_input(scope, chat_id, new).await.unwrap().request;
        if name == "one" {
            let answer = NewInputAnswer::of(token);
            database.answer_input_request(scope, chat_id, &asked.request_id, answer).await.unwrap();
        }
    }
    let step = Step::new(StepKind::Llm, StackFrame::root(StackId::parse(token).unwrap()));
    for (messages, name) in [(0, "without"), (2, "with")] {
        let body = MessageBody::new("assistant", Some(token), token);
        let turn = NewTurn {
            request_id: TurnId::parse(format!("{ids}-{name}")).unwrap(),
            outcome: TurnOutcome::Failed,
            messages: vec![TurnMessage { body, author: None }; messages],
            steps: vec![step.clone()],
            connector: Some(token.to_owned()),
            mode: Some(token.to_owned()),
        };
        database.append_turn(scope, chat_id, turn).await.unwrap();
    }
    let call = NewProviderCall { request_id: Some(token.to_owned()), ..NewProviderCall::default() };
    database.record_calls(scope, chat_id, vec![call], Billing::Free).await.unwrap();
    plant_tool_run(database, chat_id, token).await;
    let name = DisplayName::parse(token).ok();
    database.join_chat(scope, chat_id, &user, name.as_ref()).await.unwrap();
    let member = UserId::parse(format!("member-{ids}")).unwrap();
    database.put_member(scope, chat_id, &member, MemberRole::Member).await.unwrap();
    let connection = Connection {
        connection_id: ConnectionId::parse(token).unwrap(),
        chat_id: chat_id.clone(),
        user_id: user.clone(),
    };
    database.announce(scope, &[connection], Duration::from_hours(1)).await.unwrap();
    let renamed = SessionChange {
        title: FieldChange::Set(format!("{token} again")),
        ..SessionChange::default()
    };
    database.change_chat(scope, chat_id, renamed).await.unwrap();
    let lease = NewLease {
        lease_id: None,
        owner: Owner::parse(token).unwrap(),
        ttl: Duration::from_mins(10),
    };
    database.acquire_lease(scope, chat_id, lease).await.unwrap();
    database.set_status(scope, chat_id, ChatStatus::Paused, Some(token)).await.unwrap();
    chat_id.clone()
}

async fn plant_tool_run(database: &Database, chat_id: &ChatId, token: &str) {
    let text = Some(token.to_owned());
    let run = NewToolRun {
        tool_name: token.to_owned(),
        agent: text.clone(),
        tool_call_id: text.clone(),
        parameters: json!({ token: token }),
        result: json!([token]),
        error: text,
        metadata: [(token.to_owned(), json!(token))].into_iter().collect(),
        ..NewToolRun::default()
    };
    database.record_tool_runs(&scope(), chat_id, vec![run]).await.unwrap();
}

#[tokio::test]
async fn a_purge_leaves_no_text_and_only_what_the_statistics_count() {
    let clock = clock();
    let as_clock = Arc::<SetClock>::clone(&clock);
    let database = Database::create_from(as_clock, Arc::new(Uuid7Ids), |_| {}).await;
    let token = Uuid7Ids.mint("token_");
    let chat_id = plant(&database, &token, &token).await;
    let fork = NewFork { title: Some(token.clone()), ..NewFork::default() };
    let fork = database.fork_chat(&scope(), &chat_id, fork).await.unwrap().chat_id;
    for chat_id in [&chat_id, &fork] {
        let edit = MessageEdit { content: Some(token.as_str().into()), ..MessageEdit::default() };
        database.update_message(&scope(), chat_id, 5, edit).await.unwrap();
    }
    database.finish_tasks().await;
    let holding_before = holding(&database, &token).await;
    for collection in [
        "chat_sessions",
        "chat_segments",
        "message_versions",
        "chat_blobs",
        "context_snapshots",
        "chat_participants",
        "presence",
        "provider_calls",
        "input_requests",
        "resume_points",
        "tool_runs",
        "turns_without_messages",
    ] {
        assert!(holding_before.contains_key(collection), "{collection}: {holding_before:?}");
    }
    let flow = WorkflowName::parse("Generator").unwrap();
    let mut stats = database.workflow_stats(&scope().app_id, &flow).await.unwrap();
    // The chats had not ended, and run no more.
    for status in [Counter::Running, Counter::Paused] {
        stats.total.add(status, -stats.total.get(status));
    }

    // The source goes first. What the fork shares with it stays.
    let history = database.messages(&scope(), &fork, persistence::MessageRange::all()).await;
    assert!(database.purge_chat(&Actor::command_line(), &scope(), &chat_id, None).await.unwrap());
    let after = database.messages(&scope(), &fork, persistence::MessageRange::all()).await;
    assert_eq!(after.unwrap(), history.unwrap());
    assert!(database.purge_chat(&Actor::command_line(), &scope(), &fork, None).await.unwrap());
    let left = holding(&database, &token).await;
    // The id of the person stays where it belongs to the person, not to the chat: beside the key of their pseudonym, and in the
    // usage of users. An erasure removes it there.
    let left: Vec<_> = left.into_keys().collect();
    assert_eq!(left, ["pseudonym_keys", "workflow_stats"]);
    let kept: Vec<_> = holding(&database, chat_id.as_str()).await.into_keys().collect();
    let expected =
        ["audit_entries", "chat_sessions", "provider_calls", "status_changes", "workflow_stats"];
    assert_eq!(kept, expected);
    assert_eq!(database.workflow_stats(&scope().app_id, &flow).await.unwrap(), stats);
    let workflow = Workflow { app_id: scope().app_id, workflow_name: flow };
    let mut found = |difference| panic!("{difference:?}");
    database.verify_stats(&workflow, &|| {}, &mut found).await.unwrap();

    // What a call that was under way stores afterwards goes, too.
    let late = doc! {
        "_id": { "chat_id": chat_id.as_str(), "first_sequence": 0_i64 },
        "app_id": "acme_corp", "count": 0_i64, "messages": [], "schema_version": 1_i64,
    };
    database.insert("chat_segments", late).await;
    assert_eq!(database.finish_purges(10).await.unwrap(), 0);
    clock.advance(PURGED_AGAIN_AFTER_MINUTES);
    assert_eq!(database.finish_purges(10).await.unwrap(), 2);
    assert_eq!(database.finish_purges(10).await.unwrap(), 0);
    let kept: Vec<_> = holding(&database, chat_id.as_str()).await.into_keys().collect();
    assert_eq!(kept, expected);
}

#[tokio::test]
async fn a_fork_keeps_only_the_part_of_a_segment_that_it_shares() {
    let database = Database::create_unsealed().await;
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    for n in 0..40 {
        let body = MessageBody::new("user", Some("user"), format!("text-{n}-end"));
        database.append(&scope(), &chat_id, vec![body.into()]).await.unwrap();
    }
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let fork = NewFork { sequence: Some(10), ..NewFork::default() };
    let fork = database.fork_chat(&scope(), &chat_id, fork).await.unwrap().chat_id;
    let read = async || {
        database.messages(&scope(), &fork, persistence::MessageRange::all()).await.unwrap()
    };
    let before = read().await;
    assert!(database.purge_chat(&Actor::command_line(), &scope(), &chat_id, None).await.unwrap());
    assert_eq!(read().await, before);
    assert!(!holding(&database, "text-9-end").await.is_empty());
    assert!(holding(&database, "text-10-end").await.is_empty());
}
