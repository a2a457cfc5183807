//! The model calls of a chat, and their sum.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    AppId, CallId, Caller, ChatId, ChatStatus, Limits, Model, NewChatSession, NewProviderCall,
    Permission, Scope, SizeLimit, Tokens, Usage, UserId,
};

use super::fixture::{TestChat, assert_invalid, assert_refused, new_chat, race, some_scope};
use persistence::{CallCursor, CallSummary, Outcome, Store, StoreError};

pub async fn every_field_of_a_call_is_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let new = NewProviderCall {
        agent: Some("planner.$a_b".to_owned()),
        used: Model { provider: Some("openai".to_owned()), model: Some("gpt.4$o".to_owned()) },
        provider_kind: Some("cloud.$a".to_owned()),
        total_tokens: Some(20),
        duration_ms: 1_234,
        request_id: Some("req_1".to_owned()),
        called_at: Some(at(7)),
        ..call("call_1")
    };
    let recorded = chat.record(vec![new.clone()]).await.unwrap().remove(0);
    assert_eq!(recorded.outcome, Outcome::Stored);
    assert_eq!(recorded.call, new.kept_at(at(7), &records::Uuid7Ids));
    assert_eq!(chat.calls().await, [recorded.call]);
}

pub async fn the_usage_of_a_chat_is_the_sum_of_its_calls(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(chat.usage().await, Usage::default());
    let slow = NewProviderCall { duration_ms: 500, total_tokens: Some(30), ..call("call_1") };
    chat.record(vec![slow, call("call_2")]).await.unwrap();
    chat.record(vec![call("call_3")]).await.unwrap();
    let tokens = Tokens { prompt: 36, completion: 12, total: 62 };
    let expected = Usage { calls: 3, tokens, cost_micros: 3 * 1_234, duration_ms: 500 };
    assert_eq!(chat.usage().await, expected);
    let other = TestChat::create(&store).await;
    assert_eq!(other.usage().await, Usage::default());
}

pub async fn a_repeated_call_gets_the_first_answer_and_counts_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = chat.record(vec![call("call_1")]).await.unwrap().remove(0);
    let again = chat.record(vec![call("call_2"), call("call_1")]).await.unwrap();
    let outcomes: Vec<_> = again.iter().map(|recorded| recorded.outcome).collect();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Duplicate]);
    assert_eq!(again[1].call, first.call);
    let twice = chat.record(vec![call("call_3"), call("call_3")]).await.unwrap();
    assert_eq!(twice[1].outcome, Outcome::Duplicate);
    assert_eq!(chat.usage().await.calls, 3);
}

pub async fn a_call_id_with_another_body_refuses_the_whole_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.record(vec![call("call_1")]).await.unwrap();
    let other = NewProviderCall { prompt_tokens: 13, ..call("call_1") };
    let refused = chat.record(vec![call("call_2"), other.clone()]).await;
    let (chat_id, call_id) = (chat.id.clone(), call_id("call_1"));
    assert_refused(refused, &StoreError::CallConflict { chat_id, call_id, index: 1 });
    let within = chat.record(vec![call("call_3"), NewProviderCall { ..other }]).await;
    assert!(matches!(within, Err(StoreError::CallConflict { .. })));
    let two = vec![call("call_4"), NewProviderCall { duration_ms: 1, ..call("call_4") }];
    assert_invalid(chat.record(two).await, "/calls/1/call_id", NotAdmitted);
    assert_eq!(chat.usage().await.calls, 1);
}

pub async fn calls_of_an_unknown_chat_are_refused_and_not_counted(store: Arc<dyn Store>) {
    let unknown = TestChat::unknown(&store);
    let not_found = StoreError::ChatNotFound(unknown.id.clone());
    assert_refused(unknown.record(vec![call("call_1")]).await, &not_found);
    assert_refused(unknown.store.chat_usage(&unknown.scope, &unknown.id).await, &not_found);
    let chat = TestChat::create(&store).await;
    let elsewhere = chat.seen_from(some_scope());
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    assert_refused(elsewhere.record(vec![call("call_1")]).await, &not_found);
    let list = elsewhere.store.list_calls(&elsewhere.scope, &chat.id, 10, None).await;
    assert_refused(list, &not_found);
    assert_eq!(chat.usage().await, Usage::default());
}

