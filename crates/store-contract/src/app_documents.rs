//! The documents of an app.

use std::sync::Arc;

use chrono::TimeDelta;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    Actor, AppId, Caller, ChatId, DocumentHead, DocumentPath, Grant, IfMatch, Lifecycle,
    NewChatSession, NewDocument, NewFork, Permission, Scope, SessionChange, SizeLimit,
    StatedBinding, TeamId, Visibility,
};

use super::erasures::{erase, user};
use super::fixture::{
    TestChat, assert_invalid, assert_refused, message, new_chat, race, some_scope,
};
use persistence::{
    AppendCondition, AppendedDocument, DocumentChange, DocumentFilter, DocumentRange, Outcome,
    PutCondition, Store, StoreError,
};

/// More bytes than a part of a content has in any store.
const LARGE: usize = 700_000;
/// Long enough for any store to deliver its notifications.
const MAX_WAIT: std::time::Duration = std::time::Duration::from_secs(30);

fn path(text: &str) -> DocumentPath {
    DocumentPath::parse(text).unwrap()
}

fn text(content: impl AsRef<[u8]>) -> NewDocument {
    NewDocument {
        binding: StatedBinding::default(),
        content_type: "text/plain".to_owned(),
        content: content.as_ref().to_vec(),
        lifetime: None,
    }
}

fn bound(content: impl AsRef<[u8]>, binding: StatedBinding) -> NewDocument {
    NewDocument { binding, ..text(content) }
}

fn of_chat(content: impl AsRef<[u8]>, chat_id: &ChatId) -> NewDocument {
    bound(content, StatedBinding { chat_id: Some(chat_id.clone()), ..StatedBinding::default() })
}

fn of_owner(content: impl AsRef<[u8]>, owner: &str) -> NewDocument {
    bound(content, StatedBinding { user_id: Some(user(owner)), ..StatedBinding::default() })
}

/// Bytes that differ from those before and after them.
fn bytes(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from((at * 31 + at / 251 + seed) % 256).unwrap()).collect()
}

/// Returns the scope of a user for a call that needs a permission.
fn person(scope: &Scope, user_id: &str, team: Option<&str>, permission: Permission) -> Scope {
    let team_id = team.map(|team| TeamId::parse(team).unwrap());
    let caller = Caller::User { user_id: user(user_id), team_id, may_run: true };
    Scope::new(scope.app_id.clone(), caller, permission)
}

fn seeing(scope: &Scope, head: &DocumentHead) -> Scope {
    Scope { if_match: Some(IfMatch::Tags(vec![head.entity_tag()])), ..scope.clone() }
}

async fn put(store: &Arc<dyn Store>, scope: &Scope, at: &str, new: NewDocument) -> DocumentHead {
    store.put_document(scope, &path(at), new, PutCondition::default()).await.unwrap().record
}

async fn append(
    store: &Arc<dyn Store>,
    scope: &Scope,
    at: &str,
    new: NewDocument,
) -> AppendedDocument {
    store.append_document(scope, &path(at), new, AppendCondition::default()).await.unwrap()
}

fn at(offset: u64) -> AppendCondition {
    AppendCondition { offset: Some(offset), write_id: None }
}

fn with_id(id: &str) -> AppendCondition {
    AppendCondition { offset: None, write_id: Some(id.to_owned()) }
}

async fn content(store: &Arc<dyn Store>, scope: &Scope, at: &str) -> Option<Vec<u8>> {
    let all = DocumentRange::From(0, u64::MAX);
    let read = store.read_document(scope, &path(at), all).await.unwrap()?;
    assert_eq!(read.head.size, read.content.len() as u64);
    Some(read.content)
}

async fn listed(store: &Arc<dyn Store>, scope: &Scope, filter: &DocumentFilter) -> Vec<String> {
    let page = store.list_documents(scope, filter, 100, None).await.unwrap();
    assert_eq!(page.next, None);
    page.documents.into_iter().map(|(head, _)| head.path.into()).collect()
}

fn within(namespace: &str) -> DocumentFilter {
    DocumentFilter { namespace: Some(path(namespace)), ..DocumentFilter::default() }
}

pub async fn a_document_is_returned_as_it_was_put(store: Arc<dyn Store>) {
    let scope = some_scope();
    assert_eq!(content(&store, &scope, "a/b").await, None);
    for (name, new) in [
        ("a/b", bytes(10, 0)),
        ("a/$where.x", Vec::new()),
        ("a/ä b", bytes(LARGE, 1)),
        ("a", b"{\"$oid\": 1e400}".to_vec()),
    ] {
        let written = store
            .put_document(&scope, &path(name), text(&new), PutCondition::default())
            .await
            .unwrap();
        assert_eq!(written.outcome, Outcome::Stored);
        let head = written.record;
        assert_eq!(
            (head.version, head.size, head.created_at),
            (1, new.len() as u64, head.last_updated_at)
        );
        assert_eq!(content(&store, &scope, name).await, Some(new));
        let read = store.read_document(&scope, &path(name), DocumentRange::Nothing).await.unwrap();
        assert_eq!(read.unwrap().head, head);
    }
}

pub async fn a_put_replaces_the_content(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut before = put(&store, &scope, "a", text("first")).await;
    for (version, size) in [(2, LARGE), (3, 0), (4, LARGE + 1), (5, LARGE), (6, 3)] {
        let new = bytes(size, version);
        let json = NewDocument { content_type: "application/json".to_owned(), ..text(&new) };
        let head = put(&store, &scope, "a", json).await;
        assert_eq!((head.version, head.created_at), (version as u64, before.created_at));
        assert_eq!(head.content_type, "application/json");
        assert_ne!(head.content_id, before.content_id);
        assert_eq!(content(&store, &scope, "a").await, Some(new));
        before = head;
    }
}

