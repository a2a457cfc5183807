//! The assistants of an app.

use std::sync::Arc;

use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    Assistant, AssistantChange, AssistantContent, AssistantId, AuditAction, Caller, FieldChange,
    IfMatch, Limits, NewAssistant, Permission, Scope, SizeLimit, TeamId, UserId, Visibility,
};
use serde_json::json;

use super::erasures::{erase, user};
use super::fixture::{a_moment_passes, assert_invalid, assert_refused, object, race, some_scope};
use persistence::{AssistantFilter, AssistantPage, AuditFilter, Outcome, Store, StoreError};

fn id(text: &str) -> AssistantId {
    AssistantId::parse(text).unwrap()
}

fn named(name: &str) -> AssistantContent {
    AssistantContent {
        name: name.to_owned(),
        kind: AssistantContent::DEFAULT_KIND.to_owned(),
        ..AssistantContent::default()
    }
}

fn new(content: AssistantContent) -> NewAssistant {
    NewAssistant { content, ..NewAssistant::default() }
}

fn of_owner(owner: &str, content: AssistantContent) -> NewAssistant {
    NewAssistant { user_id: FieldChange::Set(user(owner)), content }
}

/// Returns the scope of a user for a call that needs a permission.
fn person(scope: &Scope, user_id: &str, team: Option<&str>, permission: Permission) -> Scope {
    let team_id = team.map(|team| TeamId::parse(team).unwrap());
    let caller = Caller::User { user_id: user(user_id), team_id, may_run: false };
    Scope::new(scope.app_id.clone(), caller, permission)
}

async fn put(store: &Arc<dyn Store>, scope: &Scope, of: &str, new: NewAssistant) -> Assistant {
    store.put_assistant(scope, &id(of), new).await.unwrap().record
}

async fn get(store: &Arc<dyn Store>, scope: &Scope, of: &str) -> Option<Assistant> {
    store.get_assistant(scope, &id(of)).await.unwrap()
}

async fn listed(store: &Arc<dyn Store>, scope: &Scope, filter: &AssistantFilter) -> Vec<String> {
    let page = store.list_assistants(scope, filter, 100, None).await.unwrap();
    assert_eq!(page.next, None);
    ids(&page)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|it| (*it).to_owned()).collect()
}

fn ids(page: &AssistantPage) -> Vec<String> {
    page.assistants.iter().map(|it| it.assistant_id.to_string()).collect()
}

pub async fn an_assistant_is_returned_as_it_was_put(store: Arc<dyn Store>) {
    let scope = some_scope();
    let text = |text: &str| Some(text.to_owned());
    let content = AssistantContent {
        avatar: text("https://example.com/$weather.png"),
        description: text("{{d}}"),
        connector: text("deepseek.v3"),
        modes: vec!["chat".to_owned(), "task".to_owned()],
        default_mode: text("chat"),
        tags: vec!["a.$b".to_owned(), "a.$b".to_owned()],
        sort: -3,
        mentionable: true,
        automated: true,
        built_in: true,
        visibility: Visibility::Link,
        team_id: TeamId::parse("blue").ok(),
        locales: object(json!({ "de.$x": { "$oid": "Wetter", "": null } })),
        config: object(json!({ "$date": [{ "a.b": 0.5 }, null, i64::MAX], "": {} })),
        ..named("Weather")
    };
    assert_eq!(get(&store, &scope, "weather.$in").await, None);
    let new_one = of_owner("ann", content.clone());
    let written = store.put_assistant(&scope, &id("weather.$in"), new_one).await.unwrap();
    assert_eq!(written.outcome, Outcome::Stored);
    let stored = written.record;
    assert_eq!((&stored.content, &stored.user_id), (&content, &Some(user("ann"))));
    assert_eq!((stored.version, stored.created_at), (1, stored.last_updated_at));
    assert_eq!(get(&store, &scope, "weather.$in").await, Some(stored));
    let bare = put(&store, &scope, "bare", new(named("x"))).await;
    assert_eq!(get(&store, &scope, "bare").await, Some(bare));
}

