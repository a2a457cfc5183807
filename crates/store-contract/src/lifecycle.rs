//! Changes of a chat itself, and its way from active over archived and deleted back to active.

use std::sync::Arc;
use std::time::Duration;

use records::{
    AssistantId, Author, ChatId, ChatSession, FieldChange, IfMatch, Lifecycle, NewChatSession,
    NewFork, NewLease, NewMessage, Owner, Permission, Scope, SessionChange, SizeLimit, TeamId,
    UserId, Uuid7Ids, Visibility,
};
use serde_json::json;

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_invalid, assert_refused, event, message,
    new_chat, new_content, object, race, some_scope,
};
use super::scopes::{assert_hidden, full_chat};
use persistence::{ChatFilter, Creation, Store, StoreError, create_chat_once};
use records::InvalidKind::{TooLarge, Value as NotAdmitted};

fn renamed(title: &str) -> SessionChange {
    SessionChange { title: FieldChange::Set(title.to_owned()), ..SessionChange::default() }
}

/// The same chat for a caller who finds deleted chats.
fn finding_deleted(chat: &TestChat) -> TestChat {
    chat.seen_from(chat.scope.finding_deleted())
}

pub async fn a_change_sets_what_it_names_and_keeps_the_rest(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let before = chat.whole().await;
    a_moment_passes().await;
    let everything = SessionChange {
        title: FieldChange::Set("Ångström".to_owned()),
        metadata: Some(object(json!({"$set": {"a.b": 1}}))),
        visibility: Some(Visibility::App),
        team_id: FieldChange::Set(TeamId::parse("analysts").unwrap()),
        assistant_id: FieldChange::Set(AssistantId::parse("helper").unwrap()),
        sort: Some(-3),
        system_prompt: FieldChange::Set("Be brief.\0".to_owned()),
        lifecycle: Some(Lifecycle::Archived),
    };
    let changed = chat.change(everything.clone()).await.unwrap();
    let expected = ChatSession {
        title: Some("Ångström".to_owned()),
        metadata: object(json!({"$set": {"a.b": 1}})),
        visibility: Visibility::App,
        team_id: TeamId::parse("analysts").ok(),
        assistant_id: AssistantId::parse("helper").ok(),
        sort: -3,
        system_prompt: Some("Be brief.\0".to_owned()),
        lifecycle: Lifecycle::Archived,
        lifecycle_at: Some(changed.last_updated_at),
        session_version: 1,
        last_updated_at: changed.last_updated_at,
        ..before.session.clone()
    };
    assert_eq!(changed, expected);
    assert!(changed.last_updated_at > before.session.last_updated_at);
    let after = chat.whole().await;
    assert_eq!(after.session, changed);
    assert_eq!((after.messages, after.context), (before.messages, before.context));
    let cleared = SessionChange {
        title: FieldChange::Clear,
        metadata: Some(object(json!({}))),
        visibility: Some(Visibility::Private),
        team_id: FieldChange::Clear,
        assistant_id: FieldChange::Clear,
        sort: Some(0),
        system_prompt: FieldChange::Clear,
        lifecycle: Some(Lifecycle::Active),
    };
    let cleared = chat.change(cleared).await.unwrap();
    let (last_updated_at, session_version) = (cleared.last_updated_at, 2);
    assert_eq!(cleared, ChatSession { last_updated_at, session_version, ..before.session });
    assert_eq!(chat.session().await, cleared);
}

pub async fn the_editor_of_a_chat_is_recorded(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let owner = chat.seen_by("owner", None).needing(Permission::Manage);
    let changed = owner.change(renamed("mine")).await.unwrap();
    assert_eq!(changed.updated_by, UserId::parse("owner").ok());
    assert_eq!(chat.change(renamed("ours")).await.unwrap().updated_by, None);
}

pub async fn the_same_change_twice_is_one(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for change in [
        renamed("once"),
        SessionChange::to_lifecycle(Lifecycle::Archived),
        SessionChange::default(),
    ] {
        let first = chat.change(change.clone()).await.unwrap();
        a_moment_passes().await;
        assert_eq!(chat.change(change).await.unwrap(), first);
        assert_eq!(chat.session().await, first);
    }
    assert_eq!(chat.session().await.session_version, 2);
}

