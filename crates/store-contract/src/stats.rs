//! The statistics of workflows: the sums of their chats and calls.

use std::ops::Range;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::{
    Actor, ChatStatus, Counter, Lifecycle, Measure, Model, NewChatSession, NewProviderCall, Rollup,
    Scope, SessionChange, Subject, Usage,
};

use super::erasures::user;
use super::fixture::{TestChat, race, some_scope, workflow};
use persistence::{ChatStats, HourlyUsage, Store, UsageBy, UsageFilter, UsageOrder, WorkflowStats};

pub async fn an_unused_workflow_has_empty_stats(store: Arc<dyn Store>) {
    let scope = some_scope();
    assert_eq!(stats(&store, &scope, "research").await, WorkflowStats::default());
    assert_eq!(store.app_stats(&scope.app_id).await.unwrap(), []);
    assert_eq!(chats(&store, &scope, "research").await, []);
}

pub async fn every_start_and_every_status_change_is_counted(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [running, paused, completed, failed] = [
        begin(&store, &scope, "research").await,
        begin(&store, &scope, "research").await,
        begin(&store, &scope, "research").await,
        begin(&store, &scope, "research").await,
    ];
    let moves = [
        (&running, ChatStatus::Completed),
        (&running, ChatStatus::Running),
        (&paused, ChatStatus::Paused),
        (&paused, ChatStatus::Running),
        (&paused, ChatStatus::Paused),
        (&completed, ChatStatus::Completed),
        (&failed, ChatStatus::Failed),
        // The status stays the same, so nothing is counted.
        (&failed, ChatStatus::Failed),
    ];
    for (chat, status) in moves {
        chat.set_status(status, None).await.unwrap();
    }
    completed.set_status(ChatStatus::Paused, None).await.unwrap_err();
    let total = stats(&store, &scope, "research").await.total;
    let events = [
        (Counter::Starts, 4),
        (Counter::Pauses, 2),
        (Counter::Resumptions, 1),
        (Counter::Completions, 2),
        (Counter::Failures, 1),
        (Counter::Reopens, 1),
        (Counter::Running, 1),
        (Counter::Paused, 1),
        (Counter::Completed, 1),
        (Counter::Failed, 1),
    ];
    assert_eq!(events.map(|(counter, _)| total.get(counter)), events.map(|(_, number)| number));
    let ended = [completed.session().await, failed.session().await];
    let duration_ms: u64 = ended.iter().map(records::ChatSession::duration_ms).sum();
    assert_eq!(total.count(Counter::ChatDurationMs), duration_ms);
    assert_eq!(total.histogram(Measure::ChatDuration).count(), 2);
    let statuses: Vec<_> = chats(&store, &scope, "research").await;
    for chat in [running, paused, completed, failed] {
        let session = chat.session().await;
        let found = statuses.iter().find(|stats| stats.chat_id == chat.id).unwrap();
        assert_eq!((found.status, found.started_at), (Some(session.status), session.created_at));
        let duration_ms = session.status.is_ended().then(|| session.duration_ms());
        assert_eq!(found.duration_ms, duration_ms);
    }
}