pub async fn putting_the_same_assistant_twice_is_one_change(store: Arc<dyn Store>) {
    let scope = some_scope();
    let first = put(&store, &scope, "a", new(named("A"))).await;
    a_moment_passes().await;
    let again = store.put_assistant(&scope, &id("a"), new(named("A"))).await.unwrap();
    assert_eq!((again.outcome, &again.record), (Outcome::Duplicate, &first));
    let nothing = AssistantChange { name: Some("A".to_owned()), ..AssistantChange::default() };
    assert_eq!(store.change_assistant(&scope, &id("a"), nothing).await.unwrap(), first);
}

pub async fn a_put_replaces_the_content_and_keeps_the_owner(store: Arc<dyn Store>) {
    let scope = some_scope();
    let tagged = AssistantContent { tags: vec!["t".to_owned()], ..named("A") };
    let first = put(&store, &scope, "a", of_owner("ann", tagged)).await;
    a_moment_passes().await;
    let second = put(&store, &scope, "a", new(named("B"))).await;
    assert_eq!((&second.content, second.version), (&named("B"), 2));
    assert_eq!((&second.user_id, second.created_at), (&Some(user("ann")), first.created_at));
    assert!(second.last_updated_at > first.last_updated_at);
    let without = NewAssistant { user_id: FieldChange::Clear, content: named("B") };
    assert_eq!(put(&store, &scope, "a", without).await.user_id, None);
}

pub async fn a_change_of_an_assistant_keeps_what_it_does_not_name(store: Arc<dyn Store>) {
    let scope = some_scope();
    let content = AssistantContent {
        description: Some("d".to_owned()),
        config: object(json!({ "a": 1 })),
        ..named("A")
    };
    put(&store, &scope, "a", new(content.clone())).await;
    let change = AssistantChange {
        description: FieldChange::Clear,
        connector: FieldChange::Set("small".to_owned()),
        sort: Some(4),
        ..AssistantChange::default()
    };
    let changed = store.change_assistant(&scope, &id("a"), change.clone()).await.unwrap();
    let connector = Some("small".to_owned());
    let expected = AssistantContent { description: None, connector, sort: 4, ..content };
    assert_eq!((&changed.content, changed.version), (&expected, 2));
    assert_eq!(get(&store, &scope, "a").await, Some(changed));
    let unknown = store.change_assistant(&scope, &id("b"), change).await;
    assert_refused(unknown, &StoreError::AssistantNotFound(id("b")));
}

pub async fn an_assistant_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let scope = some_scope();
    let stored = put(&store, &scope, "a", new(named("A"))).await;
    let large = "x".repeat(Limits::ASSISTANT_CONFIG_BYTES);
    let config = object(json!({ "prompt": large }));
    let too_large = AssistantContent { config: config.clone(), ..named("A") };
    let refused = store.put_assistant(&scope, &id("a"), new(too_large)).await;
    assert_invalid(refused, "/config", TooLarge(SizeLimit::Assistant));
    let change = AssistantChange { config: Some(config), ..AssistantChange::default() };
    let refused = store.change_assistant(&scope, &id("a"), change).await;
    assert_invalid(refused, "/config", TooLarge(SizeLimit::Assistant));
    for (change, pointer) in [
        (AssistantChange { name: Some(String::new()), ..AssistantChange::default() }, "/name"),
        (
            AssistantChange { tags: Some(vec![" t".to_owned()]), ..AssistantChange::default() },
            "/tags/0",
        ),
        (
            AssistantChange { visibility: Some(Visibility::Team), ..AssistantChange::default() },
            "/visibility",
        ),
    ] {
        let refused = store.change_assistant(&scope, &id("a"), change).await;
        assert_invalid(refused, pointer, NotAdmitted);
    }
    assert_eq!(get(&store, &scope, "a").await, Some(stored));
}