pub async fn a_change_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let before = chat.session().await;
    let title = renamed(&"ü".repeat(513));
    assert_invalid(chat.change(title).await, "/title", NotAdmitted);
    let metadata = Some(object(json!({"a": "x".repeat(20_000)})));
    let metadata = SessionChange { metadata, ..renamed("not set") };
    assert_invalid(chat.change(metadata).await, "/metadata", TooLarge(SizeLimit::Metadata));
    let system_prompt = FieldChange::Set("ü".repeat(8_193));
    let prompt = SessionChange { system_prompt, ..renamed("not set") };
    assert_invalid(chat.change(prompt).await, "/system_prompt", NotAdmitted);
    let team = SessionChange { visibility: Some(Visibility::Team), ..renamed("not set") };
    assert_invalid(chat.change(team).await, "/visibility", NotAdmitted);
    let purged = SessionChange::to_lifecycle(Lifecycle::Purged);
    assert_invalid(chat.change(purged).await, "/lifecycle", NotAdmitted);
    assert_eq!(chat.session().await, before);
}

pub async fn of_callers_who_have_seen_the_same_version_one_changes_the_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for version in 0..4 {
        let if_match = Some(IfMatch::Tags(vec![format!("{version}")]));
        let scope = Scope { if_match, ..chat.scope.clone() };
        let racers = (0..8).map(|n| {
            let chat = chat.seen_from(scope.clone());
            async move { chat.change(renamed(&format!("{version}-{n}"))).await }
        });
        let answers = race(racers).await;
        let (changed, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(changed.len(), 1);
        assert!(refused.iter().all(|it| matches!(it, Err(StoreError::Changed { .. }))));
        assert_eq!(chat.session().await, *changed[0].as_ref().unwrap());
    }
}

pub async fn racing_changes_of_different_fields_are_all_made(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let changes = (0..12).map(|n| match n % 3 {
        0 => renamed("by one"),
        1 => SessionChange { sort: Some(7), ..SessionChange::default() },
        _ => SessionChange::to_lifecycle(Lifecycle::Archived),
    });
    let racers = changes.map(|change| {
        let chat = chat.clone();
        async move { chat.change(change).await.map(drop) }
    });
    race(racers.collect::<Vec<_>>()).await.into_iter().for_each(|answer| answer.unwrap());
    let session = chat.session().await;
    assert_eq!(session.title.as_deref(), Some("by one"));
    assert_eq!((session.sort, session.lifecycle), (7, Lifecycle::Archived));
    assert_eq!(session.session_version, 3);
}

pub async fn a_repeated_creation_is_recognised_after_a_change(store: Arc<dyn Store>) {
    let scope = some_scope();
    let new = NewChatSession {
        chat_id: Some(ChatId::mint(&Uuid7Ids)),
        title: Some("before".to_owned()),
        ..new_chat()
    };
    let chat = TestChat::create_in(&scope, &store, new.clone()).await;
    let changed = chat.change(renamed("after")).await.unwrap();
    let again = create_chat_once(&*store, &scope, new.clone()).await.unwrap();
    assert_eq!(again, Creation::Repeated(changed.clone()));
    let other = NewChatSession { title: Some("after".to_owned()), ..new };
    let conflict = create_chat_once(&*store, &scope, other).await;
    assert_refused(conflict.map(drop), &StoreError::ChatExists(chat.id.clone()));
    // The same holds for a fork.
    let fork = NewFork { chat_id: Some(ChatId::mint(&Uuid7Ids)), ..NewFork::default() };
    let forked = chat.fork(fork.clone()).await.unwrap();
    forked.change(renamed("a fork")).await.unwrap();
    let again = persistence::fork_chat_once(&*store, &scope, &chat.id, fork).await.unwrap();
    assert_eq!(again, Creation::Repeated(forked.session().await));
}

pub async fn a_new_message_makes_an_archived_chat_active(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let archived = SessionChange::to_lifecycle(Lifecycle::Archived);
    for messages in [1, 40] {
        chat.change(archived.clone()).await.unwrap();
        assert_eq!(chat.session().await.lifecycle, Lifecycle::Archived);
        chat.append((0..messages).map(message)).await.unwrap();
        let session = chat.session().await;
        assert_eq!((session.lifecycle, session.lifecycle_at), (Lifecycle::Active, None));
    }
}