pub async fn the_same_put_twice_is_one(store: Arc<dyn Store>) {
    let scope = some_scope();
    let first = put(&store, &scope, "a", text("x")).await;
    let again = store.put_document(&scope, &path("a"), text("x"), PutCondition::NEW).await.unwrap();
    assert_eq!((again.outcome, &again.record), (Outcome::Duplicate, &first));
    let seen = seeing(&scope, &first);
    let second =
        store.put_document(&seen, &path("a"), text("y"), PutCondition::default()).await.unwrap();
    // Its repetition depends on what it has changed itself.
    let again =
        store.put_document(&seen, &path("a"), text("y"), PutCondition::default()).await.unwrap();
    assert_eq!((again.outcome, again.record), (Outcome::Duplicate, second.record));
    let changed =
        store.put_document(&scope, &path("a"), text("y"), PutCondition::NEW).await.map(drop);
    assert_refused(changed, &StoreError::DocumentChanged(path("a")));
}

pub async fn of_two_writers_that_have_seen_the_same_one_puts(store: Arc<dyn Store>) {
    let scope = some_scope();
    let put_as = async |scope: &Scope, id: &str, content: &str, only_new: bool| {
        let condition = PutCondition { only_new, write_id: Some(id.to_owned()) };
        store.put_document(scope, &path("a"), text(content), condition).await
    };
    let changed = StoreError::DocumentChanged(path("a"));
    let first = put_as(&scope, "w1", "x", true).await.unwrap().record;
    assert_refused(put_as(&scope, "w2", "x", true).await.map(drop), &changed);
    let seen = seeing(&scope, &first);
    let second = put_as(&seen, "w3", "y", false).await.unwrap().record;
    assert_refused(put_as(&seen, "w4", "y", false).await.map(drop), &changed);
    // Each is known again, and undoes nothing that came after it.
    for (scope, id, content, only_new) in [(&scope, "w1", "x", true), (&seen, "w3", "y", false)] {
        let again = put_as(scope, id, content, only_new).await.unwrap();
        assert_eq!((again.outcome, &again.record), (Outcome::Duplicate, &second));
    }
    let appended = store.append_document(&scope, &path("a"), text("+"), with_id("w5")).await;
    assert_eq!(appended.unwrap().offset, 1);
    let third = put_as(&scope, "w6", "zz", false).await.unwrap().record;
    for (id, content) in [("w1", "x"), ("w3", "y"), ("w6", "zz")] {
        assert_eq!(put_as(&scope, id, content, false).await.unwrap().record, third, "{id}");
    }
    // A key that is used again for something else is no repeat.
    let conflict = StoreError::AppendConflict(path("a"));
    for (id, content) in [("w1", "xx"), ("w6", "z"), ("w6", "yy")] {
        assert_refused(put_as(&scope, id, content, false).await.map(drop), &conflict);
    }
    // What was appended before is nowhere, and is not appended again.
    let again = store.append_document(&scope, &path("a"), text("+"), with_id("w5")).await.unwrap();
    assert_eq!((again.outcome, again.size), (Outcome::Duplicate, 2));
    assert_eq!(content(&store, &scope, "a").await, Some(b"zz".to_vec()));
}

pub async fn a_write_of_a_document_that_was_seen_otherwise_is_refused(store: Arc<dyn Store>) {
    let scope = some_scope();
    let changed = StoreError::DocumentChanged(path("a"));
    let any = Scope { if_match: Some(IfMatch::Any), ..scope.clone() };
    let none =
        store.put_document(&any, &path("a"), text("x"), PutCondition::default()).await.map(drop);
    assert_refused(none, &changed);
    let condition = AppendCondition::default();
    let none = store.append_document(&any, &path("a"), text("x"), condition).await.map(drop);
    assert_refused(none, &changed);
    let first = put(&store, &scope, "a", text("x")).await;
    let only_new =
        store.put_document(&scope, &path("a"), text("z"), PutCondition::NEW).await.map(drop);
    assert_refused(only_new, &changed);
    let second = put(&store, &any, "a", text("y")).await;
    let stale = seeing(&scope, &first);
    let put =
        store.put_document(&stale, &path("a"), text("z"), PutCondition::default()).await.map(drop);
    assert_refused(put, &changed);
    let condition = AppendCondition::default();
    let appended = store.append_document(&stale, &path("a"), text("z"), condition).await;
    assert_refused(appended.map(drop), &changed);
    let deleted = store.delete_document(&stale, &path("a")).await.map(drop);
    assert_refused(deleted, &changed);
    assert_eq!(content(&store, &scope, "a").await, Some(b"y".to_vec()));
    let current = seeing(&scope, &second);
    let appended = store.append_document(&current, &path("a"), text("z"), at(1)).await.unwrap();
    assert_eq!((appended.offset, appended.size), (1, 2));
    assert_refused(store.delete_document(&current, &path("a")).await.map(drop), &changed);
    assert!(store.delete_document(&any, &path("a")).await.unwrap());
    assert!(!store.delete_document(&scope, &path("a")).await.unwrap());
}

pub async fn a_document_that_is_created_again_has_another_tag(store: Arc<dyn Store>) {
    let scope = some_scope();
    let first = put(&store, &scope, "a", text("x")).await;
    assert!(store.delete_document(&scope, &path("a")).await.unwrap());
    let second = put(&store, &scope, "a", text("x")).await;
    assert_eq!((first.version, second.version), (1, 1));
    assert_ne!(first.entity_tag(), second.entity_tag());
}

pub async fn appends_follow_one_another(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut expected = Vec::new();
    let mut tags = Vec::new();
    for (number, size) in [3, 0, 40_000, 60_000, 1, LARGE, 70_000, 5].into_iter().enumerate() {
        let piece = bytes(size, number);
        let appended = append(&store, &scope, "log", text(&piece)).await;
        assert_eq!(appended.offset, expected.len() as u64);
        expected.extend(piece);
        assert_eq!((appended.size, appended.outcome), (expected.len() as u64, Outcome::Stored));
        assert_eq!(content(&store, &scope, "log").await.as_ref(), Some(&expected));
        tags.push(appended.entity_tag);
    }
    // What stands before the version stays while the content grows.
    let stem = |tag: &String| tag.rsplit_once('-').unwrap().0.to_owned();
    assert!(tags.iter().all(|tag| stem(tag) == stem(&tags[0])));
    tags.dedup();
    assert_eq!(tags.len(), 8);
    put(&store, &scope, "log", text("new")).await;
    append(&store, &scope, "log", text("er")).await;
    assert_eq!(content(&store, &scope, "log").await, Some(b"newer".to_vec()));
}

