//! The usage of the chats that users own.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::{
    Actor, MicroDollars, NewChatSession, NewFork, NewProviderCall, Scope, Tokens, Usage, UserId,
};

use super::erasures::{alias, erase, user};
use super::fixture::{TestChat, race, some_scope, workflow};
use persistence::{Store, StoreError, UsageFilter, UsageOrder, UserStats, UserUsage};

pub async fn an_unknown_user_has_no_usage(store: Arc<dyn Store>) {
    let scope = some_scope();
    assert_eq!(usage(&store, &scope, "ada").await, UserStats::default());
    assert_eq!(users(&store, &scope, &UsageFilter::default(), 9).await, []);
    let found = store.hourly_user_stats(&scope.app_id, &user("ada"), ever()).await.unwrap();
    assert_eq!(found, []);
}

pub async fn calls_count_for_the_owner_of_their_chat(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [one, other] =
        [owned(&store, &scope, "ada", "b").await, owned(&store, &scope, "ada", "a").await];
    let of_bob = owned(&store, &scope, "bob", "a").await;
    let without_owner =
        TestChat::create_in(&scope, &store, NewChatSession::of(workflow("a"))).await;
    one.record(vec![call(100, 0), call(10, 0)]).await.unwrap();
    let deleted = one.record(vec![call(7, 0)]).await.unwrap().remove(0).call.call_id;
    store.delete_call(&scope, &one.id, &deleted).await.unwrap();
    other.record(vec![call(1, 0)]).await.unwrap();
    of_bob.record(vec![call(1_000, 0)]).await.unwrap();
    without_owner.record(vec![call(1_000_000, 0)]).await.unwrap();
    // The same user id in another app is another user.
    let elsewhere = some_scope();
    owned(&store, &elsewhere, "ada", "a").await.record(vec![call(5, 0)]).await.unwrap();
    let expected = UserStats {
        total: sum(&[100, 10, 1]),
        workflows: vec![(workflow("a"), sum(&[1])), (workflow("b"), sum(&[100, 10]))],
    };
    assert_eq!(usage(&store, &scope, "ada").await, expected);
    let listed = users(&store, &scope, &UsageFilter::default(), 9).await;
    let expected = [("bob", sum(&[1_000])), ("ada", sum(&[100, 10, 1]))];
    assert_eq!(listed, expected.map(|(id, usage)| UserUsage { user_id: user(id), usage }));
}

pub async fn a_fork_counts_for_its_own_owner(store: Arc<dyn Store>) {
    let scope = some_scope();
    let source = owned(&store, &scope, "ada", "a").await;
    source.record(vec![call(3, 0)]).await.unwrap();
    let new = NewFork { user_id: Some(user("bob")), ..NewFork::default() };
    source.fork(new).await.unwrap().record(vec![call(4, 0)]).await.unwrap();
    assert_eq!(usage(&store, &scope, "ada").await.total, sum(&[3]));
    assert_eq!(usage(&store, &scope, "bob").await.total, sum(&[4]));
}

pub async fn users_are_listed_by_each_number_and_in_pages(store: Arc<dyn Store>) {
    let scope = some_scope();
    // Cost, tokens and calls give different orders; two users have the same cost.
    let users_with =
        [("a", 5, 1, 1), ("b", 5, 9, 1), ("c", 1, 3, 4), ("d", 9, 2, 2), ("$e", 1, 1, 1)];
    for (id, cost, prompt_tokens, calls) in users_with {
        let chat = owned(&store, &scope, id, "w").await;
        let cost = MicroDollars::new(cost).unwrap();
        let first = NewProviderCall { cost, prompt_tokens, ..NewProviderCall::default() };
        let mut recorded = vec![NewProviderCall::default(); calls];
        recorded[0] = first;
        chat.record(recorded).await.unwrap();
    }
    let orders = [
        (UsageOrder::Cost, ["d", "a", "b", "$e", "c"]),
        (UsageOrder::Tokens, ["b", "c", "d", "$e", "a"]),
        (UsageOrder::Calls, ["c", "d", "$e", "a", "b"]),
    ];
    for (order, expected) in orders {
        for limit in 1..7 {
            let filter = UsageFilter { range: None, order };
            let listed = users(&store, &scope, &filter, limit).await;
            let ids: Vec<_> = listed.iter().map(|it| it.user_id.as_str()).collect();
            assert_eq!(ids, expected, "{order:?}, {limit} at a time");
        }
    }
}

