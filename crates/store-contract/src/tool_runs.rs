//! The runs of the tools of a chat, their statistics and their retention.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    Actor, ChatStatus, Clock as _, Lease, Limits, NewLease, NewToolRun, Owner, Retention, Scope,
    SizeLimit, SystemClock, ToolRun, ToolRunId, ToolSums, Uuid7Ids,
};
use serde_json::json;

use super::fixture::{
    TestChat, assert_invalid, assert_refused, new_chat, object, race, some_scope,
};
use persistence::{
    Began, Direction, Outcome, RecordedToolRun, Store, StoreError, ToolRunCursor, ToolRunFilter,
    ToolRunPage, ToolStats, count_due_tool_runs, remove_due_tool_runs,
};

pub async fn every_field_of_a_tool_run_is_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let new = NewToolRun {
        agent: Some("planner.$a_b".to_owned()),
        tool_call_id: Some("call_1".to_owned()),
        parameters: json!({ "$oid": [null, 0.5, { "": "$x" }] }),
        result: json!("found"),
        is_success: false,
        error: Some("late, but found".to_owned()),
        metadata: object(json!({ "$date": 1 })),
        started_at: Some(at(7)),
        ..run("run_1", "web.$search")
    };
    let recorded = record(&chat, vec![new.clone()]).await.unwrap().remove(0);
    assert_eq!(recorded.outcome, Outcome::Stored);
    let expected = new.kept_at(recorded.run.recorded_at, &Uuid7Ids);
    assert_eq!(recorded.run, expected);
    assert_eq!(all(&chat).await, [expected]);
    let bare = NewToolRun { tool_name: "bare".to_owned(), ..NewToolRun::default() };
    let bare = record(&chat, vec![bare]).await.unwrap().remove(0).run;
    assert_eq!(bare.started_at, bare.recorded_at);
    assert_eq!(all(&chat).await[0], bare);
}

pub async fn a_repeated_tool_run_gets_the_first_answer(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = record(&chat, vec![run("run_1", "search")]).await.unwrap().remove(0);
    let again = vec![run("run_2", "search"), run("run_1", "search")];
    let again = record(&chat, again).await.unwrap();
    let outcomes: Vec<_> = again.iter().map(|recorded| recorded.outcome).collect();
    assert_eq!(outcomes, [Outcome::Stored, Outcome::Duplicate]);
    assert_eq!(again[1].run, first.run);
    let twice = vec![run("run_3", "search"), run("run_3", "search")];
    assert_eq!(record(&chat, twice).await.unwrap()[1].outcome, Outcome::Duplicate);
    let started_at = Some(first.run.started_at);
    let stated = NewToolRun { started_at, ..run("run_1", "search") };
    assert_eq!(record(&chat, vec![stated]).await.unwrap()[0].outcome, Outcome::Duplicate);
    assert_eq!(all(&chat).await.len(), 3);
}

pub async fn a_run_id_with_another_body_refuses_the_whole_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    record(&chat, vec![run("run_1", "search")]).await.unwrap();
    let others = [
        NewToolRun { result: json!("other"), ..run("run_1", "search") },
        NewToolRun { started_at: Some(at(1)), ..run("run_1", "search") },
    ];
    for other in others {
        let refused = record(&chat, vec![run("run_2", "search"), other]).await;
        let (chat_id, run_id) = (chat.id.clone(), run_id("run_1"));
        assert_refused(refused, &StoreError::ToolRunConflict { chat_id, run_id, index: 1 });
    }
    let two = vec![run("run_3", "search"), run("run_3", "other")];
    assert_invalid(record(&chat, two).await, "/runs/1/run_id", NotAdmitted);
    assert_eq!(all(&chat).await.len(), 1);
}