pub async fn a_removed_chat_is_running_no_more(store: Arc<dyn Store>) {
    let scope = some_scope();
    let statuses = async || {
        let total = stats(&store, &scope, "research").await.total;
        let counted = ChatStatus::ALL.map(|status| total.get(Counter::for_status(status)));
        (counted, total.chats())
    };
    let listed = async |chat: &TestChat| {
        let listed = chats(&store, &scope, "research").await;
        let found = listed.into_iter().find(|stats| stats.chat_id == chat.id).unwrap();
        (found.status, found.duration_ms.is_some())
    };
    let [running, paused, failed] = [
        begin(&store, &scope, "research").await,
        begin(&store, &scope, "research").await,
        begin(&store, &scope, "research").await,
    ];
    running.record(vec![call("planner", "large", 100)]).await.unwrap();
    paused.set_status(ChatStatus::Paused, None).await.unwrap();
    failed.set_status(ChatStatus::Failed, None).await.unwrap();
    let all = ([1, 1, 0, 1], 3);
    assert_eq!(statuses().await, all);
    for chat in [&running, &paused, &failed] {
        chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    }
    // One that had ended stays what it was.
    assert_eq!(statuses().await, ([0, 0, 0, 1], 3));
    assert_eq!(listed(&running).await, (None, false));
    assert_eq!(listed(&failed).await, (Some(ChatStatus::Failed), true));
    let finding = TestChat { scope: scope.clone().finding_deleted(), ..paused.clone() };
    finding.change(SessionChange::to_lifecycle(Lifecycle::Active)).await.unwrap();
    assert_eq!(statuses().await, ([0, 1, 0, 1], 3));
    assert_eq!(listed(&paused).await, (Some(ChatStatus::Paused), false));
    // The second is purged without having been deleted.
    for chat in [&running, &paused, &failed] {
        assert!(store.purge_chat(&Actor::command_line(), &scope, &chat.id, None).await.unwrap());
    }
    assert_eq!(statuses().await, ([0, 0, 0, 1], 3));
    assert_eq!(listed(&paused).await, (None, false));
    assert_eq!(stats(&store, &scope, "research").await.total.usage(), sum(&[100]));
}

pub async fn calls_add_up_by_workflow_agent_and_model(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [one, other] =
        [begin(&store, &scope, "research").await, begin(&store, &scope, "research").await];
    one.record(vec![call("planner", "large", 100), call("critic", "small", 10)]).await.unwrap();
    one.record(vec![call("planner", "small", 1)]).await.unwrap();
    other.record(vec![call("planner", "large", 1_000)]).await.unwrap();
    begin(&store, &scope, "research").await;
    let WorkflowStats { total, agents, models, last_updated_at } =
        stats(&store, &scope, "research").await;
    assert!(last_updated_at.is_some());
    assert_eq!(total.usage(), sum(&[100, 10, 1, 1_000]));
    let usage = |rollup: &Rollup| rollup.usage();
    let agents: Vec<_> =
        agents.iter().map(|(name, rollup)| (name.clone(), usage(rollup))).collect();
    let planner = (Some("planner".to_owned()), sum(&[100, 1, 1_000]));
    assert_eq!(agents, [planner, (Some("critic".to_owned()), sum(&[10]))]);
    let models: Vec<_> =
        models.iter().map(|(name, rollup)| (name.clone(), usage(rollup))).collect();
    assert_eq!(models, [(model("large"), sum(&[100, 1_000])), (model("small"), sum(&[10, 1]))]);
    // The histograms measure each call, and each chat with a call.
    let percentile = |measure, percent| total.histogram(measure).percentile(percent);
    assert_eq!(percentile(Measure::CallTokens, 50), Some(10));
    assert_eq!(total.histogram(Measure::CallTokens).count(), 4);
    assert_eq!(total.histogram(Measure::ChatTokens).count(), 2);
    let of_one = records::Histogram::number(records::Histogram::bucket(111));
    assert_eq!(percentile(Measure::ChatTokens, 50), Some(of_one));
    assert_eq!(total.histogram(Measure::ChatCost).count(), 2);
    let listed = chats(&store, &scope, "research").await;
    let usage = listed.iter().find(|chat| chat.chat_id == one.id).unwrap().usage;
    assert_eq!((usage, one.usage().await), (sum(&[100, 10, 1]), sum(&[100, 10, 1])));
}

pub async fn similar_names_are_counted_separately(store: Arc<dyn Store>) {
    let scope = some_scope();
    let names = ["a_b", "a.b", "a", "b", "$a", "a.$b", "agents", "_id", "ä\u{301}", "hour"];
    for (index, name) in names.into_iter().enumerate() {
        let chat = begin(&store, &scope, name).await;
        for tokens in 0..=index {
            chat.record(vec![call(name, name, tokens as u64)]).await.unwrap();
        }
    }
    for (index, name) in names.into_iter().enumerate() {
        let tokens: Vec<_> = (0..=index as u64).collect();
        let stats = stats(&store, &scope, name).await;
        assert_eq!(stats.total.usage(), sum(&tokens), "{name}");
        let [(agent, rollup)] = &stats.agents[..] else { panic!("{:?}", stats.agents) };
        assert_eq!((agent.as_deref(), rollup.usage()), (Some(name), sum(&tokens)));
        assert_eq!(stats.models[0].0, model(name));
    }
    let mut summaries = store.app_stats(&scope.app_id).await.unwrap();
    summaries.sort_by(|a, b| a.workflow_name.cmp(&b.workflow_name));
    let mut expected = names.to_vec();
    expected.sort_unstable();
    let found: Vec<_> = summaries.iter().map(|found| found.workflow_name.as_str()).collect();
    assert_eq!(found, expected);
}