pub async fn a_write_of_an_assistant_that_was_seen_otherwise_is_refused(store: Arc<dyn Store>) {
    let scope = some_scope();
    let seeing =
        |tag: &str| Scope { if_match: Some(IfMatch::Tags(vec![tag.to_owned()])), ..scope.clone() };
    let changed = StoreError::AssistantChanged(id("a"));
    let any = Scope { if_match: Some(IfMatch::Any), ..scope.clone() };
    let unknown = store.put_assistant(&any, &id("a"), new(named("A"))).await;
    assert_refused(unknown, &changed);
    let first = put(&store, &scope, "a", new(named("A"))).await;
    let second = put(&store, &seeing(&first.entity_tag()), "a", new(named("B"))).await;
    let stale = seeing(&first.entity_tag());
    assert_refused(store.put_assistant(&stale, &id("a"), new(named("C"))).await, &changed);
    let change = AssistantChange { sort: Some(1), ..AssistantChange::default() };
    assert_refused(store.change_assistant(&stale, &id("a"), change.clone()).await, &changed);
    assert_refused(store.delete_assistant(&stale, &id("a")).await, &changed);
    assert_eq!(get(&store, &scope, "a").await.as_ref(), Some(&second));
    let third = store.change_assistant(&any, &id("a"), change).await.unwrap();
    assert!(store.delete_assistant(&seeing(&third.entity_tag()), &id("a")).await.unwrap());
    // An assistant that is created again is another one.
    a_moment_passes().await;
    put(&store, &scope, "a", new(named("A"))).await;
    assert_refused(store.put_assistant(&stale, &id("a"), new(named("C"))).await, &changed);
}

pub async fn of_racing_puts_of_one_assistant_one_creates_it(store: Arc<dyn Store>) {
    let scope = some_scope();
    let racers = (0..8).map(|n| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        async move {
            store.put_assistant(&scope, &id("a"), new(named(&format!("A{}", n % 2)))).await.unwrap()
        }
    });
    let written = race(racers).await;
    let created = written.iter().filter(|it| it.outcome == Outcome::Stored).count();
    assert_eq!(created, 1);
    let stored = get(&store, &scope, "a").await.unwrap();
    let newest = written.iter().map(|it| it.version).max();
    assert_eq!(newest, Some(stored.version));
}

pub async fn racing_changes_of_an_assistant_are_all_made(store: Arc<dyn Store>) {
    let scope = some_scope();
    put(&store, &scope, "a", new(named("A"))).await;
    let text = |text: &str| FieldChange::Set(text.to_owned());
    let nothing = AssistantChange::default;
    let changes = [
        AssistantChange { avatar: text("a"), ..nothing() },
        AssistantChange { description: text("d"), ..nothing() },
        AssistantChange { connector: text("c"), ..nothing() },
        AssistantChange { sort: Some(7), ..nothing() },
        AssistantChange { mentionable: Some(true), ..nothing() },
    ];
    let count = changes.len() as u64;
    let racers = changes.map(|change| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        async move { store.change_assistant(&scope, &id("a"), change).await.unwrap().version }
    });
    let mut versions = race(racers).await;
    versions.sort_unstable();
    assert_eq!(versions, (2..2 + count).collect::<Vec<_>>());
    let content = get(&store, &scope, "a").await.unwrap().content;
    let stored = [content.avatar, content.description, content.connector];
    assert_eq!(stored, ["a", "d", "c"].map(|text| Some(text.to_owned())));
    assert!(content.sort == 7 && content.mentionable);
}

pub async fn assistants_of_different_apps_are_independent(store: Arc<dyn Store>) {
    let (one, other) = (some_scope(), some_scope());
    let stored = put(&store, &one, "a", new(named("A"))).await;
    assert_eq!(get(&store, &other, "a").await, None);
    assert_eq!(listed(&store, &other, &AssistantFilter::default()).await, [""; 0]);
    assert!(!store.delete_assistant(&other, &id("a")).await.unwrap());
    let all = AssistantFilter::default();
    let deleted = store.delete_assistants(&other, &all, 10).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (0, false));
    put(&store, &other, "a", new(named("B"))).await;
    assert_eq!(get(&store, &one, "a").await, Some(stored));
}