pub async fn a_deleted_chat_exists_for_no_call(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::App, Some("owner"), Some("team")).await;
    let before = chat.whole().await;
    let deleted = chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    assert_eq!(deleted.lifecycle, Lifecycle::Deleted);
    for user in [None, Some("owner"), Some("stranger")] {
        let caller = user.map(|user| chat.seen_by(user, Some("team")));
        assert_hidden(caller.as_ref().unwrap_or(&chat)).await;
    }
    let new = NewChatSession { chat_id: Some(chat.id.clone()), ..new_chat() };
    let taken = store.create_chat(&chat.scope, new).await;
    assert_refused(taken.map(drop), &StoreError::ChatExists(chat.id.clone()));
    assert_refused(chat.change(renamed("x")).await, &StoreError::ChatNotFound(chat.id.clone()));
    assert_eq!(finding_deleted(&chat).session().await, deleted);
    // Undeleting gives everything back.
    let restored = SessionChange::to_lifecycle(Lifecycle::Active);
    let restored = finding_deleted(&chat).change(restored).await.unwrap();
    let after = chat.whole().await;
    assert_eq!(after.session, restored);
    assert_eq!(
        (after.messages, after.context, after.artifact),
        (before.messages, before.context, before.artifact)
    );
    chat.append([event("after", "again")]).await.unwrap();
}

pub async fn only_those_who_manage_a_deleted_chat_find_it(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::App, Some("owner"), None).await;
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    for (user, finds) in [("owner", true), ("stranger", false), ("reader", false)] {
        let seen = finding_deleted(&chat.seen_by(user, None).needing(Permission::Manage));
        assert_eq!(seen.get().await.unwrap().is_some(), finds, "{user}");
        let filter = ChatFilter { lifecycles: vec![Lifecycle::Deleted], ..ChatFilter::default() };
        let page = store.list_chats(&seen.scope, &filter, 10, None).await.unwrap();
        assert_eq!(page.chats.len(), usize::from(finds), "{user}");
        let page = store.list_chats(&chat.seen_by(user, None).scope, &filter, 10, None).await;
        assert_eq!(page.unwrap().chats, [], "{user}");
        for lifecycle in [Lifecycle::Deleted, Lifecycle::Active].into_iter().filter(|_| !finds) {
            let changed = seen.change(SessionChange::to_lifecycle(lifecycle)).await;
            assert_refused(changed, &StoreError::ChatNotFound(chat.id.clone()));
        }
    }
}

pub async fn lists_select_by_lifecycle(store: Arc<dyn Store>) {
    use Lifecycle::{Active, Archived, Deleted, Purged};
    let scope = some_scope();
    let mut ids = Vec::new();
    for lifecycle in [Lifecycle::Active, Lifecycle::Archived, Lifecycle::Deleted] {
        let chat = TestChat::create_in(&scope, &store, new_chat()).await;
        chat.change(SessionChange::to_lifecycle(lifecycle)).await.unwrap();
        ids.push(chat.id);
    }
    let list = async |lifecycles: &[Lifecycle], scope: &Scope| {
        let lifecycles = lifecycles.to_vec();
        let filter = ChatFilter { lifecycles, ..ChatFilter::default() };
        let page = store.list_chats(scope, &filter, 10, None).await.unwrap();
        let mut listed: Vec<_> = page.chats.into_iter().map(|chat| chat.chat_id).collect();
        listed.sort();
        listed
    };
    assert_eq!(list(&[], &scope).await, ids[..2]);
    assert_eq!(list(&[Active], &scope).await, ids[..1]);
    assert_eq!(list(&[Archived], &scope).await, ids[1..2]);
    assert_eq!(list(&[Archived, Active], &scope).await, ids[..2]);
    assert_eq!(list(&[Deleted], &scope).await, []);
    assert_eq!(list(&[Deleted, Archived], &scope).await, ids[1..2]);
    assert_eq!(list(&[Deleted], &scope.finding_deleted()).await, ids[2..]);
    assert_eq!(list(&[Deleted, Archived], &scope.finding_deleted()).await, ids[1..]);
    assert_eq!(list(&[Purged], &scope.finding_deleted()).await, []);
}