pub async fn an_append_is_recognised_by_its_id(store: Arc<dyn Store>) {
    let scope = some_scope();
    let repeat = async |piece: &str, id: &str| {
        store.append_document(&scope, &path("log"), text(piece), with_id(id)).await.unwrap()
    };
    repeat("first", "a").await;
    let second = repeat("second", "b").await;
    assert_eq!((second.offset, second.size, second.outcome), (5, 11, Outcome::Stored));
    append(&store, &scope, "log", text(bytes(LARGE, 0))).await;
    for (piece, id, offset) in [("second", "b", 5), ("first", "a", 0)] {
        let again = repeat(piece, id).await;
        assert_eq!((again.offset, again.outcome), (offset, Outcome::Duplicate));
    }
    for other in ["another", "ano", "first!", ""] {
        let refused = store.append_document(&scope, &path("log"), text(other), with_id("b")).await;
        assert_refused(refused, &StoreError::AppendConflict(path("log")));
    }
    assert_eq!(content(&store, &scope, "log").await.unwrap().len(), 11 + LARGE);
    for number in 0..62 {
        repeat("x", &number.to_string()).await;
    }
    assert_eq!(repeat("second", "b").await.outcome, Outcome::Duplicate);
    repeat("x", "the 64th after it").await;
    assert_eq!(repeat("second", "b").await.outcome, Outcome::Stored);
    put(&store, &scope, "log", text("")).await;
    assert_eq!(repeat("second", "b").await.offset, 0);
}

pub async fn an_append_at_another_offset_is_refused_unless_it_was_made(store: Arc<dyn Store>) {
    let scope = some_scope();
    let try_at = async |piece: &[u8], offset| {
        store.append_document(&scope, &path("log"), text(piece), at(offset)).await
    };
    let size = |size| StoreError::DocumentOffset { path: path("log"), size };
    assert_refused(try_at(b"x", 1).await.map(drop), &size(0));
    assert_eq!(try_at(b"first", 0).await.unwrap().size, 5);
    let large = bytes(LARGE, 0);
    assert_eq!(try_at(&large, 5).await.unwrap().offset, 5);
    let end = 5 + LARGE as u64;
    for (piece, offset) in [(&b"first"[..], 0), (&large, 5), (b"rst", 2), (&large[9..LARGE], 14)] {
        let again = try_at(piece, offset).await.unwrap();
        assert_eq!((again.offset, again.size, again.outcome), (offset, end, Outcome::Duplicate));
    }
    for (piece, offset) in
        [(&b"other"[..], 0), (b"first", 1), (b"x", end + 1), (&large, 6), (b"", 3)]
    {
        assert_refused(try_at(piece, offset).await.map(drop), &size(end));
    }
    assert_refused(try_at(b"x", u64::MAX).await.map(drop), &size(end));
    assert_eq!(content(&store, &scope, "log").await.unwrap().len() as u64, end);
}

pub async fn racing_appends_are_all_made_once(store: Arc<dyn Store>) {
    const WRITERS: usize = 8;
    const EACH: usize = 12;
    let scope = some_scope();
    let appended = race((0..WRITERS).map(|writer| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        async move {
            let mut offsets = Vec::new();
            for number in 0..EACH {
                let piece = format!("{writer}:{number}:{}\n", "x".repeat(2_000 * (number % 4)));
                let appended = append(&store, &scope, "log", text(&piece)).await;
                offsets.push((appended.offset, piece));
            }
            offsets
        }
    }))
    .await;
    let mut appended: Vec<_> = appended.into_iter().flatten().collect();
    appended.sort_unstable();
    let mut expected = String::new();
    for (offset, piece) in appended {
        assert_eq!(offset, expected.len() as u64);
        expected.push_str(&piece);
    }
    assert_eq!(content(&store, &scope, "log").await, Some(expected.into_bytes()));
}

pub async fn of_racing_puts_of_one_document_one_creates_it(store: Arc<dyn Store>) {
    let scope = some_scope();
    let written = race((0..6).map(|writer| {
        let (store, scope) = (Arc::clone(&store), scope.clone());
        async move {
            let new = text(bytes(if writer % 2 == 0 { LARGE } else { 9 }, writer));
            store.put_document(&scope, &path("a"), new, PutCondition::NEW).await
        }
    }))
    .await;
    let (created, refused): (Vec<_>, Vec<_>) = written.into_iter().partition(Result::is_ok);
    assert_eq!(created.len(), 1);
    for refusal in refused {
        assert_refused(refusal.map(drop), &StoreError::DocumentChanged(path("a")));
    }
    let versions =
        race(
            (0..6).map(|writer| {
                let (store, scope) = (Arc::clone(&store), scope.clone());
                async move {
                    put(&store, &scope, "a", text(bytes(LARGE + writer, writer))).await.version
                }
            }),
        );
    let mut versions = versions.await;
    versions.sort_unstable();
    assert_eq!(versions, (2..8).collect::<Vec<u64>>());
    assert!(content(&store, &scope, "a").await.is_some());
}

pub async fn a_range_is_a_part_of_the_content(store: Arc<dyn Store>) {
    let scope = some_scope();
    let all = bytes(LARGE, 3);
    let end = LARGE as u64;
    append(&store, &scope, "log", text(&all[..600_000])).await;
    append(&store, &scope, "log", text(&all[600_000..])).await;
    for (range, expected) in [
        (DocumentRange::From(0, 1), 0..1),
        (DocumentRange::From(0, end), 0..LARGE),
        (DocumentRange::From(262_143, 2), 262_143..262_145),
        (DocumentRange::From(599_999, 2), 599_999..600_001),
        (DocumentRange::From(300_000, u64::MAX), 300_000..LARGE),
        (DocumentRange::From(end, 1), LARGE..LARGE),
        (DocumentRange::From(end + 9, u64::MAX), LARGE..LARGE),
        (DocumentRange::Last(5), LARGE - 5..LARGE),
        (DocumentRange::Last(u64::MAX), 0..LARGE),
        (DocumentRange::Nothing, LARGE..LARGE),
    ] {
        let read = store.read_document(&scope, &path("log"), range).await.unwrap().unwrap();
        assert_eq!(read.offset, expected.start as u64, "{range:?}");
        assert!(read.content == all[expected], "{range:?}");
    }
}

