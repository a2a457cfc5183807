//! Listing chat sessions by a value of their metadata.

use std::collections::BTreeSet;
use std::sync::Arc;

use records::{
    Actor, AppId, ChatId, ChatStatus, FieldChange, JsonObject, Lifecycle, MetadataFilter,
    MetadataKeys, NewChatSession, NewFork, Permission, Scope, SessionChange, SettingsChange,
    UserId,
};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, event, list_all, new_chat, race, some_scope, workflow,
};
use super::lists::{person, refused_filter};
use persistence::{ChatCount, ChatFilter, ChatOrder, Direction, Store, StoreError};

/// Declares the keys of an app, and indexes its chats by them.
pub(crate) async fn declare(store: &Arc<dyn Store>, app_id: &AppId, keys: &[&str]) {
    store.register_app(&Actor::command_line(), app_id).await.unwrap();
    change_keys(store, app_id, keys).await;
    index(store).await;
}

async fn change_keys(store: &Arc<dyn Store>, app_id: &AppId, keys: &[&str]) {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let metadata_keys = FieldChange::Set(MetadataKeys::parse(keys).unwrap());
    let change = SettingsChange { metadata_keys, ..SettingsChange::default() };
    store.update_app(&Actor::command_line(), app_id, change).await.unwrap();
}

async fn index(store: &Arc<dyn Store>) {
    while store.index_metadata(7).await.unwrap() > 0 {}
}

pub(crate) fn metadata(key: &str, value: impl Into<Value>) -> JsonObject {
    JsonObject::from_iter([(key.to_owned(), value.into())])
}

fn by(metadata: &str) -> ChatFilter {
    let metadata = Some(MetadataFilter::parse(metadata).unwrap());
    ChatFilter { metadata, ..ChatFilter::default() }
}

async fn create(store: &Arc<dyn Store>, scope: &Scope, metadata: JsonObject) -> TestChat {
    TestChat::create_in(scope, store, NewChatSession { metadata, ..new_chat() }).await
}

async fn set(chat: &TestChat, metadata: JsonObject) {
    let change = SessionChange { metadata: Some(metadata), ..SessionChange::default() };
    chat.change(change).await.unwrap();
}

/// Lists all chats of a filter, in pages. A page of a list that is compared may be empty.
async fn list(store: &Arc<dyn Store>, scope: &Scope, filter: &ChatFilter) -> Vec<ChatId> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_chats(scope, filter, 3, after.as_ref()).await.unwrap();
        found.extend(page.chats.into_iter().map(|chat| chat.chat_id));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

pub async fn chats_are_listed_by_a_value_of_their_metadata(store: Arc<dyn Store>) {
    let scope = some_scope();
    let keys = ["customer", "a:b\\c", "$where", "x.y", "日本"];
    declare(&store, &scope.app_id, &keys).await;
    let named = [r"customer", r"a\:b\\c", "$where", "x.y", "日本"];
    for (key, named) in keys.into_iter().zip(named) {
        let acme = create(&store, &scope, metadata(key, "acme:{$ne: 1}")).await;
        create(&store, &scope, metadata(key, "Acme")).await;
        create(&store, &scope, metadata("other", "acme:{$ne: 1}")).await;
        let found = list(&store, &scope, &by(&format!("{named}:acme:{{$ne: 1}}"))).await;
        assert_eq!(found, [acme.id], "{key}");
        assert_eq!(list(&store, &scope, &by(&format!("{named}:acme"))).await, []);
    }
}

