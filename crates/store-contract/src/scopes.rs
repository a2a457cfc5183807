//! Records outside the caller's scope do not exist for the caller.

use std::sync::Arc;

use records::{ChatStatus, NewArtifact, NewChatSession, NewFork, TeamId, UserId, Visibility};
use serde_json::json;

use super::fixture::{
    TestChat, assert_refused, event, list_in_pages, message, new_chat, new_content, object,
    some_scope,
};
use persistence::{ChatFilter, MessageRange, Store, StoreError};

pub async fn no_call_finds_an_unknown_chat(store: Arc<dyn Store>) {
    assert_hidden(&TestChat::unknown(&store)).await;
}

pub async fn no_call_finds_a_chat_of_another_app(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::App, None, None).await;
    let before = chat.whole().await;
    let stranger = chat.seen_from(some_scope());
    assert_hidden(&stranger).await;
    assert_hidden(&stranger.seen_by("owner", Some("team"))).await;
    assert_eq!(chat.whole().await, before);
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    assert_hidden(&stranger).await;
}

pub async fn only_users_admitted_by_its_visibility_reach_a_chat(store: Arc<dyn Store>) {
    let (owner, team) = (Some("owner"), Some("team"));
    let cases = [
        // Visibility, owner and team of the chat; user and team of the caller; access allowed?
        (Visibility::App, owner, team, "stranger", None, true),
        (Visibility::App, None, None, "stranger", Some("others"), true),
        (Visibility::Team, owner, team, "owner", None, true),
        (Visibility::Team, owner, team, "owner", Some("others"), true),
        (Visibility::Team, owner, team, "mate", team, true),
        (Visibility::Team, owner, team, "stranger", Some("others"), false),
        (Visibility::Team, owner, team, "stranger", None, false),
        (Visibility::Team, owner, None, "owner", None, true),
        (Visibility::Team, owner, None, "stranger", team, false),
        (Visibility::Team, owner, None, "stranger", None, false),
        (Visibility::Team, None, team, "mate", team, true),
        (Visibility::Private, owner, team, "owner", None, true),
        (Visibility::Private, owner, team, "mate", team, false),
        (Visibility::Private, owner, team, "team", None, false),
        (Visibility::Private, None, team, "mate", team, false),
        (Visibility::Private, None, None, "stranger", None, false),
    ];
    for (visibility, owner, team, user, users_team, is_admitted) in cases {
        let case = format!("{visibility:?} {owner:?} {team:?}: {user} {users_team:?}");
        let chat = full_chat(&store, visibility, owner, team).await;
        let seen = chat.seen_by(user, users_team);
        if is_admitted {
            for (call, answer) in every_call(&seen).await {
                assert!(answer.is_ok(), "{case}: {call}: {answer:?}");
            }
            assert_eq!(seen.get().await.unwrap(), chat.get().await.unwrap(), "{case}");
            assert_eq!(listed(&seen).await, 1, "{case}");
        } else {
            let before = chat.whole().await;
            assert_hidden(&seen).await;
            assert_eq!(chat.whole().await, before, "{case}");
        }
    }
}

pub async fn a_list_shows_a_user_exactly_the_chats_they_may_read(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for visibility in [Visibility::App, Visibility::Team, Visibility::Private] {
        for owner in [None, Some("owner"), Some("mate")] {
            for team in [None, Some("team"), Some("others")] {
                let new = owned(visibility, owner, team);
                chats.push(TestChat::create_in(&scope, &store, new).await);
            }
        }
    }
    for (user, team) in [("owner", None), ("mate", Some("team")), ("stranger", Some("others"))] {
        let mut open = Vec::new();
        for chat in &chats {
            open.extend(chat.seen_by(user, team).get().await.unwrap());
        }
        open.sort_by_key(|chat| std::cmp::Reverse((chat.created_at, chat.chat_id.clone())));
        let caller = chats[0].seen_by(user, team).scope;
        let shown = list_in_pages(&store, &caller, 4, None).await;
        assert!(shown.len() > 9 && shown.len() < 27);
        assert_eq!(shown, open, "{user} {team:?}");
    }
}

/// Asserts that the chat does not exist in its scope.
async fn assert_hidden(chat: &TestChat) {
    assert_eq!(chat.get().await.unwrap(), None);
    assert_eq!(listed(chat).await, 0);
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    let conflicting = chat.append([event("e", "another text")]).await;
    assert_refused(conflicting, &not_found);
    for (call, answer) in every_call(chat).await {
        assert!(answer.is_err(), "{call}");
        assert_refused(answer, &not_found);
    }
}

async fn listed(chat: &TestChat) -> usize {
    let filter = ChatFilter::default();
    let page = chat.store.list_chats(&chat.scope, &filter, 100, None).await;
    page.unwrap().chats.iter().filter(|listed| listed.chat_id == chat.id).count()
}

/// Makes every call on a chat, except getting and listing it. Calls that cannot be undone come last.
async fn every_call(chat: &TestChat) -> Vec<(&'static str, Result<(), StoreError>)> {
    let range = MessageRange::all();
    let data = || object(json!({"by": "another"}));
    vec![
        ("messages", chat.messages(range).await.map(drop)),
        ("history", chat.history().await.map(drop)),
        ("get_message", chat.get_message(0).await.map(drop)),
        ("load_context_snapshot", chat.load_context().await.map(drop)),
        ("get_last_artifact", chat.get_artifact().await.map(drop)),
        ("list_context_versions", chat.context_versions().await.map(drop)),
        ("get_context_version", chat.context_version(1).await.map(drop)),
        ("append", chat.append([message("from outside")]).await.map(drop)),
        ("append, repeated", chat.append([event("e", "secret")]).await.map(drop)),
        ("persist_initial_messages", chat.persist_initial([message("x")]).await.map(drop)),
        ("update_message", chat.update_message(0, new_content("x")).await.map(drop)),
        ("delete_message", chat.delete_message(0).await.map(drop)),
        ("update_context_snapshot", chat.replace_context(data()).await.map(drop)),
        ("merge_context_snapshot", chat.merge_context(data()).await.map(drop)),
        ("update_last_artifact", chat.update_artifact(NewArtifact::default()).await.map(drop)),
        ("clear_last_artifact", chat.clear_artifact().await),
        ("list_participants", chat.participants().await.map(drop)),
        ("presence", chat.store.presence(&chat.scope, &chat.id).await.map(drop)),
        ("join_chat", chat.join("user").await.map(drop)),
        ("leave_chat", chat.leave("user").await),
        ("fork_chat", chat.fork(NewFork::default()).await.map(drop)),
        ("set_status", chat.set_status(ChatStatus::Completed, None).await.map(drop)),
    ]
}

/// Creates a chat with some of every record.
async fn full_chat(
    store: &Arc<dyn Store>,
    visibility: Visibility,
    owner: Option<&str>,
    team: Option<&str>,
) -> TestChat {
    let chat = TestChat::create_from(store, owned(visibility, owner, team)).await;
    chat.append([event("e", "secret")]).await.unwrap();
    chat.replace_context(object(json!({"a": "secret"}))).await.unwrap();
    chat.update_artifact(NewArtifact::default()).await.unwrap();
    chat
}

fn owned(visibility: Visibility, owner: Option<&str>, team: Option<&str>) -> NewChatSession {
    NewChatSession {
        user_id: owner.map(|user| UserId::parse(user).unwrap()),
        team_id: team.map(|team| TeamId::parse(team).unwrap()),
        visibility,
        ..new_chat()
    }
}