pub async fn a_document_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let scope = some_scope();
    let stored = put(&store, &scope, "a", text("x")).await;
    let large = text(vec![0; NewDocument::MAX_BYTES + 1]);
    let refused =
        store.put_document(&scope, &path("a"), large.clone(), PutCondition::default()).await;
    assert_invalid(refused.map(drop), "", TooLarge(SizeLimit::Document));
    let refused =
        store.append_document(&scope, &path("a"), large, AppendCondition::default()).await;
    assert_invalid(refused.map(drop), "", TooLarge(SizeLimit::Document));
    let nameless = NewDocument { content_type: String::new(), ..text("x") };
    let refused = store.put_document(&scope, &path("a"), nameless, PutCondition::default()).await;
    assert_invalid(refused.map(drop), "/content_type", NotAdmitted);
    let other = of_owner("y", "ann");
    let refused =
        store.put_document(&scope, &path("a"), other.clone(), PutCondition::default()).await;
    assert_invalid(refused.map(drop), "/user_id", NotAdmitted);
    let refused =
        store.append_document(&scope, &path("a"), other, AppendCondition::default()).await;
    assert_invalid(refused.map(drop), "/user_id", NotAdmitted);
    let read = store.read_document(&scope, &path("a"), DocumentRange::Nothing).await.unwrap();
    assert_eq!(read.unwrap().head, stored);
}

pub async fn documents_of_different_apps_are_independent(store: Arc<dyn Store>) {
    let (one, other) = (some_scope(), some_scope());
    put(&store, &one, "a", text("one")).await;
    put(&store, &other, "a", text(bytes(LARGE, 0))).await;
    assert!(store.delete_document(&other, &path("a")).await.unwrap());
    assert_eq!(content(&store, &other, "a").await, None);
    assert_eq!(content(&store, &one, "a").await, Some(b"one".to_vec()));
    assert_eq!(listed(&store, &other, &DocumentFilter::default()).await, Vec::<String>::new());
}

pub async fn a_persons_relation_to_a_document_decides_what_they_may_do(store: Arc<dyn Store>) {
    let scope = some_scope();
    // A document of ann whose name is its visibility.
    let shared = |name: &str| {
        let visibility = Visibility::ALL.into_iter().find(|it| it.as_str() == name);
        let team_id = (name == "team").then(|| TeamId::parse("blue").unwrap());
        let binding = StatedBinding {
            user_id: Some(user("ann")),
            visibility,
            team_id,
            ..StatedBinding::default()
        };
        bound("x", binding)
    };
    for name in ["private", "team", "link", "app"] {
        put(&store, &scope, name, shared(name)).await;
    }
    put(&store, &scope, "of the app", text("x")).await;
    for (who, team, reads, lists) in [
        (
            "ann",
            None,
            vec!["private", "team", "link", "app"],
            vec!["app", "link", "private", "team"],
        ),
        ("bob", Some("blue"), vec!["team", "link", "app"], vec!["app", "team"]),
        ("bob", Some("red"), vec!["link", "app"], vec!["app"]),
        ("bob", None, vec!["link", "app"], vec!["app"]),
    ] {
        let reader = person(&scope, who, team, Permission::Read);
        let writer = person(&scope, who, team, Permission::Run);
        assert_eq!(
            listed(&store, &reader, &DocumentFilter::default()).await,
            lists,
            "{who} {team:?}"
        );
        for name in ["private", "team", "link", "app", "of the app"] {
            let may_read = reads.contains(&name);
            assert_eq!(content(&store, &reader, name).await.is_some(), may_read, "{who} {name}");
            let written = store
                .put_document(&writer, &path(name), text("x"), PutCondition::default())
                .await
                .map(drop);
            let deleted = store.delete_document(&writer, &path(name)).await;
            if who == "ann" && may_read {
                written.unwrap();
                assert!(deleted.unwrap());
                put(&store, &scope, name, shared(name)).await;
            } else if may_read {
                let forbidden =
                    StoreError::DocumentForbidden { path: path(name), permission: Permission::Run };
                assert_refused(written, &forbidden);
                assert_refused(deleted.map(drop), &forbidden);
            } else {
                assert_refused(written, &StoreError::DocumentTaken(path(name)));
                assert!(!deleted.unwrap());
            }
        }
    }
    // What a person creates is theirs.
    let writer = person(&scope, "ann", None, Permission::Run);
    assert_eq!(put(&store, &writer, "new", text("x")).await.binding.user_id, Some(user("ann")));
}

pub async fn the_rights_in_a_document_of_a_chat_are_those_in_the_chat(store: Arc<dyn Store>) {
    let new = NewChatSession { user_id: Some(user("ann")), ..new_chat() };
    let chat = TestChat::create_from(&store, new).await;
    let scope = &chat.scope;
    put(&store, scope, "a", of_chat("x", &chat.id)).await;
    append(&store, scope, "log", of_chat("x", &chat.id)).await;
    let owner = person(scope, "ann", None, Permission::Read);
    let other = person(scope, "bob", None, Permission::Read);
    let filter = DocumentFilter { chat_id: Some(chat.id.clone()), ..DocumentFilter::default() };
    assert_eq!(listed(&store, &owner, &filter).await, ["a", "log"]);
    assert_eq!(content(&store, &owner, "a").await, Some(b"x".to_vec()));
    // The list without a chat has those of no chat.
    assert_eq!(listed(&store, &owner, &DocumentFilter::default()).await, Vec::<String>::new());
    assert_eq!(listed(&store, scope, &DocumentFilter::default()).await, ["a", "log"]);
    let writer = person(scope, "ann", None, Permission::Run);
    put(&store, &writer, "a", text("y")).await;
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    assert_refused(store.list_documents(&other, &filter, 9, None).await.map(drop), &not_found);
    assert_eq!(content(&store, &other, "a").await, None);
    let writer = person(scope, "bob", None, Permission::Run);
    let written =
        store.put_document(&writer, &path("a"), text("z"), PutCondition::default()).await.map(drop);
    assert_refused(written, &StoreError::DocumentTaken(path("a")));
    let new = store
        .put_document(&writer, &path("b"), of_chat("z", &chat.id), PutCondition::default())
        .await
        .map(drop);
    assert_refused(new, &not_found);
    assert!(!store.delete_document(&writer, &path("a")).await.unwrap());
    // One who could create neither does not learn which of two paths is taken.
    let binding = of_chat("z", &chat.id);
    let caller = Caller::User { user_id: user("bob"), team_id: None, may_run: false };
    let reader = Scope::new(scope.app_id.clone(), caller, Permission::Run);
    for name in ["a", "b"].map(path) {
        let bound = store.put_document(&writer, &name, binding.clone(), PutCondition::default());
        assert_refused(bound.await.map(drop), &not_found);
        let written = store.put_document(&reader, &name, text("z"), PutCondition::default());
        let forbidden =
            StoreError::DocumentForbidden { path: name.clone(), permission: Permission::Run };
        assert_refused(written.await.map(drop), &forbidden);
    }
    assert_eq!(content(&store, scope, "a").await, Some(b"y".to_vec()));
}

