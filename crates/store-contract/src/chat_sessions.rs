//! Creating and reading chat sessions.

use std::sync::Arc;

use records::{
    AppId, AssistantId, ChatId, ChatStatus, InvalidKind, Limits, NewChatSession, Scope, SizeLimit,
    TeamId, UserId, Uuid7Ids, Visibility, cache_seed,
};
use serde_json::json;

use super::fixture::{
    TestChat, a_moment_passes, assert_invalid, assert_refused, message, new_chat, object, race,
    some_scope, workflow,
};
use persistence::{Creation, Store, StoreError, create_chat_once};

pub async fn a_new_chat_is_running_and_empty(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let whole = chat.whole().await;
    assert_eq!(whole.session.status, ChatStatus::Running);
    assert_eq!(whole.session.status_reason, None);
    assert_eq!(whole.session.completed_at, None);
    assert_eq!(whole.session.duration_sec.to_bits(), 0.0_f64.to_bits());
    assert_eq!(whole.session.last_sequence, 0);
    assert_eq!(whole.session.created_at, whole.session.last_updated_at);
    assert_eq!(whole.messages, []);
    assert_eq!((whole.context.sequence, whole.context.data.len()), (0, 0));
    assert_eq!(whole.artifact, None);
}

pub async fn every_field_of_a_new_chat_is_returned(store: Arc<dyn Store>) {
    let scope = some_scope();
    let new = NewChatSession {
        chat_id: Some(ChatId::mint(&Uuid7Ids)),
        workflow_name: workflow("Größen.und_$zeichen"),
        user_id: Some(UserId::parse("ada@example.org").unwrap()),
        team_id: Some(TeamId::parse("analysts").unwrap()),
        visibility: Visibility::Team,
        cache_seed: Some(u32::MAX),
        title: Some("Ångström, and why".to_owned()),
        metadata: object(json!({"b": 1, "a": [null, {"x": true}]})),
        assistant_id: Some(AssistantId::parse("größe").unwrap()),
        sort: i32::MIN,
        system_prompt: Some("Größen, {\"$not\": a dot.}\n".to_owned()),
    };
    let created = store.create_chat(&scope, new.clone()).await.unwrap();
    let got = store.get_chat(&scope, &created.chat_id).await.unwrap();
    assert_eq!(got.as_ref(), Some(&created));
    let returned = NewChatSession {
        chat_id: Some(created.chat_id),
        workflow_name: created.workflow_name,
        user_id: created.user_id,
        team_id: created.team_id,
        visibility: created.visibility,
        cache_seed: Some(created.cache_seed),
        title: created.title,
        metadata: created.metadata,
        assistant_id: created.assistant_id,
        sort: created.sort,
        system_prompt: created.system_prompt,
    };
    assert_eq!(returned, new);
    assert_eq!(created.app_id, scope.app_id);
}

pub async fn every_chat_created_without_an_id_gets_a_new_one(store: Arc<dyn Store>) {
    let scope = some_scope();
    let first = store.create_chat(&scope, new_chat()).await.unwrap();
    let second = store.create_chat(&scope, new_chat()).await.unwrap();
    assert_ne!(first.chat_id, second.chat_id);
    assert!(first.chat_id.as_str().starts_with("chat_"));
}

pub async fn a_missing_cache_seed_is_derived_from_app_and_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let expected = cache_seed(&chat.scope.app_id, &chat.id);
    assert_eq!(chat.session().await.cache_seed, expected);
}

/// The only promise with fixed ids, because the seeds depend on them. An earlier run may have
/// created the chats.
pub async fn derived_cache_seeds_equal_the_published_ones(store: Arc<dyn Store>) {
    let vectors = [
        ("acme_corp", "chat_abc123", 1_607_456_783),
        ("acme_corp", "c1", 2_346_697_438),
        ("6507f1b2e4b0c8a9d2f3e4a5", "chat_abc123def456", 1_487_626_750),
        ("app", "chat", 660_817_693),
    ];
    for (app, chat, seed) in vectors {
        let scope = Scope::service(AppId::parse(app).unwrap());
        let chat_id = ChatId::parse(chat).unwrap();
        let created = store.create_chat(&scope, named(&chat_id)).await;
        assert!(matches!(created, Ok(_) | Err(StoreError::ChatExists(_))));
        let session = store.get_chat(&scope, &chat_id).await.unwrap().unwrap();
        assert_eq!(session.cache_seed, seed, "{app}:{chat}");
    }
}