pub async fn hours_of_a_user_add_up_to_the_total(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chat = owned(&store, &scope, "ada", "a").await;
    let other = owned(&store, &scope, "ada", "b").await;
    chat.record(vec![call(1, 0), call(2, 3_599), call(4, 3_600)]).await.unwrap();
    other.record(vec![call(8, 3_600)]).await.unwrap();
    owned(&store, &scope, "bob", "a").await.record(vec![call(3, 3_600)]).await.unwrap();
    let hours = async |from, to| {
        let range = at(from)..at(to);
        let found = store.hourly_user_stats(&scope.app_id, &user("ada"), range).await.unwrap();
        let hour = |found: &persistence::HourlyStats| {
            let seconds = (found.hour - at(0)).num_seconds();
            (found.workflow_name.to_string(), seconds, found.rollup.usage())
        };
        found.iter().map(hour).collect::<Vec<_>>()
    };
    let expected = [("a", 0, sum(&[1, 2])), ("a", 3_600, sum(&[4])), ("b", 3_600, sum(&[8]))];
    let expected = expected.map(|(name, at, usage)| (name.to_owned(), at, usage));
    assert_eq!(hours(0, 7_200).await, expected);
    assert_eq!(hours(3_600, 3_601).await, expected[1..]);
    let filter = |from, to| UsageFilter { range: Some(at(from)..at(to)), order: UsageOrder::Cost };
    let second = [("ada", sum(&[4, 8])), ("bob", sum(&[3]))];
    let second = second.map(|(id, usage)| UserUsage { user_id: user(id), usage });
    assert_eq!(users(&store, &scope, &filter(1, 7_200), 1).await, second);
    assert_eq!(users(&store, &scope, &filter(7_200, 9_000), 1).await, []);
}

pub async fn a_purged_chat_still_counts_for_its_owner(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chat = owned(&store, &scope, "ada", "a").await;
    chat.record(vec![call(3, 0)]).await.unwrap();
    let before = usage(&store, &scope, "ada").await;
    assert!(store.purge_chat(&Actor::command_line(), &scope, &chat.id, None).await.unwrap());
    assert_eq!(usage(&store, &scope, "ada").await, before);
    let erasure = erase(&store, &scope, "ada").await;
    assert_eq!(erasure.erased["usages"], 1);
    assert_eq!(usage(&store, &scope, "ada").await, UserStats::default());
    assert_eq!(usage(&store, &scope, alias(&erasure).as_str()).await, before);
}

pub async fn an_erased_person_is_counted_under_the_pseudonym(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [one, held] =
        [owned(&store, &scope, "ada", "a").await, owned(&store, &scope, "ada", "a").await];
    let unused = owned(&store, &scope, "ada", "b").await;
    one.record(vec![call(3, 0), call(4, 3_600)]).await.unwrap();
    held.record(vec![call(50, 0)]).await.unwrap();
    owned(&store, &scope, "bob", "a").await.record(vec![call(1, 0)]).await.unwrap();
    let set_hold = async |reason| {
        let actor = Actor::command_line();
        store.set_hold(&actor, &scope.app_id, &held.id, reason).await.unwrap();
    };
    set_hold(Some("dispute")).await;
    let erasure = erase(&store, &scope, "ada").await;
    assert_eq!(erasure.held, std::slice::from_ref(&held.id));
    assert_eq!(usage(&store, &scope, "ada").await.total, sum(&[50]), "of the chat under hold");
    let listed = users(&store, &scope, &UsageFilter::default(), 9).await;
    let of = |user_id, tokens: &[u64]| UserUsage { user_id, usage: sum(tokens) };
    let expected = [of(user("ada"), &[50]), of(alias(&erasure), &[3, 4]), of(user("bob"), &[1])];
    assert_eq!(listed, expected);
    assert_eq!(unused.get().await.unwrap(), None);
    set_hold(None).await;
    let again = erase(&store, &scope, "ada").await;
    let listed = users(&store, &scope, &UsageFilter::default(), 9).await;
    let expected = [of(alias(&again), &[50]), of(alias(&erasure), &[3, 4]), of(user("bob"), &[1])];
    assert_eq!(listed, expected);
    let hours = store.hourly_user_stats(&scope.app_id, &user("ada"), ever()).await.unwrap();
    assert_eq!(hours, []);
}