pub async fn the_documents_of_a_chat_go_with_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let scope = &chat.scope;
    put(&store, scope, "a", of_chat(bytes(LARGE, 0), &chat.id)).await;
    append(&store, scope, "b", of_chat("x", &chat.id)).await;
    put(&store, scope, "other", text("x")).await;
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    assert_eq!(content(&store, scope, "a").await, None);
    let taken =
        store.put_document(scope, &path("a"), text("y"), PutCondition::default()).await.map(drop);
    assert_refused(taken, &StoreError::DocumentTaken(path("a")));
    let everything = chat.seen_from(scope.finding_deleted());
    everything.change(SessionChange::to_lifecycle(Lifecycle::Active)).await.unwrap();
    assert_eq!(content(&store, scope, "a").await.map(|it| it.len()), Some(LARGE));
    assert!(store.purge_chat(&Actor::command_line(), scope, &chat.id, None).await.unwrap());
    assert_eq!(listed(&store, scope, &DocumentFilter::default()).await, ["other"]);
    let late = store
        .put_document(scope, &path("c"), of_chat("x", &chat.id), PutCondition::default())
        .await
        .map(drop);
    assert_refused(late, &StoreError::ChatNotFound(chat.id.clone()));
    put(&store, scope, "a", text("free")).await;
    assert_eq!(content(&store, scope, "a").await, Some(b"free".to_vec()));
}

pub async fn a_document_of_a_deleted_chat_is_deleted_for_good(store: Arc<dyn Store>) {
    let (_, deleted) = with_a_deleted_chat(&store).await;
    let scope = &deleted.scope;
    let stranger = person(scope, "dave", None, Permission::Run);
    assert!(!store.delete_document(&stranger, &path("ns/a/1")).await.unwrap());
    for name in ["ns/b/2", "ns/d/1"] {
        assert!(store.delete_document(scope, &path(name)).await.unwrap(), "{name}");
        assert!(!store.delete_document(scope, &path(name)).await.unwrap(), "{name}");
    }
    undelete(&deleted).await;
    assert_eq!(listed(&store, scope, &within("ns")).await, ["ns/a/1", "ns/b/1", "ns/c/1"]);
}

/// Stores documents of two chats and of no chat below `ns`, and deletes the second chat. Returns both.
async fn with_a_deleted_chat(store: &Arc<dyn Store>) -> (TestChat, TestChat) {
    let kept = TestChat::create(store).await;
    let deleted = TestChat::create_in(&kept.scope, store, new_chat()).await;
    let scope = &kept.scope;
    put(store, scope, "ns/a/1", of_chat("of the deleted", &deleted.id)).await;
    put(store, scope, "ns/b/1", of_chat("of the kept", &kept.id)).await;
    put(store, scope, "ns/b/2", of_chat(bytes(LARGE, 0), &deleted.id)).await;
    put(store, scope, "ns/c/1", text("of the app")).await;
    append(store, scope, "ns/d/1", of_chat(bytes(LARGE, 1), &deleted.id)).await;
    deleted.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    (kept, deleted)
}

async fn undelete(chat: &TestChat) {
    let everything = chat.seen_from(chat.scope.finding_deleted());
    everything.change(SessionChange::to_lifecycle(Lifecycle::Active)).await.unwrap();
}

async fn namespaces_in(
    store: &Arc<dyn Store>,
    scope: &Scope,
    filter: &DocumentFilter,
) -> Vec<String> {
    let page = store.list_namespaces(scope, filter, 1, 100, None).await.unwrap();
    assert_eq!(page.next, None);
    page.namespaces.into_iter().map(String::from).collect()
}