pub async fn a_tool_run_past_a_limit_is_refused_with_its_batch(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let text = |bytes: usize| json!("x".repeat(bytes));
    let large = NewToolRun { result: text(Limits::TOOL_VALUE_BYTES), ..run("run_2", "search") };
    let refused = record(&chat, vec![run("run_1", "search"), large]).await;
    assert_invalid(refused, "/runs/1/result", TooLarge(SizeLimit::ToolRun));
    assert_invalid(record(&chat, Vec::new()).await, "/runs", NotAdmitted);
    let many = vec![run("run_1", "search"); Limits::BATCH_TOOL_RUNS + 1];
    assert_invalid(record(&chat, many).await, "/runs", TooLarge(SizeLimit::Batch));
    let large = |n| NewToolRun {
        parameters: text(Limits::TOOL_VALUE_BYTES - 64),
        result: text(Limits::TOOL_VALUE_BYTES - 64),
        ..run(&format!("run_{n}"), "search")
    };
    let full: Vec<_> =
        (0..=Limits::BATCH_BYTES / Limits::TOOL_VALUE_BYTES / 2).map(large).collect();
    let refused = record(&chat, full.clone()).await;
    assert_invalid(refused, "/runs", TooLarge(SizeLimit::Batch));
    assert_eq!(all(&chat).await, []);
    let fits = full[1..].to_vec();
    let count = fits.len();
    record(&chat, fits).await.unwrap();
    // A page ends after some bytes.
    let page = list(&chat, &ToolRunFilter::default(), usize::MAX, None).await.unwrap();
    assert!(page.runs.len() < count && page.next.is_some());
    assert_eq!(all(&chat).await.len(), count);
}

pub async fn tool_runs_of_an_unknown_chat_are_refused(store: Arc<dyn Store>) {
    let unknown = TestChat::unknown(&store);
    let chat = TestChat::create(&store).await;
    for hidden in [unknown, chat.seen_from(some_scope())] {
        let not_found = StoreError::ChatNotFound(hidden.id.clone());
        assert_refused(record(&hidden, vec![run("run_1", "search")]).await, &not_found);
        let listed = list(&hidden, &ToolRunFilter::default(), 10, None).await;
        assert_refused(listed, &not_found);
        assert_refused(chat_stats(&hidden, &Began::default()).await, &not_found);
    }
    assert_eq!(all(&chat).await, []);
}

pub async fn tool_runs_are_listed_in_pages_in_both_directions(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let moments = [3, 1, 2, 2, 2, 5].into_iter().enumerate();
    let runs = moments.map(|(index, moment)| NewToolRun {
        started_at: Some(at(moment)),
        ..run(&format!("run_{index}"), "search")
    });
    record(&chat, runs.collect()).await.unwrap();
    let mut newest = vec!["run_5", "run_0", "run_4", "run_3", "run_2", "run_1"];
    for direction in [Direction::Descending, Direction::Ascending] {
        let filter = ToolRunFilter { direction, ..ToolRunFilter::default() };
        for limit in [1, 2, 6] {
            assert_eq!(ids(&in_pages(&chat, &filter, limit).await), newest);
        }
        newest.reverse();
    }
}

pub async fn tool_runs_are_listed_by_tool_success_and_time(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let runs = (0..12).map(|n: i64| NewToolRun {
        is_success: n % 3 > 0,
        started_at: Some(at(n)),
        ..run(&format!("run_{n}"), if n % 2 == 0 { "even" } else { "odd" })
    });
    record(&chat, runs.collect()).await.unwrap();
    let (tool_name, is_success) = (Some("even".to_owned()), Some(false));
    let began = Began { from: Some(at(3)), before: Some(at(6)) };
    let of_tool = ToolRunFilter { tool_name, ..ToolRunFilter::default() };
    let failed = ToolRunFilter { is_success, ..of_tool.clone() };
    let soon = ToolRunFilter { began, ..ToolRunFilter::default() };
    let unknown = ToolRunFilter { tool_name: Some("$ne".to_owned()), ..failed.clone() };
    for (filter, expected) in [
        (of_tool, &["run_10", "run_8", "run_6", "run_4", "run_2", "run_0"][..]),
        (failed, &["run_6", "run_0"]),
        (soon, &["run_5", "run_4", "run_3"]),
        (unknown, &[]),
    ] {
        assert_eq!(ids(&in_pages(&chat, &filter, 2).await), expected);
    }
}