pub async fn values_are_compared_whole_and_as_text(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["key"]).await;
    let long = "日".repeat(500);
    let values = [
        json!("5"),
        json!(5),
        json!(5.0),
        json!("5.0"),
        json!(0.5),
        json!(true),
        json!("true"),
        json!(""),
        json!(null),
        json!(["5"]),
        json!({ "k": "5" }),
        json!(format!("{long}a")),
        json!(format!("{long}b")),
        json!(long[..128 * 3]),
    ];
    let mut ids = Vec::new();
    for value in values {
        ids.push(create(&store, &scope, metadata("key", value)).await.id);
        a_moment_passes().await;
    }
    let without = create(&store, &scope, JsonObject::new()).await;
    for (text, expected) in [
        ("5", vec![0, 1, 2]),
        ("5.0", vec![3]),
        ("0.5", vec![4]),
        ("true", vec![5, 6]),
        ("", vec![7]),
        ("null", vec![]),
        (&format!("{long}a"), vec![11]),
        (&format!("{long}b"), vec![12]),
        (&long, vec![]),
        (&long[..128 * 3], vec![13]),
    ] {
        let mut found = list(&store, &scope, &by(&format!("key:{text}"))).await;
        found.reverse();
        let expected: Vec<_> = expected.into_iter().map(|at: usize| ids[at].clone()).collect();
        assert_eq!(found, expected, "{text}");
        assert!(!found.contains(&without.id));
    }
}

pub async fn lists_by_metadata_follow_changes_forks_and_purges(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["customer"]).await;
    let chat = create(&store, &scope, metadata("customer", "acme")).await;
    let (acme, other) = (by("customer:acme"), by("customer:other"));
    set(&chat, metadata("customer", "other")).await;
    assert_eq!(list(&store, &scope, &acme).await, []);
    assert_eq!(list(&store, &scope, &other).await, std::slice::from_ref(&chat.id));
    // A change of something else leaves it.
    chat.change(SessionChange { sort: Some(4), ..SessionChange::default() }).await.unwrap();
    chat.append([event("e", "hello")]).await.unwrap();
    let fork = NewFork { metadata: metadata("customer", "acme"), ..NewFork::default() };
    let fork = chat.fork(fork).await.unwrap();
    assert_eq!(list(&store, &scope, &acme).await, std::slice::from_ref(&fork.id));
    assert_eq!(list(&store, &scope, &other).await, std::slice::from_ref(&chat.id));
    set(&fork, JsonObject::new()).await;
    assert_eq!(list(&store, &scope, &acme).await, []);
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    assert_eq!(list(&store, &scope, &other).await, []);
    let deleted = ChatFilter { lifecycles: vec![Lifecycle::Deleted], ..other };
    let manager = scope.needing(Permission::Manage).finding_deleted();
    assert_eq!(list(&store, &manager, &deleted).await, std::slice::from_ref(&chat.id));
    store.purge_chat(&scope.actor(), &scope, &chat.id, None).await.unwrap();
    assert_eq!(list(&store, &manager, &deleted).await, []);
}

pub async fn lists_by_metadata_have_pages_counts_and_every_other_filter(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["customer"]).await;
    let mut chats = Vec::new();
    for index in 0..16 {
        let chat = create(&store, &scope, metadata("customer", ["acme", "other"][index % 2])).await;
        if index % 3 == 0 {
            chat.set_status(ChatStatus::Paused, None).await.unwrap();
        }
        if index % 5 == 0 {
            chat.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
        }
        chats.push(chat.session().await);
        a_moment_passes().await;
    }
    let acme = by("customer:acme");
    let archived = vec![Lifecycle::Archived];
    for direction in [Direction::Ascending, Direction::Descending] {
        for filter in [
            acme.clone(),
            ChatFilter { statuses: vec![ChatStatus::Paused], ..acme.clone() },
            ChatFilter { lifecycles: archived.clone(), ..acme.clone() },
            ChatFilter { created_from: Some(chats[5].created_at), ..acme.clone() },
            ChatFilter { created_before: Some(chats[9].created_at), ..acme.clone() },
        ] {
            let filter = ChatFilter { direction: Some(direction), ..filter };
            let admitted = chats.iter().filter(|chat| filter.admits(chat));
            let mut expected: Vec<_> = admitted.map(|chat| chat.chat_id.clone()).collect();
            assert!(!expected.is_empty(), "{filter:?}");
            if direction == Direction::Descending {
                expected.reverse();
            }
            assert_eq!(list(&store, &scope, &filter).await, expected, "{filter:?}");
            let count = store.count_chats(&scope, &filter).await.unwrap();
            assert_eq!(count, ChatCount::Exactly(expected.len()));
        }
    }
}