pub async fn no_list_has_the_documents_of_a_deleted_chat(store: Arc<dyn Store>) {
    const ALL: [&str; 5] = ["ns/a/1", "ns/b/1", "ns/b/2", "ns/c/1", "ns/d/1"];
    const KEPT: [&str; 2] = ["ns/b/1", "ns/c/1"];
    let (kept, deleted) = with_a_deleted_chat(&store).await;
    let scope = &kept.scope;
    let support = Caller::Support { user_id: user("carol") };
    let support = Scope::new(scope.app_id.clone(), support, Permission::Read);
    let everything = DocumentFilter::default;
    for scope in [scope, &support] {
        for filter in [everything(), within("ns")] {
            assert_eq!(listed(&store, scope, &filter).await, KEPT);
            let filter = DocumentFilter { with_content: true, ..filter };
            assert_eq!(listed(&store, scope, &filter).await, KEPT);
        }
        assert_eq!(namespaces_in(&store, scope, &within("ns")).await, ["ns/b", "ns/c"]);
        // Those who manage deleted chats, and the export of a person, find them.
        let finding = scope.finding_deleted();
        assert_eq!(listed(&store, &finding, &within("ns")).await, ALL);
        let all = namespaces_in(&store, &finding, &within("ns")).await;
        assert_eq!(all, ["ns/a", "ns/b", "ns/c", "ns/d"]);
    }
    let of_deleted = DocumentFilter { chat_id: Some(deleted.id.clone()), ..everything() };
    let not_found = StoreError::ChatNotFound(deleted.id.clone());
    let page = store.list_documents(scope, &of_deleted, 9, None).await;
    assert_refused(page.map(drop), &not_found);
    let page = store.list_namespaces(scope, &of_deleted, 1, 9, None).await;
    assert_refused(page.map(drop), &not_found);
    let refused = store.delete_documents(scope, &of_deleted, 9).await;
    assert_refused(refused.map(drop), &not_found);

    undelete(&deleted).await;
    assert_eq!(listed(&store, scope, &everything()).await, ALL);
    assert_eq!(namespaces_in(&store, scope, &within("ns")).await.len(), 4);
    assert_eq!(listed(&store, scope, &of_deleted).await, ["ns/a/1", "ns/b/2", "ns/d/1"]);
    assert_eq!(content(&store, scope, "ns/b/2").await, Some(bytes(LARGE, 0)));
    assert_eq!(content(&store, scope, "ns/d/1").await, Some(bytes(LARGE, 1)));
}