pub async fn hours_add_up_to_the_total(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [one, other] = [begin(&store, &scope, "one").await, begin(&store, &scope, "other").await];
    for (chat, seconds) in [(&one, 0), (&one, 3_599), (&one, 3_600), (&other, 7_200)] {
        let called_at = Some(at(seconds));
        chat.record(vec![NewProviderCall { called_at, ..call("a", "m", 7) }]).await.unwrap();
    }
    let range = |from, to| at(from)..at(to);
    let hours = async |range| {
        let hours = store.hourly_stats(&scope.app_id, None, range).await.unwrap();
        let calls = |hour: &persistence::HourlyStats| {
            let seconds = (hour.hour - at(0)).num_seconds();
            (hour.workflow_name.to_string(), seconds, hour.rollup.usage().calls)
        };
        hours.iter().map(calls).collect::<Vec<_>>()
    };
    let one = |seconds, calls| ("one".to_owned(), seconds, calls);
    let expected = [one(0, 2), one(3_600, 1), ("other".to_owned(), 7_200, 1)];
    assert_eq!(hours(range(0, 7_201)).await, expected);
    assert_eq!(hours(range(3_600, 7_200)).await, expected[1..2]);
    let only = Some(&workflow("other"));
    let found = store.hourly_stats(&scope.app_id, only, range(0, 7_201)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].rollup.histogram(Measure::CallTokens).count(), 1);
}

pub async fn agents_and_models_are_added_up_over_workflows_and_hours(store: Arc<dyn Store>) {
    let scope = some_scope();
    let [one, other] = [begin(&store, &scope, "one").await, begin(&store, &scope, "other").await];
    for (chat, seconds, agent, model, tokens) in [
        (&one, 0, "ann", "m1", 1),
        (&one, 3_600, "ann", "m2", 2),
        (&other, 3_600, "bob", "m1", 40),
        (&other, 7_200, "ann", "m1", 500),
    ] {
        let called_at = Some(at(seconds));
        chat.record(vec![NewProviderCall { called_at, ..call(agent, model, tokens) }])
            .await
            .unwrap();
    }
    let shares = async |by, range: Option<Range<_>>, limit| {
        let filter = UsageFilter { range, order: UsageOrder::Tokens };
        let found = store.usage_by(&scope.app_id, by, &filter, limit).await.unwrap();
        let share = |(subject, usage): &(Subject, Usage)| {
            let name = match subject {
                Subject::Agent(agent) => agent.clone(),
                Subject::Model(model) => model.model.clone(),
                _ => None,
            };
            (name.unwrap(), usage.calls, usage.tokens.total)
        };
        (found.shares.iter().map(share).collect::<Vec<_>>(), found.has_more)
    };
    let is = |name: &str, calls, tokens| (name.to_owned(), calls, tokens);
    let agents = vec![is("ann", 3, 503), is("bob", 1, 40)];
    assert_eq!(shares(UsageBy::Agent, None, 2).await, (agents.clone(), false));
    assert_eq!(shares(UsageBy::Agent, None, 1).await, (agents[..1].to_vec(), true));
    let models = vec![is("m1", 3, 541), is("m2", 1, 2)];
    assert_eq!(shares(UsageBy::Model, None, 9).await, (models, false));
    let second = Some(at(3_600)..at(7_200));
    let agents = vec![is("bob", 1, 40), is("ann", 1, 2)];
    assert_eq!(shares(UsageBy::Agent, second.clone(), 9).await, (agents, false));
    let models = vec![is("m1", 1, 40), is("m2", 1, 2)];
    assert_eq!(shares(UsageBy::Model, second, 9).await, (models, false));
    assert_eq!(shares(UsageBy::Model, Some(at(10_800)..at(14_400)), 9).await, (vec![], false));
}