/// Returns the refusal of a list for its metadata.
async fn refusal(store: &Arc<dyn Store>, scope: &Scope, filter: &ChatFilter) -> Option<String> {
    match store.list_chats(scope, filter, 5, None).await {
        Ok(_) => None,
        Err(StoreError::Invalid(invalid)) => {
            assert_eq!(invalid.location.to_string(), "/metadata");
            Some(invalid.detail)
        }
        Err(error) => panic!("{error:?}"),
    }
}

pub async fn a_list_by_a_key_that_is_not_declared_is_refused(store: Arc<dyn Store>) {
    let scope = some_scope();
    let acme = by("customer:acme");
    let refused = refusal(&store, &scope, &acme).await.unwrap();
    assert!(refused.ends_with("declared none"), "{refused}");
    declare(&store, &scope.app_id, &["region", "customer"]).await;
    assert_eq!(refusal(&store, &scope, &acme).await, None);
    assert_eq!(refusal(&store, &scope, &by("region:eu")).await, None);
    declare(&store, &scope.app_id, &["region", "stage"]).await;
    let refused = refusal(&store, &scope, &acme).await.unwrap();
    assert!(refused.ends_with(r#"declared are "region", "stage""#), "{refused}");
    let counted = store.count_chats(&scope, &acme).await;
    assert!(matches!(counted, Err(StoreError::Invalid(_))), "{counted:?}");
    let of_other_app = some_scope();
    assert!(refusal(&store, &of_other_app, &by("region:eu")).await.is_some());
}

pub async fn lists_by_metadata_that_no_index_serves_are_refused(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["customer"]).await;
    let ada = person(&scope, "ada");
    let (acme, user_id) = (|| by("customer:acme"), UserId::parse("ada").ok());
    let workflow_name = Some(workflow("a"));
    let active = || ChatFilter { order: ChatOrder::Active, ..acme() };
    for (caller, filter, refused) in [
        (&scope, acme(), None),
        (&scope, active(), Some("/metadata")),
        (&scope, ChatFilter { of_app: true, ..acme() }, Some("/metadata")),
        (&scope, ChatFilter { user_id, order: ChatOrder::Title, ..acme() }, None),
        (
            &scope,
            ChatFilter { workflow_name: workflow_name.clone(), ..acme() },
            Some("/workflow_name"),
        ),
        (&ada, ChatFilter { workflow_name, ..acme() }, None),
        (&ada, active(), None),
        (&ada, ChatFilter { needs_input: true, ..active() }, Some("/metadata")),
    ] {
        let refusal = refused_filter(&store, caller, &filter).await;
        assert_eq!(refusal.as_deref(), refused, "{filter:?}");
    }
}

pub async fn chats_stored_before_a_key_was_declared_are_listed(store: Arc<dyn Store>) {
    let scope = some_scope();
    let both = |customer: &str, region: &str| {
        JsonObject::from_iter([
            ("customer".to_owned(), customer.into()),
            ("region".to_owned(), region.into()),
        ])
    };
    let mut ids = BTreeSet::new();
    for _ in 0..20 {
        ids.insert(create(&store, &scope, both("acme", "eu")).await.id);
    }
    create(&store, &scope, both("other", "us")).await;
    create(&store, &scope, JsonObject::new()).await;
    let listed = async |filter: &str| {
        let found = list(&store, &scope, &by(filter)).await;
        assert!(found.iter().collect::<BTreeSet<_>>().len() == found.len());
        BTreeSet::from_iter(found)
    };
    declare(&store, &scope.app_id, &["customer"]).await;
    assert_eq!(listed("customer:acme").await, ids);
    change_keys(&store, &scope.app_id, &["customer", "region"]).await;
    // A key that stays declared is listed all the time.
    assert_eq!(listed("customer:acme").await, ids);
    index(&store).await;
    assert_eq!(listed("region:eu").await, ids);
    assert_eq!(listed("customer:acme").await, ids);
    // What is declared again is indexed again.
    declare(&store, &scope.app_id, &["customer"]).await;
    ids.insert(create(&store, &scope, both("acme", "eu")).await.id);
    declare(&store, &scope.app_id, &["region"]).await;
    assert_eq!(listed("region:eu").await, ids);
}

pub async fn a_person_lists_only_their_own_chats_by_metadata(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["customer"]).await;
    let mut own = Vec::new();
    for index in 0..12 {
        let user_id = UserId::parse(["ada", "bob"][index % 2]).ok();
        let metadata = metadata("customer", ["acme", "other"][index / 2 % 2]);
        let name = workflow(["a", "b"][index / 4 % 2]);
        let new = NewChatSession { user_id, metadata, workflow_name: name, ..new_chat() };
        let chat = TestChat::create_in(&scope, &store, new).await;
        if index % 4 == 0 {
            own.push(chat.session().await);
        }
        a_moment_passes().await;
    }
    own.reverse();
    let user_id = UserId::parse("ada").unwrap();
    let ada = person(&scope, "ada");
    let acme = by("customer:acme");
    let ids = |name: Option<&str>| {
        let name = name.map(workflow);
        let own =
            own.iter().filter(|it| name.as_ref().is_none_or(|name| *name == it.workflow_name));
        own.map(|chat| chat.chat_id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(&store, &ada, &acme).await, ids(None));
    let of_ada = ChatFilter { user_id: Some(user_id), ..acme.clone() };
    assert_eq!(list(&store, &scope, &of_ada).await, ids(None));
    let of_workflow = ChatFilter { workflow_name: Some(workflow("a")), ..acme.clone() };
    assert_eq!(list(&store, &ada, &of_workflow).await, ids(Some("a")));
    assert_eq!(store.count_chats(&ada, &acme).await.unwrap(), ChatCount::Exactly(3));
    let by_title = ChatFilter { order: ChatOrder::Title, ..acme };
    let found: BTreeSet<_> = list(&store, &ada, &by_title).await.into_iter().collect();
    assert_eq!(found, ids(None).into_iter().collect());
}

pub async fn lists_by_metadata_are_right_after_racing_changes(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["other"]).await;
    let mut chats = Vec::new();
    for _ in 0..6 {
        chats.push(create(&store, &scope, metadata("customer", 0)).await.id);
    }
    let rivals = (0..48).map(|number: usize| {
        let (store, scope, chat_id) =
            (Arc::clone(&store), scope.clone(), chats[number % chats.len()].clone());
        async move {
            match number / 12 {
                0 => {
                    let keys = [&["customer"][..], &[], &["customer", "other"]][number % 3];
                    change_keys(&store, &scope.app_id, keys).await;
                }
                1 => {
                    store.index_metadata(3).await.unwrap();
                }
                2 => {
                    create(&store, &scope, metadata("customer", number % 4)).await;
                }
                _ => {
                    let chat = TestChat { store, scope, id: chat_id };
                    set(&chat, metadata("customer", number % 4)).await;
                }
            }
        }
    });
    race(rivals).await;
    declare(&store, &scope.app_id, &["customer"]).await;
    let all = list_all(&store, &scope, &ChatFilter::default(), 50, None).await;
    assert_eq!(all.len(), 6 + 12);
    for value in 0..4 {
        let filter = by(&format!("customer:{value}"));
        let expected = all.iter().filter(|chat| filter.admits(chat));
        let expected: Vec<_> = expected.map(|chat| chat.chat_id.clone()).collect();
        assert_eq!(list(&store, &scope, &filter).await, expected, "{value}");
    }
}