pub async fn creating_a_chat_that_exists_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("kept")]).await.unwrap();
    let before = chat.whole().await;
    a_moment_passes().await;
    for scope in [chat.scope.clone(), some_scope()] {
        let other = NewChatSession {
            workflow_name: workflow("another"),
            cache_seed: Some(7),
            ..named(&chat.id)
        };
        let again = store.create_chat(&scope, other).await;
        assert_refused(again, &StoreError::ChatExists(chat.id.clone()));
    }
    assert_eq!(chat.whole().await, before);
}

pub async fn a_creation_that_is_repeated_returns_the_chat_and_changes_nothing(
    store: Arc<dyn Store>,
) {
    let chat = TestChat::unknown(&store);
    let new = NewChatSession {
        title: Some("a title".to_owned()),
        metadata: object(json!({"a.b": {"$set": 1.5}})),
        ..named(&chat.id)
    };
    let first = create_chat_once(&*store, &chat.scope, new.clone()).await.unwrap();
    assert_eq!(first, Creation::New(chat.session().await));
    chat.append([message("kept")]).await.unwrap();
    let before = chat.whole().await;
    a_moment_passes().await;
    let again = create_chat_once(&*store, &chat.scope, new.clone()).await.unwrap();
    assert_eq!(again, Creation::Repeated(before.session.clone()));
    let others = [
        NewChatSession { title: None, ..new.clone() },
        NewChatSession { cache_seed: Some(7), ..new.clone() },
        NewChatSession { metadata: object(json!({"a.b": {"$set": 2}})), ..new.clone() },
        NewChatSession { workflow_name: workflow("another"), ..new.clone() },
    ];
    let exists = StoreError::ChatExists(chat.id.clone());
    for other in others {
        assert_refused(create_chat_once(&*store, &chat.scope, other).await, &exists);
    }
    assert_refused(create_chat_once(&*store, &some_scope(), new).await, &exists);
    assert_eq!(chat.whole().await, before);
}

pub async fn racing_repeats_of_a_creation_get_one_chat(store: Arc<dyn Store>) {
    let chat = TestChat::unknown(&store);
    let racers = (0..8).map(|_| {
        let chat = chat.clone();
        async move { create_chat_once(&*chat.store, &chat.scope, named(&chat.id)).await.unwrap() }
    });
    let created = race(racers).await;
    let session = chat.session().await;
    let new = created.iter().filter(|it| **it == Creation::New(session.clone())).count();
    let repeated = created.iter().filter(|it| **it == Creation::Repeated(session.clone())).count();
    assert_eq!((new, repeated), (1, 7));
}

pub async fn exactly_one_of_sixteen_racing_creators_wins(store: Arc<dyn Store>) {
    let chat = TestChat::unknown(&store);
    let racers = (0..16).map(|seed| {
        let chat = chat.clone();
        let new = NewChatSession { cache_seed: Some(seed), ..named(&chat.id) };
        async move { chat.store.create_chat(&chat.scope, new).await }
    });
    let mut winners = Vec::new();
    for answer in race(racers).await {
        match answer {
            Ok(session) => winners.push(session),
            refused => assert_refused(refused, &StoreError::ChatExists(chat.id.clone())),
        }
    }
    assert_eq!(winners, [chat.session().await]);
}

pub async fn getting_an_unknown_chat_returns_none(store: Arc<dyn Store>) {
    assert_eq!(TestChat::unknown(&store).get().await.unwrap(), None);
}

pub async fn a_title_or_metadata_past_its_limit_is_refused(store: Arc<dyn Store>) {
    let long_title =
        NewChatSession { title: Some("é".repeat(Limits::TITLE_CHARS + 1)), ..new_chat() };
    let large_metadata = NewChatSession {
        metadata: object(json!({"a": "x".repeat(Limits::METADATA_BYTES)})),
        ..new_chat()
    };
    let nul_key = NewChatSession { metadata: object(json!({"a": {"b\0": 1}})), ..new_chat() };
    let cases = [
        (long_title, "/title", InvalidKind::Value),
        (large_metadata, "/metadata", InvalidKind::TooLarge(SizeLimit::Metadata)),
        (nul_key, "/metadata/a/b\0", InvalidKind::Value),
    ];
    let chat = TestChat::unknown(&store);
    for (new, pointer, kind) in cases {
        let new = NewChatSession { chat_id: Some(chat.id.clone()), ..new };
        let refused = store.create_chat(&chat.scope, new).await;
        assert_invalid(refused, pointer, kind);
    }
    assert_eq!(chat.get().await.unwrap(), None);
}

fn named(chat_id: &ChatId) -> NewChatSession {
    NewChatSession { chat_id: Some(chat_id.clone()), ..new_chat() }
}
