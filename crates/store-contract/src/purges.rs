//! Purging chats: everything that was said is gone, and nothing else.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::{
    Actor, AuditAction, ChatStatus, Clock as _, Due, Hold, Lifecycle, NewChatSession, NewFork,
    NewProviderCall, NewToolRun, Retention, Scope, SessionChange, SystemClock, UserId, Visibility,
};

use super::fixture::{
    TestChat, a_moment_passes, assert_invalid, assert_refused, event, message, new_chat,
    new_content, race, some_scope, workflow,
};
use super::metrics;
use super::scopes::{assert_hidden, full_chat};
use persistence::{AuditFilter, HoldPage, Store, StoreError, archive_due, purge_due};
use records::InvalidKind::Value as NotAdmitted;

fn actor() -> Actor {
    Actor::command_line()
}

async fn purge(chat: &TestChat) -> Result<bool, StoreError> {
    chat.store.purge_chat(&actor(), &chat.scope, &chat.id, None).await
}

async fn delete(chat: &TestChat) {
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
}

async fn hold(chat: &TestChat, reason: Option<&str>) -> Result<Option<Hold>, StoreError> {
    chat.store.set_hold(&actor(), &chat.scope.app_id, &chat.id, reason).await
}

pub async fn a_purged_chat_exists_for_no_call_and_keeps_its_id(store: Arc<dyn Store>) {
    for is_deleted in [false, true] {
        let chat = full_chat(&store, Visibility::App, Some("owner"), Some("team")).await;
        if is_deleted {
            delete(&chat).await;
        }
        assert!(purge(&chat).await.unwrap());
        let everything = chat.seen_from(chat.scope.finding_deleted());
        for seen in [&chat, &everything, &chat.seen_by("owner", Some("team"))] {
            assert_hidden(seen).await;
        }
        assert!(!purge(&chat).await.unwrap());
        let not_found = StoreError::ChatNotFound(chat.id.clone());
        for seen in [chat.seen_by("owner", Some("team")), chat.seen_from(some_scope())] {
            assert_refused(purge(&seen).await, &not_found);
        }
        assert_refused(hold(&chat, Some("too late")).await, &not_found);
        let restore = SessionChange::to_lifecycle(Lifecycle::Active);
        assert_refused(everything.change(restore).await, &not_found);
        let new = NewChatSession { chat_id: Some(chat.id.clone()), ..new_chat() };
        let taken = store.create_chat(&chat.scope, new).await.map(drop);
        assert_refused(taken, &StoreError::ChatExists(chat.id.clone()));
        while store.finish_purges(100).await.unwrap() > 0 {}
    }
}

pub async fn a_purge_of_an_ended_chat_changes_no_number_of_the_statistics(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let flow = chat.session().await.workflow_name;
    chat.append([message("hello")]).await.unwrap();
    let call = NewProviderCall {
        agent: Some("planner".to_owned()),
        prompt_tokens: 7,
        request_id: Some("req_7".to_owned()),
        ..NewProviderCall::default()
    };
    chat.record(vec![call]).await.unwrap();
    chat.set_status(ChatStatus::Failed, Some("because")).await.unwrap();
    let before = store.workflow_stats(&chat.scope.app_id, &flow).await.unwrap();
    assert!(purge(&chat).await.unwrap());
    assert_eq!(store.workflow_stats(&chat.scope.app_id, &flow).await.unwrap(), before);
}

pub async fn forks_keep_what_they_share_with_a_purged_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([event("e", "secret")]).await.unwrap();
    chat.append_filler().await;
    let part = chat.fork_at(120).await;
    chat.update_message(3, new_content("edited after the first fork")).await.unwrap();
    let fork = chat.fork(NewFork::default()).await.unwrap();
    let of_fork = fork.fork_at(200).await;
    of_fork.update_message(5, new_content("edited in the fork of the fork")).await.unwrap();
    chat.update_message(7, new_content("edited after all forks")).await.unwrap();
    let mut forks = vec![part, fork, of_fork];
    let mut all = vec![chat];
    all.append(&mut forks.clone());
    let mut before = Vec::new();
    for fork in &forks {
        before.push(fork.whole().await);
    }
    // The source first, then each fork: those that are left stay whole.
    for purged in all {
        assert!(purge(&purged).await.unwrap());
        if forks.first().is_some_and(|fork| fork.id == purged.id) {
            forks.remove(0);
            before.remove(0);
        }
        for (fork, before) in forks.iter().zip(&before) {
            assert_eq!(fork.whole().await, *before);
        }
        while store.finish_purges(100).await.unwrap() > 0 {}
    }
}