pub async fn tool_runs_are_summed_up_by_tool(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(chat_stats(&chat, &Began::default()).await.unwrap(), ToolStats::default());
    let runs = [("b", Some(30), true), ("a", Some(10), false), ("a", None, true)];
    let runs = runs.into_iter().enumerate().map(|(n, (tool, duration, is_success))| NewToolRun {
        execution_time_ms: duration,
        is_success,
        started_at: Some(at(i64::try_from(n).unwrap())),
        ..run(&format!("run_{n}"), tool)
    });
    record(&chat, runs.collect()).await.unwrap();
    let stats = chat_stats(&chat, &Began::default()).await.unwrap();
    let sums = |runs, failed, timed, execution_time_ms, longest_ms| ToolSums {
        runs,
        failed,
        timed,
        execution_time_ms,
        longest_ms,
    };
    assert_eq!((stats.total, stats.others), (sums(3, 1, 2, 40, 30), 0));
    let tools = stats.tools.iter().map(|it| (&*it.tool_name, it.sums, it.last_started_at));
    let tools: Vec<_> = tools.collect();
    assert_eq!(tools, [("a", sums(2, 1, 1, 10, 10), at(2)), ("b", sums(1, 0, 1, 30, 30), at(0))]);
    let later = Began { from: Some(at(1)), before: None };
    assert_eq!(chat_stats(&chat, &later).await.unwrap().total, sums(2, 1, 1, 10, 10));

    let other = TestChat::create_in(&chat.scope, &store, new_chat()).await;
    record(&other, vec![run("run_0", "b")]).await.unwrap();
    let elsewhere = TestChat::create(&store).await;
    record(&elsewhere, vec![run("run_0", "b")]).await.unwrap();
    let of_app = store.app_tool_stats(&chat.scope.app_id, &Began::default()).await.unwrap();
    assert_eq!((of_app.total.runs, of_app.tools.len()), (4, 2));
    let early = Began { from: None, before: Some(at(1)) };
    let of_app = store.app_tool_stats(&chat.scope.app_id, &early).await.unwrap();
    assert_eq!(of_app.total, sums(1, 0, 1, 30, 30));
}

pub async fn a_tool_run_is_recorded_after_the_end_and_without_the_lease(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let owner = Owner::parse("worker").unwrap();
    let lease = NewLease { lease_id: None, owner, ttl: Lease::MAX_TTL };
    let lease = store.acquire_lease(&chat.scope, &chat.id, lease).await.unwrap();
    let fenced =
        chat.seen_from(Scope { fencing_token: Some(lease.fencing_token), ..chat.scope.clone() });
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    record(&chat, vec![run("run_1", "search")]).await.unwrap();
    record(&fenced, vec![run("run_2", "search")]).await.unwrap();
    assert_eq!(all(&chat).await.len(), 2);
}

pub async fn racing_recordings_keep_every_tool_run_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..32).map(|racer| {
        let chat = chat.clone();
        // Two recordings send each run.
        let id = format!("run_{}", racer / 2);
        async move { record(&chat, vec![run(&id, "search")]).await.unwrap().remove(0).outcome }
    });
    let outcomes = race(racers).await;
    let stored = outcomes.iter().filter(|outcome| **outcome == Outcome::Stored).count();
    assert_eq!((stored, all(&chat).await.len()), (16, 16));
}