pub async fn deleting_a_chat_ends_its_lease(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let lease = NewLease {
        lease_id: None,
        owner: Owner::parse("worker").unwrap(),
        ttl: Duration::from_mins(10),
    };
    let lease = store.acquire_lease(&chat.scope, &chat.id, lease).await.unwrap();
    let fencing_token = lease.record.fencing_token;
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    let restored = SessionChange::to_lifecycle(Lifecycle::Active);
    let restored = finding_deleted(&chat).change(restored).await.unwrap();
    assert_eq!(restored.lease, None);
    let worker = chat.seen_from(chat.scope.clone().fenced(fencing_token));
    let fenced = StoreError::Fenced { chat_id: chat.id.clone(), fencing_token };
    assert_refused(worker.append([message("too late")]).await, &fenced);
    assert_refused(worker.change(renamed("too late")).await, &fenced);
}

pub async fn a_fork_outlives_the_deletion_of_its_source(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append_filler().await;
    let fork = chat.fork(NewFork::default()).await.unwrap();
    let before = fork.history().await.unwrap();
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    assert_eq!(fork.history().await.unwrap(), before);
    fork.append([message("and on")]).await.unwrap();
    let of_fork = fork.fork(NewFork::default()).await.unwrap();
    assert_eq!(of_fork.history().await.unwrap().len(), before.len() + 1);
    let refused = chat.fork(NewFork::default()).await.map(drop);
    assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
}

/// Every append is stored before the deletion, or refused; what was stored is there again afterwards.
pub async fn appends_that_race_with_a_deletion_are_stored_or_refused(store: Arc<dyn Store>) {
    for _ in 0..4 {
        let chat = TestChat::create(&store).await;
        let writers = (0..8).map(|writer| {
            let chat = chat.clone();
            async move {
                let mut stored = Vec::new();
                for n in 0..20 {
                    let id = format!("{writer}-{n}");
                    match chat.append([event(&id, json!(id))]).await {
                        Ok(_) => stored.push(id),
                        Err(StoreError::ChatNotFound(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
                stored
            }
        });
        let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
        let manager = finding_deleted(&chat);
        while !writing.is_finished() {
            for lifecycle in [Lifecycle::Deleted, Lifecycle::Active, Lifecycle::Archived] {
                manager.change(SessionChange::to_lifecycle(lifecycle)).await.unwrap();
            }
        }
        let mut stored = writing.await.unwrap().concat();
        manager.change(SessionChange::to_lifecycle(Lifecycle::Active)).await.unwrap();
        let messages = chat.history().await.unwrap();
        assert_dense(&messages);
        let mut found: Vec<_> = messages.iter().map(|it| it.event_id.to_string()).collect();
        stored.sort();
        found.sort();
        assert_eq!(found, stored);
    }
}

/// A writer may find the chat or not, whatever happens between the write and the search for why it was refused. It is never
/// told that it lacks a permission.
pub async fn writes_that_race_with_a_deletion_keep_their_rights(store: Arc<dyn Store>) {
    let owner = UserId::parse("owner").unwrap();
    let new = NewChatSession { user_id: Some(owner.clone()), ..new_chat() };
    let chat = TestChat::create_from(&store, new).await;
    let author = Author { user_id: owner, display_name: None };
    let say = move || NewMessage { author: Some(author.clone()), ..message("mine") };
    chat.append([say()]).await.unwrap();
    let writers = (0..4).map(|_| {
        let person = chat.seen_by("owner", None);
        let (speaker, manager) =
            (person.needing(Permission::Say), person.needing(Permission::Manage));
        let say = say.clone();
        async move {
            for n in 0..25 {
                let title = format!("title {n}");
                for written in [
                    speaker.append([say()]).await.map(drop),
                    speaker.update_message(0, new_content(title.as_str())).await.map(drop),
                    manager.change(renamed(&title)).await.map(drop),
                ] {
                    match written {
                        Ok(()) | Err(StoreError::ChatNotFound(_)) => {}
                        Err(error) => panic!("{error:?}"),
                    }
                }
            }
        }
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    let manager = finding_deleted(&chat);
    while !writing.is_finished() {
        for lifecycle in [Lifecycle::Deleted, Lifecycle::Active] {
            manager.change(SessionChange::to_lifecycle(lifecycle)).await.unwrap();
        }
    }
    writing.await.unwrap();
}
