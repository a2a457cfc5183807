//! Search in what was said.

use std::collections::BTreeSet;
use std::sync::Arc;

use records::{
    Actor, ChatId, Lifecycle, MemberRole, NewChatSession, NewFork, Scope, SearchQuery,
    SessionChange, TeamId, UserId, Visibility,
};
use serde_json::json;

use super::fixture::{
    TestChat, assert_invalid, assert_refused, message, new_chat, new_content, some_scope,
};
use persistence::{HitPage, MessageSearch, Store, StoreError};
use records::InvalidKind::Value as NotAdmitted;

fn search_for(words: &str) -> MessageSearch {
    MessageSearch::of(SearchQuery::parse(words).unwrap())
}

/// Brings the index of chats up to date.
async fn index(chats: &[&TestChat]) {
    let mut ids: Vec<ChatId> = chats.iter().map(|chat| chat.id.clone()).collect();
    while !ids.is_empty() {
        ids = chats[0].store.index_chats(&ids).await.unwrap();
    }
}

async fn find(store: &Arc<dyn Store>, scope: &Scope, search: &MessageSearch) -> HitPage {
    let page = store.search_messages(scope, search, 1_000, None).await.unwrap();
    assert_eq!((page.next.as_ref(), page.is_partial), (None, false), "{search:?}");
    page
}

/// Returns the chats and sequences of the hits in a list, as text.
async fn found(chat: &TestChat, words: &str) -> Vec<String> {
    found_by(chat, &search_for(words)).await
}

async fn found_by(chat: &TestChat, search: &MessageSearch) -> Vec<String> {
    let page = find(&chat.store, &chat.scope, search).await;
    page.hits.iter().map(|hit| place(&hit.chat_id, hit.sequence)).collect()
}

fn place(chat_id: &ChatId, sequence: u64) -> String {
    format!("{chat_id}/{sequence}")
}

fn owned_by(user: &str, visibility: Visibility) -> NewChatSession {
    let (user_id, team_id) = (UserId::parse(user).ok(), TeamId::parse("blue").ok());
    NewChatSession { user_id, team_id, visibility, ..new_chat() }
}

pub async fn messages_are_found_by_all_of_their_words(store: Arc<dyn Store>) {
    let scope = some_scope();
    let new = || NewChatSession { title: Some("Bills".to_owned()), ..new_chat() };
    let chat = TestChat::create_in(&scope, &store, new()).await;
    let other = TestChat::create_in(&scope, &store, new_chat()).await;
    let elsewhere = TestChat::create(&store).await;
    chat.append([message("The INVOICE of May"), message("the order of May")]).await.unwrap();
    other.append([message(json!([{"type": "text", "text": "日本語の invoice"}]))]).await.unwrap();
    chat.append([message("invoices, and an Invoice of June")]).await.unwrap();
    elsewhere.append([message("invoice")]).await.unwrap();
    other.append([message("Η ΟΔΟΣ"), message("η οδος")]).await.unwrap();
    index(&[&chat, &other, &elsewhere]).await;
    let [capital, small] = [1, 2].map(|sequence| place(&other.id, sequence));
    let [first, order, last] = [0, 1, 2].map(|sequence| place(&chat.id, sequence));
    let japanese = place(&other.id, 0);
    for (words, expected) in [
        ("invoice", vec![&last, &japanese, &first]),
        ("MAY of the", vec![&order, &first]),
        ("may invoice", vec![&first]),
        ("invo*", vec![&last, &japanese, &first]),
        ("invoices*", vec![&last]),
        ("june invo*", vec![&last]),
        ("日本", vec![&japanese]),
        ("語", vec![&japanese]),
        ("の invoice", vec![&japanese]),
        ("invo", vec![]),
        ("invoice orders", vec![]),
        ("本日", vec![]),
        ("$ne invoice", vec![]),
        ("οδος", vec![&small, &capital]),
        ("ΟΔΟΣ η", vec![&small, &capital]),
        ("οδος*", vec![&small, &capital]),
    ] {
        // Messages of one millisecond have no order that a caller knows: what is found is compared as a set.
        let found: BTreeSet<String> = found(&chat, words).await.into_iter().collect();
        assert_eq!(found, expected.into_iter().cloned().collect(), "{words}");
    }
    let page = find(&store, &scope, &search_for("june invoice")).await;
    let hit = &page.hits[0];
    assert_eq!(hit.title.as_deref(), Some("Bills"));
    let message = chat.get_message(2).await.unwrap();
    let shown = (hit.sequence, &hit.role, &hit.name, hit.created_at);
    assert_eq!(shown, (2, &message.body.role, &message.body.name, message.created_at));
    assert_eq!(hit.snippet.text, "invoices, and an Invoice of June");
    assert_eq!(hit.snippet.positions, [17..24, 28..32]);
}