pub async fn a_persons_relation_to_an_assistant_decides_what_they_may_do(store: Arc<dyn Store>) {
    for visibility in Visibility::ALL {
        let scope = some_scope();
        let team_id = TeamId::parse("blue").ok();
        let content = AssistantContent { visibility, team_id, ..named("A") };
        let stored = put(&store, &scope, "a", of_owner("ann", content.clone())).await;
        let is_open = matches!(visibility, Visibility::Link | Visibility::App);
        for (name, team, reads, manages) in [
            ("ann", None, true, true),
            ("mate", Some("blue"), is_open || visibility == Visibility::Team, false),
            ("other", Some("red"), is_open, false),
        ] {
            let cell = format!("{name} {visibility:?}");
            let reader = person(&scope, name, team, Permission::Read);
            assert_eq!(get(&store, &reader, "a").await.is_some(), reads, "{cell}");
            let manager = person(&scope, name, team, Permission::Manage);
            let kept = store.put_assistant(&manager, &id("a"), new(content.clone())).await;
            let change = AssistantChange { sort: Some(0), ..AssistantChange::default() };
            let changed = store.change_assistant(&manager, &id("a"), change).await;
            if manages {
                assert_eq!(kept.unwrap().record, stored, "{cell}");
                assert_eq!(changed.unwrap(), stored, "{cell}");
                continue;
            }
            let forbidden = StoreError::AssistantForbidden {
                assistant_id: id("a"),
                permission: Permission::Manage,
            };
            let hidden = StoreError::AssistantNotFound(id("a"));
            let taken = StoreError::AssistantTaken(id("a"));
            assert_refused(kept, if reads { &forbidden } else { &taken });
            assert_refused(changed, if reads { &forbidden } else { &hidden });
            let deleted = store.delete_assistant(&manager, &id("a")).await;
            if reads {
                assert_refused(deleted, &forbidden);
            } else {
                assert!(!deleted.unwrap(), "{cell}");
            }
        }
        assert_eq!(get(&store, &scope, "a").await, Some(stored));
    }
    let scope = some_scope();
    let manager = person(&scope, "bob", None, Permission::Manage);
    let forbidden =
        StoreError::AssistantForbidden { assistant_id: id("b"), permission: Permission::Create };
    let of_other = store.put_assistant(&manager, &id("b"), of_owner("ann", named("B"))).await;
    assert_refused(of_other, &forbidden);
    let of_app = store.put_assistant(&manager, &id("b"), new(named("B"))).await;
    assert_refused(of_app, &forbidden);
    assert_eq!(put(&store, &manager, "b", of_owner("bob", named("B"))).await.version, 1);
    let caller = Caller::Support { user_id: user("sue") };
    let support = Scope::new(scope.app_id.clone(), caller, Permission::Manage);
    assert_eq!(put(&store, &support, "b", new(named("C"))).await.version, 2);
    let created = store.put_assistant(&support, &id("c"), new(named("C"))).await;
    let (assistant_id, permission) = (id("c"), Permission::Create);
    assert_refused(created, &StoreError::AssistantForbidden { assistant_id, permission });
}