pub async fn pages_go_on_across_the_documents_of_deleted_chats(store: Arc<dyn Store>) {
    // More in a row than a page of any store examines.
    const HIDDEN: usize = 130;
    const PAGES: usize = 20;
    let kept = TestChat::create(&store).await;
    let deleted = TestChat::create_in(&kept.scope, &store, new_chat()).await;
    let scope = &kept.scope;
    let shown = ["ns/a/1", "ns/c/1", "ns/c/2", "ns/e/1"];
    for (name, chat) in [("a/0", &deleted), ("a/1", &kept), ("c/2", &kept), ("f/0", &deleted)] {
        put(&store, scope, &format!("ns/{name}"), of_chat(name, &chat.id)).await;
    }
    for name in ["ns/c/1", "ns/e/1"] {
        put(&store, scope, name, text("x")).await;
    }
    for number in 0..HIDDEN {
        for between in ["b", "d"] {
            let name = format!("ns/{between}/{number:03}");
            put(&store, scope, &name, of_chat("x", &deleted.id)).await;
        }
    }
    deleted.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    for (limit, with_content) in [(1, false), (1, true), (3, false), (100, true)] {
        let filter = DocumentFilter { with_content, ..within("ns") };
        let (mut paged, mut after) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = store.list_documents(scope, &filter, limit, after.as_ref()).await.unwrap();
            assert!(page.documents.len() <= limit);
            assert!(page.next.is_none() || page.next > after, "{:?} after {after:?}", page.next);
            for (head, content) in page.documents {
                assert_eq!(content.is_some(), with_content);
                paged.push(String::from(head.path));
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!((paged, after), (shown.map(String::from).to_vec(), None), "{limit}");
    }
    let (mut paged, mut after) = (Vec::new(), None);
    for _ in 0..PAGES {
        let page = store.list_namespaces(scope, &within("ns"), 1, 1, after.as_ref()).await.unwrap();
        paged.extend(page.namespaces.into_iter().map(String::from));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    paged.dedup();
    assert_eq!((paged, after), (["ns/a", "ns/c", "ns/e"].map(String::from).to_vec(), None));

    // One by one: no deletion ends before a document that is left.
    let mut deletions = Vec::new();
    while deletions.len() < PAGES {
        let deletion = store.delete_documents(scope, &within("ns"), 1).await.unwrap();
        deletions.push((deletion.deleted, deletion.has_more));
        if !deletion.has_more {
            break;
        }
    }
    assert_eq!(deletions, [(1, true), (1, true), (1, true), (1, false)]);
    undelete(&deleted).await;
    let of_deleted = DocumentFilter { chat_id: Some(deleted.id.clone()), ..within("ns") };
    let deletion = store.delete_documents(scope, &of_deleted, 1_000).await.unwrap();
    assert_eq!((deletion.deleted, deletion.has_more), (2 * HIDDEN as u64 + 2, false));
}

pub async fn a_deletion_by_namespace_leaves_the_documents_of_deleted_chats(store: Arc<dyn Store>) {
    let (kept, deleted) = with_a_deleted_chat(&store).await;
    let scope = &kept.scope;
    for (limit, expected) in [(1, (1, true)), (9, (1, false)), (9, (0, false))] {
        let deletion = store.delete_documents(scope, &within("ns"), limit).await.unwrap();
        assert_eq!((deletion.deleted, deletion.has_more), expected);
        assert_eq!(content(&store, scope, "ns/a/1").await, None);
    }
    undelete(&deleted).await;
    let of_deleted = ["ns/a/1", "ns/b/2", "ns/d/1"];
    assert_eq!(listed(&store, scope, &within("ns")).await, of_deleted);
    assert_eq!(content(&store, scope, "ns/a/1").await, Some(b"of the deleted".to_vec()));
    assert_eq!(content(&store, scope, "ns/b/2").await, Some(bytes(LARGE, 0)));
    assert_eq!(content(&store, scope, "ns/d/1").await, Some(bytes(LARGE, 1)));
    // A purge takes those that are left.
    assert!(store.purge_chat(&Actor::command_line(), scope, &deleted.id, None).await.unwrap());
    assert_eq!(listed(&store, &scope.finding_deleted(), &within("ns")).await, Vec::<String>::new());
}

pub async fn a_deletion_by_namespace_beside_that_of_the_chat_takes_all_or_none(
    store: Arc<dyn Store>,
) {
    const DOCUMENTS: u64 = 5;
    for _ in 0..6 {
        let chat = TestChat::create(&store).await;
        for number in 0..DOCUMENTS {
            let large = of_chat(bytes(LARGE, 0), &chat.id);
            put(&store, &chat.scope, &format!("ns/{number}"), large).await;
        }
        let outcomes = race([false, true].map(|deletes_chat| {
            let chat = chat.clone();
            async move {
                if deletes_chat {
                    let gone = SessionChange::to_lifecycle(Lifecycle::Deleted);
                    chat.change(gone).await.unwrap();
                    return 0;
                }
                let TestChat { store, scope, .. } = &chat;
                store.delete_documents(scope, &within("ns"), 100).await.unwrap().deleted
            }
        }));
        let deleted: u64 = outcomes.await.into_iter().sum();
        undelete(&chat).await;
        let left = listed(&store, &chat.scope, &within("ns")).await;
        assert!(deleted == 0 || deleted == DOCUMENTS, "{deleted}");
        assert_eq!(left.len() as u64, DOCUMENTS - deleted);
        for name in left {
            assert_eq!(content(&store, &chat.scope, &name).await, Some(bytes(LARGE, 0)));
        }
    }
}

pub async fn documents_are_listed_by_path_page_by_page(store: Arc<dyn Store>) {
    let scope = some_scope();
    for name in ["b", "a/b/c", "a/b", "a!", "a/b.c", "ab/c", "a/c/d/e", "a0"] {
        put(&store, &scope, name, text(name)).await;
    }
    let all = ["a!", "a/b", "a/b.c", "a/b/c", "a/c/d/e", "a0", "ab/c", "b"];
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, all);
    assert_eq!(listed(&store, &scope, &within("a")).await, ["a/b", "a/b.c", "a/b/c", "a/c/d/e"]);
    assert_eq!(listed(&store, &scope, &within("a/b")).await, ["a/b/c"]);
    assert_eq!(listed(&store, &scope, &within("x")).await, Vec::<String>::new());
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let filter = DocumentFilter { with_content: true, ..DocumentFilter::default() };
        let page = store.list_documents(&scope, &filter, 3, after.as_ref()).await.unwrap();
        for (head, content) in page.documents {
            assert_eq!(content, Some(head.path.as_str().as_bytes().to_vec()));
            paged.push(String::from(head.path));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(paged, all);
}

pub async fn a_page_of_contents_ends_early(store: Arc<dyn Store>) {
    let scope = some_scope();
    for (number, size) in
        [LARGE, LARGE * 2, LARGE, LARGE, LARGE, LARGE, LARGE, LARGE].into_iter().enumerate()
    {
        put(&store, &scope, &number.to_string(), text(bytes(size, number))).await;
    }
    let filter = DocumentFilter { with_content: true, ..DocumentFilter::default() };
    let page = store.list_documents(&scope, &filter, 100, None).await.unwrap();
    let contents: Vec<_> =
        page.documents.iter().map(|(_, content)| content.as_ref().map(Vec::len)).collect();
    // The second is larger than what a list has.
    assert_eq!(contents, [Some(LARGE), None, Some(LARGE), Some(LARGE), Some(LARGE), Some(LARGE)]);
    let rest = store.list_documents(&scope, &filter, 100, page.next.as_ref()).await.unwrap();
    assert_eq!((rest.documents.len(), rest.next), (2, None));
}

pub async fn namespaces_are_those_that_have_documents(store: Arc<dyn Store>) {
    let scope = some_scope();
    for name in ["top", "a/1", "a/b/1", "a/b/2", "a/b/c/1", "a/z", "b/c/1"] {
        put(&store, &scope, name, text("x")).await;
    }
    let namespaces = async |filter: &DocumentFilter, depth| {
        let page = store.list_namespaces(&scope, filter, depth, 100, None).await.unwrap();
        assert_eq!(page.next, None);
        page.namespaces.into_iter().map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(namespaces(&DocumentFilter::default(), 1).await, ["a", "b"]);
    assert_eq!(namespaces(&DocumentFilter::default(), 9).await, ["a", "a/b", "a/b/c", "b/c"]);
    assert_eq!(namespaces(&within("a"), 1).await, ["a/b"]);
    let page = store.list_namespaces(&scope, &DocumentFilter::default(), 2, 1, None).await.unwrap();
    let next = page.next;
    let rest = store
        .list_namespaces(&scope, &DocumentFilter::default(), 2, 9, next.as_ref())
        .await
        .unwrap();
    let all = page.namespaces.into_iter().chain(rest.namespaces).map(String::from);
    assert_eq!(all.collect::<std::collections::BTreeSet<_>>().len(), 3);
}

pub async fn documents_are_deleted_by_their_namespace(store: Arc<dyn Store>) {
    let scope = some_scope();
    for name in ["a/1", "a/2", "a/b/3", "b/1"] {
        put(&store, &scope, name, of_owner(bytes(LARGE, 0), "ann")).await;
    }
    let other = person(&scope, "bob", None, Permission::Run);
    assert_eq!(store.delete_documents(&other, &within("a"), 10).await.unwrap().deleted, 0);
    // Callers who may not run anything: a person of whom it was not said, the support, and a grant that only reads.
    let not_running = Caller::User { user_id: user("ann"), team_id: None, may_run: false };
    let reads = Scope { grant: Grant::Read, ..person(&scope, "ann", None, Permission::Run) };
    for scope in [
        Scope::new(scope.app_id.clone(), not_running, Permission::Run),
        Scope::new(
            scope.app_id.clone(),
            Caller::Support { user_id: user("carol") },
            Permission::Run,
        ),
        reads,
    ] {
        let deleted = store.delete_documents(&scope, &within("a"), 10).await.unwrap();
        assert_eq!((deleted.deleted, deleted.has_more), (0, false), "{scope:?}");
    }
    let owner = person(&scope, "ann", None, Permission::Run);
    let deleted = store.delete_documents(&owner, &within("a"), 2).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (2, true));
    let deleted = store.delete_documents(&owner, &within("a"), 2).await.unwrap();
    assert_eq!((deleted.deleted, deleted.has_more), (1, false));
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, ["b/1"]);
}

pub async fn a_document_that_has_expired_is_gone(store: Arc<dyn Store>) {
    let scope = some_scope();
    let short = |content: &str| NewDocument {
        lifetime: Some(TimeDelta::milliseconds(400)),
        ..text(content)
    };
    let head = put(&store, &scope, "a", short("x")).await;
    append(&store, &scope, "log", short("x")).await;
    put(&store, &scope, "kept", short("x")).await;
    put(&store, &scope, "kept", text("y")).await;
    assert_eq!(head.expires_at, Some(head.created_at + TimeDelta::milliseconds(400)));
    assert_eq!(content(&store, &scope, "a").await, Some(b"x".to_vec()));
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(content(&store, &scope, "a").await, None);
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, ["kept"]);
    let again = store.put_document(&scope, &path("a"), text("z"), PutCondition::NEW).await.unwrap();
    assert_eq!((again.record.version, again.record.expires_at), (1, None));
    assert_eq!(append(&store, &scope, "log", text("new")).await.offset, 0);
    assert_eq!(content(&store, &scope, "log").await, Some(b"new".to_vec()));
}