pub async fn a_chat_under_hold_is_not_purged(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let held = hold(&chat, Some("dispute 7")).await.unwrap().unwrap();
    assert_eq!(held.reason, "dispute 7");
    a_moment_passes().await;
    assert_eq!(hold(&chat, Some("dispute 7")).await.unwrap(), Some(held.clone()));
    assert_eq!(chat.session().await.hold, Some(held));
    delete(&chat).await;
    let refused = StoreError::ChatHeld(chat.id.clone());
    assert_refused(purge(&chat).await, &refused);
    let later = SystemClock.now() + TimeDelta::days(1);
    let due = Some((Due::Deleted, later));
    assert!(!store.purge_chat(&actor(), &chat.scope, &chat.id, due).await.unwrap());
    assert_eq!(store.count_due(&chat.scope.app_id, Due::Deleted, later, &[]).await.unwrap(), 0);
    assert_eq!(hold(&chat, None).await.unwrap(), None);
    assert_eq!(hold(&chat, None).await.unwrap(), None);
    assert!(store.purge_chat(&actor(), &chat.scope, &chat.id, due).await.unwrap());
    let long = "x".repeat(Hold::REASON_CHARS + 1);
    assert_invalid(hold(&chat, Some(&long)).await, "/reason", NotAdmitted);
}

pub async fn chats_under_hold_are_listed_by_id(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for _ in 0..5 {
        chats.push(TestChat::create_in(&scope, &store, new_chat()).await);
    }
    chats.sort_by(|one, other| one.id.cmp(&other.id));
    let [free, first, deleted, lifted, last] = chats.as_slice() else { unreachable!() };
    let mut held = Vec::new();
    for chat in [last, deleted, lifted, first] {
        let reason = format!("dispute about {}", chat.id);
        held.push((chat.id.clone(), hold(chat, Some(&reason)).await.unwrap().unwrap()));
    }
    hold(lifted, None).await.unwrap();
    delete(deleted).await;
    held.sort_by(|(one, _), (other, _)| one.cmp(other));
    held.retain(|(chat_id, _)| *chat_id != lifted.id);

    let mut found = Vec::new();
    let mut after = None;
    loop {
        let page = store.list_holds(&scope.app_id, 2, after.as_ref()).await.unwrap();
        found.extend(page.holds);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, held);
    assert!(held.iter().all(|(chat_id, _)| *chat_id != free.id));
    let other = store.list_holds(&some_scope().app_id, 2, None).await.unwrap();
    assert_eq!(other, HoldPage { holds: vec![], next: None });
}

pub async fn what_retention_does_is_counted(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for _ in 0..4 {
        chats.push(TestChat::create_in(&scope, &store, new_chat()).await);
    }
    let [requested, deleted, inactive, of_alice] = chats.as_slice() else { unreachable!() };
    let later = SystemClock.now() + TimeDelta::days(1);
    delete(deleted).await;
    for _ in 0..2 {
        purge(requested).await.unwrap();
        let due = Some((Due::Deleted, later));
        store.purge_chat(&actor(), &scope, &deleted.id, due).await.unwrap();
        store.archive_inactive(&actor(), &scope.app_id, &inactive.id, later).await.unwrap();
    }
    let run = NewToolRun { tool_name: "search".to_owned(), ..NewToolRun::default() };
    store.record_tool_runs(&scope, &of_alice.id, vec![run.clone(), run]).await.unwrap();
    store.remove_tool_runs(&scope.app_id, later, 10, None).await.unwrap();
    let alice = UserId::parse("alice").unwrap();
    let erasure = store.begin_erasure(&actor(), &scope.app_id, &alice).await.unwrap();
    while store
        .continue_erasure(&scope.app_id, erasure.pseudonym, 100)
        .await
        .unwrap()
        .is_some_and(|erasure| erasure.finished_at.is_none())
    {}
    store.continue_erasure(&scope.app_id, erasure.pseudonym, 100).await.unwrap();

    for (action, expected) in [
        ("purge_requested", 1),
        ("purge_deleted", 1),
        ("purge_completed", 0),
        ("archive", 1),
        ("remove_tool_run", 2),
        ("erase_user", 1),
    ] {
        let count = metrics::count(&*store, "reprise_store_retention_actions_total", &[action]);
        assert_eq!(count, expected, "{action}");
    }
}