pub async fn users_agents_and_models_have_their_usage_by_hour(store: Arc<dyn Store>) {
    let scope = some_scope();
    let owner = Some(user("ann"));
    let mut chats = Vec::new();
    for workflow_name in ["one", "other"] {
        let new = NewChatSession {
            user_id: owner.clone(),
            ..NewChatSession::of(workflow(workflow_name))
        };
        chats.push(TestChat::create_in(&scope, &store, new).await);
    }
    let [one, other] = &chats[..] else { unreachable!() };
    for (chat, seconds, agent, provider, tokens) in [
        (one, 0, Some("ann"), None, 1),
        (one, 3_600, Some("ann"), None, 2),
        (other, 3_601, Some("ann"), Some("acme"), 40),
        (other, 3_602, None, None, 500),
    ] {
        let requested = Model { provider: provider.map(str::to_owned), ..model("m1") };
        let (agent, called_at) = (agent.map(str::to_owned), Some(at(seconds)));
        let call = NewProviderCall { called_at, agent, requested, ..call("x", "m1", tokens) };
        chat.record(vec![call]).await.unwrap();
    }
    let deleted = NewProviderCall { called_at: Some(at(7_200)), ..call("ann", "m1", 7) };
    let deleted = one.record(vec![deleted]).await.unwrap().remove(0).call.call_id;
    store.delete_call(&scope, &one.id, &deleted).await.unwrap();
    let hours = async |subjects: &[Subject], from, to| {
        let range = at(from)..at(to);
        let found = store.hourly_usage(&scope.app_id, subjects, range).await.unwrap();
        let hour = |it: HourlyUsage| {
            (it.subject, (it.hour - at(0)).num_seconds(), it.usage.calls, it.usage.tokens.total)
        };
        found.into_iter().map(hour).collect::<Vec<_>>()
    };
    let [ann, unknown] = [Some("ann"), None].map(|it| Subject::Agent(it.map(str::to_owned)));
    let model = |provider: Option<&str>| {
        Subject::Model(Model { provider: provider.map(str::to_owned), ..model("m1") })
    };
    let person = Subject::User(user("ann"));
    let expected = [(ann.clone(), 0, 1, 1), (ann.clone(), 3_600, 2, 42)];
    let asked = [ann];
    assert_eq!(hours(&asked, 0, 10_000).await, expected);
    assert_eq!(hours(&asked, 1, 3_601).await, expected[1..]);
    let asked = [person.clone(), model(Some("acme")), model(None), unknown.clone()];
    let expected = [
        (unknown, 3_600, 1, 500),
        (model(None), 0, 1, 1),
        (model(None), 3_600, 2, 502),
        (model(Some("acme")), 3_600, 1, 40),
        (person.clone(), 0, 1, 1),
        (person, 3_600, 3, 542),
    ];
    assert_eq!(hours(&asked, 0, 10_000).await, expected);
    assert_eq!(hours(&[], 0, 10_000).await, []);
    assert_eq!(hours(&[Subject::Agent(Some("m1".to_owned()))], 0, 10_000).await, []);
}

pub async fn a_reopened_chat_is_removed_from_the_hour_of_its_end(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chat = begin(&store, &scope, "research").await;
    chat.set_status(ChatStatus::Failed, None).await.unwrap();
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    let range = DateTime::UNIX_EPOCH..DateTime::UNIX_EPOCH + TimeDelta::days(100_000);
    let hours = store.hourly_stats(&scope.app_id, None, range).await.unwrap();
    let sum = |counter| hours.iter().map(|hour| hour.rollup.get(counter)).sum::<i64>();
    let counters = [Counter::Starts, Counter::Failures, Counter::Reopens, Counter::ChatDurationMs];
    assert_eq!(counters.map(sum), [1, 1, 1, 0]);
    let ended = hours.iter().map(|hour| hour.rollup.histogram(Measure::ChatDuration).count());
    assert_eq!(ended.sum::<i64>(), 0);
}