/// Calls are recorded while the person is erased: each counts, for the person or for the pseudonym.
pub async fn calls_that_race_with_an_erasure_are_counted_once(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for _ in 0..4 {
        let chat = owned(&store, &scope, "ada", "a").await;
        chat.record(vec![call(1, 0)]).await.unwrap();
        chats.push(chat);
    }
    let erasing = {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        tokio::spawn(async move { erase(&store, &scope, "ada").await })
    };
    let racers = (0..24).map(|racer| {
        let chat = chats[racer % chats.len()].clone();
        async move {
            match chat.record(vec![call(1, 0)]).await {
                Ok(_) => 1_u64,
                Err(StoreError::ChatNotFound(_)) => 0,
                Err(error) => panic!("{error}"),
            }
        }
    });
    let recorded: u64 = race(racers).await.into_iter().sum();
    let erasure = erasing.await.unwrap();
    let calls = usage(&store, &scope, alias(&erasure).as_str()).await.total.calls;
    assert_eq!(calls, 4 + recorded);
    assert_eq!(usage(&store, &scope, "ada").await, UserStats::default());
}

async fn owned(
    store: &Arc<dyn Store>,
    scope: &Scope,
    owner: &str,
    workflow_name: &str,
) -> TestChat {
    let user_id = Some(user(owner));
    let new = NewChatSession { user_id, ..NewChatSession::of(workflow(workflow_name)) };
    TestChat::create_in(scope, store, new).await
}

async fn usage(store: &Arc<dyn Store>, scope: &Scope, id: &str) -> UserStats {
    store.user_stats(&scope.app_id, &UserId::parse(id).unwrap()).await.unwrap()
}

/// Lists all pages.
async fn users(
    store: &Arc<dyn Store>,
    scope: &Scope,
    filter: &UsageFilter,
    limit: usize,
) -> Vec<UserUsage> {
    let (mut users, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_user_stats(&scope.app_id, filter, limit, after.as_ref());
        let page = page.await.unwrap();
        assert!(page.users.len() <= limit);
        users.extend(page.users);
        after = page.next;
        if after.is_none() {
            return users;
        }
    }
}

/// Makes a call that used this many tokens, micro-dollars and milliseconds, some seconds after the beginning of an hour.
fn call(tokens: u64, seconds: i64) -> NewProviderCall {
    NewProviderCall {
        prompt_tokens: tokens,
        cost: MicroDollars::new(tokens).unwrap(),
        duration_ms: tokens,
        called_at: Some(at(seconds)),
        ..NewProviderCall::default()
    }
}

/// Returns the usage of calls that used this many tokens, micro-dollars and milliseconds each.
fn sum(tokens: &[u64]) -> Usage {
    let total: u64 = tokens.iter().sum();
    Usage {
        calls: tokens.len() as u64,
        tokens: Tokens { prompt: total, completion: 0, total },
        cost_micros: total,
        duration_ms: total,
    }
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(497_223 * 3_600 + seconds)
}

fn ever() -> std::ops::Range<DateTime<Utc>> {
    DateTime::UNIX_EPOCH..DateTime::UNIX_EPOCH + TimeDelta::days(100_000)
}