/// Returns the ids of the chats of an app that are due, by the reason.
async fn due(store: &Arc<dyn Store>, scope: &Scope, before: DateTime<Utc>) -> Vec<Vec<TestChat>> {
    let mut found = Vec::new();
    for due in Due::ALL {
        let chats = store.list_due(&scope.app_id, due, before, &[], 100).await.unwrap();
        let count = store.count_due(&scope.app_id, due, before, &[]).await.unwrap();
        assert_eq!(count, chats.len() as u64);
        let chats = chats.into_iter().map(|chat| TestChat {
            store: Arc::clone(store),
            scope: scope.clone(),
            id: chat.chat_id,
        });
        found.push(chats.collect());
    }
    found
}

pub async fn retention_purges_what_is_due_and_nothing_else(store: Arc<dyn Store>) {
    let scope = some_scope();
    let create = async || TestChat::create_in(&scope, &store, new_chat()).await;
    let completed = create().await;
    completed.set_status(ChatStatus::Completed, None).await.unwrap();
    let failed = create().await;
    failed.set_status(ChatStatus::Failed, None).await.unwrap();
    let (running, paused) = (create().await, create().await);
    paused.set_status(ChatStatus::Paused, None).await.unwrap();
    let deleted = create().await;
    delete(&deleted).await;
    let archived = create().await;
    archived.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
    let other_app = TestChat::create(&store).await;

    let early = SystemClock.now() - TimeDelta::days(1);
    assert!(due(&store, &scope, early).await.iter().all(Vec::is_empty));
    let late = SystemClock.now() + TimeDelta::days(1);
    let found = due(&store, &scope, late).await;
    let ids = |chats: &[&TestChat]| {
        let mut ids: Vec<_> = chats.iter().map(|chat| chat.id.clone()).collect();
        ids.sort();
        ids
    };
    let found: Vec<_> = found.iter().map(|chats| ids(&chats.iter().collect::<Vec<_>>())).collect();
    let expected = [
        ids(&[&completed]),
        ids(&[&failed]),
        ids(&[&running, &paused, &archived]),
        ids(&[&deleted]),
        ids(&[&completed, &failed, &running, &paused]),
    ];
    assert_eq!(found, expected);
    for (other, expected) in [
        (vec![(Due::Completed, early)], expected[4].clone()),
        (vec![(Due::Completed, late), (Due::Deleted, late)], ids(&[&failed, &running, &paused])),
        (Due::PURGES.map(|due| (due, late)).to_vec(), vec![]),
    ] {
        let app_id = &scope.app_id;
        let count = store.count_due(app_id, Due::Inactive, late, &other).await.unwrap();
        let found = store.list_due(app_id, Due::Inactive, late, &other, 100).await.unwrap();
        let mut found: Vec<_> = found.into_iter().map(|chat| chat.chat_id).collect();
        found.sort();
        assert_eq!((count, found), (expected.len() as u64, expected));
    }

    let retention = Retention { completed_days: 30, deleted_days: 1, ..Retention::default() };
    let mut purged = Vec::new();
    let in_two_days = SystemClock.now() + TimeDelta::days(2);
    let mut note = |due: persistence::DueChat| purged.push((due.chat.chat_id, due.due));
    let count =
        purge_due(&*store, &actor(), &scope.app_id, &retention, in_two_days, &mut note).await;
    assert_eq!(count.unwrap(), 1);
    assert_eq!(purged, [(deleted.id.clone(), Due::Deleted)]);
    for chat in [&completed, &failed, &running, &paused, &archived, &other_app] {
        assert!(chat.get().await.unwrap().is_some());
    }
    let mut apps = Vec::new();
    while let Some(app_id) = store.next_app_with_chats(apps.last()).await.unwrap() {
        apps.push(app_id);
    }
    assert!(apps.is_sorted() && apps.contains(&scope.app_id));
    assert!(apps.contains(&other_app.scope.app_id));
}