pub async fn a_list_has_the_assistants_that_a_person_finds(store: Arc<dyn Store>) {
    let scope = some_scope();
    for visibility in Visibility::ALL {
        let team_id = TeamId::parse("blue").ok();
        let content = AssistantContent { visibility, team_id, ..named("A") };
        let of_ann = format!("ann-{}", visibility.as_str());
        put(&store, &scope, &of_ann, of_owner("ann", content.clone())).await;
        let of_app = format!("x-{}", visibility.as_str());
        put(&store, &scope, &of_app, new(content)).await;
    }
    let all = AssistantFilter::default();
    let lists = async |name: &str, team: Option<&str>, permission: Permission| {
        listed(&store, &person(&scope, name, team, permission), &all).await
    };
    let own = ["ann-app", "ann-link", "ann-private", "ann-team"];
    assert_eq!(lists("ann", None, Permission::Read).await, [&own[..], &["x-app"]].concat());
    assert_eq!(lists("ann", None, Permission::Manage).await, own);
    let of_mate = ["ann-app", "ann-team", "x-app", "x-team"];
    assert_eq!(lists("mate", Some("blue"), Permission::Read).await, of_mate);
    assert_eq!(lists("mate", Some("blue"), Permission::Manage).await, [""; 0]);
    assert_eq!(lists("other", Some("red"), Permission::Read).await, ["ann-app", "x-app"]);
    assert_eq!(listed(&store, &scope, &all).await.len(), 8);
    let known = AssistantFilter { ids: vec![id("ann-link"), id("ann-team")], ..all.clone() };
    let stranger = person(&scope, "other", Some("red"), Permission::Read);
    assert_eq!(listed(&store, &stranger, &known).await, ["ann-link"]);
    assert_eq!(lists("ann", None, Permission::Run).await, [""; 0]);
}

pub async fn assistants_are_listed_by_sort_page_by_page(store: Arc<dyn Store>) {
    let scope = some_scope();
    for (name, sort) in [("c", 1), ("a", 2), ("b", 2), ("z", -1), ("d", 2)] {
        put(&store, &scope, name, new(AssistantContent { sort, ..named(name) })).await;
    }
    for limit in 1..7 {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let all = AssistantFilter::default();
            let page = store.list_assistants(&scope, &all, limit, after.as_ref()).await.unwrap();
            assert!((1..=limit).contains(&page.assistants.len()));
            found.extend(ids(&page));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found, ["z", "c", "a", "b", "d"], "{limit}");
    }
    // A list of ids is ordered by them.
    let known = AssistantFilter {
        ids: ["z", "d", "a", "c"].map(id).to_vec(),
        ..AssistantFilter::default()
    };
    let first = store.list_assistants(&scope, &known, 2, None).await.unwrap();
    let rest = store.list_assistants(&scope, &known, 2, first.next.as_ref()).await.unwrap();
    assert_eq!(
        (ids(&first), ids(&rest), rest.next),
        (texts(&["a", "c"]), texts(&["d", "z"]), None)
    );
    let large = object(json!({ "x": "x".repeat(Limits::ASSISTANT_CONFIG_BYTES - 100) }));
    let large = AssistantContent { config: large, sort: 5, ..named("large") };
    for n in 0..17 {
        put(&store, &scope, &format!("large{n:02}"), new(large.clone())).await;
    }
    let all = AssistantFilter::default();
    let page = store.list_assistants(&scope, &all, 100, None).await.unwrap();
    assert!(page.assistants.len() < 22, "{}", page.assistants.len());
    let rest = store.list_assistants(&scope, &all, 100, page.next.as_ref()).await.unwrap();
    assert_eq!(page.assistants.len() + rest.assistants.len(), 22);
}