pub async fn a_call_past_a_limit_is_refused_with_its_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let large = NewProviderCall { duration_ms: Limits::CALL_DURATION_MS + 1, ..call("call_2") };
    let refused = chat.record(vec![call("call_1"), large]).await;
    assert_invalid(refused, "/calls/1/duration_ms", NotAdmitted);
    assert_invalid(chat.record(Vec::new()).await, "/calls", NotAdmitted);
    let many = vec![NewProviderCall::default(); Limits::BATCH_CALLS + 1];
    assert_invalid(chat.record(many).await, "/calls", TooLarge(SizeLimit::Batch));
    assert_eq!(chat.usage().await.calls, 0);
}

pub async fn calls_are_listed_newest_first_in_pages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let moments = [3, 1, 2, 2, 2, 5];
    let calls = moments.into_iter().enumerate().map(|(index, moment)| {
        let called_at = Some(at(moment));
        NewProviderCall { called_at, ..call(&format!("call_{index}")) }
    });
    chat.record(calls.collect()).await.unwrap();
    let mut found = Vec::new();
    let mut after: Option<CallCursor> = None;
    loop {
        let page = store.list_calls(&chat.scope, &chat.id, 2, after.as_ref()).await.unwrap();
        found.extend(page.calls.into_iter().map(|call| call.call_id.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, ["call_5", "call_0", "call_4", "call_3", "call_2", "call_1"]);
}

pub async fn calls_are_summarized_for_the_chats_that_the_caller_may_see_them_of(
    store: Arc<dyn Store>,
) {
    let user = |name: &str| UserId::parse(name).ok();
    let new = NewChatSession { user_id: user("ada"), ..new_chat() };
    let scope = some_scope();
    let chat = TestChat::create_in(&scope, &store, new).await;
    let quiet = TestChat::create_in(&scope, &store, new_chat()).await;
    let model =
        |model: &str| Model { provider: Some("acme".to_owned()), model: Some(model.to_owned()) };
    let calls = [(3, "old"), (5, "new"), (5, "newer"), (1, "oldest")];
    let calls = calls.into_iter().enumerate().map(|(index, (moment, name))| NewProviderCall {
        called_at: Some(at(moment)),
        requested: model(name),
        ..call(&format!("call_{index}"))
    });
    chat.record(calls.collect()).await.unwrap();
    let ids = [chat.id.clone(), quiet.id.clone(), ChatId::parse("unknown").unwrap()];
    let mut found = store.summarize_calls(&scope, &ids).await.unwrap();
    found.sort_by_key(|summary| summary.newest.is_none());
    let newest = found[0].newest.clone().unwrap();
    assert_eq!((newest.call_id.as_str(), newest.used), ("call_2", model("newer")));
    assert_eq!((&found[0].chat_id, found[0].usage), (&chat.id, chat.usage().await));
    let nothing = CallSummary { chat_id: quiet.id, usage: Usage::default(), newest: None };
    assert_eq!(found[1..], [nothing]);
    let seen_by = async |name: &str, app: &AppId| {
        let caller = Caller::User { user_id: user(name).unwrap(), team_id: None, may_run: false };
        let scope = Scope::new(app.clone(), caller, Permission::Manage);
        store.summarize_calls(&scope, &ids).await.unwrap().len()
    };
    assert_eq!(seen_by("ada", &scope.app_id).await, 1);
    assert_eq!(seen_by("bob", &scope.app_id).await, 0);
    assert_eq!(seen_by("ada", &AppId::parse("another").unwrap()).await, 0);
}

pub async fn an_ended_chat_accepts_calls(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    chat.record(vec![call("call_1")]).await.unwrap();
    assert_eq!(chat.usage().await.calls, 1);
}

pub async fn racing_recordings_count_every_call_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..32).map(|racer| {
        let chat = chat.clone();
        // Two recordings send each call.
        let id = format!("call_{}", racer / 2);
        async move { chat.record(vec![call(&id)]).await.unwrap().remove(0).outcome }
    });
    let outcomes = race(racers).await;
    let stored = outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count();
    assert_eq!((stored, chat.usage().await.calls, chat.calls().await.len()), (16, 16, 16));
}

fn call(id: &str) -> NewProviderCall {
    NewProviderCall {
        call_id: Some(call_id(id)),
        requested: Model { provider: Some("acme".to_owned()), model: Some("large".to_owned()) },
        prompt_tokens: 12,
        completion_tokens: 4,
        cost: "0.001234".parse().unwrap(),
        ..NewProviderCall::default()
    }
}

fn call_id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(1_790_000_000 + seconds)
}