pub async fn the_documents_of_an_erased_person_are_gone(store: Arc<dyn Store>) {
    let scope = some_scope();
    let elsewhere = some_scope();
    for scope in [&scope, &elsewhere] {
        put(&store, scope, "a", of_owner(bytes(LARGE, 0), "ann")).await;
    }
    put(&store, &scope, "b", of_owner("x", "bob")).await;
    put(&store, &scope, "c", text("x")).await;
    let receipt = erase(&store, &scope, "ann").await;
    assert_eq!(receipt.erased.get("documents"), Some(&1));
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, ["b", "c"]);
    assert!(content(&store, &elsewhere, "a").await.is_some());
}

pub async fn documents_of_chats_under_hold_are_left_and_the_chats_listed(store: Arc<dyn Store>) {
    let scope = some_scope();
    let of_user = |id: &str| NewChatSession { user_id: Some(user(id)), ..new_chat() };
    let own = TestChat::create_in(&scope, &store, of_user("ann")).await;
    let of_bob = TestChat::create_in(&scope, &store, of_user("bob")).await;
    let source = TestChat::create_in(&scope, &store, of_user("bob")).await;
    let free = TestChat::create_in(&scope, &store, of_user("bob")).await;
    source.append([message("shown by a fork under hold")]).await.unwrap();
    let fork = source.fork(NewFork::default()).await.unwrap();
    for (name, chat) in [("a", &own), ("b", &of_bob), ("c", &source), ("d", &free)] {
        let (chat_id, user_id) = (Some(chat.id.clone()), Some(user("ann")));
        let binding = StatedBinding { chat_id, user_id, ..StatedBinding::default() };
        put(&store, &scope, name, bound(bytes(LARGE, 0), binding)).await;
    }
    let hold = async |reason: Option<&str>| {
        for chat in [&own, &of_bob, &fork] {
            let actor = Actor::command_line();
            store.set_hold(&actor, &scope.app_id, &chat.id, reason).await.unwrap();
        }
    };
    hold(Some("dispute")).await;
    let receipt = erase(&store, &scope, "ann").await;
    assert_eq!(receipt.erased.get("documents"), Some(&1));
    let mut left = receipt.held.clone();
    left.sort();
    let mut expected = [&own, &of_bob, &source].map(|chat| chat.id.clone());
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, ["a", "b", "c"]);
    for name in ["a", "b", "c"] {
        assert_eq!(content(&store, &scope, name).await, Some(bytes(LARGE, 0)));
    }
    // Once the holds are lifted, the erasure can be made again.
    hold(None).await;
    assert_eq!(erase(&store, &scope, "ann").await.held, []);
    assert_eq!(listed(&store, &scope, &DocumentFilter::default()).await, [] as [String; 0]);
}

pub async fn listeners_receive_every_change_of_a_document(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let (scope, other) = (chat.scope.clone(), some_scope());
    let mut told = DocumentListener::listen(&store, &scope).await;
    let written = |at: &str, version| Some((path(at), Some(version)));
    let deleted = |at: &str| Some((path(at), None));

    put(&store, &scope, "a/small", text("x")).await;
    assert_eq!(told.next().await, written("a/small", 1));
    put(&store, &other, "a/small", text("x")).await;
    put(&store, &scope, "a/small", text("x")).await;
    put(&store, &scope, "a/small", text(bytes(LARGE, 0))).await;
    assert_eq!(told.next().await, written("a/small", 2));
    put(&store, &scope, "a/small", text(bytes(LARGE, 1))).await;
    assert_eq!(told.next().await, written("a/small", 3));
    for version in 1..=3 {
        append(&store, &scope, "log", of_chat(bytes(30_000, 0), &chat.id)).await;
        assert_eq!(told.next().await, written("log", version));
    }
    store.delete_document(&scope, &path("a/small")).await.unwrap();
    assert_eq!(told.next().await, deleted("a/small"));
    put(&store, &scope, "a/small", text("x")).await;
    assert_eq!(told.next().await, written("a/small", 1));
    store.delete_documents(&scope, &within("a"), 10).await.unwrap();
    assert_eq!(told.next().await, deleted("a/small"));
    store.purge_chat(&Actor::command_line(), &scope, &chat.id, None).await.unwrap();
    listed(&store, &scope, &DocumentFilter::default()).await;
    assert_eq!(told.next().await, deleted("log"));
}

/// The changes of the documents of one app that a listener receives.
struct DocumentListener(BoxStream<'static, DocumentChange>, AppId);

impl DocumentListener {
    /// Starts to listen, and waits until every later change is delivered.
    async fn listen(store: &Arc<dyn Store>, scope: &Scope) -> Self {
        let mut told = Self(store.document_changes(), scope.app_id.clone());
        assert_eq!(told.next().await, None);
        told
    }

    /// Returns the next change: the path, and the version if a document was written. It is `None` if earlier changes may be missing.
    async fn next(&mut self) -> Option<(DocumentPath, Option<u64>)> {
        loop {
            let next = tokio::time::timeout(MAX_WAIT, self.0.next()).await;
            let (app_id, change) = match next.unwrap().unwrap() {
                DocumentChange::Began => return None,
                DocumentChange::Lost => panic!("the changes were lost"),
                DocumentChange::Written { app_id, path, version } => {
                    (app_id, (path, Some(version)))
                }
                DocumentChange::Deleted { app_id, path } => (app_id, (path, None)),
            };
            if app_id == self.1 {
                return Some(change);
            }
        }
    }
}