pub async fn each_field_of_the_filter_selects_assistants(store: Arc<dyn Store>) {
    let scope = some_scope();
    let weather = AssistantContent {
        description: Some("Rain, 100%".to_owned()),
        tags: texts(&["sky", "news"]),
        connector: Some("small".to_owned()),
        mentionable: true,
        locales: object(json!({ "de": { "name": "Wetter" } })),
        ..named("The Weather")
    };
    put(&store, &scope, "weather", new(weather)).await;
    let news = AssistantContent {
        kind: "robot".to_owned(),
        tags: texts(&["news"]),
        automated: true,
        built_in: true,
        ..named("r_port")
    };
    put(&store, &scope, "news", new(news)).await;
    put(&store, &scope, "other", of_owner("ann", named("Other"))).await;
    let all = AssistantFilter::default;
    let text = |text: &str| AssistantFilter { text: Some(text.to_owned()), ..all() };
    for (filter, expected) in [
        (all(), &["news", "other", "weather"][..]),
        (AssistantFilter { tags: texts(&["sky"]), ..all() }, &["weather"]),
        (AssistantFilter { tags: texts(&["sky", "news"]), ..all() }, &["news", "weather"]),
        (AssistantFilter { tags: texts(&["s"]), ..all() }, &[]),
        (AssistantFilter { kinds: texts(&["robot"]), ..all() }, &["news"]),
        (
            AssistantFilter { kinds: texts(&["robot", "assistant"]), ..all() },
            &["news", "other", "weather"],
        ),
        (AssistantFilter { connector: Some("small".to_owned()), ..all() }, &["weather"]),
        (AssistantFilter { mentionable: Some(true), ..all() }, &["weather"]),
        (AssistantFilter { mentionable: Some(false), ..all() }, &["news", "other"]),
        (AssistantFilter { automated: Some(true), ..all() }, &["news"]),
        (AssistantFilter { built_in: Some(false), ..all() }, &["other", "weather"]),
        (AssistantFilter { ids: vec![id("other"), id("x")], ..all() }, &["other"]),
        (AssistantFilter { user_id: Some(user("ann")), ..all() }, &["other"]),
        (text("WEATHER"), &["weather"]),
        (text("0%"), &["weather"]),
        (text("%"), &["weather"]),
        (text("r_p"), &["news"]),
        (text("r.p"), &[]),
        (text("wetter"), &["weather"]),
        (AssistantFilter { ids: vec![id("news")], ..text("weather") }, &[]),
        (AssistantFilter { tags: texts(&["news"]), ..text("the") }, &["weather"]),
    ] {
        assert_eq!(listed(&store, &scope, &filter).await, expected, "{filter:?}");
    }
}

pub async fn tags_are_counted_once_for_each_assistant(store: Arc<dyn Store>) {
    let scope = some_scope();
    let tagged = |tags: &[&str], visibility| AssistantContent {
        tags: texts(tags),
        visibility,
        ..named("A")
    };
    put(&store, &scope, "a", new(tagged(&["x", "y", "x"], Visibility::App))).await;
    put(&store, &scope, "b", new(tagged(&["x", "$z"], Visibility::Private))).await;
    let counted = async |scope: &Scope, filter: &AssistantFilter| {
        let tags = store.list_assistant_tags(scope, filter).await.unwrap();
        assert!(!tags.is_truncated);
        tags.tags.into_iter().collect::<Vec<_>>()
    };
    let tag = |tag: &str, count: u64| (tag.to_owned(), count);
    let all = AssistantFilter::default();
    assert_eq!(counted(&scope, &all).await, [tag("$z", 1), tag("x", 2), tag("y", 1)]);
    let reader = person(&scope, "ann", None, Permission::Read);
    assert_eq!(counted(&reader, &all).await, [tag("x", 1), tag("y", 1)]);
    let some = AssistantFilter { tags: vec!["y".to_owned()], ..AssistantFilter::default() };
    assert_eq!(counted(&scope, &some).await, [tag("x", 1), tag("y", 1)]);
}

pub async fn a_deleted_assistant_is_gone_and_its_id_is_free(store: Arc<dyn Store>) {
    let scope = some_scope();
    put(&store, &scope, "a", new(named("A"))).await;
    assert!(store.delete_assistant(&scope, &id("a")).await.unwrap());
    assert!(!store.delete_assistant(&scope, &id("a")).await.unwrap());
    assert_eq!(get(&store, &scope, "a").await, None);
    let again = store.put_assistant(&scope, &id("a"), new(named("A"))).await.unwrap();
    assert_eq!((again.outcome, again.version), (Outcome::Stored, 1));
    let racers = (0..6).map(|_| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        async move { store.delete_assistant(&scope, &id("a")).await.unwrap() }
    });
    assert_eq!(race(racers).await.into_iter().filter(|deleted| *deleted).count(), 1);
}