pub async fn old_tool_runs_are_removed_but_for_those_of_chats_under_hold(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let held = TestChat::create_in(&chat.scope, &store, new_chat()).await;
    let app_id = &chat.scope.app_id;
    // When a run began does not matter: an import brings old ones.
    let old = |id: &str| NewToolRun { started_at: Some(at(0)), ..run(id, "search") };
    for each in [&chat, &held] {
        record(each, (0..5).map(|n| old(&format!("run_{n}"))).collect()).await.unwrap();
    }
    store.set_hold(&Actor::command_line(), app_id, &held.id, Some("dispute")).await.unwrap();
    let now = SystemClock.now();
    let retention = Retention { tool_run_days: 30, ..Retention::default() };
    let remove = async |retention: &Retention, days| {
        let now = now + TimeDelta::days(days);
        let counted = count_due_tool_runs(&*store, app_id, retention, now).await.unwrap();
        let removed = remove_due_tool_runs(&*store, app_id, retention, now).await.unwrap();
        assert_eq!(counted, removed);
        removed
    };
    assert_eq!(remove(&retention, 29).await, 0);
    assert_eq!(remove(&Retention::default(), 31).await, 0);
    let later = now + TimeDelta::days(1);
    let other_app = some_scope().app_id;
    let other = store.remove_tool_runs(&other_app, later, 10, None).await.unwrap();
    assert_eq!((other.count, other.next), (0, None));
    let (mut removed, mut after) = (0, None);
    loop {
        let at = after.as_ref();
        let due = store.count_due_tool_runs(app_id, later, 3, at).await.unwrap();
        let step = store.remove_tool_runs(app_id, later, 3, at).await.unwrap();
        assert_eq!(due, step, "what is counted is removed");
        removed += step.count;
        after = step.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!((removed, all(&chat).await.len(), all(&held).await.len()), (5, 0, 5));
    store.set_hold(&Actor::command_line(), app_id, &held.id, None).await.unwrap();
    assert_eq!(remove(&retention, 31).await, 5);
    assert_eq!(all(&held).await, []);
}

pub async fn a_purge_removes_the_tool_runs(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    record(&chat, vec![run("run_1", "search")]).await.unwrap();
    let purged = store.purge_chat(&Actor::command_line(), &chat.scope, &chat.id, None).await;
    assert!(purged.unwrap());
    let left = store.app_tool_stats(&chat.scope.app_id, &Began::default()).await.unwrap();
    assert_eq!(left, ToolStats::default());
}

fn run(id: &str, tool_name: &str) -> NewToolRun {
    NewToolRun {
        run_id: Some(run_id(id)),
        tool_name: tool_name.to_owned(),
        parameters: json!({ "query": "rust" }),
        result: json!(["a", "b"]),
        is_success: true,
        execution_time_ms: Some(250),
        ..NewToolRun::default()
    }
}

fn run_id(id: &str) -> ToolRunId {
    ToolRunId::parse(id).unwrap()
}

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(1_790_000_000 + seconds)
}

pub(super) async fn record(
    chat: &TestChat,
    runs: Vec<NewToolRun>,
) -> Result<Vec<RecordedToolRun>, StoreError> {
    chat.store.record_tool_runs(&chat.scope, &chat.id, runs).await
}

pub(super) async fn list(
    chat: &TestChat,
    filter: &ToolRunFilter,
    limit: usize,
    after: Option<&ToolRunCursor>,
) -> Result<ToolRunPage, StoreError> {
    chat.store.list_tool_runs(&chat.scope, &chat.id, filter, limit, after).await
}

pub(super) async fn chat_stats(chat: &TestChat, began: &Began) -> Result<ToolStats, StoreError> {
    chat.store.chat_tool_stats(&chat.scope, &chat.id, began).await
}

/// Reads a list to its end.
async fn in_pages(chat: &TestChat, filter: &ToolRunFilter, limit: usize) -> Vec<ToolRun> {
    let (mut runs, mut after) = (Vec::new(), None);
    loop {
        let page = list(chat, filter, limit, after.as_ref()).await.unwrap();
        assert!(page.runs.len() <= limit);
        runs.extend(page.runs);
        after = page.next;
        if after.is_none() {
            return runs;
        }
    }
}

/// Returns all runs, newest first.
async fn all(chat: &TestChat) -> Vec<ToolRun> {
    in_pages(chat, &ToolRunFilter::default(), 100).await
}

fn ids(runs: &[ToolRun]) -> Vec<&str> {
    runs.iter().map(|run| run.run_id.as_str()).collect()
}