pub async fn chats_are_listed_newest_first_with_their_usage(store: Arc<dyn Store>) {
    let scope = some_scope();
    for _ in 0..5 {
        begin(&store, &scope, "research").await;
    }
    begin(&store, &scope, "other").await;
    let (mut found, mut after) = (Vec::new(), None);
    let name = workflow("research");
    loop {
        let page = store.list_chat_stats(&scope.app_id, &name, 2, after.as_ref());
        let page = page.await.unwrap();
        found.extend(page.chats.into_iter().map(|chat| (chat.started_at, chat.chat_id)));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found.len(), 5);
    assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
}

pub async fn apps_are_counted_separately_and_listed(store: Arc<dyn Store>) {
    let scopes = [some_scope(), some_scope(), some_scope()];
    for scope in &scopes {
        begin(&store, scope, "research").await;
        begin(&store, scope, "research").await;
    }
    for scope in &scopes {
        assert_eq!(stats(&store, scope, "research").await.total.get(Counter::Starts), 2);
    }
    // Ids of later apps are greater.
    let before = scopes[0].app_id.clone();
    let found = store.list_apps_with_stats(2, Some(&before)).await.unwrap().apps;
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|app_id| *app_id > before) && found.is_sorted());
    let first = store.list_apps_with_stats(1, Some(&before)).await.unwrap();
    assert_eq!((&first.apps[..], first.next.as_ref()), (&found[..1], found.first()));
}

pub async fn racing_status_changes_and_calls_are_counted_once(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chat = begin(&store, &scope, "research").await;
    let racers = (0..24).map(|racer| {
        let (store, scope, chat) = (Arc::clone(&store), scope.clone(), chat.clone());
        async move {
            match racer % 3 {
                0 => drop(chat.set_status(ChatStatus::Completed, None).await),
                1 => drop(chat.record(vec![call("a", "m", 5)]).await.unwrap()),
                _ => drop(begin(&store, &scope, "research").await),
            }
        }
    });
    race(racers).await;
    let total = stats(&store, &scope, "research").await.total;
    let counters = [Counter::Starts, Counter::Completions, Counter::Completed, Counter::Running];
    assert_eq!(counters.map(|counter| total.get(counter)), [9, 1, 1, 8]);
    assert_eq!(total.usage(), sum(&[5; 8]));
    assert_eq!(total.histogram(Measure::ChatTokens).count(), 1);
}

async fn begin(store: &Arc<dyn Store>, scope: &Scope, workflow_name: &str) -> TestChat {
    TestChat::create_in(scope, store, NewChatSession::of(workflow(workflow_name))).await
}

async fn stats(store: &Arc<dyn Store>, scope: &Scope, workflow_name: &str) -> WorkflowStats {
    store.workflow_stats(&scope.app_id, &workflow(workflow_name)).await.unwrap()
}

async fn chats(store: &Arc<dyn Store>, scope: &Scope, workflow_name: &str) -> Vec<ChatStats> {
    let workflow_name = &workflow(workflow_name);
    store.list_chat_stats(&scope.app_id, workflow_name, 100, None).await.unwrap().chats
}

/// Makes a call that used this many tokens, micro-dollars and milliseconds.
fn call(agent: &str, name: &str, tokens: u64) -> NewProviderCall {
    NewProviderCall {
        agent: Some(agent.to_owned()),
        requested: model(name),
        prompt_tokens: tokens,
        cost: records::MicroDollars::new(tokens).unwrap(),
        duration_ms: tokens,
        ..NewProviderCall::default()
    }
}

fn model(name: &str) -> Model {
    Model { provider: Some("acme".to_owned()), model: Some(name.to_owned()) }
}

/// Returns the usage of calls that used this many tokens, micro-dollars and milliseconds each.
fn sum(tokens: &[u64]) -> Usage {
    let total: u64 = tokens.iter().sum();
    Usage {
        calls: tokens.len() as u64,
        tokens: records::Tokens { prompt: total, completion: 0, total },
        cost_micros: total,
        duration_ms: total,
    }
}

/// Returns a time this many seconds after the beginning of an hour.
fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(497_223 * 3_600 + seconds)
}