pub async fn retention_archives_inactive_chats_and_that_is_no_activity(store: Arc<dyn Store>) {
    let scope = some_scope();
    let create = async || TestChat::create_in(&scope, &store, new_chat()).await;
    let (running, ended, held) = (create().await, create().await, create().await);
    ended.set_status(ChatStatus::Completed, None).await.unwrap();
    hold(&held, Some("dispute")).await.unwrap();
    let archived = create().await;
    archived.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
    let deleted = create().await;
    delete(&deleted).await;
    let before = running.get().await.unwrap().unwrap();

    let archive = async |archive_after_days, days| {
        let retention = Retention { archive_after_days, ..Retention::default() };
        let now = SystemClock.now() + TimeDelta::days(days);
        let mut ids = Vec::new();
        let mut note = |due: persistence::DueChat| ids.push((due.chat.chat_id, due.due));
        let count = archive_due(&*store, &actor(), &scope.app_id, &retention, now, &mut note)
            .await
            .unwrap();
        assert_eq!(count, ids.len() as u64);
        ids.sort_by(|(one, _), (other, _)| one.cmp(other));
        ids
    };
    assert_eq!(archive(7, 6).await, []);
    assert_eq!(archive(0, 100).await, []);
    let mut expected = [&running, &ended].map(|chat| (chat.id.clone(), Due::Inactive));
    expected.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert_eq!(archive(7, 8).await, expected);
    assert_eq!(archive(7, 8).await, [], "they are archived");
    let after = running.get().await.unwrap().unwrap();
    assert_eq!(after.lifecycle, Lifecycle::Archived);
    assert!(after.lifecycle_at.is_some() && after.session_version > before.session_version);
    assert_eq!(after.last_updated_at, before.last_updated_at);
    assert_eq!(held.get().await.unwrap().unwrap().lifecycle, Lifecycle::Active);

    // A message makes the chat active, and it is not inactive for a while.
    running.append([event("e1", "x")]).await.unwrap();
    let active = running.get().await.unwrap().unwrap();
    assert_eq!(active.lifecycle, Lifecycle::Active);
    let inactive_since = active.last_updated_at - TimeDelta::milliseconds(1);
    let again = async |since, chat: &TestChat| {
        store.archive_inactive(&actor(), &scope.app_id, &chat.id, since).await.unwrap()
    };
    assert!(!again(inactive_since, &running).await);
    assert!(again(active.last_updated_at, &running).await);
    assert!(!again(active.last_updated_at, &TestChat::unknown(&store)).await);
    let later = SystemClock.now() + TimeDelta::days(1);
    let other_app = TestChat::create(&store).await;
    assert!(!again(later, &other_app).await);
    let due = Some((Due::Inactive, later));
    assert!(!store.purge_chat(&actor(), &scope, &held.id, due).await.unwrap());
    assert!(!store.purge_chat(&actor(), &scope, &running.id, due).await.unwrap());
    let filter = AuditFilter { chat_id: Some(running.id.clone()), ..AuditFilter::default() };
    let page = store.list_audit_entries(&filter, 10, None).await.unwrap();
    let actions: Vec<_> = page.entries.iter().map(|entry| entry.action).collect();
    assert_eq!(actions, [AuditAction::ArchiveChat, AuditAction::ArchiveChat]);
}

pub async fn a_purge_is_in_the_audit_log(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, NewChatSession::of(workflow("w"))).await;
    hold(&chat, Some("why")).await.unwrap();
    hold(&chat, None).await.unwrap();
    purge(&chat).await.unwrap();
    let filter = AuditFilter { chat_id: Some(chat.id.clone()), ..AuditFilter::default() };
    let page = store.list_audit_entries(&filter, 10, None).await.unwrap();
    let actions: Vec<_> = page.entries.iter().map(|entry| entry.action).collect();
    assert_eq!(actions, [AuditAction::PurgeChat, AuditAction::LiftHold, AuditAction::HoldChat]);
}

/// Every append is stored before the purge, and gone with it, or refused.
pub async fn appends_that_race_with_a_purge_leave_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let fork_of = chat.clone();
    let writers = (0..6).map(|writer| {
        let chat = chat.clone();
        async move {
            for n in 0..40 {
                match chat.append([event(&format!("{writer}-{n}"), "x")]).await {
                    Ok(_) | Err(StoreError::ChatNotFound(_)) => {}
                    Err(error) => panic!("{error:?}"),
                }
            }
        }
    });
    let forking = tokio::spawn(async move {
        let mut forks = Vec::new();
        while let Ok(fork) = fork_of.fork(NewFork::default()).await {
            let history = fork.history().await.unwrap();
            forks.push((fork, history));
        }
        forks
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(purge(&chat).await.unwrap());
    writing.await.unwrap();
    assert_hidden(&chat).await;
    for (fork, history) in forking.await.unwrap() {
        assert_eq!(fork.history().await.unwrap(), history);
    }
}