pub async fn hits_come_in_pages_newest_first(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for _ in 0..3 {
        chats.push(TestChat::create_in(&scope, &store, new_chat()).await);
    }
    for round in 0..6 {
        for chat in &chats {
            let batch = (0..9).map(|n| message(format!("needle{} {round} {n}", n % 3)));
            chat.append(batch).await.unwrap();
        }
    }
    index(&chats.iter().collect::<Vec<_>>()).await;
    for words in ["needle1", "needle*", "needle2 3", "4 needle*"] {
        let search = search_for(words);
        let all = find(&store, &scope, &search).await.hits;
        assert!(all.len() >= 9, "{words}");
        let times: Vec<_> = all.iter().map(|hit| hit.created_at).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{words}");
        let (mut paged, mut after) = (Vec::new(), None);
        loop {
            let page = store.search_messages(&scope, &search, 4, after.as_ref()).await.unwrap();
            assert!(page.hits.len() == 4 || page.next.is_none(), "{words}");
            paged.extend(page.hits);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(paged, all, "{words}");
    }
}

pub async fn an_edited_or_deleted_text_is_not_found(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append((0..4).map(|n| message(format!("secret {n}")))).await.unwrap();
    // Old messages are stored elsewhere than new ones, and those that forks share elsewhere still.
    chat.append_filler().await;
    let fork = chat.fork(NewFork::default()).await.unwrap();
    let last = chat.append([message("secret last")]).await.unwrap().last_sequence - 1;
    index(&[&chat, &fork]).await;
    let all = |chat: &TestChat| (0..4).rev().map(|n| place(&chat.id, n)).collect::<Vec<_>>();
    let in_chat = MessageSearch { chat_id: Some(chat.id.clone()), ..search_for("secret") };
    let in_fork = MessageSearch { chat_id: Some(fork.id.clone()), ..search_for("secret") };
    assert_eq!(found_by(&chat, &in_chat).await, [vec![place(&chat.id, last)], all(&chat)].concat());
    for sequence in [0, last] {
        chat.update_message(sequence, new_content("public")).await.unwrap();
    }
    chat.delete_message(1).await.unwrap();
    let left = [place(&chat.id, 3), place(&chat.id, 2)];
    // The index may be behind. A hit is compared with its message.
    assert_eq!(found_by(&chat, &in_chat).await, left);
    index(&[&chat, &fork]).await;
    assert_eq!(found_by(&chat, &in_chat).await, left);
    assert_eq!(found_by(&fork, &in_fork).await, all(&fork));
    let public = found(&chat, "public").await;
    assert_eq!(public, [place(&chat.id, last), place(&chat.id, 0)]);
    // More edits than a chat remembers.
    for n in 0..80 {
        chat.update_message(2, new_content(format!("version{n}"))).await.unwrap();
    }
    chat.update_message(3, new_content("public")).await.unwrap();
    index(&[&chat]).await;
    assert_eq!(found_by(&chat, &in_chat).await, Vec::<String>::new());
    assert_eq!(found(&chat, "version79").await, [place(&chat.id, 2)]);
    assert_eq!(found(&chat, "version*").await, [place(&chat.id, 2)]);
}

pub async fn persons_search_what_their_lists_contain(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for (owner, visibility) in [
        ("ada", Visibility::Private),
        ("bob", Visibility::Private),
        ("bob", Visibility::Team),
        ("bob", Visibility::Link),
        ("bob", Visibility::App),
    ] {
        let chat = TestChat::create_in(&scope, &store, owned_by(owner, visibility)).await;
        chat.append([message("needle")]).await.unwrap();
        chats.push(chat);
    }
    index(&chats.iter().collect::<Vec<_>>()).await;
    let [own, private, team, link, app] = &chats[..] else { unreachable!() };
    let in_list = async |chats: &[&TestChat], seen: &TestChat, search: &MessageSearch| {
        let mut expected: Vec<_> = chats.iter().map(|chat| place(&chat.id, 0)).collect();
        let mut found = found_by(seen, search).await;
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{search:?} {:?}", seen.scope.caller);
    };
    let needle = search_for("needle");
    let of_app = MessageSearch { of_app: true, ..needle.clone() };
    let of_bob = MessageSearch { user_id: UserId::parse("bob").ok(), ..needle.clone() };
    let ada = own.seen_by("ada", None);
    in_list(&[own], &ada, &needle).await;
    in_list(&[app], &ada, &of_app).await;
    in_list(&[], &ada, &of_bob).await;
    in_list(&[own, team], &own.seen_by("ada", Some("blue")), &needle).await;
    in_list(&[private, team, link, app], &own.seen_by("bob", None), &needle).await;
    in_list(&[own, private, team, link, app], own, &needle).await;
    in_list(&[private, team, link, app], own, &of_bob).await;
    private.put_member("ada", MemberRole::Reader).await.unwrap();
    in_list(&[own, private], &ada, &needle).await;
    // A user who knows the id of an open chat may search it.
    let in_link = MessageSearch { chat_id: Some(link.id.clone()), ..needle.clone() };
    in_list(&[link], &ada, &in_link).await;
}

pub async fn nothing_is_found_after_a_right_was_withdrawn(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chat = TestChat::create_in(&scope, &store, owned_by("bob", Visibility::Private)).await;
    chat.append([message("needle")]).await.unwrap();
    index(&[&chat]).await;
    let ada = chat.seen_by("ada", None);
    let (needle, here) = (search_for("needle"), [place(&chat.id, 0)]);
    let in_chat = MessageSearch { chat_id: Some(chat.id.clone()), ..needle.clone() };
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    chat.put_member("ada", MemberRole::Member).await.unwrap();
    assert_eq!(found(&ada, "needle").await, here);
    chat.remove_member("ada").await.unwrap();
    assert_eq!(found(&ada, "needle").await, Vec::<String>::new());
    let refused = store.search_messages(&ada.scope, &in_chat, 10, None).await;
    assert_refused(refused, &not_found);
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    for seen in [&chat, &chat.seen_by("bob", None)] {
        assert_eq!(found(seen, "needle").await, Vec::<String>::new());
        let refused = store.search_messages(&seen.scope, &in_chat, 10, None).await;
        assert_refused(refused, &not_found);
    }
    let everything = chat.seen_from(chat.scope.finding_deleted());
    everything.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
    assert_eq!(found(&chat, "needle").await, here);
    store.purge_chat(&Actor::command_line(), &scope, &chat.id, None).await.unwrap();
    assert_eq!(found(&chat, "needle").await, Vec::<String>::new());
    index(&[&chat]).await;
    assert_eq!(found(&chat, "needle").await, Vec::<String>::new());
}

pub async fn a_search_of_one_chat_takes_no_other_filter(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let in_chat = MessageSearch { chat_id: Some(chat.id.clone()), ..search_for("needle") };
    let both = MessageSearch { of_app: true, ..in_chat.clone() };
    let refused = store.search_messages(&chat.scope, &both, 10, None).await;
    assert_invalid(refused, "/chat_id", NotAdmitted);
    let unknown = TestChat::unknown(&store);
    let in_unknown = MessageSearch { chat_id: Some(unknown.id.clone()), ..in_chat };
    let refused = store.search_messages(&chat.scope, &in_unknown, 10, None).await;
    assert_refused(refused, &StoreError::ChatNotFound(unknown.id.clone()));
}

pub async fn changes_that_no_process_noticed_are_found_later(store: Arc<dyn Store>) {
    let scope = some_scope();
    let catch_up = async || {
        let mut after = None;
        loop {
            after = store.catch_up_index(&scope.app_id, after.as_ref(), 2).await.unwrap();
            if after.is_none() {
                break;
            }
        }
    };
    catch_up().await;
    let mut chats = Vec::new();
    for n in 0..5 {
        let chat = TestChat::create_in(&scope, &store, new_chat()).await;
        chat.append([message(format!("needle {n}")), message("hay")]).await.unwrap();
        chats.push(chat);
    }
    catch_up().await;
    assert_eq!(found(&chats[0], "needle").await.len(), 5);
    chats[1].update_message(0, new_content("thread")).await.unwrap();
    chats[2].delete_message(0).await.unwrap();
    chats[3].append([message("needle again")]).await.unwrap();
    catch_up().await;
    assert_eq!(found(&chats[0], "needle").await.len(), 4);
    assert_eq!(found(&chats[0], "thread").await, [place(&chats[1].id, 0)]);
}

pub async fn chats_may_be_indexed_by_several_at_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writing = async {
        for n in 0..40_u64 {
            chat.append([message(format!("needle {n}"))]).await.unwrap();
            if n % 4 == 3 {
                chat.update_message(n - 1, new_content(format!("edited {n}"))).await.unwrap();
                chat.delete_message(n - 2).await.unwrap();
            }
        }
    };
    let ids = [chat.id.clone()];
    let indexing = async || {
        for _ in 0..60 {
            store.index_chats(&ids).await.unwrap();
        }
    };
    tokio::join!(writing, indexing(), indexing(), indexing());
    index(&[&chat]).await;
    let of = |kept: fn(u64) -> bool| {
        (0..40).rev().filter(|n| kept(n % 4)).map(|n| place(&chat.id, n)).collect::<Vec<_>>()
    };
    assert_eq!(found(&chat, "needle").await, of(|n| n == 0 || n == 3));
    assert_eq!(found(&chat, "edited").await, of(|n| n == 2));
}