pub async fn assistants_are_deleted_by_a_filter(store: Arc<dyn Store>) {
    let scope = some_scope();
    for n in 0..5 {
        let tags = vec![if n % 2 == 0 { "even" } else { "odd" }.to_owned()];
        let content = AssistantContent { tags, visibility: Visibility::App, ..named("A") };
        put(&store, &scope, &format!("a{n}"), of_owner("ann", content)).await;
    }
    let even = AssistantFilter { tags: vec!["even".to_owned()], ..AssistantFilter::default() };
    let other = person(&scope, "bob", None, Permission::Manage);
    assert_eq!(store.delete_assistants(&other, &even, 10).await.unwrap().deleted, 0);
    let manager = person(&scope, "ann", None, Permission::Manage);
    let deleted = store.delete_assistants(&manager, &even, 2).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (2, true));
    let deleted = store.delete_assistants(&manager, &even, 2).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (1, false));
    assert_eq!(store.delete_assistants(&manager, &even, 2).await.unwrap().deleted, 0);
    assert_eq!(listed(&store, &scope, &AssistantFilter::default()).await, ["a1", "a3"]);
}

pub async fn every_change_of_an_assistant_writes_one_audit_entry(store: Arc<dyn Store>) {
    let scope = some_scope();
    let manager = person(&scope, "ann", None, Permission::Manage);
    put(&store, &manager, "a", of_owner("ann", named("A"))).await;
    put(&store, &manager, "a", of_owner("ann", named("A"))).await;
    let change = AssistantChange { sort: Some(1), ..AssistantChange::default() };
    store.change_assistant(&manager, &id("a"), change).await.unwrap();
    let unknown = AssistantChange::default();
    store.change_assistant(&manager, &id("x"), unknown).await.unwrap_err();
    put(&store, &manager, "b", of_owner("ann", named("B"))).await;
    store.delete_assistant(&manager, &id("a")).await.unwrap();
    store.delete_assistant(&manager, &id("a")).await.unwrap();
    let all = AssistantFilter::default();
    store.delete_assistants(&manager, &all, 10).await.unwrap();
    store.delete_assistants(&manager, &all, 10).await.unwrap();
    let of_app = AuditFilter { app_id: Some(scope.app_id.clone()), ..AuditFilter::default() };
    let page = store.list_audit_entries(&of_app, 100, None).await.unwrap();
    let mut actions: Vec<_> = page.entries.iter().map(|entry| entry.action.as_str()).collect();
    actions.sort_unstable();
    let (put, change) = (AuditAction::PutAssistant, AuditAction::UpdateAssistant);
    let (one, several) = (AuditAction::DeleteAssistant, AuditAction::DeleteAssistants);
    assert_eq!(actions, [one, several, put, put, change].map(AuditAction::as_str));
    assert!(page.entries.iter().all(|entry| entry.actor.is_some() && entry.chat_id.is_none()));
}

pub async fn the_assistants_of_an_erased_person_are_gone(store: Arc<dyn Store>) {
    let scope = some_scope();
    let elsewhere = some_scope();
    for scope in [&scope, &elsewhere] {
        put(&store, scope, "a", of_owner("ann", named("A"))).await;
    }
    put(&store, &scope, "b", of_owner("bob", named("B"))).await;
    put(&store, &scope, "c", new(named("C"))).await;
    let receipt = erase(&store, &scope, "ann").await;
    assert_eq!(receipt.erased.get("assistants"), Some(&1));
    assert_eq!(listed(&store, &scope, &AssistantFilter::default()).await, ["b", "c"]);
    assert!(get(&store, &elsewhere, "a").await.is_some());
    let owners: Vec<UserId> = get(&store, &scope, "b").await.unwrap().user_id.into_iter().collect();
    assert_eq!(owners, [user("bob")]);
}
